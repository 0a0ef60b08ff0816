#include "chain/execution/queries.hpp"

#include "chain/execution/authorization.hpp"
#include "chain/execution/native_actions.hpp"
#include "chain/state/row_scan.hpp"
#include "chain/types/exception.hpp"

#include <algorithm>

namespace chain {

namespace {

using base::Result;

// What a query may spend on authorities before it gives up.
constexpr std::uint64_t kQueryUnits = 50'000'000;

void add_links(const StateView& state, AccountSummary& summary) {
    RowScan rows(state, Table::permission_link, account_key(summary.name));
    while (const auto row = rows.next()) {
        LinkedAction link{.code = Name{key_u64(row->key, 8)}, .action = std::nullopt};
        const Name action{key_u64(row->key, 16)};
        if (!action.empty()) link.action = action;
        const Name permission{decode_u64(*row->value)};
        if (permission == "eosio.any"_n) {
            summary.linked_to_any.push_back(link);
            continue;
        }
        const auto place =
            std::ranges::find(summary.permissions, permission, &PermissionSummary::name);
        if (place != summary.permissions.end()) place->linked.push_back(link);
    }
}

Result<void> add_permissions(const StateView& state, AccountSummary& summary) {
    RowScan rows(state, Table::permission, account_key(summary.name));
    while (const auto row = rows.next()) {
        auto permission = decode_row<PermissionRow>(*row->value);
        if (!permission) return base::fail(std::move(permission).error());
        summary.permissions.push_back(
            {.name = Name{key_u64(row->key, 8)}, .row = std::move(*permission), .linked = {}});
    }
    return {};
}

struct Found {
    PermissionLevel permission;
    std::optional<PermissionLevel> account;
};

// The permissions that the index has under `prefix`; with `of_actor` the authorizing
// permission is in the key too.
std::vector<Found> find_authorized(const StateView& state,
                                   const RowKey& prefix,
                                   std::size_t limit) {
    std::vector<Found> found;
    RowScan rows(state, Table::authorizer, prefix);
    while (found.size() < limit) {
        const auto row = rows.next();
        if (!row) break;
        const std::size_t end = row->key.size();
        Found entry;
        entry.permission = {Name{key_u64(row->key, end - 16)}, Name{key_u64(row->key, end - 8)}};
        if (row->key[0] == std::byte{'a'}) {
            entry.account = PermissionLevel{Name{key_u64(row->key, 1)}, Name{key_u64(row->key, 9)}};
        }
        found.push_back(entry);
    }
    return found;
}

// Fills in weight and threshold from the permission itself.
Result<void> add_weights(const StateView& state, AuthorizedAccount& entry) {
    const Value value = state.find(Table::permission, permission_key(entry.permission));
    if (!value) return base::fail(base::Errc::corrupt, "the index of authorizers is damaged");
    auto row = decode_row<PermissionRow>(*value);
    if (!row) return base::fail(std::move(row).error());
    const Authority& authority = row->authority;
    entry.threshold = authority.threshold;
    if (entry.key) {
        const auto place = std::ranges::find(authority.keys, *entry.key, &KeyWeight::key);
        if (place != authority.keys.end()) entry.weight = place->weight;
        return {};
    }
    const auto place =
        std::ranges::find(authority.accounts, *entry.account, &PermissionLevelWeight::permission);
    if (place != authority.accounts.end()) entry.weight = place->weight;
    return {};
}

}  // namespace

Result<std::optional<AccountRow>> find_account(const StateView& state, Name account) {
    const Value value = state.find(Table::account, account_key(account));
    if (!value) return std::optional<AccountRow>();
    auto row = decode_account(*value);
    if (!row) return base::fail(std::move(row).error());
    return std::optional<AccountRow>(*row);
}

Result<AccountSummary> account_summary(const StateView& state, Name account, Slot slot) {
    auto row = find_account(state, account);
    if (!row) return base::fail(std::move(row).error());
    if (!*row) {
        // The type's name is part of what nodeos' database says.
        std::string type = "boost::tuples::tuple<bool, eosio::chain::name";
        for (int i = 0; i < 8; ++i) {
            type += ", boost::tuples::null_type";
        }
        return fail(Exception::account_query_exception,
                    "unable to retrieve account info (unknown key (" + type + ">): (0 " +
                        account.to_string() + "))");
    }
    auto counters = load_counters(state);
    if (!counters) return base::fail(std::move(counters).error());
    auto times = load_times(state);
    if (!times) return base::fail(std::move(times).error());
    AccountSummary summary;
    summary.name = account;
    summary.row = **row;
    if (auto added = add_permissions(state, summary); !added) {
        return base::fail(std::move(added).error());
    }
    add_links(state, summary);
    const auto windows = ResourceWindows::of_interval(times->interval_milliseconds);
    const std::uint32_t now = usage_ordinal(slot);
    summary.net = account_limit(summary.row, *counters, Resource::net, windows, now);
    summary.cpu = account_limit(summary.row, *counters, Resource::cpu, windows, now);
    return summary;
}

TimePoint time_of_ordinal(const SlotTimes& times, std::uint32_t ordinal) {
    if (ordinal == 0) return BlockTimestamp{}.to_time_point();
    return times.time_of(ordinal);
}

base::Bytes account_abi(const StateView& state, Name account) {
    if (const Value abi = state.find(Table::abi, abi_key(account))) return *abi;
    if (account == "eosio"_n) return native_abi();
    return {};
}

Result<std::vector<PublicKey>> required_keys(const StateView& state,
                                             const Transaction& transaction,
                                             std::vector<PublicKey> candidates) {
    auto config = load_config(state);
    if (!config) return base::fail(std::move(config).error());
    PermissionCache cache;
    vm::Meter meter(kQueryUnits);
    const Authorization authorization(
        {.state = state, .cache = cache, .config = *config, .meter = meter});
    return authorization.required_keys(transaction, std::move(candidates));
}

Result<std::vector<AuthorizedAccount>> accounts_by_authorizers(
    const StateView& state,
    std::span<const PublicKey> keys,
    std::span<const PermissionLevel> accounts,
    std::size_t limit) {
    std::vector<AuthorizedAccount> result;
    const auto add = [&](const RowKey& prefix, const PublicKey* key) -> Result<void> {
        for (const Found& found : find_authorized(state, prefix, limit - result.size())) {
            AuthorizedAccount entry;
            entry.permission = found.permission;
            entry.account = found.account;
            if (key != nullptr) entry.key = *key;
            if (auto added = add_weights(state, entry); !added) return added;
            result.push_back(std::move(entry));
        }
        return {};
    };
    for (const PublicKey& key : keys) {
        if (auto added = add(authorizer_prefix(key), &key); !added) {
            return base::fail(std::move(added).error());
        }
    }
    for (const PermissionLevel& level : accounts) {
        const RowKey prefix =
            level.permission.empty() ? authorizer_prefix(level.actor) : authorizer_prefix(level);
        if (auto added = add(prefix, nullptr); !added) return base::fail(std::move(added).error());
    }
    return result;
}

Result<std::vector<RegisteredProducer>> registered_producers(const StateView& state,
                                                             Name from,
                                                             std::size_t limit) {
    std::vector<RegisteredProducer> producers;
    RowScan rows(state, Table::producer, base::as_bytes("p"), producer_key(from));
    while (producers.size() < limit) {
        const auto row = rows.next();
        if (!row) break;
        auto producer = decode_row<ProducerRow>(*row->value);
        if (!producer) return base::fail(std::move(producer).error());
        producers.push_back({.name = Name{key_u64(row->key, 1)}, .row = std::move(*producer)});
    }
    return producers;
}

}  // namespace chain
