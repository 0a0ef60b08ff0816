#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/bps/core/access.hpp"
#include "node/bps/core/codec/requests.hpp"
#include "node/bps/core/deletions.hpp"
#include "node/bps/core/fetches.hpp"
#include "node/bps/core/lookups.hpp"
#include "node/bps/core/partitions.hpp"
#include "node/bps/core/produces.hpp"
#include "node/bps/core/reply.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace bps {

// What one broker does (spec 08): requests, final rows, time and what the disk said go in; replies,
// syncs and actions for the chain come out.
//
// Thread: one. Times are milliseconds since 1970, and never fall.
class Broker : base::Pinned {
  public:
    // Both outlive it.
    Broker(const Access& access, const Decompressor& opener)
        : produces_(partitions_, access),
          fetches_(partitions_, access),
          deletions_(partitions_, access),
          lookups_(partitions_, access, opener) {}

    // The final rows, after Access has them. The partition is there, but for add().
    void add(PartitionId id, std::unique_ptr<Log> log, const PartitionSettings& settings);
    void configure(PartitionId id, const PartitionSettings& settings);
    base::Result<void> lead(
        std::int64_t now, PartitionId id, std::int32_t epoch, std::int32_t insync, Effects& out);
    void stop_leading(std::int64_t now, PartitionId id, Effects& out);
    base::Result<void> set_log_start(std::int64_t now,
                                     PartitionId id,
                                     std::int64_t offset,
                                     Effects& out);
    // The topic is deleted. The files can go afterwards.
    void remove(std::int64_t now, PartitionId id, Effects& out);

    // A request with its frame, in which its records lie. False: it is none of records.
    [[nodiscard]] bool on_request(std::int64_t now,
                                  const Caller& caller,
                                  const Request& request,
                                  std::span<std::byte> frame,
                                  Effects& out);
    void on_closed(std::uint64_t connection);
    // The sync that was asked for is done, but for these logs.
    void on_synced(std::int64_t now, const std::vector<LogId>& failed, Effects& out);
    void on_refused(const Deletion& deletion, ErrorCode code, Effects& out);
    // To be called at next_time() or soon after.
    void on_time(std::int64_t now, Effects& out);
    [[nodiscard]] std::optional<std::int64_t> next_time() const;
    // Retention, every minute or so; what failed.
    [[nodiscard]] std::vector<base::Error> expire(std::int64_t now);
    void set_disk_low(bool is_low) { partitions_.is_disk_low = is_low; }

    [[nodiscard]] const Partitions& partitions() const { return partitions_; }
    void check_invariants() const;

  private:
    [[nodiscard]] Partition& get(PartitionId id) const;
    // Answers what can be answered, and begins the next sync.
    void settle(std::int64_t now, Effects& out);

    Partitions partitions_;
    Produces produces_;
    Fetches fetches_;
    Deletions deletions_;
    Lookups lookups_;
};

}  // namespace bps
