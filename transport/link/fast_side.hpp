#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/channel_status.hpp"
#include "transport/link/fast_path.hpp"
#include "transport/link/outbox.hpp"
#include "transport/link/reassembly.hpp"
#include "transport/link/send_queue.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace transport::link {

// The fast half of a connection: which way messages go now, and what has to be kept so that TCP
// can go on where a path breaks off. What Detection asks of a PathOwner is done here.
//
// A message is numbered, in its lane, when its last slice is written, and by the receiver when
// that has come: each lane of a path keeps its order, so both count alike.
//
// Thread: one. Pure; time comes as an argument.
class FastSide : base::Pinned {
  public:
    // Both are the connection's, for TCP and the path in turn.
    FastSide(SendQueue& queue, Reassembly& reassembly)
        : queue_(queue), reassembly_(reassembly), record_(kFrameBytesMax) {}

    void adopt(std::unique_ptr<FastPath> path) { path_ = std::move(path); }
    [[nodiscard]] FastPath* path() { return path_.get(); }

    // Writes it as soon as the path is up.
    void write_probe(std::uint64_t nonce) { probe_ = nonce; }
    // TCP begins no message any more.
    void finish_tcp();
    // It has finished those that were begun; true once.
    [[nodiscard]] bool take_finished();
    // Not at all, then.
    void stay_on_tcp();
    void begin_out();
    void begin_in() { is_in_ = true; }
    // A message has come by the path.
    void count_in(Lane lane) { ++next_in_[static_cast<std::size_t>(lane)]; }
    // A landing of so many bytes was taken.
    void count_landing(std::size_t bytes) {
        ++landed_in_.landings;
        landed_in_.bytes += bytes;
    }

    // What is left of a record that path()->peek() gave.
    [[nodiscard]] base::ByteView unread(const FastPath::Received& received) const {
        return received.record.subspan(read_[static_cast<std::size_t>(received.lane)]);
    }
    // So many bytes of it, its first frame, were taken; with the last of them it is consumed.
    void consume(const FastPath::Received& received, std::size_t bytes);

    // Hears of credit and writes what is queued, as far as there is room. invalid: the path has
    // failed.
    [[nodiscard]] base::Result<void> write(base::Timestamp now);

    // Gives the path up; what has come by it. If messages went by it, none goes until replay().
    NextNumbers stop();
    // TCP goes on with what the peer lacks. False: it can't lack that.
    [[nodiscard]] bool replay(const NextNumbers& peer_next);
    // The connection ends: nothing of this is needed any more.
    void drop();

    // Messages go by the path.
    [[nodiscard]] bool is_out() const { return is_out_; }
    // They come by the path.
    [[nodiscard]] bool is_in() const { return is_in_; }
    // The path is given up, and the peer has not said what it lacks.
    [[nodiscard]] bool is_silent() const { return is_silent_; }
    [[nodiscard]] bool sends_by_tcp() const { return !is_out_ && !is_silent_; }
    // The peer has all that was sent.
    [[nodiscard]] bool is_covered() const { return !is_silent_ && outbox_.empty(); }
    [[nodiscard]] std::uint64_t uncovered_bytes() const { return outbox_.bytes(); }
    // The peer has not taken all that was written to the path.
    [[nodiscard]] bool is_owed() const;
    // How often there was no room for what was queued, in all paths so far.
    [[nodiscard]] std::uint64_t stalls() const { return stalls_; }
    // In all paths so far.
    [[nodiscard]] const LandingCount& landed_out() const { return landed_out_; }
    [[nodiscard]] const LandingCount& landed_in() const { return landed_in_; }
    // When the peer last took something, or had nothing to take.
    [[nodiscard]] base::Timestamp taken_at() const { return taken_at_; }

  private:
    void write_messages();
    // One record, and what lands with it; how many bytes. 0: nothing may go.
    std::size_t write_next();
    // How many bytes.
    std::size_t land(std::span<const Part> parts);
    [[nodiscard]] Rooms rooms();
    [[nodiscard]] bool has_room(Lane lane);
    // Whether the peer took something since the last call.
    [[nodiscard]] bool take_cover();

    SendQueue& queue_;
    Reassembly& reassembly_;
    std::unique_ptr<FastPath> path_;
    Outbox outbox_;
    std::vector<std::byte> record_;  // Scratch.
    std::optional<std::uint64_t> probe_;
    bool wants_finish_ = false;
    bool is_out_ = false;
    bool is_in_ = false;
    bool is_silent_ = false;
    std::uint64_t stalls_ = 0;
    LandingCount landed_out_;
    LandingCount landed_in_;
    NextNumbers next_in_{};
    std::array<std::size_t, kLanes> read_{};  // Of each lane's oldest record.
    std::array<std::uint64_t, kLanes> taken_{};
    base::Timestamp taken_at_{};
};

}  // namespace transport::link
