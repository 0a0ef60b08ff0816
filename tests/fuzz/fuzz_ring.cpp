#include "base/check.hpp"
#include "transport/ring/consumer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

// A ring whose peer writes anything into it between any two looks: every record that comes out is
// within the limits, and every turn ends. Input: a byte that chooses, then patches of {line u16,
// length u8, bytes}, a look after each.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace ring = transport::ring;
    alignas(ring::kLineBytes) static std::array<std::byte, ring::kRingBytesMin> memory;
    memory.fill(std::byte{0});
    if (size == 0) return 0;
    ring::Seal seal({}, ring::Seal::Use::open);
    ring::Consumer consumer(memory, data[0] % 4 == 0 ? &seal : nullptr);
    base::ByteView input(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
    std::uint64_t returned = 0;
    while (input.size() >= 3) {
        const auto line = (std::to_integer<std::size_t>(input[0]) |
                           std::to_integer<std::size_t>(input[1]) << 8U) %
                          (memory.size() / ring::kLineBytes);
        const std::size_t at = line * ring::kLineBytes;
        const std::size_t count = std::min(
            {std::to_integer<std::size_t>(input[2]), input.size() - 3, memory.size() - at});
        std::copy_n(input.begin() + 3, count, memory.begin() + static_cast<std::ptrdiff_t>(at));
        input = input.subspan(3 + count);
        const auto payload = consumer.peek();
        if (!payload) return 0;
        if (*payload) {
            CHECK(!(*payload)->empty() && (*payload)->size() <= ring::kPayloadBytesMax);
            consumer.consume();
        }
        if (const auto position = consumer.take_due_credit()) {
            CHECK(*position > returned && *position % ring::kLineBytes == 0);
            returned = *position;
        }
    }
    return 0;
}
