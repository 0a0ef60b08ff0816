#include "chain/execution/native_steps.hpp"
#include "chain/execution/schedule_proposal.hpp"
#include "chain/execution/schedule_rows.hpp"

#include <algorithm>
#include <map>

namespace chain {

namespace {

// For each entry of a schedule: its account, registration and convictions are looked up.
constexpr std::uint64_t kEntryUnits = 10'000;

bool check_entries(ApplyContext& context, const std::vector<ScheduleEntry>& entries) {
    if (entries.size() > context.transaction().parameters().max_producers) {
        return context.fail(Exception::wasm_execution_error,
                            "Producer schedule exceeds the maximum producer count for this chain");
    }
    std::vector<Name> names;
    for (const ScheduleEntry& entry : entries) {
        if (!context.is_account(entry.producer)) {
            return context.fail(Exception::wasm_execution_error,
                                "producer schedule includes a nonexisting account");
        }
        if (entry.signing_key.type != base::crypto::KeyType::k1 ||
            entry.vote_key.type != base::crypto::KeyType::k1) {
            return context.fail(Exception::wasm_execution_error,
                                "producer " + entry.producer.to_string() +
                                    " has a key that is not K1; blocks and votes are signed "
                                    "with K1 keys");
        }
        names.push_back(entry.producer);
    }
    std::ranges::sort(names);
    if (std::ranges::adjacent_find(names) == names.end()) return true;
    return context.fail(Exception::wasm_execution_error,
                        "duplicate producer name in producer schedule");
}

// The vote key that a producer has registered, else the one that it has in the schedule with
// this signing key, else its signing key.
void add_vote_keys(const StateView& state,
                   const Schedule& active,
                   std::vector<ScheduleEntry>& entries) {
    for (ScheduleEntry& entry : entries) {
        const auto place = active.find_producer(entry.producer);
        if (place && active.entries[*place].signing_key == entry.signing_key) {
            entry.vote_key = active.entries[*place].vote_key;
        }
        const Value row = state.find(Table::producer, producer_key(entry.producer));
        if (!row) continue;
        const auto producer = decode_row<ProducerRow>(*row);
        if (producer && producer->vote_key) entry.vote_key = *producer->vote_key;
    }
}

// Each validator votes with keys of its own, and with none that evidence has convicted.
bool check_keys(ApplyContext& context, const std::vector<ScheduleEntry>& entries) {
    std::map<PublicKey, Name> owners;
    for (const ScheduleEntry& entry : entries) {
        for (const PublicKey& key : {entry.signing_key, entry.vote_key}) {
            if (is_convicted(context.state(), key)) {
                return context.fail(Exception::wasm_execution_error,
                                    "key " + key.to_string() + " of producer " +
                                        entry.producer.to_string() +
                                        " was convicted by evidence; register another");
            }
            const auto [place, is_new] = owners.emplace(key, entry.producer);
            if (is_new || place->second == entry.producer) continue;
            return context.fail(Exception::wasm_execution_error,
                                "producers " + place->second.to_string() + " and " +
                                    entry.producer.to_string() + " have the same key " +
                                    key.to_string() + "; each validator needs its own");
        }
    }
    return true;
}

}  // namespace

std::optional<std::int64_t> propose_schedule(ApplyContext& context,
                                             std::vector<ScheduleEntry> entries) {
    StateDelta& state = context.state();
    if (entries.empty()) {
        state.erase(Table::global, global_key(kGlobalFixed));
        return -1;
    }
    if (!native::pay(context, kEntryUnits * entries.size())) return std::nullopt;
    if (!check_entries(context, entries)) return std::nullopt;
    auto schedules = load_schedules(state);
    if (!schedules) {
        context.fail(std::move(schedules).error());
        return std::nullopt;
    }
    add_vote_keys(state, *schedules->active, entries);
    if (!check_keys(context, entries)) return std::nullopt;
    auto proposed = load_proposed(state);
    if (!proposed) {
        context.fail(std::move(proposed).error());
        return std::nullopt;
    }
    const Schedule& last = schedules->proposed ? *schedules->proposed : *schedules->active;
    const bool is_new = (*proposed ? **proposed : last).entries != entries;
    put_fixed(state, entries);
    return is_new ? static_cast<std::int64_t>(last.version) + 1 : -1;
}

namespace native {

bool setpriv(ApplyContext& context) {
    const auto data = data_of<SetPriv>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    if (!context.is_account(data->account)) {
        return context.fail(Exception::account_query_exception,
                            "unknown account " + data->account.to_string());
    }
    context.transaction().change_account(data->account).privileged = data->privileged;
    return true;
}

bool setalimits(ApplyContext& context) {
    const auto data = data_of<SetAccountLimits>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    constexpr std::string_view kRange = " expected [-1,INT64_MAX]";
    if (data->ram < -1) {
        return context.fail(Exception::wasm_execution_error,
                            "invalid value for ram resource limit" + std::string(kRange));
    }
    if (data->net < -1) {
        return context.fail(Exception::wasm_execution_error,
                            "invalid value for net resource weight" + std::string(kRange));
    }
    if (data->cpu < -1) {
        return context.fail(Exception::wasm_execution_error,
                            "invalid value for cpu resource weight" + std::string(kRange));
    }
    if (!context.is_account(data->account)) {
        return context.fail(Exception::account_query_exception,
                            "unknown account " + data->account.to_string());
    }
    context.transaction().set_account_limits(data->account, data->ram, data->net, data->cpu);
    return true;
}

bool setparams(ApplyContext& context) {
    auto data = data_of<SetParams>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    data->config.max_action_return_value_size =
        context.transaction().config().max_action_return_value_size;
    if (auto valid = data->config.validate(); !valid) {
        return context.fail(std::move(valid).error());
    }
    context.transaction().set_config(data->config);
    return true;
}

bool setprods(ApplyContext& context) {
    auto data = data_of<SetProds>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    if (!data->single_keys) {
        return invalid(context,
                       "a producer's authority must be one key whose weight reaches the "
                       "threshold: a block is signed with one key");
    }
    if (data->entries.empty()) {
        const auto fixed = load_fixed(context.state());
        if (!fixed) return context.fail(fixed.error());
        if (!*fixed) {
            return invalid(context,
                           "setprods without producers has no effect: elections decide already, "
                           "as no producers are fixed");
        }
    }
    return propose_schedule(context, std::move(data->entries)).has_value();
}

bool reqauth(ApplyContext& context) {
    const auto data = data_of<OneName>(context);
    return data && context.require_authorization(data->name);
}

// Every protocol feature is active from the first block: there is nothing left to do.
bool activate(ApplyContext& context) {
    return context.require_authorization(kSystem);
}

}  // namespace native

}  // namespace chain
