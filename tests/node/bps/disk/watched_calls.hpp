#pragma once

#include "node/disk/file_calls.hpp"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace support {

// The system's calls, with a say before each that changes what is on the disk.
//
// Thread: any, once `on_call` is set.
class WatchedCalls final : public node::FileCalls {
  public:
    // Gets the call and the name of the file, as in "fdatasync 00.log"; returns the errno to fail
    // with, 0: the call is made. A write that fails leaves its first half.
    std::function<int(const std::string&)> on_call = [](const std::string&) { return 0; };

    int open(const std::string& path, int flags, unsigned mode) override {
        if ((flags & O_CREAT) != 0 && fails("create", path)) return -1;
        const int descriptor = system_.open(path, flags, mode);
        const std::scoped_lock lock(mutex_);
        if (descriptor >= 0) paths_[descriptor] = path;
        return descriptor;
    }
    void close(int descriptor) override { system_.close(descriptor); }
    ::ssize_t pwrite(int descriptor,
                     const void* bytes,
                     std::size_t size,
                     std::uint64_t offset) override {
        if (!fails("pwrite", path_of(descriptor))) {
            return system_.pwrite(descriptor, bytes, size, offset);
        }
        const int reason = errno;
        if (size > 1) (void)system_.pwrite(descriptor, bytes, size / 2, offset);
        errno = reason;
        return -1;
    }
    ::ssize_t pread(int descriptor, void* bytes, std::size_t size, std::uint64_t offset) override {
        return system_.pread(descriptor, bytes, size, offset);
    }
    std::int64_t size(int descriptor) override { return system_.size(descriptor); }
    int fdatasync(int descriptor) override {
        return fails("fdatasync", path_of(descriptor)) ? -1 : system_.fdatasync(descriptor);
    }
    int fsync(int descriptor) override {
        return fails("fsync", path_of(descriptor)) ? -1 : system_.fsync(descriptor);
    }
    int lock(int descriptor) override { return system_.lock(descriptor); }
    bool exists(const std::string& path) override { return system_.exists(path); }
    bool is_directory(const std::string& path) override { return system_.is_directory(path); }
    int mkdir(const std::string& path, unsigned mode) override {
        return fails("mkdir", path) ? -1 : system_.mkdir(path, mode);
    }
    int rmdir(const std::string& path) override {
        return fails("rmdir", path) ? -1 : system_.rmdir(path);
    }
    int list(const std::string& path, std::vector<std::string>& names) override {
        return system_.list(path, names);
    }
    std::int64_t free_bytes(const std::string& path) override { return system_.free_bytes(path); }
    int rename(const std::string& from, const std::string& to) override {
        return fails("rename", from) ? -1 : system_.rename(from, to);
    }
    int link(const std::string& from, const std::string& to) override {
        return fails("link", from) ? -1 : system_.link(from, to);
    }
    int unlink(const std::string& path) override {
        return fails("unlink", path) ? -1 : system_.unlink(path);
    }

  private:
    bool fails(std::string_view call, const std::string& path) {
        const std::string name = std::filesystem::path(path).filename().string();
        errno = on_call(std::string(call) + " " + name);
        return errno != 0;
    }
    std::string path_of(int descriptor) {
        const std::scoped_lock lock(mutex_);
        return paths_.at(descriptor);
    }

    node::FileCalls& system_ = node::system_calls();
    std::mutex mutex_;
    std::map<int, std::string> paths_;
};

}  // namespace support
