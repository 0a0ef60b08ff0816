#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/ring/mapped_store.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace transport::ntb {

// Registers of 32 bits: each end reads its own, which the other writes.
inline constexpr unsigned kScratchpads = 8;

inline constexpr std::size_t kPageBytes = 4096;
// Where scratchpads lie in the memory itself: a page of them, then the rings.
inline constexpr std::size_t kWindowHeadBytes = kPageBytes;
// A line each, so that who reads one disturbs no other.
inline constexpr std::size_t kPadStride = 64;
inline constexpr std::size_t kPadsBytes = kScratchpads * kPadStride;
static_assert(kPadsBytes <= kWindowHeadBytes);
[[nodiscard]] std::uint32_t load_pad(std::span<std::byte> memory, unsigned number);
void store_pad(std::span<std::byte> memory, unsigned number, std::uint32_t value);
// What a window needs for so many bytes of rings, in whole pages.
[[nodiscard]] constexpr std::size_t window_bytes(std::size_t region_bytes) {
    return kWindowHeadBytes + (region_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// A stretch of memory of ours that one peer writes, and one of the peer's that we write: what a
// non-transparent bridge gives, or two processes that share memory. Nothing is read from afar.
//
// Thread: one.
class MemoryWindow : base::Pinned {
  public:
    enum class Link : std::uint8_t {
        down,    // Not yet.
        up,      // The peer's memory and scratchpads can be written.
        failed,  // Not any more; for good.
    };

    virtual ~MemoryWindow() = default;

    // Where the peer finds our end; goes to it by TLS.
    [[nodiscard]] virtual base::Bytes place() const = 0;
    // Goes for the peer's end, whose memory has so many bytes. The link comes up later.
    [[nodiscard]] virtual base::Result<void> connect(base::ByteView peer_place,
                                                     std::size_t peer_bytes) = 0;
    [[nodiscard]] virtual Link link() const = 0;
    // Something is wrong: whether the window itself has gone; link() then tells.
    virtual void look_at_device() {}
    // Why it failed; for people.
    [[nodiscard]] virtual const std::string& failure() const = 0;

    // Zero at first; only to be loaded from.
    [[nodiscard]] virtual std::span<std::byte> inbound() = 0;
    // While the link is up; only to be stored to.
    [[nodiscard]] virtual std::span<std::byte> outbound() = 0;
    [[nodiscard]] virtual ring::MappedStore::Mapping mapping() const = 0;

    [[nodiscard]] virtual std::uint32_t read_scratchpad(unsigned number) const = 0;
    // While the link is up. What was stored before, in the window too, is seen before.
    virtual void write_scratchpad(unsigned number, std::uint32_t value) = 0;
    // Wakes the peer, if it can be; never blocks.
    virtual void ring_doorbell() = 0;
};

}  // namespace transport::ntb
