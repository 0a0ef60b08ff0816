#pragma once

#include "base/storage.hpp"
#include "p2p/network.hpp"

#include <functional>
#include <optional>

namespace node {

// Proves to who trusts the schedule of version `trusted` that stored blocks from `from` on are
// final: of them as many as one certified header can prove, up to `to`. Nothing: none can be
// proved, or the schedules that followed go over a recovery. Pure reads of one view; any thread.
[[nodiscard]] std::optional<p2p::RangeProof> prove_range(const base::StorageView& storage,
                                                         chain::Height from,
                                                         chain::Height to,
                                                         std::uint32_t trusted);

// What effect::ReadBlocks asks for: stored blocks, and the proof of the last of them if one is
// wanted and can be made. Of a range there is nothing after what is missing, or cannot be proved
// with the rest; each id is looked for. Any thread; what cannot be read is not found, and is told.
[[nodiscard]] p2p::input::BlocksRead read_blocks(
    const base::StorageView& storage,
    const p2p::effect::ReadBlocks& wanted,
    const std::function<void(chain::Height, const base::Error&)>& on_error);

}  // namespace node
