#include "transport/ntb/vfio.hpp"

#include "base/check.hpp"

#include <linux/vfio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>

// NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): ioctl() and open() are.
namespace transport::ntb {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kCommandAt = 4;             // Of the configuration space (PCI 3.0, 6.2.2).
constexpr std::uint16_t kMemoryAndBusMaster = 6;  // Its bits 1 and 2.

tl::unexpected<base::Error> no_device(const std::string& what) {
    const char* reason = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): glibc's is.
    return base::fail(base::Errc::unavailable, "no window by vfio: " + what + ": " + reason);
}

}  // namespace

base::Result<std::unique_ptr<VfioDevice>> VfioDevice::open(const fs::path& root,
                                                           const PciDevice& device) {
    std::unique_ptr<VfioDevice> out(new VfioDevice());
    if (auto done = out->attach(root, device); !done) return base::fail(done.error());
    auto registers = out->map_bar(VFIO_PCI_BAR0_REGION_INDEX);
    if (!registers) return base::fail(registers.error());
    out->registers_ = std::move(*registers);
    auto memory = out->map_bar(VFIO_PCI_BAR2_REGION_INDEX);
    if (!memory) return base::fail(memory.error());
    out->memory_ = std::move(*memory);
    if (auto done = out->allow_interrupts(); !done) return base::fail(done.error());
    if (auto done = out->take_interrupts(); !done) return base::fail(done.error());
    return out;
}

base::Result<void> VfioDevice::attach(const fs::path& root, const PciDevice& device) {
    std::error_code error;
    const fs::path link = fs::read_symlink(device.folder / "iommu_group", error);
    if (error) {
        errno = error.value();
        return no_device(device.slot + " has no IOMMU group; switch the IOMMU on");
    }
    const fs::path group = root / "dev/vfio" / link.filename();
    container_ = Descriptor(::open((root / "dev/vfio/vfio").c_str(), O_RDWR | O_CLOEXEC));
    if (!container_) return no_device("/dev/vfio/vfio");
    group_ = Descriptor(::open(group.c_str(), O_RDWR | O_CLOEXEC));
    if (!group_) return no_device(group.string());
    vfio_group_status status{};
    status.argsz = sizeof status;
    const bool is_known = ioctl(group_.get(), VFIO_GROUP_GET_STATUS, &status) == 0;
    if (!is_known || (status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0) {
        return no_device("all devices of group " + group.filename().string() +
                         " must be bound to vfio-pci");
    }
    const int container = container_.get();
    if (ioctl(group_.get(), VFIO_GROUP_SET_CONTAINER, &container) != 0) {
        return no_device("VFIO_GROUP_SET_CONTAINER");
    }
    if (ioctl(container_.get(), VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU) != 0) {
        return no_device(
            "VFIO_SET_IOMMU (without interrupt remapping the module "
            "vfio_iommu_type1 needs allow_unsafe_interrupts=1)");
    }
    device_ = Descriptor(ioctl(group_.get(), VFIO_GROUP_GET_DEVICE_FD, device.slot.c_str()));
    if (!device_) return no_device("VFIO_GROUP_GET_DEVICE_FD of " + device.slot);
    return {};
}

base::Result<std::unique_ptr<DeviceMapping>> VfioDevice::map_bar(std::uint32_t bar) {
    vfio_region_info info{};
    info.argsz = sizeof info;
    info.index = bar;
    if (ioctl(device_.get(), VFIO_DEVICE_GET_REGION_INFO, &info) != 0 || info.size == 0) {
        return no_device("BAR " + std::to_string(bar) + " is not there");
    }
    const auto size = static_cast<std::size_t>(info.size);
    void* begin = mmap(nullptr,
                       size,
                       PROT_READ | PROT_WRITE,
                       MAP_SHARED,
                       device_.get(),
                       static_cast<off_t>(info.offset));
    if (begin == MAP_FAILED) return no_device("BAR " + std::to_string(bar) + " can't be mapped");
    return DeviceMapping::create(begin, size);
}

// An interrupt is a write by the device, which only a bus master may do.
base::Result<void> VfioDevice::allow_interrupts() {
    vfio_region_info info{};
    info.argsz = sizeof info;
    info.index = VFIO_PCI_CONFIG_REGION_INDEX;
    if (ioctl(device_.get(), VFIO_DEVICE_GET_REGION_INFO, &info) != 0) {
        return no_device("the configuration space");
    }
    const auto at = static_cast<off_t>(info.offset + kCommandAt);
    std::uint16_t command = 0;
    if (pread(device_.get(), &command, sizeof command, at) != sizeof command) {
        return no_device("the command register can't be read");
    }
    command |= kMemoryAndBusMaster;
    if (pwrite(device_.get(), &command, sizeof command, at) != sizeof command) {
        return no_device("the command register can't be written");
    }
    return {};
}

bool VfioDevice::take_interrupt(std::uint32_t index, int event) {
    alignas(vfio_irq_set) std::array<std::byte, sizeof(vfio_irq_set) + sizeof(std::int32_t)> raw{};
    vfio_irq_set set{};
    set.argsz = raw.size();
    set.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
    set.index = index;
    set.start = 0;
    set.count = 1;
    const std::int32_t fd = event;
    std::memcpy(raw.data(), &set, sizeof set);
    std::memcpy(raw.data() + sizeof set, &fd, sizeof fd);
    return ioctl(device_.get(), VFIO_DEVICE_SET_IRQS, raw.data()) == 0;
}

base::Result<void> VfioDevice::take_interrupts() {
    for (Descriptor* each : {&interrupt_, &request_}) {
        *each = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
        if (!*each) return no_device("eventfd");
    }
    if (!take_interrupt(VFIO_PCI_MSIX_IRQ_INDEX, interrupt_.get()))
        return no_device("its MSI-X interrupts");
    if (!take_interrupt(VFIO_PCI_REQ_IRQ_INDEX, request_.get()))
        return no_device("to be told when it is asked for");
    return {};
}

bool VfioDevice::is_wanted_back() {
    std::uint64_t count = 0;
    const bool is_asked = ::read(request_.get(), &count, sizeof count) == sizeof count;
    is_wanted_back_ = is_wanted_back_ || is_asked || registers_->is_lost() || memory_->is_lost();
    return is_wanted_back_;
}

std::uint32_t VfioDevice::read_register(std::size_t offset) const {
    CHECK(offset + sizeof(std::uint32_t) <= registers_->bytes().size());
    return __atomic_load_n(
        reinterpret_cast<const std::uint32_t*>(registers_->bytes().data() + offset),
        __ATOMIC_ACQUIRE);
}

void VfioDevice::write_register(std::size_t offset, std::uint32_t value) {
    CHECK(offset + sizeof value <= registers_->bytes().size());
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(registers_->bytes().data() + offset),
                     value,
                     __ATOMIC_RELEASE);
}

}  // namespace transport::ntb
// NOLINTEND(cppcoreguidelines-pro-type-vararg)
