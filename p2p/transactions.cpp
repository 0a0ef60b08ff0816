#include "p2p/transactions.hpp"

#include "p2p/peer_shares.hpp"
#include "transport/number.hpp"

#include <utility>

namespace p2p {

namespace {
using std::chrono::milliseconds;

constexpr std::size_t kTransactionsMax = 65'536;
constexpr std::size_t kTransactionBytesMax = 32U << 20U;
constexpr std::size_t kAskedMax = 16'384;
constexpr std::size_t kJudgingMax = 8'192;          // Of one peer, with the ledger.
constexpr std::size_t kAnswerBytesMax = 1U << 20U;  // To one request.
constexpr std::size_t kOffersAtReady = 1'024;
constexpr base::Duration kOfferDelay = milliseconds(50);
constexpr base::Duration kAskAgain = milliseconds(1'000);

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
    asked_.erase(id);
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
        auto* asked = asked_.find(id);
        if (asked != nullptr && peers_.now() < asked->value.at + kAskAgain) continue;
        if (asked == nullptr) asked = &asked_.insert(id, {});
        asked->value.at = peers_.now();
        request.ids.push_back(id);
    }
    if (!request.ids.empty()) peers_.send(peer, request);
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
