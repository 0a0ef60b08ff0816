#include "transport/ntb/window_path.hpp"

#include "base/check.hpp"
#include "base/crypto/wipe.hpp"
#include "transport/link/frame.hpp"

#include <algorithm>
#include <utility>

namespace transport::ntb {

namespace {

// A side that owes us something for long is looked at less often.
constexpr std::chrono::milliseconds kAgainMax{64};
constexpr std::chrono::milliseconds kHeartbeatEvery{100};
constexpr std::chrono::seconds kSilenceMax{3};

constexpr auto kStatePad = static_cast<unsigned>(Pad::state);
constexpr auto kHeartbeatPad = static_cast<unsigned>(Pad::heartbeat);

}  // namespace

WindowPath::WindowPath(std::unique_ptr<MemoryWindow> window,
                       Parameters ours,
                       const link::PathSecrets& secrets,
                       link::Schedule& schedule,
                       link::FastUser& user)
    : window_(std::move(window)),
      ours_(std::move(ours)),
      secrets_(secrets),
      schedule_(schedule),
      user_(user) {
    CHECK(window_->inbound().size() >= ours_.geometry().region_bytes());
    ours_.place = window_->place();
}

WindowPath::~WindowPath() {
    schedule_.remove(*this);
    if (window_->link() != MemoryWindow::Link::up) return;
    window_->write_scratchpad(kStatePad, kPadGone);
    window_->ring_doorbell();
}

// --- Coming up ------------------------------------------------------------------------------

base::Result<void> WindowPath::bring_up(base::ByteView peer_parameters) {
    auto peer = decode_parameters(peer_parameters);
    if (!peer) return base::fail(peer.error());
    promised_ = std::move(*peer);
    // The peer may have been quicker than its parameters.
    schedule_.mark_ready(*this);
    return window_->connect(promised_->place, promised_->geometry().region_bytes());
}

base::Result<bool> WindowPath::come_up() {
    if (rings_) return true;
    if (window_->link() == MemoryWindow::Link::failed) {
        return base::fail(base::Errc::unavailable, window_->failure());
    }
    if (!promised_ || window_->link() != MemoryWindow::Link::up) return false;
    if (!std::exchange(is_announced_, true)) announce(*window_, ours_);
    auto ready = is_ready(*window_, *promised_);
    if (!ready) return base::fail(reason_of(std::move(ready.error())));
    if (*ready) open_rings();
    return ready;
}

void WindowPath::open_rings() {
    store_.emplace(window_->outbound(), window_->mapping());
    rings_.emplace(window_->inbound(),
                   *store_,
                   ours_.geometry(),
                   promised_->geometry(),
                   ring::Secrets{.out = secrets_.out, .in = secrets_.in});
    for (std::size_t i = 0; i < kLanes; ++i) {
        base::crypto::secure_wipe(secrets_.out[i].bytes);
        base::crypto::secure_wipe(secrets_.in[i].bytes);
    }
}

// --- Records --------------------------------------------------------------------------------

base::Result<std::optional<link::FastPath::Received>> WindowPath::peek() {
    const auto up = come_up();
    if (!up) return base::fail(up.error());
    if (!*up) return std::optional<Received>();
    auto received = rings_->peek();
    if (!received) return base::fail(reason_of(std::move(received.error())));
    is_drained_ = !received->has_value();
    if (*received) return std::optional<Received>({(*received)->lane, (*received)->record});
    if (window_->link() == MemoryWindow::Link::failed) {
        return base::fail(base::Errc::unavailable, window_->failure());
    }
    schedule_.mark_unarmed(*this);
    return std::optional<Received>();
}

bool WindowPath::has_room(Lane lane) {
    if (!rings_) return false;
    if (rings_->has_room(lane, link::record_bytes_max(lane))) return true;
    // The peer must know that we wait. Where records lie unread nothing is armed: the peer's
    // credit is looked for by and by.
    if (is_drained_) schedule_.mark_unarmed(*this);
    return false;
}

void WindowPath::send(Lane lane, base::ByteView record) {
    CHECK(rings_ && rings_->send(lane, record));
}

std::uint64_t WindowPath::sent(Lane lane) const {
    return rings_ ? rings_->sent(lane) : 0;
}

std::uint64_t WindowPath::taken(Lane lane) const {
    return rings_ ? rings_->taken(lane) : 0;
}

// --- Turns ----------------------------------------------------------------------------------

base::Result<void> WindowPath::begin_turn() {
    if (!rings_) return {};
    auto taken = rings_->take_credits();
    if (!taken) return base::fail(reason_of(std::move(taken.error())));
    return taken;
}

void WindowPath::end_turn(base::Timestamp now) {
    if (!rings_) return;
    rings_->return_credits();
    if (rings_->take_doorbell(now)) window_->ring_doorbell();
    const std::uint64_t moved =
        sent(Lane::control) + sent(Lane::data) + taken(Lane::control) + taken(Lane::data);
    const bool wants_room = rings_->waits_for_room();
    const bool has_moved = std::exchange(moved_, moved) != moved;
    const bool is_new = (!std::exchange(wanted_room_, wants_room) && wants_room) || has_moved;
    const bool is_owed = rings_->has_unread() || wants_room;
    if (!is_owed || (!is_new && link::Schedule::is_waiting(*this))) return;
    again_ = is_new ? first_look() : std::min<base::Duration>(2 * again_, kAgainMax);
    schedule_.run_at(*this, now + again_);
}

// Where no bell is lost, all that can be found is how far the peer has read: what is kept for it
// can wait.
base::Duration WindowPath::first_look() const {
    const bool loses_bells = window_->mapping() != ring::MappedStore::Mapping::of_two;
    return loses_bells || rings_->waits_for_room() ? base::Duration(ring::kRingAgain)
                                                   : base::Duration(kAgainMax);
}

bool WindowPath::arm() {
    if (!rings_ || rings_->arm()) return true;
    is_drained_ = false;
    return false;
}

base::Result<void> WindowPath::tick(base::Timestamp now) {
    if (!rings_) return {};
    auto alive = check_peer(now);
    if (!alive) return base::fail(reason_of(std::move(alive.error())));
    return alive;
}

base::Error WindowPath::reason_of(base::Error error) {
    window_->look_at_device();
    if (window_->link() != MemoryWindow::Link::failed) return error;
    return {base::Errc::unavailable, window_->failure()};
}

base::Result<void> WindowPath::check_peer(base::Timestamp now) {
    if (rings_->is_worn_out()) {
        return base::fail(base::Errc::unavailable, "the rings have used up their laps");
    }
    const auto ready = is_ready(*window_, *promised_);
    if (!ready) return base::fail(ready.error());
    if (!*ready) return base::fail(base::Errc::invalid, "the peer's end is not ready any more");
    if (now - beaten_at_ >= kHeartbeatEvery) {
        beaten_at_ = now;
        if (window_->link() == MemoryWindow::Link::up)
            window_->write_scratchpad(kHeartbeatPad, ++heartbeat_);
    }
    return listen_for_heartbeat(now);
}

base::Result<void> WindowPath::listen_for_heartbeat(base::Timestamp now) {
    const std::uint32_t heard = window_->read_scratchpad(kHeartbeatPad);
    const bool is_first = heard_at_ == base::Timestamp{};
    if (is_first || heard != heard_) {
        heard_ = heard;
        heard_at_ = now;
    }
    if (now - heard_at_ < kSilenceMax) return {};
    return base::fail(base::Errc::unavailable, "the peer's end of the window is silent");
}

}  // namespace transport::ntb
