#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/descriptor.hpp"
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
    ~VfioDevice();

    // BAR 2, and the registers of BAR 0.
    [[nodiscard]] std::span<std::byte> memory() { return memory_; }
    [[nodiscard]] std::uint32_t read_register(std::size_t offset) const;
    void write_register(std::size_t offset, std::uint32_t value);
    // Readable after the first MSI-X interrupt; an eventfd.
    [[nodiscard]] int interrupt_fd() const { return interrupt_.get(); }

  private:
    VfioDevice() = default;
    [[nodiscard]] base::Result<void> attach(const std::filesystem::path& root,
                                            const PciDevice& device);
    [[nodiscard]] base::Result<std::span<std::byte>> map_bar(std::uint32_t bar);
    [[nodiscard]] base::Result<void> allow_interrupts();
    [[nodiscard]] base::Result<void> take_interrupts();

    Descriptor container_;
    Descriptor group_;
    Descriptor device_;
    Descriptor interrupt_;
    std::span<std::byte> registers_;
    std::span<std::byte> memory_;
};

}  // namespace transport::ntb
