#pragma once

#include "node/disk/file_calls.hpp"
#include "tests/sim/files/disk_files.hpp"

namespace sim {

// The calls of a process to the files of its machine.
class DiskCalls final : public node::FileCalls {
  public:
    explicit DiskCalls(DiskFiles& files) : files_(files), process_(files.process()) {}

    int open(const std::string& path, int flags, unsigned mode) override;
    void close(int descriptor) override;
    ::ssize_t pwrite(int descriptor,
                     const void* bytes,
                     std::size_t size,
                     std::uint64_t offset) override;
    ::ssize_t pread(int descriptor, void* bytes, std::size_t size, std::uint64_t offset) override;
    std::int64_t size(int descriptor) override;
    int fdatasync(int descriptor) override;
    int fsync(int descriptor) override;
    int lock(int descriptor) override;
    bool exists(const std::string& path) override;
    bool is_directory(const std::string& path) override;
    int rmdir(const std::string& path) override;
    int list(const std::string& path, std::vector<std::string>& names) override;
    std::int64_t free_bytes(const std::string& path) override;
    int mkdir(const std::string& path, unsigned mode) override;
    int rename(const std::string& from, const std::string& to) override;
    int link(const std::string& from, const std::string& to) override;
    int unlink(const std::string& path) override;

  private:
    DiskFiles& files_;
    const DiskFiles::Process process_;
    std::map<int, std::string> directories_;  // Open ones.
    int last_directory_ = 1'000'000'000;      // Above all files.
};

}  // namespace sim
