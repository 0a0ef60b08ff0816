#include "base/check.hpp"
#include "node/bps/disk/codecs.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

// Compressed records from a client: the first byte says of which kind. They open to no more than is
// allowed, and what they open to can be compressed and opened again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kOpenedMax = 1U << 20U;
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    if (bytes.empty()) return 0;
    const auto compression = static_cast<bps::Compression>(std::to_integer<unsigned>(bytes[0]) % 8);
    const bps::Codecs codecs;
    const auto opened = codecs.decompress(compression, bytes.subspan(1), kOpenedMax);
    if (!opened) return 0;
    CHECK(opened->size() <= kOpenedMax);
    const base::Bytes again = bps::Codecs::compress(compression, *opened);
    const auto reopened = codecs.decompress(compression, again, kOpenedMax);
    CHECK(reopened.has_value() && *reopened == *opened);
    return 0;
}
