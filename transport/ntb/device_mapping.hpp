#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace transport::ntb {

// Mapped memory of a device that may be removed while it is in use. The kernel then takes the pages
// away, and who touches them gets SIGBUS, which ends a process. Here all of the mapping becomes
// plain memory of zeros instead: its reader finds nothing, and can ask why.
//
// The first installs a handler of SIGBUS for the process, which hands on what it does not know.
//
// Thread: any touches the memory; one owner.
class DeviceMapping : base::Pinned {
  public:
    static constexpr std::size_t kMost = 64;  // In a process.

    // Takes over what mmap() gave, writable. unavailable: there are too many.
    [[nodiscard]] static base::Result<std::unique_ptr<DeviceMapping>> create(void* begin,
                                                                             std::size_t size);
    ~DeviceMapping();

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    // Was touched after the device had gone.
    [[nodiscard]] bool is_lost() const;

  private:
    DeviceMapping(std::span<std::byte> bytes, std::size_t place) : bytes_(bytes), place_(place) {}

    std::span<std::byte> bytes_;
    std::size_t place_;  // In the handler's table.
};

}  // namespace transport::ntb
