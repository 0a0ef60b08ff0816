#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/ring/consumer.hpp"
#include "transport/ring/producer.hpp"
#include "transport/types.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace transport::ring {

// The memory that a node gives a peer to write: cells of a line each, then a ring for each lane.
//
//   0, 64   how far the peer has read our rings towards it, control and data: u64
//   128     the peer sleeps: a number that grows each time, twice, plus 1 if it waits for room: u64
//   256     the rings
struct Geometry {
    std::array<std::size_t, kLanes> ring_bytes{std::size_t{256} << 10, std::size_t{1} << 20};

    static constexpr std::size_t kCreditAt = 0;  // Of a lane: this plus a line each.
    static constexpr std::size_t kArmedAt = 2 * kLineBytes;
    static constexpr std::size_t kRingsAt = 4 * kLineBytes;

    [[nodiscard]] std::size_t ring_at(Lane lane) const {
        return kRingsAt + (lane == Lane::control ? 0 : ring_bytes[0]);
    }
    [[nodiscard]] std::size_t region_bytes() const {
        return kRingsAt + ring_bytes[0] + ring_bytes[1];
    }
};

// What seals the rings: one for each lane and direction, known to both ends.
struct Secrets {
    std::array<base::Hash256, kLanes> out{};
    std::array<base::Hash256, kLanes> in{};
};

// How soon a sleeping peer is woken again whose doorbell seems lost.
inline constexpr std::chrono::milliseconds kRingAgain{1};

// Both directions of a path over remote memory: two rings to the peer, two from it, the credit
// for them, and who sleeps. One line of stores for a short record, nothing read from afar.
//
// Sleeping: a side says that it is armed and looks once more; the other rings the doorbell when it
// then has written something. Where both look too early (stores to remote memory are not ordered
// with loads from one's own), the doorbell is lost; so it is rung again after kRingAgain while
// records lie unread, and whoever waits for room looks again as often.
//
// Pure; time comes as an argument. Thread: one. Allocates nothing after construction.
template <Store S>
class Path : base::Pinned {
  public:
    struct Received {
        Lane lane = Lane::control;
        base::ByteView record{};  // Private memory, until consume().
    };

    // `inbound` is ours, zeroed, of region_bytes() of `ours`; `outbound` reaches the peer's, of
    // `peers`. Both outlive the path. Without secrets the rings are open: for benchmarks, and for
    // memory that only one user's processes can touch.
    Path(std::span<std::byte> inbound,
         S& outbound,
         const Geometry& ours,
         const Geometry& peers,
         const std::optional<Secrets>& secrets)
        : inbound_(inbound), outbound_(outbound) {
        for (const Lane lane : {Lane::control, Lane::data}) {
            const std::size_t i = index(lane);
            if (secrets) {
                seals_[i] = std::make_unique<Seal>(secrets->out[i], Seal::Use::seal);
                openers_[i] = std::make_unique<Seal>(secrets->in[i], Seal::Use::open);
            }
            producers_[i] = std::make_unique<Producer<S>>(
                outbound, peers.ring_at(lane), peers.ring_bytes[i], seals_[i].get());
            consumers_[i] = std::make_unique<Consumer>(
                inbound.subspan(ours.ring_at(lane), ours.ring_bytes[i]), openers_[i].get());
        }
    }

    // Whether send() would take a record of so many bytes now; if not, we wait for room.
    [[nodiscard]] bool has_room(Lane lane, std::size_t bytes) {
        const bool fits = producers_[index(lane)]->placer().fits(bytes);
        if (!fits) waits_for_room_ = true;
        return fits;
    }
    // How far a lane was written, and how far the peer has read it, as far as it has said.
    [[nodiscard]] std::uint64_t sent(Lane lane) const {
        return producers_[index(lane)]->placer().produced();
    }
    [[nodiscard]] std::uint64_t taken(Lane lane) const {
        return producers_[index(lane)]->placer().consumed();
    }
    [[nodiscard]] bool waits_for_room() const { return waits_for_room_; }

