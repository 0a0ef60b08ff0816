#include "transport/ntb/pci_memory.hpp"

#include "transport/ntb/mapped_file.hpp"
#include "transport/ntb/pci.hpp"
#include "transport/ntb/vfio.hpp"
#include "transport/ntb/window.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

namespace transport::ntb {

namespace fs = std::filesystem;
using Mapping = ring::MappedStore::Mapping;

namespace {

// One memory for both: the first half is the first machine's to read.
PciMemory::Ends halves(std::span<std::byte> memory, PciMemory::Side ours) {
    const std::size_t half = memory.size() / 2 / kPageBytes * kPageBytes;
    const auto first = memory.first(half);
    const auto second = memory.subspan(half, half);
    if (ours == PciMemory::Side::first) return {.inbound = first, .outbound = second};
    return {.inbound = second, .outbound = first};
}

// The memory of ivshmem as any driverless process sees it: without doorbells.
class PlainIvshmem final : public PciMemory {
  public:
    explicit PlainIvshmem(std::unique_ptr<MappedFile> bar) : bar_(std::move(bar)) {}

    [[nodiscard]] Ends ends(Side ours) override { return halves(bar_->bytes(), ours); }
    [[nodiscard]] bool is_gone() override { return bar_->is_gone(); }

  private:
    std::unique_ptr<MappedFile> bar_;
};

// With the doorbells that vfio gives. Registers: QEMU, docs/specs/ivshmem-spec.
class VfioIvshmem final : public PciMemory {
  public:
    static constexpr std::size_t kPositionAt = 8;
    static constexpr std::size_t kDoorbellAt = 12;  // Position << 16 | vector.

    VfioIvshmem(std::unique_ptr<VfioDevice> device, std::uint16_t position)
        : device_(std::move(device)), position_(position) {}

    [[nodiscard]] Ends ends(Side ours) override { return halves(device_->memory(), ours); }
    [[nodiscard]] std::optional<std::uint16_t> position() const override { return position_; }
    [[nodiscard]] int doorbell_fd() const override { return device_->interrupt_fd(); }
    void ring(std::uint16_t position) override {
        device_->write_register(kDoorbellAt, std::uint32_t{position} << 16U);
    }
    [[nodiscard]] bool is_gone() override { return device_->is_wanted_back(); }

  private:
    std::unique_ptr<VfioDevice> device_;
    std::uint16_t position_;
};

// A bridge: each machine writes the other's memory by its BAR, and never reads there.
class Bridge final : public PciMemory {
  public:
    Bridge(std::unique_ptr<MappedFile> bar, std::unique_ptr<MappedFile> inbound, Mapping mapping)
        : bar_(std::move(bar)), inbound_(std::move(inbound)), mapping_(mapping) {}

    [[nodiscard]] Ends ends(Side /*ours*/) override {
        const std::size_t bytes = std::min(inbound_->bytes().size(), bar_->bytes().size());
        return {.inbound = inbound_->bytes().first(bytes), .outbound = bar_->bytes().first(bytes)};
    }
    [[nodiscard]] Mapping mapping() const override { return mapping_; }
    [[nodiscard]] bool is_gone() override { return bar_->is_gone() || inbound_->is_gone(); }

  private:
    std::unique_ptr<MappedFile> bar_;
    std::unique_ptr<MappedFile> inbound_;
    Mapping mapping_;
};

// A device answers only when it is switched on; without a driver nobody has done that.
base::Result<void> enable(const PciDevice& device) {
    const fs::path file = device.folder / "enable";
    std::ofstream(file) << "1\n";
    std::ifstream in(file);
    std::string state;
    if (in >> state && state != "0") return {};
    return base::fail(
        base::Errc::unavailable,
        "no window: " + device.slot + " is off, and this user may not write 1 to " + file.string());
}

base::Result<std::unique_ptr<MappedFile>> map_bar(const PciDevice& device, const std::string& bar) {
    if (!device.driver.empty()) {
        return base::fail(base::Errc::unavailable,
                          "no window: " + device.slot + " is taken by the driver " + device.driver +
                              "; unbind it");
    }
    if (auto done = enable(device); !done) return base::fail(done.error());
    return MappedFile::open(device.folder / bar);
}

base::Result<std::unique_ptr<PciMemory>> open_with_doorbells(const fs::path& root,
                                                             const PciDevice& device) {
    auto vfio = VfioDevice::open(root, device);
    if (!vfio) return base::fail(vfio.error());
    const std::uint32_t position = (*vfio)->read_register(VfioIvshmem::kPositionAt);
    if (position > 0xFFFF) {
        return base::fail(base::Errc::unavailable,
                          "no window: " + device.slot + " has no position at its server");
    }
    return std::make_unique<VfioIvshmem>(std::move(*vfio), static_cast<std::uint16_t>(position));
}

base::Result<std::unique_ptr<PciMemory>> open_ivshmem(const fs::path& root,
                                                      const PciDevice& device) {
    if (device.driver == "vfio-pci") return open_with_doorbells(root, device);
    auto bar = map_bar(device, "resource2");
    if (!bar) return base::fail(bar.error());
    return std::make_unique<PlainIvshmem>(std::move(*bar));
}

// Write combining makes stores by a bridge several times faster (resourceN_wc is there for BARs
// that may be prefetched); without it they are slow but as good.
base::Result<std::unique_ptr<PciMemory>> open_bridge(const PciDevice& device,
                                                     const PciOptions& options) {
    const std::string plain = "resource" + std::to_string(options.bar);
    std::error_code error;
    const bool combines = fs::exists(device.folder / (plain + "_wc"), error);
    auto bar = map_bar(device, combines ? plain + "_wc" : plain);
    if (!bar) return base::fail(bar.error());
    auto inbound = MappedFile::open(options.inbound);
    if (!inbound) return base::fail(inbound.error());
    return std::make_unique<Bridge>(std::move(*bar),
                                    std::move(*inbound),
                                    combines ? Mapping::write_combining : Mapping::write_back);
}

}  // namespace

base::Result<std::unique_ptr<PciMemory>> open_pci_memory(const PciOptions& options) {
    const bool wants_bridge = !options.inbound.empty();
    for (const PciDevice& each : find_shared_devices(options.root)) {
        if (!options.slot.empty() && each.slot != options.slot) continue;
        if (wants_bridge && !options.slot.empty()) return open_bridge(each, options);
        if (!wants_bridge && is_ivshmem(each)) return open_ivshmem(options.root, each);
    }
    if (options.slot.empty()) {
        return base::fail(base::Errc::unavailable,
                          wants_bridge ? "no window: a bridge is used only when its slot is named"
                                       : "no window: this machine has no ivshmem device");
    }
    return base::fail(base::Errc::unavailable,
                      "no window: " + options.slot + " is no " +
                          (wants_bridge ? "bridge that is known here" : "ivshmem device"));
}

}  // namespace transport::ntb
