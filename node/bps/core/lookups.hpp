#pragma once

#include "node/bps/core/access.hpp"
#include "node/bps/core/codec/data_messages.hpp"
#include "node/bps/core/partitions.hpp"
#include "node/bps/core/records.hpp"
#include "node/bps/core/reply.hpp"

#include <cstdint>

namespace bps {

// Where records lie: what is answered at once. Thread: that of the broker; all that it is made of
// outlives it. The answers borrow from the requests.
class Lookups {
  public:
    Lookups(const Partitions& partitions, const Access& access, const Decompressor& opener)
        : partitions_(partitions), access_(access), opener_(opener) {}

    [[nodiscard]] ListOffsetsResponse list_offsets(std::int64_t now,
                                                   const Caller& caller,
                                                   const ListOffsetsRequest& request) const;
    [[nodiscard]] OffsetForLeaderEpochResponse epoch_ends(
        std::int64_t now, const Caller& caller, const OffsetForLeaderEpochRequest& request) const;

  private:
    const Partitions& partitions_;
    const Access& access_;
    const Decompressor& opener_;
};

}  // namespace bps
