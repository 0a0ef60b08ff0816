#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

// What lies in a ring (spec 06, "One ring for all remote-memory kinds"). All numbers little-endian.
//
// A ring is a run of memory that its consumer owns and its producer writes. It holds records, each
// at a line of 64 bytes: a word, then `length` bytes, then 16 bytes of tag where the ring is
// sealed. The word is stored last, and in one piece:
//
//   0..31 lap    32..55 length    56..58 kind    59..61 zero    62 sync_req    63 zero
//
// Positions count bytes of the ring from 0 and never return.
// `lap` counts how often the ring was gone through, from 1; a record of an older lap is therefore
// never taken for a new one, and nothing is ever cleared. What could be mistaken for a record's
// word is old payload in the same place: so a producer stores a zero word behind each record
// before the record's own word, and a consumer, which only looks behind the last record, never
// reads anything but a word. Lap 0 is no lap.
//
// A record does not wrap: where it would, a skip record fills the ring up to its end.
namespace transport::ring {

inline constexpr std::size_t kLineBytes = 64;
inline constexpr std::size_t kWordBytes = 8;
inline constexpr std::size_t kTagBytes = 16;
// A full frame of transport/link, or several that are shorter.
inline constexpr std::size_t kPayloadBytesMax = std::size_t{16} << 10;
// The most that is sealed at once, beside rings.
inline constexpr std::size_t kSealedBytesMax = std::size_t{64} << 10;

enum class RecordKind : std::uint8_t {
    frame = 1,
    skip = 2,  // Empty; the rest of the ring's lap is unused.
};

struct RecordWord {
    std::uint32_t lap = 0;
    std::uint32_t length = 0;
    RecordKind kind = RecordKind::frame;
    bool sync_req = false;  // Return your position when you have come past this record.

    friend bool operator==(const RecordWord&, const RecordWord&) = default;
};

[[nodiscard]] std::uint64_t encode(const RecordWord& word);
// Empty: unknown kinds, set zero bits, a length over the maximum, a skip that holds something.
[[nodiscard]] std::optional<RecordWord> decode_word(std::uint64_t bits);

// How many bytes of a ring a record of so many bytes takes.
[[nodiscard]] constexpr std::size_t record_bytes(std::size_t length) {
    return (kWordBytes + length + kTagBytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}
inline constexpr std::size_t kRecordBytesMax = record_bytes(kPayloadBytesMax);
// An empty ring takes any record, wherever it stands: one that fills up the lap, the record, and
// the word behind it.
inline constexpr std::size_t kRingBytesMin = std::size_t{64} << 10;
static_assert(kRingBytesMin >= 2 * kRecordBytesMax + kLineBytes);
inline constexpr std::size_t kRingBytesMax = std::size_t{1} << 30;

// A ring ends before its laps do: what uses it begins a new generation.
inline constexpr std::uint64_t kLapsMax = std::uint64_t{1} << 31;

}  // namespace transport::ring
