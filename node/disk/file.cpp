#include "node/disk/file.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace node {

namespace {

base::Error failure(std::string_view what) {
    const int reason = errno;
    const auto code = reason == ENOENT ? base::Errc::not_found : base::Errc::unavailable;
    return {code, std::string(what) + ": " + std::generic_category().message(reason)};
}

}  // namespace

File& File::operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

File::~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

base::Result<File> File::open(const std::string& path, int flags, unsigned mode) {
    int descriptor = -1;
    do {
        descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return base::fail(failure("cannot open " + path));
    return File(descriptor);
}

base::Result<void> File::write_at(std::uint64_t offset, base::ByteView bytes) {
    while (!bytes.empty()) {
        const ::ssize_t written =
            ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return base::fail(failure("write failed"));
        if (written == 0) {
            return base::fail(base::Errc::unavailable, "write failed: nothing was written");
        }
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        offset += static_cast<std::uint64_t>(written);
    }
    return {};
}

base::Result<base::Bytes> File::read_at(std::uint64_t offset, std::size_t size) const {
    base::Bytes bytes(size);
    std::size_t done = 0;
    while (done < size) {
        const ::ssize_t got = ::pread(
            descriptor_, bytes.data() + done, size - done, static_cast<::off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return base::fail(failure("read failed"));
        if (got == 0) return base::fail(base::Errc::corrupt, "the file ends before its time");
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

base::Result<std::uint64_t> File::size() const {
    struct ::stat about {};
    if (::fstat(descriptor_, &about) != 0) return base::fail(failure("fstat failed"));
    return static_cast<std::uint64_t>(about.st_size);
}

base::Result<void> File::sync() {
    // Not retried: after a failed sync the kernel may have dropped the pages.
    if (::fdatasync(descriptor_) != 0) return base::fail(failure("sync failed"));
    return {};
}

base::Result<void> File::lock() {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
        return base::fail(base::Errc::unavailable, "another process holds the lock");
    }
    return {};
}

base::Result<void> sync_directory_of(const std::string& path) {
    std::string directory = std::filesystem::path(path).parent_path().string();
    if (directory.empty()) directory = ".";
    base::Result<File> opened = File::open(directory, O_RDONLY | O_DIRECTORY);
    if (!opened) return base::fail(opened.error());
    if (::fsync(opened->descriptor()) != 0) {
        return base::fail(failure("cannot sync the directory " + directory));
    }
    return {};
}

base::Result<base::Bytes> read_file(const std::string& path, std::size_t bytes_max) {
    base::Result<File> opened = File::open(path, O_RDONLY);
    if (!opened) return base::fail(opened.error());
    const base::Result<std::uint64_t> size = opened->size();
    if (!size) return base::fail(size.error());
    if (*size > bytes_max) {
        return base::fail(base::Errc::malformed,
                          path + " has " + std::to_string(*size) + " bytes, more than " +
                              std::to_string(bytes_max));
    }
    return opened->read_at(0, static_cast<std::size_t>(*size));
}

base::Result<void> write_file_atomically(const std::string& path,
                                         base::ByteView bytes,
                                         unsigned mode) {
    const std::string next = path + ".next";
    base::Result<File> opened = File::open(next, O_WRONLY | O_CREAT | O_TRUNC, mode);
    if (!opened) return base::fail(opened.error());
    base::Result<void> done = opened->write_at(0, bytes);
    if (done) done = opened->sync();
    if (done && ::rename(next.c_str(), path.c_str()) != 0) {
        done = base::fail(failure("cannot rename " + next + " to " + path));
    }
    if (done) return sync_directory_of(path);
    ::unlink(next.c_str());
    return base::fail(base::Error{done.error().code, path + ": " + done.error().detail});
}

}  // namespace node
