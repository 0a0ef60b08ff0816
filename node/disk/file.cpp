#include "node/disk/file.hpp"

#include <algorithm>
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
    std::swap(calls_, other.calls_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

File::~File() {
    if (descriptor_ >= 0) calls_->close(descriptor_);
}

base::Result<File> File::open(const std::string& path, int flags, unsigned mode, FileCalls& calls) {
    int descriptor = -1;
    do {
        descriptor = calls.open(path, flags | O_CLOEXEC, mode);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return base::fail(failure("cannot open " + path));
    return File(descriptor, calls);
}

base::Result<void> File::write_at(std::uint64_t offset, base::ByteView bytes) {
    while (!bytes.empty()) {
        const ::ssize_t written = calls_->pwrite(descriptor_, bytes.data(), bytes.size(), offset);
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
    if (auto read = read_at(offset, std::span(bytes)); !read) return base::fail(read.error());
    return bytes;
}

base::Result<void> File::read_at(std::uint64_t offset, std::span<std::byte> out) const {
    while (!out.empty()) {
        const ::ssize_t got = calls_->pread(descriptor_, out.data(), out.size(), offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return base::fail(failure("read failed"));
        if (got == 0) return base::fail(base::Errc::corrupt, "the file ends before its time");
        out = out.subspan(static_cast<std::size_t>(got));
        offset += static_cast<std::uint64_t>(got);
    }
    return {};
}

base::Result<std::uint64_t> File::size() const {
    const std::int64_t size = calls_->size(descriptor_);
    if (size < 0) return base::fail(failure("fstat failed"));
    return static_cast<std::uint64_t>(size);
}

base::Result<void> File::sync() {
    // Not retried: after a failed sync the kernel may have dropped the pages.
    if (calls_->fdatasync(descriptor_) != 0) return base::fail(failure("sync failed"));
    return {};
}

base::Result<void> File::sync_names() {
    if (calls_->fsync(descriptor_) != 0) return base::fail(failure("sync failed"));
    return {};
}

base::Result<void> File::lock() {
    if (calls_->lock(descriptor_) != 0) {
        return base::fail(base::Errc::unavailable, "another process holds the lock");
    }
    return {};
}

base::Result<void> sync_directory_of(const std::string& path, FileCalls& calls) {
    std::string directory = std::filesystem::path(path).parent_path().string();
    if (directory.empty()) directory = ".";
    base::Result<File> opened = File::open(directory, O_RDONLY | O_DIRECTORY, 0, calls);
    if (!opened) return base::fail(opened.error());
    const base::Result<void> synced = opened->sync_names();
    if (synced) return {};
    return base::fail(
        base::Error{synced.error().code,
                    "cannot sync the directory " + directory + ": " + synced.error().detail});
}

base::Result<base::Bytes> read_file(const std::string& path,
                                    std::size_t bytes_max,
                                    FileCalls& calls) {
    // Of a FIFO the other end may never come: it is not waited for, and has no bytes.
    base::Result<File> opened = File::open(path, O_RDONLY | O_NONBLOCK, 0, calls);
    if (!opened) return base::fail(opened.error());
    const base::Result<std::uint64_t> size = opened->size();
    if (!size) return base::fail(size.error());
    if (*size > bytes_max) {
        return base::fail(base::Errc::malformed,
                          path + " has " + std::to_string(*size) + " bytes, more than " +
                              std::to_string(bytes_max));
    }
    base::Result<base::Bytes> bytes = opened->read_at(0, static_cast<std::size_t>(*size));
    if (!bytes) return base::fail(bytes.error().code, path + ": " + bytes.error().detail);
    return bytes;
}

base::Result<void> write_file(const std::string& path,
                              base::ByteView bytes,
                              unsigned mode,
                              FileCalls& calls) {
    base::Result<File> opened = File::open(path, O_WRONLY | O_CREAT | O_TRUNC, mode, calls);
    if (!opened) return base::fail(opened.error());
    base::Result<void> done = opened->write_at(0, bytes);
    if (done) done = opened->sync();
    if (done) return {};
    return base::fail(done.error().code, path + ": " + done.error().detail);
}

base::Result<void> write_file_atomically(const std::string& path,
                                         base::ByteView bytes,
                                         unsigned mode,
                                         FileCalls& calls) {
    const std::string next = path + ".next";
    base::Result<void> done = write_file(next, bytes, mode, calls);
    if (done) done = rename_file(next, path, calls);
    if (done) return sync_directory_of(path, calls);
    calls.unlink(next);
    return done;
}

base::Result<std::vector<std::string>> list_directory(const std::string& path, FileCalls& calls) {
    std::vector<std::string> names;
    if (calls.list(path, names) != 0) return base::fail(failure(path));
    std::ranges::sort(names);
    return names;
}

base::Result<void> make_directories(const std::string& path, FileCalls& calls) {
    std::vector<std::string> missing;  // The lowest first.
    std::filesystem::path at = path;
    while (!at.empty() && !calls.is_directory(at.string()) && at != at.parent_path()) {
        missing.push_back(at.string());
        at = at.parent_path();
    }
    for (; !missing.empty(); missing.pop_back()) {
        if (calls.mkdir(missing.back(), 0777) != 0 && errno != EEXIST) {
            return base::fail(failure("cannot make the directory " + missing.back()));
        }
        if (auto synced = sync_directory_of(missing.back(), calls); !synced) return synced;
    }
    return {};
}

base::Result<void> remove_tree(const std::string& path, FileCalls& calls) {
    // The last one first; a directory stays until what is in it is gone.
    std::vector<std::string> left{path};
    while (!left.empty()) {
        const std::string each = left.back();
        bool is_gone = calls.unlink(each) == 0 || errno == ENOENT;
        if (!is_gone && errno != EISDIR) return base::fail(failure("cannot remove " + each));
        is_gone = is_gone || calls.rmdir(each) == 0 || errno == ENOENT;
        if (is_gone) {
            left.pop_back();
            continue;
        }
        const base::Error reason = failure("cannot remove " + each);
        const auto names = list_directory(each, calls);
        if (!names) return base::fail(names.error());
        if (names->empty()) return base::fail(reason);
        for (const std::string& name : *names)
            left.push_back((std::filesystem::path(each) / name).string());
    }
    return {};
}

base::Result<void> rename_file(const std::string& from, const std::string& to, FileCalls& calls) {
    if (calls.rename(from, to) == 0) return {};
    return base::fail(failure("cannot rename " + from + " to " + to));
}

}  // namespace node
