// Unpacking a chunk of a snapshot: whatever comes, it gives the bytes that it should have or an
// error, and takes no more memory than these.
#include "node/snapshots/packing.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
    // The first two bytes say which length the manifest gives.
    if (size < 2) return 0;
    const std::size_t length =
        std::to_integer<std::size_t>(bytes[0]) << 8U | std::to_integer<std::size_t>(bytes[1]);
    const auto unpacked = node::unpack_chunk(bytes.subspan(2), length);
    if (unpacked && unpacked->size() != length) std::abort();
    const auto again = node::unpack_chunk(node::pack_chunk(bytes), size);
    if (!again || !base::equal(*again, bytes)) std::abort();
    return 0;
}
