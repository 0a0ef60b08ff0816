#include "chain/execution/elections.hpp"
#include "chain/execution/native_steps.hpp"
#include "chain/types/evidence.hpp"

#include <algorithm>

namespace chain::native {

namespace {

bool is_proxy(const StateView& state, Name account) {
    const Value row = state.find(Table::producer, voter_key(account));
    const auto voter = row ? decode_row<VoterRow>(*row) : VoterRow{};
    return voter && voter->is_proxy;
}

bool require_candidates(ApplyContext& context, const std::vector<Name>& producers) {
    for (const Name producer : producers) {
        const Value value = context.state().find(Table::producer, producer_key(producer));
        if (!value) {
            return invalid(context, "producer " + producer.to_string() + " is not registered");
        }
        const auto row = decode_row<ProducerRow>(*value);
        if (!row) return context.fail(row.error());
        if (!row->active) {
            return invalid(context,
                           "producer " + producer.to_string() + " is not currently registered");
        }
    }
    return true;
}

bool refuse_convicted(ApplyContext& context, const PublicKey& key) {
    if (!is_convicted(context.state(), key)) return true;
    return invalid(context,
                   "key " + key.to_string() + " was convicted by evidence and never counts again");
}

}  // namespace

bool regproducer(ApplyContext& context) {
    const auto data = data_of<RegProducer>(context);
    if (!data || !context.require_authorization(data->producer)) return false;
    if (data->url.size() >= 512) {
        return invalid(context, "url too long");
    }
    if (data->key.type != base::crypto::KeyType::k1) {
        return invalid(context, "a producer's key must be K1: blocks are signed with K1 keys");
    }
    if (!refuse_convicted(context, data->key)) return false;
    ProducerRow row;
    const RowKey key = producer_key(data->producer);
    if (const Value old = context.state().find(Table::producer, key)) {
        auto before = decode_row<ProducerRow>(*old);
        if (!before) return context.fail(std::move(before).error());
        // A new key is for votes, too, until setvotekey names another.
        if (before->key == data->key) row.vote_key = before->vote_key;
    }
    row.key = data->key;
    row.url = data->url;
    row.location = data->location;
    context.state().put(Table::producer, key, pack(row));
    return true;
}

bool unregprod(ApplyContext& context) {
    const auto data = data_of<OneName>(context);
    if (!data || !context.require_authorization(data->name)) return false;
    const RowKey key = producer_key(data->name);
    const Value old = context.state().find(Table::producer, key);
    if (!old) return invalid(context, "producer not found");
    auto row = decode_row<ProducerRow>(*old);
    if (!row) return context.fail(std::move(row).error());
    row->active = false;
    context.state().put(Table::producer, key, pack(*row));
    return true;
}

bool voteproducer(ApplyContext& context) {
    const auto data = data_of<VoteProducer>(context);
    if (!data || !context.require_authorization(data->voter)) return false;
    if (!data->proxy.empty() && !data->producers.empty()) {
        return invalid(context, "cannot vote for producers and proxy at same time");
    }
    if (data->voter == data->proxy) return invalid(context, "cannot proxy to self");
    if (data->producers.size() > kVotesMax) {
        return invalid(context, "attempt to vote for too many producers");
    }
    const auto unordered = std::ranges::adjacent_find(data->producers, std::greater_equal<>());
    if (unordered != data->producers.end()) {
        return invalid(context, "producer votes must be unique and sorted");
    }
    const std::uint64_t look_up = context.transaction().prices()[Cost::state].of(0);
    if (!pay(context, look_up * data->producers.size())) return false;
    if (!require_candidates(context, data->producers)) return false;
    VoterRow row;
    const RowKey key = voter_key(data->voter);
    if (const Value old = context.state().find(Table::producer, key)) {
        auto before = decode_row<VoterRow>(*old);
        if (!before) return context.fail(std::move(before).error());
        row.is_proxy = before->is_proxy;
    }
    if (!data->proxy.empty() && !is_proxy(context.state(), data->proxy)) {
        return invalid(context, "invalid proxy specified");
    }
    if (row.is_proxy && !data->proxy.empty()) {
        return invalid(context, "account registered as a proxy is not allowed to use a proxy");
    }
    // As who has no stake in nodeos' system contract. A vote can always be taken back.
    const bool votes = !data->proxy.empty() || !data->producers.empty();
    const bool counts =
        row.is_proxy || context.state().find(Table::member, member_key(data->voter)) != nullptr;
    if (votes && !counts) {
        return invalid(context,
                       data->voter.to_string() +
                           " is no member and no proxy, so its vote would count for nothing: "
                           "members vote ('bor-cli member list'), and a proxy for those that name "
                           "it");
    }
    row.proxy = data->proxy;
    row.producers = data->producers;
    context.state().put(Table::producer, key, pack(row));
    return true;
}

bool regproxy(ApplyContext& context) {
    const auto data = data_of<RegProxy>(context);
    if (!data || !context.require_authorization(data->proxy)) return false;
    VoterRow row;
    const RowKey key = voter_key(data->proxy);
    if (const Value old = context.state().find(Table::producer, key)) {
        auto before = decode_row<VoterRow>(*old);
        if (!before) return context.fail(std::move(before).error());
        row = std::move(*before);
    }
    if (row.is_proxy == data->is_proxy) {
        return invalid(context, "action has no effect");
    }
    if (data->is_proxy && !row.proxy.empty()) {
        return invalid(context, "account that uses a proxy is not allowed to become a proxy");
    }
    row.is_proxy = data->is_proxy;
    context.state().put(Table::producer, key, pack(row));
    return true;
}

bool setvotekey(ApplyContext& context) {
    const auto data = data_of<SetVoteKey>(context);
    if (!data || !context.require_authorization(data->producer)) return false;
    if (data->key.type != base::crypto::KeyType::k1) {
        return invalid(context, "a vote key must be K1: votes are signed with K1 keys");
    }
    if (!refuse_convicted(context, data->key)) return false;
    const RowKey key = producer_key(data->producer);
    const Value old = context.state().find(Table::producer, key);
    if (!old) return invalid(context, "producer not found");
    auto row = decode_row<ProducerRow>(*old);
    if (!row) return context.fail(std::move(row).error());
    row->vote_key = data->key;
    context.state().put(Table::producer, key, pack(*row));
    return true;
}

// Authorization has found the signatures of both keys that were registered before the transaction;
// nothing in it may have changed them, and no contract has them.
bool ready(ApplyContext& context) {
    const auto data = data_of<OneName>(context);
    if (!data || !context.require_authorization(data->name)) return false;
    const bool is_alone = context.transaction().transaction().actions.size() == 1;
    if (!is_alone || !context.sender().empty()) {
        return invalid(context, "ready must be the only action of its transaction");
    }
    auto entry = find_next_entry(context.state(), data->name);
    if (!entry) return context.fail(std::move(entry).error());
    if (!*entry) {
        return invalid(
            context,
            data->name.to_string() + " is neither registered as a producer nor named by setprods");
    }
    put_ready(context.state(),
              data->name,
              {.slot = context.block().slot,
               .signing_key = (*entry)->signing_key,
               .vote_key = (*entry)->vote_key});
    return true;
}

// Its operator has told a node whose safety journal was lost to vote at once (spec 04).
bool amnesia(ApplyContext& context) {
    const auto data = data_of<OneName>(context);
    if (!data || !context.require_authorization(data->name)) return false;
    auto entry = find_entry(context.state(), data->name);
    if (!entry) return context.fail(std::move(entry).error());
    if (!*entry) return invalid(context, data->name.to_string() + " is no validator");
    put_amnesia(context.state(),
                data->name,
                {.slot = context.block().slot, .vote_key = (*entry)->vote_key});
    return true;
}

namespace {

// Hashing what the evidence holds, and two signatures.
bool charge_for_evidence(ApplyContext& context, std::size_t bytes) {
    const PriceTable& prices = context.transaction().prices();
    const std::uint64_t units =
        2 * prices[Cost::recover].of(0) + prices[Cost::sha256].of((bytes / 1'024 + 1) * 1'024);
    return pay(context, units);
}

}  // namespace

// Anybody may report: the evidence shows by itself what was done.
bool reportbad(ApplyContext& context) {
    const base::Bytes& packed = context.action().data;
    if (!charge_for_evidence(context, packed.size())) return false;
    base::Reader in(packed);
    const base::ByteView bytes = in.bytes("evidence", packed.size());
    if (auto done = in.finish(); !done) return context.fail(std::move(done).error());
    const auto evidence = unpack<Evidence>(bytes, "evidence");
    if (!evidence) return invalid(context, evidence.error().detail);
    const auto key = check(*evidence, context.block().chain_id);
    if (!key) return invalid(context, key.error().detail);
    if (is_convicted(context.state(), *key)) {
        return invalid(context, "key " + key->to_string() + " was convicted before");
    }
    const std::optional<Name> producer = find_served(context.state(), *key);
    if (!producer) {
        return invalid(context, "key " + key->to_string() + " was never a validator's");
    }
    put_convicted(context.state(),
                  {.key = *key,
                   .kind = static_cast<std::uint8_t>(evidence->index()),
                   .height = context.block().height,
                   .producer = *producer});
    context.print("convicted " + key->to_string() + " of " + producer->to_string());
    return true;
}

}  // namespace chain::native
