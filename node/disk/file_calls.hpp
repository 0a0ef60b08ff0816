#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rocksdb {
class Env;
}

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
    virtual bool is_directory(const std::string& path) = 0;
    virtual int mkdir(const std::string& path, unsigned mode) = 0;
    virtual int rmdir(const std::string& path) = 0;
    // Those in a directory but for itself and the one above, in any order.
    virtual int list(const std::string& path, std::vector<std::string>& names) = 0;
    // On the device of what is at `path`.
    virtual std::int64_t free_bytes(const std::string& path) = 0;
    virtual int rename(const std::string& from, const std::string& to) = 0;
    virtual int link(const std::string& from, const std::string& to) = 0;
    virtual int unlink(const std::string& path) = 0;
};

[[nodiscard]] FileCalls& system_calls();

// Where files and databases are: on the machine's disks, or on one that is simulated.
struct Disk {
    std::reference_wrapper<FileCalls> files = system_calls();
    std::shared_ptr<rocksdb::Env> env;  // Null: the operating system's.
};

}  // namespace node
