#pragma once

#include "node/bps/core/access.hpp"
#include "node/bps/core/codec/data_messages.hpp"
#include "node/bps/core/partitions.hpp"
#include "node/bps/core/records.hpp"
#include "node/bps/core/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

namespace bps {

// Where records lie: what is answered at once. Thread: that of the broker; all that it is made of
// outlives it. The answers borrow from the requests.
class Lookups {
  public:
    Lookups(const Partitions& partitions, const Access& access, const Decompressor& opener)
        : partitions_(partitions), access_(access), opener_(opener) {}

    // By time a batch is opened, as far as its tenant has a share for that; else the answer is
    // where the batch begins, and the client reads some records in vain.
    [[nodiscard]] ListOffsetsResponse list_offsets(std::int64_t now,
                                                   const Caller& caller,
                                                   const ListOffsetsRequest& request);
    [[nodiscard]] OffsetForLeaderEpochResponse epoch_ends(
        std::int64_t now, const Caller& caller, const OffsetForLeaderEpochRequest& request) const;

  private:
    // Bytes that a tenant may have opened, which come back with time.
    struct Share {
        std::int64_t at = 0;
        std::size_t left = kShareBytes;
    };
    static constexpr std::size_t kShareBytes = std::size_t{64} << 20U;
    static constexpr std::size_t kShareBytesPerMs = std::size_t{32} << 10U;

    [[nodiscard]] Share& share_of(std::int64_t now, chain::Name tenant);

    const Partitions& partitions_;
    const Access& access_;
    const Decompressor& opener_;
    std::map<chain::Name, Share> shares_;
};

}  // namespace bps
