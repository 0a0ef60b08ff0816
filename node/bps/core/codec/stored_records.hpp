#pragma once

#include <cstdint>

namespace bps {

// Batches that lie in a segment of a log. A response names them instead of holding them, so that
// their bytes go from the file to the socket without a stay in memory.
struct StoredRecords {
    std::uint64_t log = 0;       // Of which log, as the broker numbers them.
    std::uint64_t segment = 0;   // The base offset of the segment.
    std::uint64_t position = 0;  // Bytes from its start.
    std::uint32_t bytes = 0;     // 0: no records.

    friend bool operator==(const StoredRecords&, const StoredRecords&) = default;
};

}  // namespace bps
