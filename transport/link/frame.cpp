#include "transport/link/frame.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace transport::link {

namespace {

constexpr unsigned kFirstBit = 1U << 4U;

base::Result<FrameHeader> malformed(std::string_view what, std::uint64_t value) {
    return base::fail(base::Errc::malformed,
                      "frame header: " + std::string(what) + " " + std::to_string(value));
}

base::Result<FrameHeader> check_slice(const FrameHeader& header) {
    const std::size_t full = slice_bytes(header.lane);
    if (header.length == 0) return malformed("a slice of length", 0);
    if (header.length > full) {
        return malformed("a slice may have " + std::to_string(full) + " bytes, not", header.length);
    }
    if (header.is_first) {
        const std::size_t total = header.total_or_offset;
        if (total == 0 || total > kMessageBytesMax) {
            return malformed("a message has 1 byte to 8 MiB, not", total);
        }
        if (header.length != std::min(total, full)) {
            return malformed("the first slice of a message is full or all of it, not of",
                             header.length);
        }
        return header;
    }
    const std::size_t offset = header.total_or_offset;
    if (offset == 0 || offset % full != 0 || offset + header.length > kMessageBytesMax) {
        return malformed("no slice begins at", offset);
    }
    return header;
}

// Of frames that are no slices: the longest, and whether it is the only one allowed.
struct LengthLimit {
    std::size_t bytes = 0;
    bool is_exact = false;
};

LengthLimit limit_of(FrameKind kind) {
    switch (kind) {
        case FrameKind::prelude:
            return {kPreludeBytesMax};
        case FrameKind::goodbye:
            return {1 + kGoodbyeTextMax};
        case FrameKind::probe:
            return {kProbeBytes, true};
        case FrameKind::heartbeat:
        case FrameKind::slice:
            return {};
    }
    return {};
}

base::Result<FrameHeader> check_other(const FrameHeader& header) {
    const LengthLimit limit = limit_of(header.kind);
    if (header.length > limit.bytes) return malformed("length over the limit:", header.length);
    if (limit.is_exact && header.length != limit.bytes) {
        return malformed("a probe has 8 bytes, not", header.length);
    }
    if (header.total_or_offset != 0 || header.is_first || header.priority != 0 ||
        header.lane != Lane::control) {
        return malformed("bits that belong to slices in kind",
                         static_cast<std::uint64_t>(header.kind));
    }
    return header;
}

}  // namespace

FrameHeaderBytes encode(const FrameHeader& header) {
    const auto flags = static_cast<unsigned>(header.lane) | unsigned{header.priority} << 1U |
                       (header.is_first ? kFirstBit : 0U);
    FrameHeaderBytes out{};
    out[0] = static_cast<std::byte>(header.kind);
    out[1] = static_cast<std::byte>(flags);
    out[2] = static_cast<std::byte>(header.length & 0xFFU);
    out[3] = static_cast<std::byte>(header.length >> 8U);
    for (std::size_t i = 0; i < 4; ++i) {
        out[4 + i] = static_cast<std::byte>(header.total_or_offset >> (8 * i) & 0xFFU);
    }
    return out;
}

base::Result<FrameHeader> decode_header(const FrameHeaderBytes& bytes) {
    const auto kind = std::to_integer<unsigned>(bytes[0]);
    const auto flags = std::to_integer<unsigned>(bytes[1]);
    if (kind > static_cast<unsigned>(FrameKind::probe)) return malformed("unknown kind", kind);
    if (flags >= 2 * kFirstBit) return malformed("unknown flags", flags);
    FrameHeader header;
    header.kind = static_cast<FrameKind>(kind);
    header.lane = static_cast<Lane>(flags & 1U);
    header.priority = static_cast<Priority>(flags >> 1U & 7U);
    header.is_first = (flags & kFirstBit) != 0;
    header.length = static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[2]) |
                                               std::to_integer<unsigned>(bytes[3]) << 8U);
    for (std::size_t i = 0; i < 4; ++i) {
        header.total_or_offset |= std::to_integer<std::uint32_t>(bytes[4 + i]) << (8 * i);
    }
    return header.kind == FrameKind::slice ? check_slice(header) : check_other(header);
}

