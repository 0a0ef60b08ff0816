#include "chain/chain_manager.hpp"

#include <fmt/format.h>

#include <algorithm>

// What is wrong where digests were taken on trust.

namespace chain {

namespace {

constexpr std::size_t kRowsNamed = 4;

std::string rows_of(const std::vector<NetChange>& changes) {
    std::string rows;
    for (const NetChange& change : changes) {
        if (&change - changes.data() == kRowsNamed) return rows + ", ...";
        rows += fmt::format("{}table {} key {}",
                            rows.empty() ? "" : ", ",
                            static_cast<unsigned>(change.table),
                            base::to_hex(change.key));
    }
    return rows.empty() ? "none" : rows;
}

}  // namespace

std::string ChainManager::explain_digest(const BlockId& tip) {
    const auto known = state_->known_lanes(tip);
    if (!known) return fmt::format("block {} is not here", height_of(tip));
    const std::vector<ExecutedBlockPtr> held = branch(tip);
    StateLanes lanes = known->lanes;
    const std::size_t count = std::min(known->since.size(), held.size());
    for (auto at = held.end() - static_cast<std::ptrdiff_t>(count); at != held.end(); ++at) {
        const ExecutedBlock& executed = **at;
        const BlockHeader& header = executed.block->header;
        const auto parent = state_->view(header.previous);
        if (parent == nullptr)
            return fmt::format("the state below block {} is gone", header.height);
        const std::vector<NetChange> changes = net_changes(*executed.changes, *parent);
        lanes += lanes_moved(changes);
        if (lanes.digest() == header.state_digest) continue;
        return fmt::format(
            "block {} is the first whose state_digest differs: {} here, the block says {}; rows it "
            "changed here: {}",
            header.height,
            base::to_hex(lanes.digest().view()),
            base::to_hex(header.state_digest.view()),
            rows_of(changes));
    }
    return fmt::format("the digests up to block {} agree", height_of(tip));
}

}  // namespace chain
