#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "chain/pending_block.hpp"
#include "chain/state/state.hpp"
#include "chain/types/block.hpp"
#include "chain/types/name.hpp"
#include "chain/types/transaction.hpp"
#include "node/bps/core/rights.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace bps {

// What one final block did to the rows of the contract, or all rows as a final block left them
// (spec 08, "Final only").
struct FinalRows {
    struct Change {
        RowId id;
        std::optional<base::Bytes> value;  // Nothing: the row is erased.
    };

    chain::BlockId block;
    std::int64_t time = 0;  // The block's, in milliseconds since 1970.
    std::vector<Change> changes;
    std::vector<chain::TransactionId> executed;  // In this block.
};

// `time`: that of the block's slot.
[[nodiscard]] FinalRows rows_of_block(const chain::ExecutedBlock& block,
                                      chain::TimePoint time,
                                      chain::Name contract);
// `state` is that after `block`.
[[nodiscard]] FinalRows rows_of_state(const chain::StateView& state,
                                      const chain::Block& block,
                                      chain::TimePoint time,
                                      chain::Name contract);

}  // namespace bps
