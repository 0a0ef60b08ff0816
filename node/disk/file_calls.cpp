#include "node/disk/file_calls.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <cstdio>
#include <fcntl.h>
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
    int mkdir(const std::string& path, unsigned mode) override {
        return ::mkdir(path.c_str(), mode);
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
