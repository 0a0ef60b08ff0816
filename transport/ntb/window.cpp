#include "transport/ntb/window.hpp"

#include "base/check.hpp"

namespace transport::ntb {

namespace {

std::uint32_t* pad_at(std::span<std::byte> memory, unsigned number) {
    CHECK(number < kScratchpads);
    return reinterpret_cast<std::uint32_t*>(memory.subspan(number * kPadStride, 4).data());
}

}  // namespace

std::uint32_t load_pad(std::span<std::byte> memory, unsigned number) {
    return __atomic_load_n(pad_at(memory, number), __ATOMIC_ACQUIRE);
}

void store_pad(std::span<std::byte> memory, unsigned number, std::uint32_t value) {
    __atomic_store_n(pad_at(memory, number), value, __ATOMIC_RELEASE);
}

}  // namespace transport::ntb
