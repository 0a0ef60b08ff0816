#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "transport/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// What a stream of bytes between two nodes consists of: frames of a header of 8 bytes and up to
// 16 KiB. Little-endian:
//
//   0  kind u8      1  lane (bit 0), priority (1..3), first (4)      2  length u16
//   4  u32          slice: of the first the whole message's length, of others their offset in it
//
// A message is cut into slices, so that urgent ones overtake long ones between any two slices;
// every slice but a message's last is full. One full bulk slice makes one record of TLS. By a path
// with landings a long message is cut into these instead.
//
// A path besides TCP carries records: one or more whole frames of one lane, one behind the other.
namespace transport::link {

enum class FrameKind : std::uint8_t {
    slice = 0,      // Of a message.
    prelude = 1,    // How two nodes find a faster path (prelude.hpp).
    heartbeat = 2,  // Empty; only says that the sender lives.
    goodbye = 3,    // A CloseReason and a text; the sender's last.
    probe = 4,      // A number of 8 bytes; by a path that is being proved, never by TCP.
    landing = 5,  // Of a message; says where its bytes lie. By a path that has such, never by TCP.
};

inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr std::size_t kFrameBytesMax = std::size_t{16} << 10;
inline constexpr std::size_t kPreludeBytesMax = 4096;
inline constexpr std::size_t kGoodbyeTextMax = 255;
inline constexpr std::size_t kProbeBytes = 8;
inline constexpr std::size_t kLandingFrameBytes = 12;

// A part of a message that is written at once into memory which the peer keeps for that. All but a
// message's last are full.
inline constexpr std::size_t kLandingBytes = std::size_t{64} << 10;
// Messages of the data lane from this length on go by landings: an answer to the smallest question
// for blocks, of 64 KiB, may be somewhat shorter than that.
inline constexpr std::size_t kLandingMessageBytesMin = std::size_t{32} << 10;

// The payload of a full slice: frames of 4 KiB on the control lane, of 16 KiB on the data lane.
[[nodiscard]] constexpr std::size_t slice_bytes(Lane lane) {
    return (lane == Lane::control ? kFrameBytesMax / 4 : kFrameBytesMax) - kFrameHeaderBytes;
}
// A record has at most so many bytes: one full slice's, or several frames' that are shorter.
[[nodiscard]] constexpr std::size_t record_bytes_max(Lane lane) {
    return kFrameHeaderBytes + slice_bytes(lane);
}

struct FrameHeader {
    FrameKind kind = FrameKind::slice;
    Lane lane = Lane::control;
    Priority priority = 0;
    bool is_first = false;
    std::uint16_t length = 0;
    std::uint32_t total_or_offset = 0;

    friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

using FrameHeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

[[nodiscard]] FrameHeaderBytes encode(const FrameHeader& header);

// malformed: unknown kinds and bits, lengths outside their limits, a slice that is neither full
// nor the last of what it can be.
[[nodiscard]] base::Result<FrameHeader> decode_header(const FrameHeaderBytes& bytes);

struct Frame {
    FrameHeader header{};
    base::ByteView payload{};  // Valid until the reader's next space().

    // With its header.
    [[nodiscard]] std::size_t bytes() const { return kFrameHeaderBytes + payload.size(); }
};

// The first frame of what is left of a record. malformed: as decode_header, or it ends behind the
// record.
[[nodiscard]] base::Result<Frame> first_frame(base::ByteView record);

// A probe's whole frame, and its number; the payload has kProbeBytes.
using ProbeFrame = std::array<std::byte, kFrameHeaderBytes + kProbeBytes>;
[[nodiscard]] ProbeFrame encode_probe(std::uint64_t nonce);
[[nodiscard]] std::uint64_t decode_probe(base::ByteView payload);

// What a landing's payload says: which it is, and how long.
struct Landing {
    std::uint64_t token = 0;
    std::uint32_t bytes = 0;

    friend bool operator==(const Landing&, const Landing&) = default;
};
// A landing's whole frame: lane, priority, is_first and total_or_offset are the header's.
using LandingFrame = std::array<std::byte, kFrameHeaderBytes + kLandingFrameBytes>;
[[nodiscard]] LandingFrame encode_landing(FrameHeader header, const Landing& landing);
// The payload has kLandingFrameBytes. malformed: it has no bytes, or more than kLandingBytes.
[[nodiscard]] base::Result<Landing> decode_landing(base::ByteView payload);

// A part of a long message that goes by a landing: its frame's header, and its bytes.
struct Part {
    FrameHeader header{};
    base::ByteView bytes{};
};

// Cuts a stream into frames. Holds two frames at most.
class FrameReader {
  public:
    FrameReader() : buffer_(2 * kFrameBytesMax) {}

    // Where the next bytes of the stream go; at least one whole frame's worth.
    [[nodiscard]] std::span<std::byte> space();
    void commit(std::size_t bytes);

    // The oldest frame if it has arrived whole. malformed: as decode_header; for good.
    [[nodiscard]] base::Result<std::optional<Frame>> peek() const;
    void consume(const Frame& frame);

  private:
    std::vector<std::byte> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

// A goodbye's payload, and what it says. Bytes that are no printable ASCII come out as '?'.
[[nodiscard]] base::Bytes encode_goodbye(CloseReason reason, std::string_view text);
[[nodiscard]] base::Result<CloseInfo> decode_goodbye(base::ByteView payload);

}  // namespace transport::link
