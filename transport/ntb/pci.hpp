#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What sysfs says of PCI devices that two machines can share memory by.
namespace transport::ntb {

struct PciDevice {
    std::filesystem::path folder{};  // In sysfs.
    std::string slot{};              // "0000:00:04.0"
    std::uint16_t vendor = 0;
    std::uint16_t device = 0;
    std::string driver{};  // Empty: none is bound.
};

// QEMU's memory between virtual machines of one host.
inline constexpr std::uint16_t kIvshmemVendor = 0x1af4;
inline constexpr std::uint16_t kIvshmemDevice = 0x1110;

[[nodiscard]] bool is_ivshmem(const PciDevice& device);
// The family of a non-transparent bridge, for people; empty: it is none that we know.
[[nodiscard]] std::string_view bridge_family(const PciDevice& device);

// All devices that are one or the other, by slot. `root`: "/" but in tests.
[[nodiscard]] std::vector<PciDevice> find_shared_devices(const std::filesystem::path& root);

// The bytes of a device's BAR; 0: it has none of this number.
[[nodiscard]] std::size_t bar_bytes(const PciDevice& device, unsigned bar);

}  // namespace transport::ntb
