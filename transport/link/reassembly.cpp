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

tl::unexpected<base::Error> invalid(std::string detail) {
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

// Whether a message may begin; `is_whole`: and end at once.
base::Result<void> Reassembly::check_begin(const FrameHeader& header, bool is_whole) const {
    if (partials_[partial_of(header)].bytes) {
        return invalid("a message begins before the one before it has ended");
    }
    if (is_whole || open_bytes_ + header.total_or_offset <= kOpenBytesMax) return {};
    return invalid("more unfinished messages than " + std::to_string(kOpenBytesMax >> 20U) +
                   " MiB");
}

base::Result<Reassembly::Taken> Reassembly::begin(const FrameHeader& header,
                                                  base::ByteView payload) {
    const std::size_t total = header.total_or_offset;
    const bool is_whole = payload.size() == total;
    if (auto may = check_begin(header, is_whole); !may) return base::fail(may.error());
    auto bytes = pool_.get_message(total);
    if (!bytes) return Taken{.is_short_of_memory = true};
    bytes->write(0, payload);
    if (is_whole) return complete(header, std::move(*bytes));
    Partial& partial = partials_[partial_of(header)];
    partial.bytes = std::move(bytes);
    partial.received = payload.size();
    open_bytes_ += total;
    return Taken{};
}

void Reassembly::clear() {
    partials_ = {};
    open_bytes_ = 0;
}

Reassembly::Taken Reassembly::landed(const FrameHeader& header, std::size_t bytes) {
    Partial& partial = partials_[partial_of(header)];
    partial.received += bytes;
    const std::size_t total = partial.bytes->size();
    if (partial.received < total) return Taken{};
    open_bytes_ -= total;
    return complete(header, std::move(*std::exchange(partial.bytes, std::nullopt)));
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
    const std::size_t rest = partial.bytes->size() - partial.received;
    if (payload.size() != std::min(rest, slice_bytes(header.lane))) {
        return invalid("a slice is neither full nor its message's last");
    }
    partial.bytes->write(partial.received, payload);
    return landed(header, payload.size());
}

// Offsets of slices and of landings have none in common but the begin: no message has both.
base::Result<Reassembly::Place> Reassembly::place(const FrameHeader& header, std::size_t bytes) {
    CHECK(header.kind == FrameKind::landing);
    Partial& partial = partials_[partial_of(header)];
    const bool continues =
        !header.is_first && partial.bytes.has_value() && header.total_or_offset == partial.received;
    if (!header.is_first && !continues) {
        return invalid("a landing at offset " + std::to_string(header.total_or_offset) +
                       " continues no message");
    }
    const std::size_t rest =
        header.is_first ? header.total_or_offset : partial.bytes->size() - partial.received;
    if (bytes != std::min(rest, kLandingBytes)) {
        return invalid("a landing is neither full nor its message's last");
    }
    if (header.is_first) {
        if (auto may = check_begin(header, bytes == rest); !may) return base::fail(may.error());
        auto message = pool_.get_message(rest);
        if (!message) return Place{.is_short_of_memory = true};
        partial.bytes = std::move(message);
        partial.received = 0;
        open_bytes_ += rest;
    }
    return Place{.bytes = partial.bytes->place(partial.received, bytes)};
}

}  // namespace transport::link
