#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/descriptor.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

namespace transport::ntb {

// The whole of a file as memory, to read and to write: a BAR in sysfs, memory that is reserved for
// a bridge. This process has it alone of all on this machine.
class MappedFile : base::Pinned {
  public:
    // unavailable: it can't be opened, is empty, or another process has it.
    [[nodiscard]] static base::Result<std::unique_ptr<MappedFile>> open(
        const std::filesystem::path& file);
    ~MappedFile();

    [[nodiscard]] std::span<std::byte> bytes() { return {begin_, size_}; }

  private:
    MappedFile(Descriptor file, std::byte* begin, std::size_t size)
        : file_(std::move(file)), begin_(begin), size_(size) {}

    Descriptor file_;  // Holds the lock.
    std::byte* begin_;
    std::size_t size_;
};

}  // namespace transport::ntb
