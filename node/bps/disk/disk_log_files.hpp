#pragma once

#include "node/bps/core/log_files.hpp"
#include "node/bps/disk/open_files.hpp"

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bps {

// A partition's directory on a disk. Names of files are at most 64 of the characters a-z, 0-9 and
// '.', do not begin with '.' and do not end with ".next", which is what a file is called while it
// is written to replace another. What has another name is not touched.
//
// Thread: that of its log. Errors name the path and say what the system says: unavailable; invalid,
// not such a name, or there is something else where a file should be.
class DiskLogFiles final : public LogFiles {
  public:
    // Makes the directory if it is not there. What is there is durable, and read from the disk
    // itself, when it returns. `files` outlives this; `path` is in no other object's hands.
    // `durable_on`: what is there is durable already, if it is on this device.
    [[nodiscard]] static base::Result<std::unique_ptr<DiskLogFiles>> open(
        std::string path, OpenFiles& files, std::optional<dev_t> durable_on = std::nullopt);
    // Makes all durable that is on the device of this directory, which it tells: many logs wait for
    // the disk once, not each.
    [[nodiscard]] static base::Result<dev_t> sync_device_of(const std::string& directory,
                                                            node::FileCalls& calls);
    ~DiskLogFiles() override;

    [[nodiscard]] base::Result<std::vector<File>> list() const override;
    [[nodiscard]] base::Result<base::Bytes> read(std::string_view name,
                                                 std::uint64_t position,
                                                 std::size_t bytes) const override;
    base::Result<void> append(std::string_view name, base::ByteView bytes) override;
    base::Result<void> truncate(std::string_view name, std::uint64_t bytes) override;
    base::Result<void> replace(std::string_view name, base::ByteView bytes) override;
    base::Result<void> rename(std::string_view from, std::string_view to) override;
    base::Result<void> remove(std::string_view name) override;

    // To be read from its descriptor (sendfile), by any thread.
    [[nodiscard]] base::Result<std::shared_ptr<const OpenFile>> share(std::string_view name) const;
    // To be synced, by any thread. Null: it is durable.
    [[nodiscard]] std::shared_ptr<OpenFile> find_unsynced(std::string_view name) const;

  private:
    DiskLogFiles(std::string path, OpenFiles& files) : path_(std::move(path)), files_(files) {}

    // Makes what a process before this one left whole and durable.
    base::Result<void> take_over(bool is_durable);
    [[nodiscard]] base::Result<std::string> path_of(std::string_view name) const;
    [[nodiscard]] base::Result<std::shared_ptr<OpenFile>> get(std::string_view name) const;

    std::string path_;
    OpenFiles& files_;
};

}  // namespace bps
