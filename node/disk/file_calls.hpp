#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace node {

// The calls to the operating system that File and its users make. Each returns what the system's
// does: on a failure -1, with the reason in errno.
//
// The simulation implements it over files of its own (tests/sim/files.hpp).
class FileCalls {
  public:
    virtual ~FileCalls() = default;

    virtual int open(const std::string& path, int flags, unsigned mode) = 0;
    virtual void close(int descriptor) = 0;
    virtual ::ssize_t pwrite(int descriptor,
                             const void* bytes,
                             std::size_t size,
                             std::uint64_t offset) = 0;
    virtual ::ssize_t pread(int descriptor,
                            void* bytes,
                            std::size_t size,
                            std::uint64_t offset) = 0;
    virtual std::int64_t size(int descriptor) = 0;
    virtual int fdatasync(int descriptor) = 0;
    virtual int fsync(int descriptor) = 0;
    virtual int lock(int descriptor) = 0;  // As flock() with LOCK_EX | LOCK_NB.

    virtual bool exists(const std::string& path) = 0;
    virtual int mkdir(const std::string& path, unsigned mode) = 0;
    virtual int rename(const std::string& from, const std::string& to) = 0;
    virtual int link(const std::string& from, const std::string& to) = 0;
    virtual int unlink(const std::string& path) = 0;
};

[[nodiscard]] FileCalls& system_calls();

}  // namespace node