std::span<std::byte> FrameReader::space() {
    if (buffer_.size() - end_ < kFrameBytesMax) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    return std::span(buffer_).subspan(end_);
}

void FrameReader::commit(std::size_t bytes) {
    CHECK(bytes <= buffer_.size() - end_);
    end_ += bytes;
}

base::Result<std::optional<Frame>> FrameReader::peek() const {
    const base::ByteView have = base::ByteView(buffer_).subspan(begin_, end_ - begin_);
    if (have.size() < kFrameHeaderBytes) return std::nullopt;
    FrameHeaderBytes bytes{};
    std::memcpy(bytes.data(), have.data(), bytes.size());
    auto header = decode_header(bytes);
    if (!header) return base::fail(header.error());
    if (have.size() < kFrameHeaderBytes + header->length) return std::nullopt;
    return Frame{*header, have.subspan(kFrameHeaderBytes, header->length)};
}

void FrameReader::consume(const Frame& frame) {
    begin_ += kFrameHeaderBytes + frame.payload.size();
    CHECK(begin_ <= end_);
    if (begin_ == end_) begin_ = end_ = 0;
}

base::Result<Frame> decode_frame(base::ByteView bytes) {
    FrameHeaderBytes head{};
    if (bytes.size() < head.size()) {
        return base::fail(base::Errc::malformed, "a frame is shorter than its header");
    }
    std::memcpy(head.data(), bytes.data(), head.size());
    const auto header = decode_header(head);
    if (!header) return base::fail(header.error());
    const base::ByteView payload = bytes.subspan(kFrameHeaderBytes);
    if (payload.size() != header->length) {
        return base::fail(base::Errc::malformed,
                          "a frame of " + std::to_string(header->length) + " bytes has " +
                              std::to_string(payload.size()));
    }
    return Frame{*header, payload};
}

ProbeFrame encode_probe(std::uint64_t nonce) {
    const auto header = encode({.kind = FrameKind::probe, .length = kProbeBytes});
    ProbeFrame out{};
    std::memcpy(out.data(), header.data(), header.size());
    for (std::size_t i = 0; i < kProbeBytes; ++i)
        out[kFrameHeaderBytes + i] = static_cast<std::byte>(nonce >> (8 * i) & 0xFFU);
    return out;
}

std::uint64_t decode_probe(base::ByteView payload) {
    CHECK(payload.size() == kProbeBytes);
    std::uint64_t nonce = 0;
    for (std::size_t i = 0; i < kProbeBytes; ++i)
        nonce |= std::to_integer<std::uint64_t>(payload[i]) << (8 * i);
    return nonce;
}

base::Bytes encode_goodbye(CloseReason reason, std::string_view text) {
    base::Bytes out{static_cast<std::byte>(reason)};
    const base::ByteView bytes = base::as_bytes(text.substr(0, kGoodbyeTextMax));
    out.insert(out.end(), bytes.begin(), bytes.end());
    return out;
}

base::Result<CloseInfo> decode_goodbye(base::ByteView payload) {
    if (payload.empty() || payload[0] > static_cast<std::byte>(CloseReason::limit)) {
        return base::fail(base::Errc::malformed, "a goodbye without a known reason");
    }
    CloseInfo info;
    info.by_peer = true;
    const auto reason = static_cast<CloseReason>(payload[0]);
    info.reason = reason == CloseReason::refused ? reason : CloseReason::peer;
    info.text = base::as_text(payload.subspan(1));
    for (char& c : info.text) {
        if (c < ' ' || c > '~') c = '?';
    }
    return info;
}

}  // namespace transport::link