    // Writes a record of 1..kPayloadBytesMax bytes. False: there is no room now.
    [[nodiscard]] bool send(Lane lane, base::ByteView record) {
        const bool is_sent = producers_[index(lane)]->push(record);
        if (!is_sent) waits_for_room_ = true;
        return is_sent;
    }

    // The next record of the control lane, else of the data lane. invalid: the peer broke a ring.
    [[nodiscard]] base::Result<std::optional<Received>> peek() {
        for (const Lane lane : {Lane::control, Lane::data}) {
            auto record = consumers_[index(lane)]->peek();
            if (!record) return base::fail(std::move(record.error()));
            if (*record) return std::optional<Received>({lane, **record});
        }
        return std::optional<Received>();
    }
    void consume(Lane lane) { consumers_[index(lane)]->consume(); }

    // Takes what the peer says of our rings. invalid: it can't be.
    [[nodiscard]] base::Result<void> take_credits() {
        if (has_new_credit()) waits_for_room_ = false;
        for (std::size_t i = 0; i < kLanes; ++i) {
            if (auto taken = producers_[i]->take_credit(load_credit(i)); !taken) return taken;
        }
        return {};
    }
    // Tells the peer how far we have read, where that is due.
    void return_credits() {
        for (std::size_t i = 0; i < kLanes; ++i) {
            const auto position = consumers_[i]->take_due_credit();
            if (!position) continue;
            outbound_.put_word(Geometry::kCreditAt + i * kLineBytes, *position);
            outbound_.fence();
            has_returned_ = true;
        }
    }

    // Whether to ring the peer's doorbell now. Ask after writing, and every kRingAgain while
    // has_unread().
    [[nodiscard]] bool take_doorbell(base::Timestamp now) {
        // After our records: on ordinary memory one of both sides then sees the other (arm()).
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const std::uint64_t armed = load(Geometry::kArmedAt);
        const bool has_reason = has_unread() || (armed % 2 == 1 && has_returned_);
        if (armed == 0 || !has_reason) return false;
        if (armed == answered_ && now < rung_at_ + kRingAgain) return false;
        answered_ = armed;
        rung_at_ = now;
        has_returned_ = false;
        return true;
    }
    // Records that the peer has not read, as far as it has said.
    [[nodiscard]] bool has_unread() const {
        return !producers_[0]->placer().is_drained() || !producers_[1]->placer().is_drained();
    }
    // A ring is used up: time for a new generation.
    [[nodiscard]] bool is_worn_out() const {
        return producers_[0]->placer().is_worn_out() || producers_[1]->placer().is_worn_out();
    }

    // Before sleeping. False: something has come already.
    [[nodiscard]] bool arm() {
        armed_ += 2;
        outbound_.put_word(Geometry::kArmedAt, armed_ | (waits_for_room_ ? 1U : 0U));
        outbound_.fence();
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (waits_for_room_ && has_new_credit()) return false;
        return !consumers_[0]->has_record() && !consumers_[1]->has_record();
    }

  private:
    static std::size_t index(Lane lane) { return static_cast<std::size_t>(lane); }
    [[nodiscard]] std::uint64_t load(std::size_t offset) const {
        return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(inbound_.data() + offset),
                               __ATOMIC_ACQUIRE);
    }
    [[nodiscard]] std::uint64_t load_credit(std::size_t lane) const {
        return load(Geometry::kCreditAt + lane * kLineBytes);
    }
    [[nodiscard]] bool has_new_credit() const {
        return load_credit(0) != producers_[0]->placer().consumed() ||
               load_credit(1) != producers_[1]->placer().consumed();
    }

    std::span<std::byte> inbound_;
    S& outbound_;
    std::array<std::unique_ptr<Seal>, kLanes> seals_;
    std::array<std::unique_ptr<Seal>, kLanes> openers_;
    std::array<std::unique_ptr<Producer<S>>, kLanes> producers_;
    std::array<std::unique_ptr<Consumer>, kLanes> consumers_;
    bool waits_for_room_ = false;
    bool has_returned_ = false;   // Credit that the peer may sleep for.
    std::uint64_t armed_ = 0;     // What we said last.
    std::uint64_t answered_ = 0;  // The peer's word that we last rang for.
    base::Timestamp rung_at_{};
};

}  // namespace transport::ring
