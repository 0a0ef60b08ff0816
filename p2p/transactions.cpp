#include "p2p/transactions.hpp"

#include "p2p/peer_shares.hpp"
#include "transport/number.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace p2p {

namespace {
using std::chrono::milliseconds;

constexpr std::size_t kTransactionsMax = 65'536;
constexpr std::size_t kTransactionBytesMax = 32U << 20U;
// Of one peer, so that none has the room of others; as many as one request may name.
constexpr std::size_t kAskedOfPeerMax = kIdsMax;
constexpr std::size_t kAskedMax = kPeersMax * kAskedOfPeerMax;
constexpr std::size_t kJudgingMax = 8'192;          // Of one peer, with the ledger.
constexpr std::size_t kAnswerBytesMax = 1U << 20U;  // To one request.
constexpr std::size_t kOffersAtReady = 1'024;
constexpr base::Duration kOfferDelay = milliseconds(50);
constexpr base::Duration kAskAgain = milliseconds(1'000);  // Another peer.
constexpr base::Duration kLookEvery = milliseconds(1'000) / kAskedAgain.per_second;

}  // namespace

TransactionGossip::TransactionGossip(Peers& peers)
    : peers_(peers),
      transactions_({kTransactionsMax, kTransactionBytesMax}),
      asked_({kAskedMax, ~std::size_t{0}}) {}

void TransactionGossip::push(const chain::PackedTransaction& transaction) {
    // Only a block can bring what is longer.
    if (packed_bytes(transaction) > carriage_of(MessageType::transaction).body_bytes_max) return;
    const base::Hash256 id = transaction.packed_digest();
    auto* entry = transactions_.find(id);
    if (entry == nullptr) {
        SharedBytes message = pack_message(transaction);
        const std::size_t bytes = message->size();
        entry = &transactions_.insert(id, {std::move(message), true}, bytes);
    }
    entry->value.is_good = true;
    peers_.for_each_ready([&](Peer& peer) {
        if (!peer.is_listed || peer.is_congested() || entry->holders.has(peer.slot)) return;
        send(peer, *entry, {});
    });
}

void TransactionGossip::send(Peer& peer, SeenTable<State>::Entry& entry, Mark mark) {
    entry.holders.add(peer.slot);
    if (mark.correlation == 0) {
        return peers_.send(peer, MessageType::transaction, entry.value.message);
    }
    auto bytes = std::make_shared<base::Bytes>(*entry.value.message);
    transport::store_number(std::span(*bytes).subspan(8, 8), mark.correlation);
    peers_.send(peer, MessageType::transaction, std::move(bytes));
}

void TransactionGossip::on_transaction(Peer& peer, chain::PackedTransaction transaction) {
    const base::Hash256 id = transaction.packed_digest();
    if (auto* asked = asked_.find(id)) end_asking(*asked);
    if (auto* entry = transactions_.find(id); entry != nullptr) {
        entry->holders.add(peer.slot);
        ++peers_.duplicates_dropped;
        return;
    }
    if (!peer.begin_judging(Item::transaction, kJudgingMax)) return;
    SharedBytes message = pack_message(transaction);
    const std::size_t bytes = message->size();
    transactions_.insert(id, {std::move(message), false}, bytes).holders.add(peer.slot);
    peers_.emit(effect::TransactionArrived{peer.channel, id, std::move(transaction), peer.key});
}

void TransactionGossip::on_offer(Peer& peer, const std::vector<base::Hash256>& ids) {
    Request request{Wanted::transactions, {}};
    for (const base::Hash256& id : ids) {
        if (auto* entry = transactions_.find(id); entry != nullptr) {
            entry->holders.add(peer.slot);
            continue;
        }
        if (auto* asked = asked_.find(id); asked != nullptr) {
            asked->holders.add(peer.slot);
            continue;
        }
        if (asked_of_.at(peer.slot) >= kAskedOfPeerMax) continue;
        begin_asking(asked_.insert(id, {}), peer.slot);
        request.ids.push_back(id);
    }
    if (!request.ids.empty()) peers_.send(peer, request);
}

void TransactionGossip::begin_asking(SeenTable<Asked>::Entry& entry, PeerSlot slot) {
    entry.value = {slot, peers_.now()};
    entry.holders.add(slot);
    entry.told.add(slot);
    ++asked_of_.at(slot);
}

void TransactionGossip::end_asking(const SeenTable<Asked>::Entry& entry) {
    // Who is gone is counted no more, and its slot may be another's.
    const PeerSlot slot = entry.value.of;
    if (entry.told.has(slot)) --asked_of_.at(slot);
    asked_.erase(entry.id);
}

// Nobody offers a transaction twice: who offers it first and does not send it, or goes, must not
// keep it from us. The oldest questions come first.
void TransactionGossip::ask_others() {
    if (peers_.now() < look_at_) return;
    look_at_ = peers_.now() + kLookEvery;
    std::map<PeerSlot, Request> requests;
    while (auto* late = asked_.oldest()) {
        if (peers_.now() < late->value.at + kAskAgain) break;
        const auto [id, holders, told] = std::tuple(late->id, late->holders, late->told);
        end_asking(*late);
        const auto next = next_to_ask(holders, told);
        if (!next || transactions_.look(id) != nullptr) continue;
        auto& asked = asked_.insert(id, {});
        asked.holders = holders;
        asked.told = told;
        begin_asking(asked, *next);
        requests.try_emplace(*next, Request{Wanted::transactions, {}})
            .first->second.ids.push_back(id);
    }
    for (const auto& [slot, request] : requests) {
        if (Peer* peer = peers_.at(slot)) peers_.send(*peer, request);
    }
}

std::optional<PeerSlot> TransactionGossip::next_to_ask(PeerSet holders, PeerSet asked) const {
    std::optional<PeerSlot> next;
    holders.remove(asked);
    holders.for_each([&](PeerSlot slot) {
        if (asked_of_.at(slot) >= kAskedOfPeerMax) return;
        if (!next || asked_of_.at(slot) < asked_of_.at(*next)) next = slot;
    });
    return next;
}

void TransactionGossip::forget(PeerSlot slot) {
    transactions_.forget(slot);
    asked_.forget(slot);
    asked_of_.at(slot) = 0;
}

void TransactionGossip::on_request(Peer& peer,
                                   const std::vector<base::Hash256>& ids,
                                   std::uint64_t correlation) {
    std::size_t bytes = 0;
    for (const base::Hash256& id : ids) {
        auto* entry = transactions_.find(id);
        if (entry == nullptr || peer.is_congested()) continue;
        bytes += entry->bytes;
        if (bytes > kAnswerBytesMax) return;
        send(peer, *entry, {.correlation = correlation});
    }
}

void TransactionGossip::on_judged(const input::Judged& judged) {
    Peer* peer = peers_.find(judged.channel);
    if (peer != nullptr) peer->end_judging(Item::transaction);
    if (judged.verdict == Verdict::unsure) return transactions_.erase(judged.id);
    if (judged.verdict == Verdict::bad && peer != nullptr) {
        return peers_.close(*peer, Reason::bad_transaction, judged.text);
    }
    auto* entry = transactions_.find(judged.id);
    if (judged.verdict != Verdict::good || entry == nullptr) return;
    entry->value.is_good = true;
    if (to_offer_.size() >= kTransactionsMax) return;
    to_offer_.push_back(judged.id);
    if (!offer_at_) offer_at_ = peers_.now() + kOfferDelay;
}

void TransactionGossip::on_ready(Peer& peer) {
    if (!peer.is_listed) return;
    std::vector<base::Hash256> ids;
    transactions_.newest(
        kOffersAtReady,
        [&](const auto& entry) { return entry.value.is_good && !entry.holders.has(peer.slot); },
        [&](const base::Hash256& id, auto& entry) {
            entry.told.add(peer.slot);
            ids.push_back(id);
        });
    offer(peer, std::move(ids));
}

void TransactionGossip::offer(Peer& peer, std::vector<base::Hash256> ids) {
    if (ids.empty()) return;
    Notice notice{.finalized = peer.told_final, .head = peer.told_head};
    notice.transactions.mode = SyncMode::normal;
    notice.transactions.pending = static_cast<std::uint32_t>(ids.size());
    notice.transactions.ids = std::move(ids);
    peers_.send(peer, notice);
}

void TransactionGossip::on_time() {
    ask_others();
    if (!offer_at_ || peers_.now() < *offer_at_) return;
    offer_at_.reset();
    const std::vector<base::Hash256> ids = std::exchange(to_offer_, {});
    peers_.for_each_ready([&](Peer& peer) {
        if (!peer.is_listed || peer.is_congested()) return;
        std::vector<base::Hash256> lacking;
        for (const base::Hash256& id : ids) {
            auto* entry = transactions_.find(id);
            if (entry == nullptr || entry->holders.has(peer.slot)) continue;
            if (entry->told.has(peer.slot)) continue;
            if (lacking.size() >= kIdsMax) break;
            entry->told.add(peer.slot);
            lacking.push_back(id);
        }
        offer(peer, std::move(lacking));
    });
}

SharedBytes TransactionGossip::find(const base::Hash256& id) const {
    const State* state = transactions_.look(id);
    return state == nullptr ? nullptr : state->message;
}

bool TransactionGossip::has(const Peer& peer, const base::Hash256& id) const {
    return transactions_.has(id, peer.slot);
}

}  // namespace p2p
