#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/bps/core/codec/stored_records.hpp"

#include <memory>
#include <utility>

namespace bps {

// An open file that stays readable, though it may be removed, for as long as this lives.
//
// Thread: any; its bytes that are named in answers do not change.
class RecordFile : base::Pinned {
  public:
    // The descriptor is open for as long as `owner` is there.
    RecordFile(int descriptor, std::shared_ptr<const void> owner)
        : descriptor_(descriptor), owner_(std::move(owner)) {}

    [[nodiscard]] int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
    std::shared_ptr<const void> owner_;
};

// Where stored records lie: the seam to the logs' directories. Thread: that of the broker.
class RecordFiles : base::Pinned {
  public:
    virtual ~RecordFiles() = default;

    // The file of the segment that the records are in. not_found: it is gone. unavailable: the disk
    // or the number of open files.
    [[nodiscard]] virtual base::Result<std::shared_ptr<const RecordFile>> open(
        const StoredRecords& records) = 0;
};

}  // namespace bps
