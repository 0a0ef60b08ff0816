#include "base/check.hpp"
#include "transport/link/frame.hpp"
#include "transport/link/reassembly.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

// A peer's stream of frames: whatever comes is a message within the limits, or refused; memory
// for unfinished messages stays bounded and comes back.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace link = transport::link;
    static const auto kPool = std::move(
        *transport::BufferPool::create({.bytes = std::size_t{64} << 20, .huge_pages = false}));
    base::ByteView stream(reinterpret_cast<const std::byte*>(data), size);
    link::FrameReader reader;
    link::Reassembly reassembly(*kPool);
    while (!stream.empty()) {
        const auto space = reader.space();
        CHECK(space.size() >= link::kFrameBytesMax);
        const std::size_t count = std::min(space.size(), stream.size());
        std::memcpy(space.data(), stream.data(), count);
        reader.commit(count);
        stream = stream.subspan(count);
        while (true) {
            const auto frame = reader.peek();
            if (!frame) return 0;
            if (!*frame) break;
            const link::FrameHeader& header = (*frame)->header;
            if (header.kind == link::FrameKind::goodbye) {
                (void)link::decode_goodbye((*frame)->payload);
            } else if (header.kind == link::FrameKind::slice) {
                const auto taken = reassembly.take(header, (*frame)->payload);
                if (!taken || taken->is_short_of_memory) return 0;
                CHECK(!taken->message ||
                      taken->message->bytes.size() <= transport::kMessageBytesMax);
            } else if (header.kind == link::FrameKind::landing) {
                const auto landing = link::decode_landing((*frame)->payload);
                if (!landing) return 0;
                const auto place = reassembly.place(header, landing->bytes);
                if (!place || place->is_short_of_memory) return 0;
                CHECK(place->bytes.size() == landing->bytes);
                std::memset(place->bytes.data(), 1, place->bytes.size());
                (void)reassembly.landed(header, landing->bytes);
            }
            CHECK(reassembly.open_bytes() <= 2 * transport::kMessageBytesMax);
            reader.consume(**frame);
        }
    }
    return 0;
}
