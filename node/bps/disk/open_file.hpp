#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/disk/file.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace bps {

// A file of a log, open for as long as somebody holds it, also when its name is gone. A symbolic
// link is not followed.
//
// Thread: that of its log; sync() and descriptor() any. Errors name the file: unavailable, the disk
// is full or failing; not_found, there is no such file.
class OpenFile : base::Pinned {
  public:
    [[nodiscard]] static base::Result<std::shared_ptr<OpenFile>> open(const std::string& path,
                                                                      node::FileCalls& calls);

    // Up to `bytes` bytes from `position` on: fewer only at the end.
    [[nodiscard]] base::Result<base::Bytes> read(std::uint64_t position, std::size_t bytes) const;
    // To the end. After an error some first part of `bytes` may be there, behind the end.
    base::Result<void> append(base::ByteView bytes);
    // Durable when it returns.
    base::Result<void> truncate(std::uint64_t bytes);

    // Makes durable what was appended before. Fails for ever once it failed: the kernel may drop
    // what it could not write and say so once, and the next sync would then succeed for nothing.
    base::Result<void> sync();
    [[nodiscard]] bool has_unsynced() const { return writes_ != synced_writes_; }
    [[nodiscard]] bool has_failed() const { return failed_; }

    // For sendfile().
    [[nodiscard]] int descriptor() const { return file_.descriptor(); }

  private:
    OpenFile(std::string path, node::File file, std::uint64_t bytes)
        : path_(std::move(path)), file_(std::move(file)), bytes_(bytes) {}

    [[nodiscard]] tl::unexpected<base::Error> named(const base::Error& error) const;

    std::string path_;
    node::File file_;
    std::uint64_t bytes_;
    std::mutex sync_;  // Of two syncs at a time only one would hear of a failure.
    std::atomic<std::uint64_t> writes_ = 0;
    std::atomic<std::uint64_t> synced_writes_ = 0;
    std::atomic<bool> failed_ = false;
};

}  // namespace bps
