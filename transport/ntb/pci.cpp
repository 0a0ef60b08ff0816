#include "transport/ntb/pci.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <system_error>

namespace transport::ntb {

namespace fs = std::filesystem;

namespace {

struct Family {
    std::uint16_t vendor;
    std::uint16_t device;  // 0: any of class "bridge, other".
    std::string_view name;
};

// As Linux' drivers/ntb/hw and DPDK's ntb driver know them.
constexpr std::array<Family, 13> kFamilies{{
    {0x8086, 0x3725, "Intel, Sandy Bridge"},
    {0x8086, 0x3c0d, "Intel, Sandy Bridge"},
    {0x8086, 0x0e0d, "Intel, Ivy Bridge"},
    {0x8086, 0x2f0d, "Intel, Haswell"},
    {0x8086, 0x6f0d, "Intel, Broadwell"},
    {0x8086, 0x201c, "Intel, Skylake and Cascade Lake"},
    {0x8086, 0x347e, "Intel, Ice Lake and Sapphire Rapids"},
    {0x1022, 0x145b, "AMD"},
    {0x1022, 0x148b, "AMD"},
    {0x1022, 0x14c0, "AMD"},
    {0x1022, 0x14c3, "AMD"},
    {0x11f8, 0, "Microchip Switchtec"},
    {0x111d, 0, "IDT PCIe switch"},
}};
constexpr std::uint32_t kClassOtherBridge = 0x0680;

// A file's number in hexadecimal: "0x8086".
std::uint32_t number_in(const fs::path& file) {
    std::ifstream in(file);
    std::string text;
    in >> text;
    std::uint32_t value = 0;
    if (text.starts_with("0x")) {
        std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    }
    return value;
}

PciDevice read_device(const fs::path& folder) {
    std::error_code error;
    const fs::path driver = fs::read_symlink(folder / "driver", error);
    return {.folder = folder,
            .slot = folder.filename(),
            .vendor = static_cast<std::uint16_t>(number_in(folder / "vendor")),
            .device = static_cast<std::uint16_t>(number_in(folder / "device")),
            .driver = driver.filename()};
}

}  // namespace

bool is_ivshmem(const PciDevice& device) {
    return device.vendor == kIvshmemVendor && device.device == kIvshmemDevice;
}

std::string_view bridge_family(const PciDevice& device) {
    for (const Family& each : kFamilies) {
        if (each.vendor != device.vendor) continue;
        if (each.device == device.device) return each.name;
        if (each.device == 0 && number_in(device.folder / "class") >> 8U == kClassOtherBridge) {
            return each.name;
        }
    }
    return {};
}

std::vector<PciDevice> find_shared_devices(const fs::path& root) {
    std::vector<PciDevice> out;
    std::error_code error;
    for (fs::directory_iterator at(root / "sys/bus/pci/devices", error), end; at != end;
         at.increment(error)) {
        PciDevice device = read_device(at->path());
        if (is_ivshmem(device) || !bridge_family(device).empty()) out.push_back(std::move(device));
        if (error) break;
    }
    std::ranges::sort(out, {}, &PciDevice::slot);
    return out;
}

std::size_t bar_bytes(const PciDevice& device, unsigned bar) {
    std::error_code error;
    const auto size = fs::file_size(device.folder / ("resource" + std::to_string(bar)), error);
    return error ? 0 : size;
}

}  // namespace transport::ntb
