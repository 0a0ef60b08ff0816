#pragma once

#include "base/storage.hpp"
#include "chain/state/history_floor.hpp"
#include "chain/types/time.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace chain {

// How much of what is final stays stored, counted back from the newest final block.
struct Retention {
    enum class Unit : std::uint8_t { all, blocks, days };
    Unit unit = Unit::all;
    std::uint32_t count = 0;

    friend bool operator==(const Retention&, const Retention&) = default;
    // "full", "<n>b", "<n>d", or "none", which is no block. invalid: names what is wanted.
    [[nodiscard]] static base::Result<Retention> from_string(std::string_view text);
};

struct PruningRules {
    Retention blocks;
    Retention traces;
    SlotTimes times;
    std::vector<Height> recoveries{};  // From which blocks the recoveries begin that are not links.
};

// Where the history is to begin (spec 05, "Always joinable"): never above what a restart reads, the
// agreement part of `snapshot`, the newest one of this node, or the final block; blocks from which
// a recovery begins stay, with their children. No snapshot: no block goes.
//
// Pure: reads `storage`, which should be a snapshot. Equal to the stored floor: nothing is due.
[[nodiscard]] base::Result<HistoryFloor> next_floor(const base::StorageView& storage,
                                                    const PruningRules& rules,
                                                    std::optional<Height> snapshot);

}  // namespace chain
