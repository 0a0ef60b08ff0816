#include "p2p/assemblies.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace p2p {

std::vector<Named> named_by(const chain::Block& block) {
    std::vector<Named> named;
    for (std::size_t i = 0; i < block.transactions.size(); ++i) {
        const auto* id = std::get_if<chain::TransactionId>(&block.transactions[i].transaction);
        if (id != nullptr) named.push_back({*id, i});
    }
    return named;
}

bool Assemblies::add(const chain::BlockId& id, Assembly assembly, std::vector<Gone>& gone) {
    constexpr std::size_t kMissing = 128;  // What a map takes of each, at most.
    assembly.bytes = memory_of(assembly.block) + assembly.missing.size() * kMissing;
    if (!make_room(assembly.from, assembly.bytes, gone)) return false;
    shares_.add(assembly.from, assembly.bytes);
    entries_.emplace(id, std::move(assembly));
    return true;
}

bool Assemblies::make_room(PeerSlot from, std::size_t bytes, std::vector<Gone>& gone) {
    while (!shares_.has_room(bytes)) {
        const auto most = shares_.find_most(from, bytes);
        if (!most) return false;
        const auto first = std::ranges::find_if(
            entries_, [most](const auto& item) { return item.second.from == *most; });
        CHECK(first != entries_.end());
        gone.push_back({first->first, *most});
        erase(first);
    }
    return true;
}

bool Assemblies::fill(Assembly& assembly, std::size_t place, chain::PackedTransaction transaction) {
    const std::size_t bytes = memory_of(transaction);
    if (!shares_.grow(assembly.from, bytes)) return false;
    assembly.block.transactions.at(place).transaction = std::move(transaction);
    assembly.bytes += bytes;
    return true;
}

Assemblies::Entries::iterator Assemblies::erase(Entries::iterator at) {
    shares_.remove(at->second.from, at->second.bytes);
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
