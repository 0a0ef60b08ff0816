#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bps {

// The directory of one partition: the seam below Log. Implemented over files (node/bps) and in
// memory with faults (tests).
//
// Thread: that of its Log. unavailable: the disk is full or failing. Only append() leaves anything
// to be made durable; Log says when (Log::unsynced).
class LogFiles : base::Pinned {
  public:
    struct File {
        std::string name;
        std::uint64_t bytes = 0;
    };

    virtual ~LogFiles() = default;

    // Ascending by name.
    [[nodiscard]] virtual base::Result<std::vector<File>> list() const = 0;
    // Up to `bytes` bytes from `position` on: fewer only at the end of the file. not_found.
    [[nodiscard]] virtual base::Result<base::Bytes> read(std::string_view name,
                                                         std::uint64_t position,
                                                         std::size_t bytes) const = 0;
    // Adds to the end of a file that is there. Visible to read() at once; durable after a sync of
    // the file. After an error some first part of `bytes` may be there.
    virtual base::Result<void> append(std::string_view name, base::ByteView bytes) = 0;
    // Each of these is durable, and whole or not at all, when it returns.
    virtual base::Result<void> truncate(std::string_view name, std::uint64_t bytes) = 0;
    virtual base::Result<void> replace(std::string_view name, base::ByteView bytes) = 0;
    // `to`, if it is there, is replaced. What was appended to `from` was synced before.
    virtual base::Result<void> rename(std::string_view from, std::string_view to) = 0;
    // Removing what is not there is success.
    virtual base::Result<void> remove(std::string_view name) = 0;
};

}  // namespace bps
