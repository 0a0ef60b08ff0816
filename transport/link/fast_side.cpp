#include "transport/link/fast_side.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace transport::link {

namespace {

constexpr std::array<Lane, kLanes> kBothLanes{Lane::control, Lane::data};
// After these a turn ends: an urgent message may have been queued meanwhile.
constexpr std::size_t kWriteBudget = std::size_t{64} << 10;
// Parts of long messages that go together, though they are more than a turn's worth.
constexpr std::size_t kTurnLandings = 4;

}  // namespace

void FastSide::finish_tcp() {
    wants_finish_ = true;
    queue_.hold(true);
}

bool FastSide::take_finished() {
    if (!wants_finish_ || queue_.has_begun()) return false;
    wants_finish_ = false;
    return true;
}

void FastSide::stay_on_tcp() {
    wants_finish_ = false;
    queue_.hold(false);
}

void FastSide::begin_out() {
    is_out_ = true;
    queue_.hold(false);
    queue_.use_landings(path_->has_landings());
}

void FastSide::consume(const FastPath::Received& received, std::size_t bytes) {
    std::size_t& read = read_[static_cast<std::size_t>(received.lane)];
    read += bytes;
    CHECK(read <= received.record.size());
    if (read < received.record.size()) return;
    read = 0;
    path_->consume(received.lane);
}

base::Result<void> FastSide::write(base::Timestamp now) {
    if (auto begun = path_->begin_turn(); !begun) return begun;
    if (take_cover() || !is_owed()) taken_at_ = now;
    if (probe_ && path_->has_room(Lane::control)) {
        path_->send(Lane::control, encode_probe(*std::exchange(probe_, std::nullopt)));
    }
    if (is_out_) write_messages();
    path_->end_turn(now);
    return {};
}

bool FastSide::take_cover() {
    bool has_moved = false;
    for (const Lane lane : kBothLanes) {
        const std::uint64_t taken = path_->taken(lane);
        std::uint64_t& before = taken_[static_cast<std::size_t>(lane)];
        if (std::exchange(before, taken) == taken) continue;
        outbox_.cover_to(lane, taken);
        has_moved = true;
    }
    return has_moved;
}

bool FastSide::is_owed() const {
    return path_ != nullptr && std::ranges::any_of(kBothLanes, [this](Lane lane) {
               return path_->sent(lane) != path_->taken(lane);
           });
}

// A lane without messages must not wait for room.
bool FastSide::has_room(Lane lane) {
    return queue_.queued_bytes(lane) > 0 && path_->has_room(lane);
}

Rooms FastSide::rooms() {
    return {.control = has_room(Lane::control),
            .data = has_room(Lane::data),
            .landings = queue_.has_landing() ? std::min(path_->landing_room(), kTurnLandings) : 0};
}

std::size_t FastSide::write_next() {
    const auto next = queue_.next(record_, rooms());
    if (!next) return 0;
    const std::size_t landed = land(next->parts);
    if (next->bytes > 0) path_->send(next->lane, base::ByteView(record_).first(next->bytes));
    for (Queued& each : next->done)
        outbox_.add(std::move(each), path_->sent(next->lane));
    return next->bytes + landed;
}

std::size_t FastSide::land(std::span<const Part> parts) {
    if (parts.empty()) return 0;
    path_->land(parts);
    std::size_t bytes = 0;
    for (const Part& each : parts)
        bytes += each.bytes.size();
    landed_out_.landings += parts.size();
    landed_out_.bytes += bytes;
    return bytes;
}

void FastSide::write_messages() {
    for (std::size_t written = 0; written < kWriteBudget;) {
        const std::size_t count = write_next();
        if (count == 0) {
            if (!queue_.empty()) ++stalls_;
            return;
        }
        written += count;
    }
    path_->call_again();
}

NextNumbers FastSide::stop() {
    if (is_out_) {
        queue_.rewind();
        queue_.use_landings(false);
        is_silent_ = true;
    }
    // What is unfinished came by the path: its sender finished all on TCP before it switched.
    if (is_in_) reassembly_.clear();
    stay_on_tcp();
    is_out_ = is_in_ = false;
    probe_.reset();
    taken_ = {};
    read_ = {};
    path_.reset();
    return std::exchange(next_in_, {});
}

bool FastSide::replay(const NextNumbers& peer_next) {
    const bool is_possible = outbox_.cover(peer_next);
    queue_.put_back(outbox_.take_all());
    is_silent_ = false;
    return is_possible;
}

void FastSide::drop() {
    (void)stop();
    (void)outbox_.take_all();
    is_silent_ = false;
}

}  // namespace transport::link
