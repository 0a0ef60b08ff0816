#include "tests/sim/consensus/cluster.hpp"

#include <algorithm>
#include <utility>

// What is below a final block comes in one piece, and is adopted without a look at its
// certificates: `trust = certified` (spec 05). It is written when what it leads to is final here.

namespace sim {

namespace {

constexpr chain::Height kRangeMax = 40;

}  // namespace

std::shared_ptr<const Range> Host::range_from(const Seen& first) const {
    const chain::Certificate* final = consensus_->final_certificate();
    if (final == nullptr) return nullptr;
    const chain::Height from = first.header().height;
    if (final->data.height <= from) return nullptr;
    if (final->data.height - from > kRangeMax && !cluster_.has_small_trees()) return nullptr;
    Range range{.blocks = {}, .final = std::make_shared<const chain::Certificate>(*final)};
    const Seen* at = cluster_.observer().find(final->data.block_id);
    for (; at != nullptr && at->header().height >= from; at = at->parent)
        range.blocks.push_back(at->block);
    if (range.blocks.back()->id != first.block->id) return nullptr;
    std::ranges::reverse(range.blocks);
    return std::make_shared<const Range>(std::move(range));
}

void Host::receive(std::size_t from, const std::shared_ptr<const Range>& range) {
    using Fate = consensus::HeaderVerdict::Fate;
    const chain::BlockPtr& last = range->blocks.back();
    for (const chain::BlockPtr& block : range->blocks) {
        if (consensus_->holds(block->id)) continue;
        const auto verdict = consensus_->check(local_now(), *block);
        // What does not go on from here goes the way of all blocks.
        if (verdict.fate != Fate::good || block == last) {
            receive(from, block);
            break;
        }
        cluster_.count("blocks adopted unchecked");
        adopt(block, /*spared=*/true);
    }
    if (consensus_->holds(last->id)) receive(from, range->final);
}

void Host::write_spared(chain::Height final) {
    const auto is_above = [&](const auto& block) { return block->header.height > final; };
    const auto end = std::ranges::find_if(spared_, is_above);
    std::for_each(spared_.begin(), end, [&](const chain::BlockPtr& block) {
        Write stored;
        stored.block = block;
        disk_.write(std::move(stored));
    });
    spared_.erase(spared_.begin(), end);
}

// The block that is voted for, and what it stands on.
void Host::check_on_disk(const chain::BlockId& voted_for) {
    const Rows& rows = disk_.state();
    const Seen* at = cluster_.observer().find(voted_for);
    for (; at->header().height > rows.base.block->header.height; at = at->parent) {
        if (rows.blocks.contains(at->block->id)) continue;
        return cluster_.observer().fail(
            "a vote leaves for what stands on a block that is on no disk");
    }
}

}  // namespace sim
