#include "p2p/assemblies.hpp"

#include "base/check.hpp"
#include "p2p/orphans.hpp"

#include <algorithm>
#include <utility>

namespace p2p {

bool Assemblies::add(const chain::BlockId& id, Assembly assembly, std::vector<Gone>& gone) {
    assembly.bytes = packed_bytes(assembly.block) +
                     assembly.block.transactions.size() * sizeof(chain::TransactionReceipt);
    if (!make_room(assembly.from, assembly.bytes, gone)) return false;
    ++used_.at(assembly.from).blocks;
    used_.at(assembly.from).bytes += assembly.bytes;
    bytes_ += assembly.bytes;
    entries_.emplace(id, std::move(assembly));
    return true;
}

bool Assemblies::make_room(PeerSlot from, std::size_t bytes, std::vector<Gone>& gone) {
    while (entries_.size() >= kBlocksMax || bytes_ + bytes > kBytesMax) {
        const auto part = entries_.size() >= kBlocksMax ? &Used::blocks : &Used::bytes;
        const auto most = std::ranges::max_element(used_, {}, part);
        const std::size_t ours = used_.at(from).*part + (part == &Used::blocks ? 1 : bytes);
        if (ours >= (*most).*part) return false;
        const auto slot = static_cast<PeerSlot>(most - used_.begin());
        const auto first = std::ranges::find_if(
            entries_, [slot](const auto& item) { return item.second.from == slot; });
        CHECK(first != entries_.end());
        gone.push_back({first->first, slot});
        erase(first);
    }
    return true;
}

bool Assemblies::fill(Assembly& assembly, std::size_t place, chain::PackedTransaction transaction) {
    const std::size_t bytes = transaction.net_bytes_unprunable() + transaction.net_bytes_prunable();
    if (bytes_ + bytes > kBytesMax) return false;
    assembly.block.transactions.at(place).transaction = std::move(transaction);
    assembly.bytes += bytes;
    used_.at(assembly.from).bytes += bytes;
    bytes_ += bytes;
    return true;
}

Assemblies::Entries::iterator Assemblies::erase(Entries::iterator at) {
    const Assembly& assembly = at->second;
    --used_.at(assembly.from).blocks;
    used_.at(assembly.from).bytes -= assembly.bytes;
    bytes_ -= assembly.bytes;
    return entries_.erase(at);
}

void Assemblies::erase(const chain::BlockId& id) {
    const auto at = entries_.find(id);
    if (at != entries_.end()) erase(at);
}

void Assemblies::forget(PeerSlot slot) {
    for (auto at = entries_.begin(); at != entries_.end();)
        at = at->second.from == slot ? erase(at) : std::next(at);
}

}  // namespace p2p
