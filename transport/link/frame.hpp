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
// every slice but a message's last is full. One full bulk slice makes one record of TLS.
namespace transport::link {

enum class FrameKind : std::uint8_t {
    slice = 0,      // Of a message.
    prelude = 1,    // How two nodes find a faster path (prelude.hpp).
    heartbeat = 2,  // Empty; only says that the sender lives.
    goodbye = 3,    // A CloseReason and a text; the sender's last.
    probe = 4,      // A number of 8 bytes; by a path that is being proved, never by TCP.
};

inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr std::size_t kFrameBytesMax = std::size_t{16} << 10;
inline constexpr std::size_t kPreludeBytesMax = 4096;
inline constexpr std::size_t kGoodbyeTextMax = 255;
inline constexpr std::size_t kProbeBytes = 8;

// The payload of a full slice: frames of 4 KiB on the control lane, of 16 KiB on the data lane.
[[nodiscard]] constexpr std::size_t slice_bytes(Lane lane) {
    return (lane == Lane::control ? kFrameBytesMax / 4 : kFrameBytesMax) - kFrameHeaderBytes;
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
};

// A frame that stands alone. malformed: as decode_header, or another length than its header's.
[[nodiscard]] base::Result<Frame> decode_frame(base::ByteView bytes);

// A probe's whole frame, and its number; the payload has kProbeBytes.
using ProbeFrame = std::array<std::byte, kFrameHeaderBytes + kProbeBytes>;
[[nodiscard]] ProbeFrame encode_probe(std::uint64_t nonce);
[[nodiscard]] std::uint64_t decode_probe(base::ByteView payload);

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
