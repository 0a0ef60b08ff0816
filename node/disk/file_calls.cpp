#include "node/disk/file_calls.hpp"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace node {

namespace {

class SystemCalls final : public FileCalls {
  public:
    int open(const std::string& path, int flags, unsigned mode) override {
        return ::open(path.c_str(), flags, mode);
    }
    void close(int descriptor) override { ::close(descriptor); }
    ::ssize_t pwrite(int descriptor,
                     const void* bytes,
                     std::size_t size,
                     std::uint64_t offset) override {
        return ::pwrite(descriptor, bytes, size, static_cast<::off_t>(offset));
    }
    ::ssize_t pread(int descriptor, void* bytes, std::size_t size, std::uint64_t offset) override {
        return ::pread(descriptor, bytes, size, static_cast<::off_t>(offset));
    }
    std::int64_t size(int descriptor) override {
        struct ::stat about {};
        return ::fstat(descriptor, &about) == 0 ? std::int64_t{about.st_size} : -1;
    }
    int fdatasync(int descriptor) override { return ::fdatasync(descriptor); }
    int fsync(int descriptor) override { return ::fsync(descriptor); }
    int lock(int descriptor) override { return ::flock(descriptor, LOCK_EX | LOCK_NB); }

    bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }
    bool is_directory(const std::string& path) override {
        struct ::stat about {};
        return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
    }
    int mkdir(const std::string& path, unsigned mode) override {
        return ::mkdir(path.c_str(), mode);
    }
    int rmdir(const std::string& path) override { return ::rmdir(path.c_str()); }
    int list(const std::string& path, std::vector<std::string>& names) override {
        ::DIR* const directory = ::opendir(path.c_str());
        if (directory == nullptr) return -1;
        errno = 0;
        while (const ::dirent* const entry = ::readdir(directory)) {
            const std::string_view name(static_cast<const char*>(entry->d_name));
            if (name != "." && name != "..") names.emplace_back(name);
        }
        const int reason = errno;
        ::closedir(directory);
        errno = reason;
        return reason == 0 ? 0 : -1;
    }
    std::int64_t free_bytes(const std::string& path) override {
        struct ::statvfs about {};
        if (::statvfs(path.c_str(), &about) != 0) return -1;
        return static_cast<std::int64_t>(about.f_bavail * about.f_frsize);
    }
    int rename(const std::string& from, const std::string& to) override {
        return std::rename(from.c_str(), to.c_str());
    }
    int link(const std::string& from, const std::string& to) override {
        return ::link(from.c_str(), to.c_str());
    }
    int unlink(const std::string& path) override { return ::unlink(path.c_str()); }
};

}  // namespace

FileCalls& system_calls() {
    static SystemCalls calls;
    return calls;
}

}  // namespace node
