#include "chain/execution/authorization.hpp"
#include "chain/execution/native_steps.hpp"
#include "chain/execution/schedule_proposal.hpp"

#include <algorithm>

namespace chain {

namespace {

constexpr Name kSystem = "eosio"_n;

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

// The vote key that a producer has registered, else its signing key.
void add_vote_keys(const StateView& state, std::vector<ScheduleEntry>& entries) {
    for (ScheduleEntry& entry : entries) {
        const Value row = state.find(Table::producer, producer_key(entry.producer));
        if (!row) continue;
        const auto producer = decode_producer(*row);
        if (producer && producer->vote_key) entry.vote_key = *producer->vote_key;
    }
}

}  // namespace

std::optional<std::int64_t> propose_schedule(ApplyContext& context,
                                             std::vector<ScheduleEntry> entries) {
    StateDelta& state = context.state();
    if (entries.empty()) {
        state.erase(Table::global, global_key(kGlobalProposed));
        state.erase(Table::global, global_key(kGlobalFixed));
        return -1;
    }
    if (!check_entries(context, entries)) return std::nullopt;
    add_vote_keys(state, entries);
    auto active = load_schedule(state);
    auto pending = load_pending(state);
    auto proposed = load_proposed(state);
    for (const base::Error* error : {active ? nullptr : &active.error(),
                                     pending ? nullptr : &pending.error(),
                                     proposed ? nullptr : &proposed.error()}) {
        if (error == nullptr) continue;
        context.fail(*error);
        return std::nullopt;
    }
    const Schedule& last = *pending ? **pending : *active;
    const Schedule& newest = *proposed ? **proposed : last;
    if (newest.entries == entries) return -1;
    const Schedule next{.version = last.version + 1, .entries = std::move(entries)};
    state.put(Table::global, global_key(kGlobalProposed), pack(next));
    state.put(Table::global, global_key(kGlobalFixed), {});
    return static_cast<std::int64_t>(next.version);
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
        return context.fail(Exception::action_validate_exception,
                            "a producer's authority must be one key whose weight reaches the "
                            "threshold: a block is signed with one key");
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

bool regproducer(ApplyContext& context) {
    const auto data = data_of<RegProducer>(context);
    if (!data || !context.require_authorization(data->producer)) return false;
    if (data->url.size() >= 512) {
        return context.fail(Exception::action_validate_exception, "url too long");
    }
    if (data->key.type != base::crypto::KeyType::k1) {
        return context.fail(Exception::action_validate_exception,
                            "a producer's key must be K1: blocks are signed with K1 keys");
    }
    ProducerRow row;
    const RowKey key = producer_key(data->producer);
    if (const Value old = context.state().find(Table::producer, key)) {
        auto before = decode_producer(*old);
        if (!before) return context.fail(std::move(before).error());
        row.vote_key = before->vote_key;
    }
    row.key = data->key;
    row.url = data->url;
    row.location = data->location;
    context.state().put(Table::producer, key, encode_producer(row));
    return true;
}

bool unregprod(ApplyContext& context) {
    const auto data = data_of<OneName>(context);
    if (!data || !context.require_authorization(data->name)) return false;
    const RowKey key = producer_key(data->name);
    const Value old = context.state().find(Table::producer, key);
    if (!old) return context.fail(Exception::action_validate_exception, "producer not found");
    auto row = decode_producer(*old);
    if (!row) return context.fail(std::move(row).error());
    row->active = false;
    context.state().put(Table::producer, key, encode_producer(*row));
    return true;
}

bool voteproducer(ApplyContext& context) {
    const auto data = data_of<VoteProducer>(context);
    if (!data || !context.require_authorization(data->voter)) return false;
    constexpr std::size_t kVotesMax = 30;
    const auto refuse = [&](std::string text) {
        return context.fail(Exception::action_validate_exception, std::move(text));
    };
    if (!data->proxy.empty() && !data->producers.empty()) {
        return refuse("cannot vote for producers and proxy at same time");
    }
    if (data->voter == data->proxy) return refuse("cannot proxy to self");
    if (data->producers.size() > kVotesMax) {
        return refuse("attempt to vote for too many producers");
    }
    const auto unordered = std::ranges::adjacent_find(data->producers, std::greater_equal<>());
    if (unordered != data->producers.end()) {
        return refuse("producer votes must be unique and sorted");
    }
    for (const Name producer : data->producers) {
        if (!context.state().find(Table::producer, producer_key(producer))) {
            return refuse("producer " + producer.to_string() + " is not registered");
        }
    }
    VoterRow row;
    const RowKey key = voter_key(data->voter);
    if (const Value old = context.state().find(Table::producer, key)) {
        auto before = decode_voter(*old);
        if (!before) return context.fail(std::move(before).error());
        row.is_proxy = before->is_proxy;
    }
    if (row.is_proxy && !data->proxy.empty()) {
        return refuse("account registered as a proxy is not allowed to use a proxy");
    }
    row.proxy = data->proxy;
    row.producers = data->producers;
    context.state().put(Table::producer, key, encode_voter(row));
    return true;
}

bool regproxy(ApplyContext& context) {
    const auto data = data_of<RegProxy>(context);
    if (!data || !context.require_authorization(data->proxy)) return false;
    VoterRow row;
    const RowKey key = voter_key(data->proxy);
    if (const Value old = context.state().find(Table::producer, key)) {
        auto before = decode_voter(*old);
        if (!before) return context.fail(std::move(before).error());
        row = std::move(*before);
    }
    if (row.is_proxy == data->is_proxy) {
        return context.fail(Exception::action_validate_exception, "action has no effect");
    }
    if (data->is_proxy && !row.proxy.empty()) {
        return context.fail(Exception::action_validate_exception,
                            "account that uses a proxy is not allowed to become a proxy");
    }
    row.is_proxy = data->is_proxy;
    context.state().put(Table::producer, key, encode_voter(row));
    return true;
}

}  // namespace native

}  // namespace chain
