#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/link/frame.hpp"
#include "transport/ring/record.hpp"
#include "transport/ring/seal.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

// Landings: places behind the rings of a node's memory, which its peer writes with parts of long
// messages (link::kLandingBytes each) in turn. A landing's number, its token, says which place and
// which key and nonce: as it is never used twice, what is old, or stands in another place, or has
// another length, does not open.
namespace transport::rdma {

// A landing and its tag, to the next line.
inline constexpr std::size_t kLandingPlaceBytes =
    (link::kLandingBytes + ring::kTagBytes + ring::kLineBytes - 1) / ring::kLineBytes *
    ring::kLineBytes;
inline constexpr std::size_t kLandingsMax = 16;

// Landings in a peer's memory: which are free, what goes there.
//
// Thread: one. Allocates nothing.
class LandingWriter : base::Pinned {
  public:
    // `mirror`: what is written to the peer's places is laid out here. `secret`: of the data lane's
    // ring, whose records use other keys that are derived of it.
    LandingWriter(std::span<std::byte> mirror, const base::Hash256& secret);

    [[nodiscard]] std::size_t count() const { return mirror_.size() / kLandingPlaceBytes; }
    [[nodiscard]] std::size_t room() const {
        return count() - static_cast<std::size_t>(written_ - taken_);
    }
    // Of the next landing, and the number of those before it.
    [[nodiscard]] std::uint64_t token() const { return written_; }

    struct Written {
        std::size_t at = 0;  // From the first place's begin.
        base::ByteView bytes{};

        // Goes on up to the end of `next`, so that one write does for both; where that would write
        // more that is neither one's than another write costs, or goes back, it becomes `next`, and
        // gives what it was. An empty one becomes `next`.
        [[nodiscard]] std::optional<Written> go_on(const Written& next);
    };
    // Seals 1..kLandingBytes bytes into the next place. There is room.
    [[nodiscard]] Written write(base::ByteView plain);

    // The peer says how many it has taken. invalid: it can't have.
    [[nodiscard]] base::Result<void> take_credit(std::uint64_t taken);

  private:
    std::span<std::byte> mirror_;
    ring::Seal seal_;
    std::uint64_t written_ = 0;
    std::uint64_t taken_ = 0;
};

// Landings in our memory, which the peer may write at any moment: what is handed out is a private
// copy, made before it is opened, because GCM reads its input twice.
//
// Thread: one. Allocates nothing.
class LandingReader : base::Pinned {
  public:
    LandingReader(std::span<const std::byte> memory, const base::Hash256& secret);

    // Takes the one that the peer names, and has written before, into `out`, of its length.
    // invalid: it is not the next one, or not what the peer's session sealed.
    [[nodiscard]] base::Result<void> take(const link::Landing& landing, std::span<std::byte> out);
    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    // How many of those the peer may write over, so that no more than `window` are under way. May
    // be less than before: what a peer was told stays.
    [[nodiscard]] std::uint64_t freed(std::size_t window) const;

  private:
    [[nodiscard]] base::Result<void> check(const link::Landing& landing) const;

    std::span<const std::byte> memory_;
    ring::Seal seal_;
    std::uint64_t taken_ = 0;
};

}  // namespace transport::rdma
