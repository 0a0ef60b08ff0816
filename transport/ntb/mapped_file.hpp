#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/descriptor.hpp"
#include "transport/ntb/device_mapping.hpp"

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

    [[nodiscard]] std::span<std::byte> bytes() { return mapping_->bytes(); }
    // Its device has gone: what is mapped does not go with it, and may be another's by now. A
    // system call.
    [[nodiscard]] bool is_gone() const;

  private:
    MappedFile(std::filesystem::path path, Descriptor file, std::unique_ptr<DeviceMapping> mapping)
        : path_(std::move(path)), file_(std::move(file)), mapping_(std::move(mapping)) {}

    std::filesystem::path path_;
    Descriptor file_;  // Holds the lock.
    std::unique_ptr<DeviceMapping> mapping_;
};

}  // namespace transport::ntb
