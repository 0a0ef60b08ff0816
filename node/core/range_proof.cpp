#include "node/core/range_proof.hpp"

#include "chain/state/block_store.hpp"
#include "chain/state/proof_store.hpp"

#include <algorithm>
#include <utility>

namespace node {

namespace {

// The links to the newest schedule, or as many as a proof may have; its certified header is under
// the schedule to which the last one leads. The path is still to be made.
std::optional<p2p::RangeProof> make_steps(const chain::ProofMaker& maker, std::uint32_t trusted) {
    p2p::RangeProof proof;
    auto newest = maker.newest_certified();
    if (!newest) return std::nullopt;
    const std::uint32_t last = newest->certified.schedule_version;
    if (last < trusted) return std::nullopt;
    // No more are read than are sent, and one: who asks pays for no more.
    const auto enough = static_cast<std::uint32_t>(p2p::kRangeLinksMax + 1);
    auto links = maker.links(trusted, last - trusted > enough ? trusted + enough : last);
    if (!links) return std::nullopt;
    proof.finality = *std::move(newest);
    proof.links = *std::move(links);
    if (proof.links.size() <= p2p::kRangeLinksMax) return proof;
    proof.finality = proof.links[p2p::kRangeLinksMax].finality;
    proof.links.resize(p2p::kRangeLinksMax);
    return proof;
}

}  // namespace

std::optional<p2p::RangeProof> prove_range(const base::StorageView& storage,
                                           chain::Height from,
                                           chain::Height to,
                                           std::uint32_t trusted) {
    const chain::ProofMaker maker(storage);
    auto proof = make_steps(maker, trusted);
    if (!proof) return std::nullopt;
    const chain::BlockHeader& certified = proof->finality.certified;
    const auto height =
        static_cast<chain::Height>(std::min<std::uint64_t>(to, chain::ids_below(certified)));
    if (height < from) return std::nullopt;
    auto path = maker.path_of(height, certified);
    if (!path) return std::nullopt;
    proof->finality.ancestor = *std::move(path);
    return proof;
}

p2p::input::BlocksRead read_blocks(
    const base::StorageView& storage,
    const p2p::effect::ReadBlocks& wanted,
    const std::function<void(chain::Height, const base::Error&)>& on_error) {
    const chain::BlockReader reader(storage);
    p2p::input::BlocksRead read{.ticket = wanted.ticket, .blocks = {}};
    std::size_t bytes = 0;
    const auto add = [&](chain::Height height) {
        auto packed = reader.packed_at(height);
        if (!packed) on_error(height, packed.error());
        if (!packed || !packed->has_value()) return false;
        bytes += (*packed)->size();
        read.blocks.push_back(std::make_shared<const base::Bytes>(**std::move(packed)));
        return true;
    };
    for (const chain::BlockId& id : wanted.ids) {
        if (bytes >= wanted.bytes_max) break;
        const auto height = reader.height_of(id);
        if (height && height->has_value()) (void)add(**height);
    }
    if (!wanted.ids.empty()) return read;
    for (chain::Height height = wanted.from; height <= wanted.to; ++height) {
        if (bytes >= wanted.bytes_max || !add(height)) break;
    }
    if (!wanted.trusted || read.blocks.empty()) return read;
    const auto last = static_cast<chain::Height>(wanted.from + read.blocks.size() - 1);
    read.proof = prove_range(storage, wanted.from, last, *wanted.trusted);
    if (read.proof) read.blocks.resize(read.proof->height() - wanted.from + 1);
    return read;
}

}  // namespace node
