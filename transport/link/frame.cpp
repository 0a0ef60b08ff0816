#include "transport/link/frame.hpp"

#include "base/check.hpp"
#include "transport/number.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace transport::link {

namespace {

constexpr unsigned kFirstBit = 1U << 4U;
constexpr std::size_t kTokenBytes = 8;

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

base::Result<FrameHeader> check_landing(const FrameHeader& header) {
    if (header.length != kLandingFrameBytes)
        return malformed("a landing's frame has 12 bytes, not", header.length);
    if (header.lane != Lane::data) return malformed("a landing of lane", 0);
    const std::size_t at = header.total_or_offset;
    if (header.is_first && (at == 0 || at > kMessageBytesMax))
        return malformed("a message has 1 byte to 8 MiB, not", at);
    if (!header.is_first && (at == 0 || at % kLandingBytes != 0 || at >= kMessageBytesMax))
        return malformed("no landing begins at", at);
    return header;
}

// Of frames that are no parts of messages.
std::size_t length_max(FrameKind kind) {
    if (kind == FrameKind::prelude) return kPreludeBytesMax;
    if (kind == FrameKind::goodbye) return 1 + kGoodbyeTextMax;
    return kind == FrameKind::probe ? kProbeBytes : 0;
}

base::Result<FrameHeader> check_other(const FrameHeader& header) {
    if (header.length > length_max(header.kind)) {
        return malformed("length over the limit:", header.length);
    }
    if (header.kind == FrameKind::probe && header.length != kProbeBytes) {
        return malformed("a probe has 8 bytes, not", header.length);
    }
    if (header.total_or_offset != 0 || header.is_first || header.priority != 0 ||
        header.lane != Lane::control) {
        return malformed("bits that belong to slices in kind",
                         static_cast<std::uint64_t>(header.kind));
    }
    return header;
}

// Of bytes that begin with one.
base::Result<FrameHeader> first_header(base::ByteView bytes) {
    FrameHeaderBytes head{};
    std::memcpy(head.data(), bytes.data(), head.size());
    return decode_header(head);
}

}  // namespace

FrameHeaderBytes encode(const FrameHeader& header) {
    const auto flags = static_cast<unsigned>(header.lane) | unsigned{header.priority} << 1U |
                       (header.is_first ? kFirstBit : 0U);
    FrameHeaderBytes out{};
    out[0] = static_cast<std::byte>(header.kind);
    out[1] = static_cast<std::byte>(flags);
    store_number(std::span(out).subspan<2, 2>(), header.length);
    store_number(std::span(out).subspan<4>(), header.total_or_offset);
    return out;
}

base::Result<FrameHeader> decode_header(const FrameHeaderBytes& bytes) {
    const auto kind = std::to_integer<unsigned>(bytes[0]);
    const auto flags = std::to_integer<unsigned>(bytes[1]);
    if (kind > static_cast<unsigned>(FrameKind::landing)) return malformed("unknown kind", kind);
    if (flags >= 2 * kFirstBit) return malformed("unknown flags", flags);
    FrameHeader header;
    header.kind = static_cast<FrameKind>(kind);
    header.lane = static_cast<Lane>(flags & 1U);
    header.priority = static_cast<Priority>(flags >> 1U & 7U);
    header.is_first = (flags & kFirstBit) != 0;
    header.length = static_cast<std::uint16_t>(load_number(std::span(bytes).subspan<2, 2>()));
    header.total_or_offset = static_cast<std::uint32_t>(load_number(std::span(bytes).subspan<4>()));
    if (header.kind == FrameKind::slice) return check_slice(header);
    return header.kind == FrameKind::landing ? check_landing(header) : check_other(header);
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
    const auto header = first_header(have);
    if (!header) return base::fail(header.error());
    if (have.size() < kFrameHeaderBytes + header->length) return std::nullopt;
    return Frame{*header, have.subspan(kFrameHeaderBytes, header->length)};
}

void FrameReader::consume(const Frame& frame) {
    begin_ += frame.bytes();
    CHECK(begin_ <= end_);
    if (begin_ == end_) begin_ = end_ = 0;
}

base::Result<Frame> first_frame(base::ByteView record) {
    if (record.size() < kFrameHeaderBytes) {
        return base::fail(base::Errc::malformed, "a frame is shorter than its header");
    }
    const auto header = first_header(record);
    if (!header) return base::fail(header.error());
    const base::ByteView rest = record.subspan(kFrameHeaderBytes);
    if (rest.size() < header->length) {
        return base::fail(base::Errc::malformed,
                          "a frame of " + std::to_string(header->length) + " bytes has " +
                              std::to_string(rest.size()));
    }
    return Frame{*header, rest.first(header->length)};
}

ProbeFrame encode_probe(std::uint64_t nonce) {
    const auto header = encode({.kind = FrameKind::probe, .length = kProbeBytes});
    ProbeFrame out{};
    std::memcpy(out.data(), header.data(), header.size());
    store_number(std::span(out).subspan(kFrameHeaderBytes), nonce);
    return out;
}

std::uint64_t decode_probe(base::ByteView payload) {
    CHECK(payload.size() == kProbeBytes);
    return load_number(payload);
}

LandingFrame encode_landing(FrameHeader header, const Landing& landing) {
    header.kind = FrameKind::landing;
    header.length = kLandingFrameBytes;
    const auto head = encode(header);
    LandingFrame out{};
    std::memcpy(out.data(), head.data(), head.size());
    const auto payload = std::span(out).subspan(kFrameHeaderBytes);
    store_number(payload.first(kTokenBytes), landing.token);
    store_number(payload.subspan(kTokenBytes), landing.bytes);
    return out;
}

base::Result<Landing> decode_landing(base::ByteView payload) {
    CHECK(payload.size() == kLandingFrameBytes);
    const Landing out{
        .token = load_number(payload.first(kTokenBytes)),
        .bytes = static_cast<std::uint32_t>(load_number(payload.subspan(kTokenBytes)))};
    if (out.bytes > 0 && out.bytes <= kLandingBytes) return out;
    return base::fail(base::Errc::malformed,
                      "a landing has 1 byte to 64 KiB, not " + std::to_string(out.bytes));
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
