#pragma once

#include "base/time.hpp"
#include "transport/link/fast_path.hpp"
#include "transport/link/schedule.hpp"
#include "transport/ntb/parameters.hpp"
#include "transport/ntb/window.hpp"
#include "transport/ring/mapped_store.hpp"
#include "transport/ring/path.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace transport::ntb {

// A path over a window, whoever provides that: brings it up by scratchpads, then frames go through
// its rings, sealed. Sleeps until its peer rings; looks by itself only while the peer owes it
// something: after 1 ms where a bell may be lost or room is waited for, then later and later.
//
// Thread: one.
class WindowPath final : public link::FastPath, public link::Scheduled {
  public:
    // The window has room for the rings; `ours` without its place.
    WindowPath(std::unique_ptr<MemoryWindow> window,
               Parameters ours,
               const link::PathSecrets& secrets,
               link::Schedule& schedule,
               link::FastUser& user);
    ~WindowPath() override;

    [[nodiscard]] base::Bytes parameters() const override { return encode(ours_); }
    [[nodiscard]] base::Result<void> bring_up(base::ByteView peer_parameters) override;

    [[nodiscard]] base::Result<std::optional<Received>> peek() override;
    void consume(Lane lane) override { rings_->consume(lane); }
    void call_again() override { schedule_.mark_ready(*this); }

    [[nodiscard]] bool has_room(Lane lane) override;
    void send(Lane lane, base::ByteView record) override;
    [[nodiscard]] std::uint64_t sent(Lane lane) const override;
    [[nodiscard]] std::uint64_t taken(Lane lane) const override;

    [[nodiscard]] base::Result<void> begin_turn() override;
    void end_turn(base::Timestamp now) override;
    [[nodiscard]] base::Result<void> tick(base::Timestamp now) override;

    void run() override { user_.on_fast_ready(); }
    [[nodiscard]] bool arm() override;
    // Frames can go, as far as we know.
    [[nodiscard]] bool is_up() const { return rings_.has_value(); }

  private:
    using Rings = ring::Path<ring::MappedStore>;

    // Goes as far as the peer's end allows. True: frames can go.
    [[nodiscard]] base::Result<bool> come_up();
    void open_rings();
    [[nodiscard]] base::Result<void> listen_for_heartbeat(base::Timestamp now);
    [[nodiscard]] base::Result<void> check_peer(base::Timestamp now);
    // What is wrong with the rings may be that the window has gone.
    [[nodiscard]] base::Error reason_of(base::Error error);
    // How soon to look by ourselves at a peer that owes us something.
    [[nodiscard]] base::Duration first_look() const;

    std::unique_ptr<MemoryWindow> window_;
    Parameters ours_;
    std::optional<Parameters> promised_;  // The peer's.
    link::PathSecrets secrets_;
    link::Schedule& schedule_;
    link::FastUser& user_;

    bool is_announced_ = false;
    std::optional<ring::MappedStore> store_;
    std::optional<Rings> rings_;
    bool is_drained_ = false;  // The user has taken all that came.

    base::Duration again_ = ring::kRingAgain;
    std::uint64_t moved_ = 0;  // Grows with whatever is sent or taken.
    bool wanted_room_ = false;
    std::uint32_t heartbeat_ = 0;
    std::uint32_t heard_ = 0;
    base::Timestamp beaten_at_{};
    base::Timestamp heard_at_{};
};

}  // namespace transport::ntb
