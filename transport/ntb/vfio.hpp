#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/descriptor.hpp"
#include "transport/ntb/device_mapping.hpp"
#include "transport/ntb/pci.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace transport::ntb {

// A PCI device that is bound to vfio-pci: the only way in which a process gets its interrupts
// (Linux, Documentation/driver-api/vfio.rst). No memory of ours is given to the device.
class VfioDevice : base::Pinned {
  public:
    // unavailable: says which step failed. `root`: "/" but in tests.
    [[nodiscard]] static base::Result<std::unique_ptr<VfioDevice>> open(
        const std::filesystem::path& root, const PciDevice& device);

    // BAR 2, and the registers of BAR 0.
    [[nodiscard]] std::span<std::byte> memory() { return memory_->bytes(); }
    [[nodiscard]] std::uint32_t read_register(std::size_t offset) const;
    void write_register(std::size_t offset, std::uint32_t value);
    // Readable after the first MSI-X interrupt; an eventfd.
    [[nodiscard]] int interrupt_fd() const { return interrupt_.get(); }
    // It has gone, or its driver has asked for it and waits until it is closed. A system call.
    [[nodiscard]] bool is_wanted_back();

  private:
    VfioDevice() = default;
    [[nodiscard]] base::Result<void> attach(const std::filesystem::path& root,
                                            const PciDevice& device);
    [[nodiscard]] base::Result<std::unique_ptr<DeviceMapping>> map_bar(std::uint32_t bar);
    [[nodiscard]] base::Result<void> allow_interrupts();
    [[nodiscard]] base::Result<void> take_interrupts();
    [[nodiscard]] bool take_interrupt(std::uint32_t index, int event);

    Descriptor container_;
    Descriptor group_;
    Descriptor device_;
    Descriptor interrupt_;
    Descriptor request_;  // Readable when the driver asks for the device.
    bool is_wanted_back_ = false;
    std::unique_ptr<DeviceMapping> registers_;
    std::unique_ptr<DeviceMapping> memory_;
};

}  // namespace transport::ntb
