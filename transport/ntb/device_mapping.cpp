#include "transport/ntb/device_mapping.hpp"

#include "base/check.hpp"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string>

namespace transport::ntb {

namespace {

// What the handler may look at: no lock, nothing that moves.
struct Place {
    std::atomic<std::uintptr_t> begin = 0;  // 0: free.
    std::atomic<std::size_t> size = 0;
    std::atomic<bool> is_lost = false;
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

// A handler reaches nothing else.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::array<Place, DeviceMapping::kMost> places;
struct sigaction handler_before {};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// The faulting instruction runs again after it, on the new pages. mmap() is no more than a system
// call, and leaves errno as it is when it succeeds.
bool replace_lost(std::uintptr_t address) {
    for (Place& each : places) {
        const std::uintptr_t begin = each.begin.load(std::memory_order_acquire);
        const std::size_t size = each.size.load(std::memory_order_acquire);
        if (begin == 0 || address < begin || address - begin >= size) continue;
        each.is_lost.store(true, std::memory_order_release);
        void* const same = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr)
        return mmap(same,
                    size,
                    PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                    -1,
                    0) == same;
    }
    return false;
}

// What is not ours comes again at once, to whom it went before.
void on_bus_error(int /*signal*/, siginfo_t* about, void* /*context*/) {
    if (!replace_lost(reinterpret_cast<std::uintptr_t>(about->si_addr)))
        sigaction(SIGBUS, &handler_before, nullptr);
}

void install() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction ours {};
        ours.sa_sigaction = on_bus_error;
        ours.sa_flags = SA_SIGINFO;
        CHECK(sigaction(SIGBUS, &ours, &handler_before) == 0);
    });
}

}  // namespace

base::Result<std::unique_ptr<DeviceMapping>> DeviceMapping::create(void* begin, std::size_t size) {
    CHECK(begin != nullptr && size > 0);
    install();
    for (std::size_t i = 0; i < places.size(); ++i) {
        Place& place = places[i];
        std::size_t free = 0;
        // The size says who has it; without begin the handler passes it by.
        if (!place.size.compare_exchange_strong(free, size)) continue;
        place.is_lost = false;
        place.begin = reinterpret_cast<std::uintptr_t>(begin);
        return std::unique_ptr<DeviceMapping>(
            new DeviceMapping({static_cast<std::byte*>(begin), size}, i));
    }
    munmap(begin, size);
    return base::fail(base::Errc::unavailable,
                      "no window: this process has mapped memory of devices " +
                          std::to_string(kMost) + " times, which is the most");
}

DeviceMapping::~DeviceMapping() {
    Place& place = places[place_];
    place.begin = 0;
    munmap(bytes_.data(), bytes_.size());
    place.size = 0;
}

bool DeviceMapping::is_lost() const {
    return places[place_].is_lost.load(std::memory_order_acquire);
}

}  // namespace transport::ntb
