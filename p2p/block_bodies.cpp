#include "p2p/blocks.hpp"

#include <algorithm>
#include <utility>

// How a pushed block gets the transactions that it names in the place of holding them.

namespace p2p {

namespace {
constexpr base::Duration kAssemblyPatience = std::chrono::milliseconds(300);
// Points.
constexpr int kNamesBadly = 25;
constexpr int kOverBudget = 1;
}  // namespace

bool BlockGossip::assemble(Peer& peer, chain::BlockPtr& block) {
    const std::vector<base::Hash256> ids = named_by(*block);
    if (ids.empty()) return true;
    Request request{Wanted::transactions, {}};
    if (!may_copy(peer, *block, ids, request.ids)) return false;
    const bool is_all_here = request.ids.empty();
    if (!is_all_here && (request.ids.size() > kIdsMax || assemblies_.contains(block->id))) {
        want_whole(peer, block->id);
        return false;
    }
    Assembly assembly{.from = peer.slot, .block = *block};
    fill_in(assembly);
    if (is_all_here) {
        block = std::make_shared<const chain::Block>(std::move(assembly.block));
        return true;
    }
    assembly.due = peers_.now() + kAssemblyPatience + 2 * peer.round_trip_or({});
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
// has more copied than may come. No honest peer names so much: it passes on no more, whole or not.
bool BlockGossip::may_copy(Peer& peer,
                           const chain::Block& block,
                           const std::vector<base::Hash256>& ids,
                           std::vector<base::Hash256>& missing) {
    const auto refuse = [&](const char* text) {
        peers_.charge(peer, kNamesBadly, Reason::bad_block, text);
        return false;
    };
    // No valid block has it twice.
    if (std::ranges::adjacent_find(ids) != ids.end()) {
        return refuse("a block names a transaction twice");
    }
    std::size_t bytes = 0;
    for (const base::Hash256& id : ids) {
        const std::size_t found = transactions_.bytes_of(id);
        if (found == 0) missing.push_back(id);
        bytes += found;
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

void BlockGossip::fill_in(Assembly& assembly) const {
    auto& receipts = assembly.block.transactions;
    for (std::size_t i = 0; i < receipts.size(); ++i) {
        const auto* id = std::get_if<chain::TransactionId>(&receipts[i].transaction);
        if (id == nullptr) continue;
        if (auto found = transactions_.find(*id)) {
            receipts[i].transaction = *std::move(found);
        } else {
            assembly.missing.emplace(*id, i);
        }
    }
}

void BlockGossip::want_whole(const Peer& peer, const chain::BlockId& id) {
    want(id, PeerSet::of(peer.slot), peers_.now());
    must_ask_ = true;
}

void BlockGossip::fetch_whole(Assemblies::Entries::iterator at) {
    const auto [id, from] = std::pair(at->first, at->second.from);
    assemblies_.erase(at);
    want(id, PeerSet::of(from), peers_.now());
}

void BlockGossip::on_transaction(const base::Hash256& id) {
    const std::size_t bytes = transactions_.bytes_of(id);
    if (bytes == 0) return;
    auto& assemblies = assemblies_.entries();
    for (auto at = assemblies.begin(); at != assemblies.end();) {
        Assembly& assembly = at->second;
        const auto missing = assembly.missing.find(id);
        if (missing == assembly.missing.end()) {
            ++at;
            continue;
        }
        Peer* peer = peers_.at(assembly.from);
        const bool may_copy = peer != nullptr && peer->budget.take_bytes(peers_.now(), bytes);
        if (!may_copy || !assemblies_.fill(assembly, missing->second, *transactions_.find(id))) {
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
