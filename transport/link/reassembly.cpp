#include "transport/link/reassembly.hpp"

#include "base/check.hpp"
#include "transport/link/send_queue.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace transport::link {

namespace {

std::size_t partial_of(const FrameHeader& header) {
    return kLanes * header.priority + static_cast<std::size_t>(header.lane);
}

base::Result<Reassembly::Taken> invalid(std::string detail) {
    return base::fail(base::Errc::invalid, std::move(detail));
}

Reassembly::Taken complete(const FrameHeader& header, Buffers bytes) {
    Reassembly::Taken taken;
    taken.message.emplace();
    taken.message->lane = header.lane;
    taken.message->priority = header.priority;
    taken.message->bytes = std::move(bytes);
    return taken;
}

}  // namespace

base::Result<Reassembly::Taken> Reassembly::begin(const FrameHeader& header,
                                                  base::ByteView payload) {
    Partial& partial = partials_[partial_of(header)];
    const std::size_t total = header.total_or_offset;
    if (partial.bytes) return invalid("a message begins before the one before it has ended");
    const bool is_whole = payload.size() == total;
    if (!is_whole && open_bytes_ + total > kOpenBytesMax) {
        return invalid("more unfinished messages than " + std::to_string(kOpenBytesMax >> 20U) +
                       " MiB");
    }
    auto bytes = pool_.get_message(total);
    if (!bytes) return Taken{.is_short_of_memory = true};
    bytes->write(0, payload);
    if (is_whole) return complete(header, std::move(*bytes));
    partial.bytes = std::move(bytes);
    partial.received = payload.size();
    open_bytes_ += total;
    return Taken{};
}

void Reassembly::clear() {
    partials_ = {};
    open_bytes_ = 0;
}

base::Result<Reassembly::Taken> Reassembly::take(const FrameHeader& header,
                                                 base::ByteView payload) {
    CHECK(header.kind == FrameKind::slice && payload.size() == header.length);
    if (header.is_first) return begin(header, payload);
    Partial& partial = partials_[partial_of(header)];
    if (!partial.bytes || header.total_or_offset != partial.received) {
        return invalid("a slice at offset " + std::to_string(header.total_or_offset) +
                       " continues no message");
    }
    const std::size_t total = partial.bytes->size();
    if (payload.size() != std::min(total - partial.received, slice_bytes(header.lane))) {
        return invalid("a slice is neither full nor its message's last");
    }
    partial.bytes->write(partial.received, payload);
    partial.received += payload.size();
    if (partial.received < total) return Taken{};
    open_bytes_ -= total;
    return complete(header, std::move(*std::exchange(partial.bytes, std::nullopt)));
}

}  // namespace transport::link
