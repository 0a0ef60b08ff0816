#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "node/disk/file_calls.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace node {

// An open file descriptor that closes itself. Never inherited by child processes.
class File {
  public:
    File() = default;
    explicit File(int descriptor, FileCalls& calls = system_calls())
        : calls_(&calls), descriptor_(descriptor) {}
    File(File&& other) noexcept
        : calls_(other.calls_), descriptor_(std::exchange(other.descriptor_, -1)) {}
    File& operator=(File&& other) noexcept;
    ~File();

    // `flags` as of open(2). not_found: there is no such file. unavailable: anything else.
    [[nodiscard]] static base::Result<File> open(const std::string& path,
                                                 int flags,
                                                 unsigned mode = 0600,
                                                 FileCalls& calls = system_calls());

    // Exactly all of `bytes`, at `offset`. A short write is an error.
    base::Result<void> write_at(std::uint64_t offset, base::ByteView bytes);
    // Exactly `size` bytes. corrupt: the file ends before.
    [[nodiscard]] base::Result<base::Bytes> read_at(std::uint64_t offset, std::size_t size) const;
    // The same, into `out`.
    [[nodiscard]] base::Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const;
    [[nodiscard]] base::Result<std::uint64_t> size() const;
    // The bytes written and all that is needed to read them again are durable.
    base::Result<void> sync();
    // So are the names in it, which is a directory.
    base::Result<void> sync_names();
    // unavailable: another process holds the lock. Freed when the file is closed.
    base::Result<void> lock();

    [[nodiscard]] int descriptor() const { return descriptor_; }

  private:
    FileCalls* calls_ = nullptr;  // Null while nothing is open.
    int descriptor_ = -1;
};

// Makes the entries of the directory that `path` lies in durable: names made and renamed.
base::Result<void> sync_directory_of(const std::string& path, FileCalls& calls = system_calls());

// All of a file of at most `bytes_max` bytes. not_found, unavailable; malformed: it is longer.
[[nodiscard]] base::Result<base::Bytes> read_file(const std::string& path,
                                                  std::size_t bytes_max,
                                                  FileCalls& calls = system_calls());

// Its bytes are durable when it returns, its name is not. Errors name the file.
base::Result<void> write_file(const std::string& path,
                              base::ByteView bytes,
                              unsigned mode,
                              FileCalls& calls = system_calls());
// Replaces a file as a whole, durably: after a crash it has the old or the new contents.
base::Result<void> write_file_atomically(const std::string& path,
                                         base::ByteView bytes,
                                         unsigned mode = 0600,
                                         FileCalls& calls = system_calls());

// Of directories. Errors name the path.
//
// The names in it, ascending. not_found: there is none.
[[nodiscard]] base::Result<std::vector<std::string>> list_directory(
    const std::string& path, FileCalls& calls = system_calls());
// With those above it that are not there; durably.
base::Result<void> make_directories(const std::string& path, FileCalls& calls = system_calls());
// A file, or a directory with all that is in it; nothing there is fine. Links are not followed.
base::Result<void> remove_tree(const std::string& path, FileCalls& calls = system_calls());
base::Result<void> rename_file(const std::string& from,
                               const std::string& to,
                               FileCalls& calls = system_calls());

}  // namespace node
