#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "chain/abi/json.hpp"
#include "chain/types/block.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace node {

using chain::abi::Json;

// nodeos' request: a snapshot at the heights start, start + spacing, ... up to end.
struct SnapshotRequest {
    std::uint32_t id = 0;
    std::uint32_t spacing = 0;  // 0: at `start` alone.
    chain::Height start = 0;
    chain::Height end = 0;
    std::string description;

    [[nodiscard]] bool names(chain::Height height) const;
    // The same but for the id: what nodeos calls a duplicate.
    [[nodiscard]] bool asks_same(const SnapshotRequest& other) const;
};
[[nodiscard]] Json to_json(const SnapshotRequest& request);

// The heights that the operator asked for; they survive restarts in a file.
//
// Thread: any. unavailable: the file cannot be written; then nothing changed.
class SnapshotSchedule : base::Pinned {
  public:
    static constexpr std::size_t kRequestsMax = 1'024;

    // corrupt: the file is not such a one; the text says what to do.
    [[nodiscard]] static base::Result<std::unique_ptr<SnapshotSchedule>> open(
        const std::filesystem::path& file);

    // With its number. duplicate_snapshot_request, invalid_snapshot_request: nodeos' rules.
    [[nodiscard]] base::Result<SnapshotRequest> add(SnapshotRequest request);
    // What it was. snapshot_request_not_found.
    [[nodiscard]] base::Result<SnapshotRequest> remove(std::uint32_t id);
    [[nodiscard]] std::vector<SnapshotRequest> list() const;
    [[nodiscard]] bool names(chain::Height height) const;
    // Drops requests that name no height at or above this one; returns them.
    base::Result<std::vector<SnapshotRequest>> forget_before(chain::Height height);

  private:
    explicit SnapshotSchedule(std::filesystem::path file) : file_(std::move(file)) {}
    [[nodiscard]] base::Result<void> load();
    // Becomes the contents, once it is on disk.
    [[nodiscard]] base::Result<void> replace(std::vector<SnapshotRequest> requests,
                                             std::uint32_t next_id);

    const std::filesystem::path file_;
    // Who changes the requests holds the first, also while the disk syncs; the second, which the
    // core thread takes, is held for moments.
    std::mutex writing_;
    mutable std::mutex mutex_;
    std::vector<SnapshotRequest> requests_;  // By id.
    std::uint32_t next_id_ = 0;
};

}  // namespace node
