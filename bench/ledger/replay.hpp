#pragma once

#include "bench/ledger/chain.hpp"

#include <cstdint>
#include <filesystem>

namespace bench {

struct ReplayOptions {
    // Whether the state digest is computed at every block, or where blocks are made final.
    bool digest_at_every_block = true;
    chain::Height from = 2;             // What comes before is replayed, but not counted.
    std::uint32_t blocks_together = 8;  // Made final in one batch.
};

struct Replayed {
    std::uint64_t transactions = 0;
    std::uint64_t blocks = 0;
    double cpu = 0;  // Seconds, of all threads.
    double wall = 0;
};

// Executes the stored blocks of a chain again, without their signatures, in a database of its own
// in `scratch`, as --verify-chain does: reads, decodes, executes, compares the headers, and
// writes the state.
[[nodiscard]] Replayed replay(Ledger& ledger,
                              const std::filesystem::path& scratch,
                              const ReplayOptions& options);

}  // namespace bench
