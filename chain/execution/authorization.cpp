#include "chain/execution/authorization.hpp"

#include "chain/execution/elections.hpp"
#include "chain/execution/native_types.hpp"
#include "chain/types/exception.hpp"

#include <algorithm>

namespace chain {

namespace {

using base::Result;

constexpr Name kSystem = "eosio"_n;
constexpr Name kActive = "active"_n;
constexpr Name kAny = "eosio.any"_n;
constexpr std::uint64_t kDeclaredUnits = 1'000;  // Links, and a step up the tree of permissions.
constexpr std::uint64_t kDutyUnits = 10'000;     // The schedules.

// What a validator's node says by itself.
bool is_duty(const Action& action) {
    const bool is_named = action.name == "reportbad"_n || action.name == "amnesia"_n;
    return is_named && action.account == kSystem && action.authorization.size() == 1 &&
           action.authorization[0].permission == kActive;
}

bool is_ready(const Action& action) {
    return action.account == kSystem && action.name == "ready"_n;
}

bool is_unlinkable(Name action) {
    return action == "updateauth"_n || action == "deleteauth"_n || action == "linkauth"_n ||
           action == "unlinkauth"_n || action == "canceldelay"_n;
}

Result<void> check_single(const Action& action, Name account, std::string_view who) {
    if (action.authorization.size() != 1) {
        return fail(Exception::irrelevant_auth_exception,
                    std::string(who) + " action should only have one declared authorization");
    }
    if (action.authorization[0].actor == account) return {};
    std::string_view owner = "the owner of the linked permission";
    if (who == "updateauth") owner = "the owner of the affected permission";
    if (who == "deleteauth") owner = "the owner of the permission to delete";
    return fail(Exception::irrelevant_auth_exception,
                std::string(owner) + " needs to be the actor of the declared authorization");
}

template <class T, class ToText>
std::string list_to_json(const std::vector<T>& items, ToText to_text) {
    std::string text = "[";
    for (const T& item : items) {
        if (text.size() > 1) text += ',';
        text += to_text(item);
    }
    return text + "]";
}

tl::unexpected<base::Error> out_of_units() {
    return fail(Exception::tx_cpu_usage_exceeded, "out of CPU while authority was checked");
}

}  // namespace

std::string keys_to_json(const std::vector<PublicKey>& keys) {
    return list_to_json(keys, [](const PublicKey& key) { return '"' + key.to_string() + '"'; });
}

std::string levels_to_json(const std::vector<PermissionLevel>& levels) {
    return list_to_json(levels, [](const PermissionLevel& level) { return level.to_json(); });
}

Result<std::vector<PublicKey>> sorted_signature_keys(std::vector<PublicKey> keys) {
    if (keys.size() < 2) return keys;
    std::vector<PublicKey> sorted;
    sorted.reserve(keys.size());
    for (PublicKey& key : keys) {
        const auto place = std::ranges::lower_bound(sorted, key);
        if (place != sorted.end() && *place == key) {
            return fail(Exception::tx_duplicate_sig,
                        "transaction includes more than one signature signed using the same key "
                        "associated with public key: " +
                            key.to_string());
        }
        sorted.insert(place, std::move(key));
    }
    return sorted;
}

AuthoritySource Authorization::source() const {
    return {.state = environment_.state,
            .cache = environment_.cache,
            .depth_max = environment_.config.max_authority_depth,
            .meter = environment_.meter};
}

PermissionPtr Authorization::find_permission(PermissionLevel level) const {
    return environment_.cache.find(environment_.state, level);
}

Result<PermissionPtr> Authorization::get_permission(PermissionLevel level) const {
    PermissionPtr permission = find_permission(level);
    if (permission) return permission;
    if (level.actor.empty() && level.permission.empty()) {
        return fail(Exception::invalid_permission, "Invalid permission");
    }
    // The type's name is part of what nodeos' database says.
    std::string nulls;
    for (int i = 0; i < 8; ++i) {
        nulls += ", boost::tuples::null_type";
    }
    return fail(Exception::permission_query_exception,
                "Failed to retrieve permission: " + level.to_json() +
                    " (unknown key (boost::tuples::tuple<eosio::chain::name, eosio::chain::name" +
                    nulls + ">): (" + level.actor.to_string() + " " + level.permission.to_string() +
                    "))");
}

std::optional<Name> Authorization::linked_permission(Name account, Name code, Name action) const {
    const StateView& state = environment_.state;
    Value link = state.find(Table::permission_link, link_key({account, code, action}));
    if (!link && !action.empty()) {
        link = state.find(Table::permission_link, link_key({account, code, Name{}}));
    }
    if (!link) return std::nullopt;
    return Name{decode_u64(*link)};
}

std::optional<Name> Authorization::minimum_permission(Name account, Name code, Name action) const {
    const std::optional<Name> linked = linked_permission(account, code, action);
    if (!linked) return kActive;
    if (*linked == kAny) return std::nullopt;
    return linked;
}

bool Authorization::satisfies(PermissionLevel level, PermissionLevel other) const {
    if (level.actor != other.actor) return false;
    // Permissions of an account form a tree of which updateauth grows only leaves.
    while (!other.permission.empty()) {
        if (other.permission == level.permission) return true;
        const PermissionPtr permission = find_permission(other);
        if (!permission || !environment_.meter.charge(kDeclaredUnits)) return false;
        if (!environment_.meter.goes_on()) return false;
        other.permission = permission->parent;
    }
    return false;
}

Result<void> Authorization::require_satisfies(PermissionLevel declared,
                                              PermissionLevel minimum,
                                              std::string_view who) const {
    if (auto found = get_permission(declared); !found) return base::fail(std::move(found).error());
    if (satisfies(declared, minimum)) return {};
    if (environment_.meter.exhausted()) return out_of_units();
    return fail(Exception::irrelevant_auth_exception,
                std::string(who) + " declares irrelevant authority '" + declared.to_json() +
                    "'; minimum authority is " + minimum.to_json());
}

Result<void> Authorization::check_updateauth(const Action& action) const {
    auto data = native_data<UpdateAuth>(action);
    if (!data) return base::fail(std::move(data).error());
    if (auto one = check_single(action, data->account, "updateauth"); !one) return one;
    PermissionLevel minimum{data->account, data->permission};
    if (!find_permission(minimum)) {
        minimum.permission = data->parent;
        if (auto parent = get_permission(minimum); !parent) {
            return base::fail(std::move(parent).error());
        }
    }
    return require_satisfies(action.authorization[0], minimum, "updateauth action");
}

Result<void> Authorization::check_deleteauth(const Action& action) const {
    auto data = native_data<DeleteAuth>(action);
    if (!data) return base::fail(std::move(data).error());
    if (auto one = check_single(action, data->account, "deleteauth"); !one) return one;
    const PermissionLevel minimum{data->account, data->permission};
    if (auto found = get_permission(minimum); !found) return base::fail(std::move(found).error());
    // nodeos says updateauth here too.
    return require_satisfies(action.authorization[0], minimum, "updateauth action");
}

Result<void> Authorization::check_linkauth(const Action& action) const {
    auto data = native_data<LinkAuth>(action);
    if (!data) return base::fail(std::move(data).error());
    if (auto one = check_single(action, data->account, "link"); !one) return one;
    if (data->code == kSystem && is_unlinkable(data->type)) {
        return fail(Exception::action_validate_exception,
                    "Cannot link eosio::" + data->type.to_string() + " to a minimum permission");
    }
    const auto minimum = minimum_permission(data->account, data->code, data->type);
    if (!minimum) return {};
    const PermissionLevel level{data->account, *minimum};
    if (auto found = get_permission(level); !found) return base::fail(std::move(found).error());
    return require_satisfies(action.authorization[0], level, "link action");
}

Result<void> Authorization::check_unlinkauth(const Action& action) const {
    auto data = native_data<UnlinkAuth>(action);
    if (!data) return base::fail(std::move(data).error());
    if (auto one = check_single(action, data->account, "unlink"); !one) return one;
    const auto linked = linked_permission(data->account, data->code, data->type);
    if (!linked) {
        return fail(Exception::transaction_exception,
                    "cannot unlink non-existent permission link of account '" +
                        data->account.to_string() + "' for actions matching '" +
                        data->code.to_string() + "::" + data->type.to_string() + "'");
    }
    if (*linked == kAny) return {};
    const PermissionLevel level{data->account, *linked};
    if (auto found = get_permission(level); !found) return base::fail(std::move(found).error());
    return require_satisfies(action.authorization[0], level, "unlink action");
}

Result<bool> Authorization::check_special(const Action& action) const {
    if (action.account != kSystem) return false;
    Result<void> done;
    if (action.name == "updateauth"_n) {
        done = check_updateauth(action);
    } else if (action.name == "deleteauth"_n) {
        done = check_deleteauth(action);
    } else if (action.name == "linkauth"_n) {
        done = check_linkauth(action);
    } else if (action.name == "unlinkauth"_n) {
        done = check_unlinkauth(action);
    } else {
        return false;
    }
    if (!done) return base::fail(std::move(done).error());
    return true;
}

Result<void> Authorization::check_minimum(const Action& action, PermissionLevel declared) const {
    const auto name = minimum_permission(declared.actor, action.account, action.name);
    if (!name) return {};
    if (*name == declared.permission && find_permission(declared)) return {};  // The usual case.
    const PermissionLevel minimum{declared.actor, *name};
    if (auto found = get_permission(minimum); !found) return base::fail(std::move(found).error());
    return require_satisfies(declared, minimum, "action");
}

Result<std::vector<PublicKey>> Authorization::find_duty_keys(const Action& action,
                                                             const Provided& provided) const {
    using Found = std::vector<PublicKey>;
    if (is_ready(action)) return find_ready_keys(action);
    if (!is_duty(action) || provided.keys.empty()) return Found();
    if (!environment_.meter.charge(kDutyUnits)) return out_of_units();
    auto entry = find_entry(environment_.state, action.authorization[0].actor);
    if (!entry) return base::fail(std::move(entry).error());
    if (!*entry) return Found();
    const bool is_provided = std::ranges::binary_search(provided.keys, (*entry)->signing_key);
    return is_provided ? Found{(*entry)->signing_key} : Found();
}

Result<std::vector<PublicKey>> Authorization::find_ready_keys(const Action& action) const {
    if (!environment_.meter.charge(kDutyUnits)) return out_of_units();
    if (action.authorization.size() != 1 || action.authorization[0].permission != kActive) {
        return fail(Exception::irrelevant_auth_exception,
                    "ready declares the producer's active permission, and nothing else");
    }
    auto entry = find_next_entry(environment_.state, action.authorization[0].actor);
    if (!entry) return base::fail(std::move(entry).error());
    if (!*entry) return std::vector<PublicKey>();  // Who is no producer is told so by the action.
    if ((*entry)->signing_key == (*entry)->vote_key) return std::vector{(*entry)->signing_key};
    return std::vector{(*entry)->signing_key, (*entry)->vote_key};
}

Result<std::vector<PermissionLevel>> Authorization::declared_by(
    std::span<const Action> actions,
    const Provided& provided,
    std::vector<PublicKey>& duty_keys) const {
    std::vector<PermissionLevel> levels;
    for (const Action& action : actions) {
        auto found = find_duty_keys(action, provided);
        if (!found) return base::fail(std::move(found).error());
        if (!found->empty()) {
            duty_keys.insert(duty_keys.end(), found->begin(), found->end());
            continue;
        }
        if (auto added = add_declared(action, levels); !added)
            return base::fail(std::move(added).error());
    }
    std::ranges::sort(levels);
    const auto rest = std::ranges::unique(levels);
    levels.erase(rest.begin(), rest.end());
    return levels;
}

Result<void> Authorization::add_declared(const Action& action,
                                         std::vector<PermissionLevel>& levels) const {
    auto special = check_special(action);
    if (!special) return base::fail(std::move(special).error());
    for (const PermissionLevel& declared : action.authorization) {
        if (!environment_.meter.charge(kDeclaredUnits) || !environment_.meter.goes_on())
            return out_of_units();
        if (!*special) {
            auto fits = check_minimum(action, declared);
            if (!fits) return fits;
        }
        levels.push_back(declared);
    }
    return {};
}

Result<void> Authorization::check(std::span<const Action> actions,
                                  const Provided& provided,
                                  const Policy& policy) const {
    std::vector<PublicKey> duty_keys;
    auto to_satisfy = declared_by(actions, provided, duty_keys);
    if (!to_satisfy) return base::fail(std::move(to_satisfy).error());
    const AuthoritySource where = source();
    AuthorityChecker checker(where, provided);
    for (const PublicKey& key : duty_keys) {
        if (checker.use_key(key) || policy.dry_run) continue;
        return fail(Exception::unsatisfied_authorization,
                    "ready must be signed by the keys that the producer would have in the "
                    "schedule, and " +
                        key.to_string() +
                        " has not signed: a bor-node that is synced and holds them says it");
    }
    for (const PermissionLevel& level : *to_satisfy) {
        if (checker.satisfied(level) || policy.dry_run) continue;
        if (environment_.meter.exhausted()) return out_of_units();
        if (policy.brief) return fail(Exception::unsatisfied_authorization, "not satisfied");
        const std::string delay_max =
            std::to_string(std::uint64_t{1000} * environment_.config.max_transaction_delay);
        return fail(Exception::unsatisfied_authorization,
                    "transaction declares authority '" + level.to_json() +
                        "', but does not have signatures for it under a provided delay of " +
                        std::to_string(provided.delay_seconds * 1000) +
                        " ms, provided permissions " + levels_to_json(provided.permissions) +
                        ", provided keys " + keys_to_json(provided.keys) +
                        ", and a delay max limit of " + delay_max + " ms");
    }
    if (policy.dry_run || checker.all_keys_used()) return {};
    if (policy.brief) return fail(Exception::tx_irrelevant_sig, "irrelevant keys");
    return fail(Exception::tx_irrelevant_sig,
                "transaction bears irrelevant signatures from these keys: " +
                    keys_to_json(checker.unused_keys()));
}

Result<void> Authorization::check_permission(PermissionLevel level,
                                             const Provided& provided) const {
    const AuthoritySource where = source();
    AuthorityChecker checker(where, provided);
    if (!checker.satisfied(level)) {
        if (environment_.meter.exhausted()) return out_of_units();
        return fail(Exception::unsatisfied_authorization,
                    "permission '" + level.to_json() +
                        "' was not satisfied under a provided delay of " +
                        std::to_string(provided.delay_seconds * 1000) + " ms");
    }
    if (checker.all_keys_used()) return {};
    return fail(Exception::tx_irrelevant_sig, "irrelevant keys provided");
}

Result<std::vector<PublicKey>> Authorization::required_keys(
    const Transaction& transaction, std::vector<PublicKey> candidates) const {
    std::ranges::sort(candidates);
    const auto rest = std::ranges::unique(candidates);
    candidates.erase(rest.begin(), rest.end());
    const Provided provided{
        .keys = std::move(candidates), .permissions = {}, .delay_seconds = transaction.delay_sec};
    const AuthoritySource where = source();
    AuthorityChecker checker(where, provided);
    for (const Action& action : transaction.actions) {
        for (const PermissionLevel& declared : action.authorization) {
            if (checker.satisfied(declared)) continue;
            return fail(Exception::unsatisfied_authorization,
                        "transaction declares authority '" + declared.to_json() +
                            "', but does not have signatures for it.");
        }
    }
    return checker.used_keys();
}

}  // namespace chain
