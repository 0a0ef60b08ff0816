#include "base/check.hpp"
#include "p2p/blocks.hpp"

#include <algorithm>
#include <utility>

// How a pushed block gets the transactions that it names in the place of holding them.

namespace p2p {

namespace {
constexpr base::Duration kAssemblyPatience = std::chrono::milliseconds(300);
constexpr base::Duration kTripsMax = std::chrono::milliseconds(500);
// Points.
constexpr int kNamesBadly = 25;
constexpr int kOverBudget = 1;

chain::PackedTransaction transaction_in(const base::Bytes& message) {
    auto transaction = chain::unpack<chain::PackedTransaction>(
        base::ByteView(message).subspan(kEnvelopeBytes), "transaction");
    CHECK(transaction.has_value());
    return *std::move(transaction);
}

// Puts in what is here, and notes what is missing.
void fill_in(Assembly& assembly, const std::vector<Named>& named) {
    for (const Named& each : named) {
        if (each.message == nullptr) {
            assembly.missing.emplace(each.id, each.place);
        } else {
            assembly.block.transactions[each.place].transaction = transaction_in(*each.message);
        }
    }
}
}  // namespace

bool BlockGossip::assemble(Peer& peer, chain::BlockPtr& block) {
    std::vector<Named> named = named_by(*block);
    if (named.empty()) return true;
    if (!may_copy(peer, *block, named)) return false;
    Request request{Wanted::transactions, {}};
    for (const Named& each : named) {
        if (each.message == nullptr) request.ids.push_back(each.id);
    }
    const bool is_all_here = request.ids.empty();
    if (!is_all_here && (request.ids.size() > kIdsMax || assemblies_.contains(block->id))) {
        want_whole(peer, block->id);
        give_up_other(peer, block->id);
        return false;
    }
    Assembly assembly{.from = peer.slot, .block = *block};
    fill_in(assembly, named);
    if (is_all_here) {
        block = std::make_shared<const chain::Block>(std::move(assembly.block));
        return true;
    }
    // What a peer's round trip is, the peer decides.
    const base::Duration trips = 2 * peer.round_trip_or({});
    assembly.due = peers_.now() + kAssemblyPatience + std::min(trips, kTripsMax);
    std::vector<Assemblies::Gone> gone;
    const bool is_kept = assemblies_.add(block->id, std::move(assembly), gone);
    for (const Assemblies::Gone& each : gone)
        want(each.id, PeerSet::of(each.from), peers_.now());
    if (is_kept) {
        peers_.send(peer, request, {.correlation = kById});
    } else {
        want_whole(peer, block->id);
    }
    return false;
}

// An id is short, and what it names is not: that counts as if the peer had sent it, so that nobody
// has more copied than may come. No honest peer names more bytes: it passes on no more, whole or
// not. It may name more transactions than are looked for; then it is asked for the whole.
bool BlockGossip::may_copy(Peer& peer, const chain::Block& block, std::vector<Named>& named) {
    const auto refuse = [&](const char* text) {
        peers_.charge(peer, kNamesBadly, Reason::bad_block, text);
        return false;
    };
    if (!peer.budget.take_names(peers_.now(), named.size())) {
        want_whole(peer, block.id);
        return false;
    }
    std::ranges::sort(named, {}, &Named::id);
    // No valid block has it twice.
    if (std::ranges::adjacent_find(named, {}, &Named::id) != named.end()) {
        return refuse("a block names a transaction twice");
    }
    std::size_t bytes = 0;
    for (Named& each : named) {
        each.message = transactions_.find(each.id);
        if (each.message != nullptr) bytes += each.message->size();
    }
    if (packed_bytes(block) + bytes > carriage_of(MessageType::blocks).body_bytes_max) {
        return refuse("a block names more than a message can hold");
    }
    if (peer.budget.take_bytes(peers_.now(), bytes)) return true;
    ++peer.messages_dropped;
    peers_.charge(peer, kOverBudget, Reason::flooding, "names too many bytes of transactions");
    want_whole(peer, block.id);
    return false;
}

void BlockGossip::want_whole(const Peer& peer, const chain::BlockId& id) {
    want(id, PeerSet::of(peer.slot), peers_.now());
    must_ask_ = true;
}

// Of copies of one block by two peers one may name what does not exist, and it is not known which:
// both are asked for the whole, at once.
void BlockGossip::give_up_other(const Peer& peer, const chain::BlockId& id) {
    const auto at = assemblies_.entries().find(id);
    if (at == assemblies_.entries().end() || at->second.from == peer.slot) return;
    const PeerSlot other = at->second.from;
    fetch_whole(at);
    for (const PeerSlot slot : {other, peer.slot})
        wanted_.hurry(id, slot, peers_.now());
}

// Charges nobody: an honest peer, too, may have let go of what it named.
void BlockGossip::fetch_whole(Assemblies::Entries::iterator at) {
    const auto [id, from] = std::pair(at->first, at->second.from);
    assemblies_.erase(at);
    want(id, PeerSet::of(from), peers_.now());
}

void BlockGossip::on_transaction(const base::Hash256& id) {
    const SharedBytes message = transactions_.find(id);
    if (message == nullptr) return;
    auto& assemblies = assemblies_.entries();
    for (auto at = assemblies.begin(); at != assemblies.end();) {
        Assembly& assembly = at->second;
        const auto missing = assembly.missing.find(id);
        if (missing == assembly.missing.end()) {
            ++at;
            continue;
        }
        Peer* peer = peers_.at(assembly.from);
        const bool may_copy =
            peer != nullptr && peer->budget.take_bytes(peers_.now(), message->size());
        if (!may_copy || !assemblies_.fill(assembly, missing->second, transaction_in(*message))) {
            fetch_whole(at++);
            continue;
        }
        assembly.missing.erase(missing);
        if (!assembly.missing.empty()) {
            ++at;
            continue;
        }
        const auto block = std::make_shared<const chain::Block>(std::move(assembly.block));
        at = assemblies_.erase(at);
        place(*peer, block);
    }
    ask_if_due();
}

}  // namespace p2p
