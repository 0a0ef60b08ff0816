#include "chain/execution/genesis_state.hpp"

#include "chain/execution/membership.hpp"
#include "chain/execution/schedule_rows.hpp"

#include <algorithm>

namespace chain {

namespace {

constexpr Name kSystem = "eosio"_n;
constexpr Name kNull = "eosio.null"_n;
constexpr Name kProducers = "eosio.prods"_n;
constexpr Name kOwner = "owner"_n;
constexpr Name kActive = "active"_n;
constexpr Name kMajor = "prod.major"_n;
constexpr Name kMinor = "prod.minor"_n;

void create_permission(StateDelta& state,
                       PermissionLevel level,
                       Name parent,
                       const Authority& authority,
                       TimePoint now) {
    const PermissionRow row{
        .parent = parent, .last_updated = now, .last_used = now, .authority = authority};
    put_permission(state, level, &row);
}

struct FirstAccount {
    Name name;
    Authority owner;
    Authority active;
    bool privileged = false;
};

void create_account(StateDelta& state, const FirstAccount& account, TimePoint now) {
    AccountRow row;
    row.created = now;
    row.active_last_used = now;
    row.privileged = account.privileged;
    row.ram_usage = static_cast<std::uint64_t>(ram::kAccount + 2 * ram::kPermission +
                                               account.owner.billable_bytes() +
                                               account.active.billable_bytes());
    state.put(Table::account, account_key(account.name), encode_account(row));
    create_permission(state, {account.name, kOwner}, Name{}, account.owner, now);
    create_permission(state, {account.name, kActive}, kOwner, account.active, now);
}

Authority empty_authority() {
    Authority authority;
    authority.threshold = 1;
    return authority;
}

// The validators become registered producers for whom the members vote: each for all of them, or
// where they are more than one may vote for, each for another 30, so that everybody has votes.
void write_elections(StateDelta& state, const GenesisParameters& genesis) {
    std::vector<Name> producers;
    for (const ScheduleEntry& entry : genesis.schedule.entries) {
        ProducerRow row;
        row.key = entry.signing_key;
        if (entry.vote_key != entry.signing_key) row.vote_key = entry.vote_key;
        state.put(Table::producer, producer_key(entry.producer), pack(row));
        producers.push_back(entry.producer);
    }
    put_served(state, genesis.schedule);
    const std::size_t votes = std::min(producers.size(), kVotesMax);
    std::size_t next = 0;
    for (const GenesisParameters::Member& member : genesis.members) {
        VoterRow row;
        for (std::size_t i = 0; i < votes; ++i) {
            row.producers.push_back(producers[(next + i) % producers.size()]);
        }
        next += votes;
        std::ranges::sort(row.producers);
        state.put(Table::producer, voter_key(member.name), pack(row));
    }
}

}  // namespace

void set_producers_authority(StateDelta& state, const Schedule& schedule, TimePoint now) {
    Authority authority;
    for (const ScheduleEntry& entry : schedule.entries) {
        authority.accounts.push_back({{entry.producer, kActive}, 1});
    }
    std::ranges::sort(authority.accounts);
    const auto count = static_cast<std::uint32_t>(schedule.entries.size());
    struct Share {
        Name permission;
        Name parent;
        std::uint32_t numerator = 0;
        std::uint32_t denominator = 1;
    };
    for (const Share& share : {Share{kActive, kOwner, 2, 3},
                               Share{kMajor, kActive, 1, 2},
                               Share{kMinor, kMajor, 1, 3}}) {
        authority.threshold = count * share.numerator / share.denominator + 1;
        create_permission(state, {kProducers, share.permission}, share.parent, authority, now);
    }
}

void write_genesis_state(StateDelta& state, const GenesisParameters& genesis) {
    const TimePoint now = genesis.times.initial;
    create_account(state,
                   {.name = kSystem,
                    .owner = genesis.system_authority,
                    .active = genesis.system_authority,
                    .privileged = true},
                   now);
    const Authority empty = empty_authority();
    create_account(state, {.name = kNull, .owner = empty, .active = empty}, now);
    Authority producers = empty;
    producers.accounts.push_back({{kSystem, kActive}, 1});
    create_account(state, {.name = kProducers, .owner = empty, .active = producers}, now);
    set_producers_authority(state, genesis.schedule, now);
    for (const GenesisParameters::Member& member : genesis.members) {
        if (member.name != kSystem) {
            create_account(
                state,
                {.name = member.name, .owner = member.authority, .active = member.authority},
                now);
        }
        state.put(Table::member, member_key(member.name), encode_u64(member.weight));
    }
    for (const GenesisParameters::Node& node : genesis.nodes) {
        NodeRow row;
        row.organisation = node.organisation;
        row.key = node.key;
        row.roles = node.roles;
        put_node(state, node.name, &row);
    }
    write_elections(state, genesis);
    CountersRow counters;
    counters.virtual_net_limit = genesis.config.max_block_net_usage;
    counters.virtual_cpu_limit = genesis.config.max_block_cpu_usage;
    const auto put = [&](std::string_view name, base::Bytes value) {
        state.put(Table::global, global_key(name), std::move(value));
    };
    put(kGlobalCounters, encode_counters(counters));
    put(kGlobalConfig, pack(genesis.config));
    put(kGlobalWasm, pack(genesis.wasm));
    put(kGlobalParameters, pack(genesis.parameters));
    put(kGlobalSchedule, pack(genesis.schedule));
    put(kGlobalRules, pack(RulesRow{}));
    put(kGlobalTimes, pack(genesis.times));
}

}  // namespace chain
