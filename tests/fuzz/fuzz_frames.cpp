#include "base/check.hpp"
#include "transport/link/frame.hpp"
#include "transport/link/reassembly.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

namespace link = transport::link;

// False: refused, or there is no memory.
bool take(link::Reassembly& reassembly, const link::Frame& frame) {
    const link::FrameHeader& header = frame.header;
    if (header.kind == link::FrameKind::goodbye) {
        (void)link::decode_goodbye(frame.payload);
    } else if (header.kind == link::FrameKind::slice) {
        const auto taken = reassembly.take(header, frame.payload);
        if (!taken || taken->is_short_of_memory) return false;
        CHECK(!taken->message || taken->message->bytes.size() <= transport::kMessageBytesMax);
    } else if (header.kind == link::FrameKind::landing) {
        const auto landing = link::decode_landing(frame.payload);
        if (!landing) return false;
        const auto place = reassembly.place(header, landing->bytes);
        if (!place || place->is_short_of_memory) return false;
        CHECK(place->bytes.size() == landing->bytes);
        std::memset(place->bytes.data(), 1, place->bytes.size());
        (void)reassembly.landed(header, landing->bytes);
    }
    CHECK(reassembly.open_bytes() <= 2 * transport::kMessageBytesMax);
    return true;
}

// By TCP; how many bytes were frames.
std::size_t take_stream(base::ByteView stream, transport::BufferPool& pool) {
    link::FrameReader reader;
    link::Reassembly reassembly(pool);
    std::size_t taken = 0;
    while (!stream.empty()) {
        const auto space = reader.space();
        CHECK(space.size() >= link::kFrameBytesMax);
        const std::size_t count = std::min(space.size(), stream.size());
        std::memcpy(space.data(), stream.data(), count);
        reader.commit(count);
        stream = stream.subspan(count);
        while (true) {
            const auto frame = reader.peek();
            if (!frame) return taken;
            if (!*frame) break;
            if (!take(reassembly, **frame)) return taken;
            taken += (*frame)->bytes();
            reader.consume(**frame);
        }
    }
    return taken;
}

// The same by a path's record.
std::size_t take_record(base::ByteView record, transport::BufferPool& pool) {
    link::Reassembly reassembly(pool);
    std::size_t taken = 0;
    while (taken < record.size()) {
        const auto frame = link::first_frame(record.subspan(taken));
        if (!frame || !take(reassembly, *frame)) break;
        CHECK(frame->payload.size() == frame->header.length);
        taken += frame->bytes();
        CHECK(taken <= record.size());
    }
    return taken;
}

}  // namespace

// A peer's frames, in a stream or in a record: whatever comes is a message within the limits, or
// refused, and the same by both; memory for unfinished messages stays bounded and comes back.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto kPool = std::move(
        *transport::BufferPool::create({.bytes = std::size_t{64} << 20, .huge_pages = false}));
    const base::ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
    CHECK(take_stream(bytes, *kPool) == take_record(bytes, *kPool));
    CHECK(kPool->blocks_out() == 0);
    return 0;
}
