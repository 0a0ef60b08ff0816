#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "transport/ntb/window.hpp"
#include "transport/ring/path.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

// How two ends of a window know each other. Each says by TLS what its end looks like, and writes
// the same into the other's scratchpads when its memory is ready: only who sees there what it was
// told, uses the window.
namespace transport::ntb {

// Of a ring: 64 KiB to 64 MiB, a power of two.
inline constexpr unsigned kRingLog2Min = 16;
inline constexpr unsigned kRingLog2Max = 26;
inline constexpr std::size_t kPlaceBytesMax = 64;

struct Parameters {
    std::uint32_t epoch = 0;  // Random, of this end of this window: never 0.
    std::uint8_t control_log2 = 18;
    std::uint8_t data_log2 = 20;
    std::uint8_t partitions = 1;
    base::Bytes place{};  // Of the provider.

    [[nodiscard]] ring::Geometry geometry() const {
        return {.ring_bytes = {std::size_t{1} << control_log2, std::size_t{1} << data_log2}};
    }
};

[[nodiscard]] base::Bytes encode(const Parameters& parameters);
// malformed: anything else than exactly this, rings outside their bounds, several partitions.
[[nodiscard]] base::Result<Parameters> decode_parameters(base::ByteView bytes);

// The scratchpads, by number.
enum class Pad : std::uint8_t {
    magic,
    version,
    window_pages,  // Of 4 KiB, which the rings and their cells take.
    rings,         // Of control log2, then of data: 8 bits each.
    partitions,
    epoch,
    state,  // 0: not ready; written last.
    heartbeat,
};
inline constexpr std::uint32_t kPadReady = 1;
inline constexpr std::uint32_t kPadGone = 2;

// What an end writes; the state and the heartbeat are zero.
[[nodiscard]] std::array<std::uint32_t, kScratchpads> pads_of(const Parameters& parameters);

// Tells the peer that our end is ready.
void announce(MemoryWindow& window, const Parameters& ours);
// Whether the peer's end is ready. invalid: it is not the end that was promised; unavailable: it
// was, and is gone.
[[nodiscard]] base::Result<bool> is_ready(const MemoryWindow& window, const Parameters& promised);

}  // namespace transport::ntb
