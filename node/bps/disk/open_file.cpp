#include "node/bps/disk/open_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace bps {

base::Result<std::shared_ptr<OpenFile>> OpenFile::open(const std::string& path,
                                                       node::FileCalls& calls) {
    auto file = node::File::open(path, O_RDWR | O_NOFOLLOW, 0, calls);
    if (!file) return base::fail(file.error());
    const auto bytes = file->size();
    if (!bytes) return base::fail(bytes.error().code, path + ": " + bytes.error().detail);
    return std::shared_ptr<OpenFile>(new OpenFile(path, *std::move(file), *bytes));
}

tl::unexpected<base::Error> OpenFile::named(const base::Error& error) const {
    return base::fail(error.code, path_ + ": " + error.detail);
}

base::Result<base::Bytes> OpenFile::read(std::uint64_t position, std::size_t bytes) const {
    const std::uint64_t left = bytes_ - std::min(position, bytes_);
    auto read =
        file_.read_at(position, static_cast<std::size_t>(std::min<std::uint64_t>(bytes, left)));
    if (!read) return named(read.error());
    return read;
}

base::Result<void> OpenFile::append(base::ByteView bytes) {
    const auto written = file_.write_at(bytes_, bytes);
    // After the write: a sync that runs meanwhile must not count it. A failed one may have written
    // something, too.
    ++writes_;
    if (!written) return named(written.error());
    bytes_ += bytes.size();
    return {};
}

base::Result<void> OpenFile::truncate(std::uint64_t bytes) {
    int cut = 0;
    do {
        cut = ::ftruncate(file_.descriptor(), static_cast<::off_t>(bytes));
    } while (cut != 0 && errno == EINTR);
    if (cut != 0) {
        return base::fail(base::Errc::unavailable,
                          path_ + ": cannot cut it: " + std::generic_category().message(errno));
    }
    bytes_ = bytes;
    ++writes_;
    return sync();
}

base::Result<void> OpenFile::sync() {
    const std::scoped_lock lock(sync_);
    if (failed_) {
        return base::fail(base::Errc::unavailable,
                          path_ +
                              ": a sync of it failed before; what was written since the one "
                              "before that may be lost: replace the disk, or start anew");
    }
    const std::uint64_t writes = writes_;
    if (const auto synced = file_.sync(); !synced) {
        failed_ = true;
        return named(synced.error());
    }
    synced_writes_ = writes;
    return {};
}

}  // namespace bps
