#include "transport/rdma/path.hpp"

#include "base/check.hpp"
#include "base/crypto/wipe.hpp"
#include "transport/link/frame.hpp"
#include "transport/ring/path.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace transport::rdma {

namespace {

constexpr std::array<Lane, kLanes> kBothLanes{Lane::control, Lane::data};
// A peer that owes us something for long is looked at less often.
constexpr std::chrono::milliseconds kAgainMax{64};
// An idle peer that is gone is found by a write to it.
constexpr std::chrono::milliseconds kHeartbeatEvery{100};
// Of the peer's receives, what records leave for credit; and of the queue, for a turn's last
// writes.
constexpr std::size_t kReserve = 4;
constexpr std::size_t kLandingFrame = link::LandingFrame().size();

// Parts of all: credit goes at once; it goes with what is sent anyway.
constexpr std::size_t kHalf = 2;
constexpr std::size_t kQuarter = 4;
// What is less is told as late as this.
constexpr std::chrono::milliseconds kTellMax{4};

// Its first frame's; the peer may use it to look at urgent ones first.
Priority priority_of(base::ByteView record) {
    return static_cast<Priority>(std::to_integer<unsigned>(record[1]) >> 1U & 7U);
}

CreditWords load_words(const std::byte* cell) {
    CreditWords out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto* word = reinterpret_cast<const std::uint64_t*>(cell) + i;
        out[i] = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    }
    return out;
}

}  // namespace

RdmaPath::RdmaPath(Lender& lender,
                   Holdings& holdings,
                   const Setting& setting,
                   const link::PathSecrets& secrets,
                   link::Schedule& schedule,
                   link::FastUser& user)
    : lender_(lender),
      holdings_(holdings),
      setting_(setting),
      secrets_(secrets),
      schedule_(schedule),
      user_(user),
      again_(ring::kRingAgain) {}

RdmaPath::~RdmaPath() {
    schedule_.remove(*this);
    lender_.take_back(holdings_.pair->number(), is_open());
}

// --- Coming up ------------------------------------------------------------------------------

// The follower is up before the leader has its parameters: so who leads may write at once, and who
// follows writes when it has heard of the leader.
base::Result<void> RdmaPath::bring_up(base::ByteView peer_parameters) {
    auto peers = decode_parameters(peer_parameters);
    if (!peers) return base::fail(peers.error());
    auto mirror = lender_.lend(holdings_, peers->region_bytes(), Memory::Use::device_reads);
    if (!mirror) return base::fail(mirror.error());
    holdings_.mirror = std::move(*mirror);
    promised_ = *peers;
    schedule_.mark_ready(*this);
    const Address& own = setting_.device->address;
    // On InfiniBand nobody has to be asked.
    if (!own.is_ethernet) return connect();
    auto neighbour = Neighbour::seek(own.gid, setting_.peer.gid);
    if (!neighbour) return base::fail(neighbour.error());
    neighbour_ = std::move(*neighbour);
    if (lender_.watch(neighbour_->event_fd())) return {};
    return base::fail(base::Errc::unavailable, "nothing more can be waited for");
}

void RdmaPath::on_network() {
    if (!neighbour_) return;
    const auto found = neighbour_->is_found();
    if (found && !*found) return;
    neighbour_.reset();
    if (!found) return fail(found.error().detail);
    is_found_ = true;
    schedule_.mark_ready(*this);
}

base::Result<void> RdmaPath::come_up() {
    on_network();
    if (!failure_.empty()) return base::fail(base::Errc::unavailable, failure_);
    if (!std::exchange(is_found_, false)) return {};
    return connect();
}

base::Result<void> RdmaPath::connect() {
    if (auto up = holdings_.pair->connect(*setting_.device,
                                          setting_.peer,
                                          *promised_,
                                          setting_.ours.first_packet,
                                          setting_.patience);
        !up) {
        return up;
    }
    peers_ = std::exchange(promised_, std::nullopt);
    has_heard_ = setting_.leads;
    open_rings();
    return {};
}

// Before the rings, which forget the secrets.
void RdmaPath::open_landings() {
    const std::size_t data = index(Lane::data);
    landings_out_ = std::make_unique<LandingWriter>(
        holdings_.mirror->bytes().subspan(peers_->geometry().region_bytes(),
                                          peers_->landings_bytes()),
        secrets_.out[data]);
    landings_in_ = std::make_unique<LandingReader>(
        holdings_.inbound->bytes().subspan(setting_.ours.geometry().region_bytes(),
                                           setting_.ours.landings_bytes()),
        secrets_.in[data]);
}

void RdmaPath::open_rings() {
    open_landings();
    const ring::Geometry ours = setting_.ours.geometry();
    const ring::Geometry peers = peers_->geometry();
    for (const Lane lane : kBothLanes) {
        const std::size_t i = index(lane);
        out_[i].seal = std::make_unique<ring::Seal>(secrets_.out[i], ring::Seal::Use::seal);
        out_[i].placer =
            std::make_unique<ring::RecordPlacer>(peers.ring_bytes[i], out_[i].seal.get());
        out_[i].placer->seal_in_place(
            holdings_.mirror->bytes().subspan(peers.ring_at(lane), peers.ring_bytes[i]));
        in_[i].seal = std::make_unique<ring::Seal>(secrets_.in[i], ring::Seal::Use::open);
        in_[i].consumer = std::make_unique<ring::Consumer>(
            holdings_.inbound->bytes().subspan(ours.ring_at(lane), ours.ring_bytes[i]),
            in_[i].seal.get());
        base::crypto::secure_wipe(secrets_.out[i].bytes);
        base::crypto::secure_wipe(secrets_.in[i].bytes);
    }
}

// --- Completions ----------------------------------------------------------------------------

void RdmaPath::on_receive(std::uint32_t immediate, std::uint32_t bytes) {
    schedule_.mark_ready(*this);
    ++received_;
    if (!peers_) return fail("the peer wrote before it could know where to");
    has_heard_ = true;
    if (received_ - told_.received > setting_.ours.receives)
        return fail("the peer sent more immediates than it was allowed");
    const auto decoded = decode_immediate(immediate);
    if (!decoded) return fail("the peer sent an immediate that means nothing");
    switch (decoded->kind) {
        case Immediate::Kind::record:
        case Immediate::Kind::landed:
            return on_record(*decoded, bytes);
        case Immediate::Kind::credit:
            return;  // begin_turn() reads it.
        case Immediate::Kind::goodbye:
            return fail("the peer has left the path");
    }
}

// Records stand one behind the other; where one would go beyond the ring's end, at its begin.
void RdmaPath::on_record(const Immediate& immediate, std::uint32_t bytes) {
    std::uint64_t& announced = in_[index(immediate.lane)].announced;
    const std::size_t ring = setting_.ours.geometry().ring_bytes[index(immediate.lane)];
    const std::size_t at = std::size_t{immediate.line} * ring::kLineBytes;
    const std::size_t expected = announced % ring;
    const std::size_t size = (bytes + ring::kLineBytes - 1) / ring::kLineBytes * ring::kLineBytes;
    const bool begins_lap = at == 0 && expected != 0;
    if ((at != expected && !begins_lap) || size == 0 || size > ring - at)
        return fail("the peer announced a record where none can be");
    if (begins_lap) announced += ring - expected;
    announced += size;
}

void RdmaPath::on_sent(std::uint64_t id) {
    holdings_.pair->complete(id);
    if (waits_for_room_) schedule_.mark_ready(*this);
}

void RdmaPath::fail(std::string why) {
    if (!failure_.empty()) return;
    failure_ = std::move(why);
    schedule_.mark_ready(*this);
}

// --- Records --------------------------------------------------------------------------------

base::Result<std::optional<link::FastPath::Received>> RdmaPath::peek() {
    if (!peers_) {
        if (auto up = come_up(); !up) return base::fail(up.error());
        if (!peers_) return std::optional<Received>();
    }
    for (const Lane lane : kBothLanes) {
        auto received = peek(lane);
        if (!received || *received) return received;
    }
    // What came before the failure is good.
    if (!failure_.empty()) return base::fail(base::Errc::unavailable, failure_);
    return std::optional<Received>();
}

// Only what an immediate announced and the record's own word says, both.
base::Result<std::optional<link::FastPath::Received>> RdmaPath::peek(Lane lane) {
    In& in = in_[index(lane)];
    if (in.consumer->position() >= in.announced) return std::optional<Received>();
    const auto frame = in.consumer->peek();
    if (!frame) return base::fail(frame.error());
    if (!*frame || in.consumer->position_behind() > in.announced)
        return base::fail(base::Errc::invalid, "the peer announced another record than it wrote");
    return std::optional<Received>({lane, **frame});
}

void RdmaPath::consume(Lane lane) {
    in_[index(lane)].consumer->consume();
}

std::size_t RdmaPath::free_immediates() const {
    return peers_->receives - static_cast<std::size_t>(announced_ - credit_.received);
}

bool RdmaPath::has_room(Lane lane) {
    if (!is_open()) return false;
    const bool fits = out_[index(lane)].placer->fits(link::record_bytes_max(lane)) &&
                      free_immediates() > kReserve && holdings_.pair->room() > kReserve;
    if (!fits) waits_for_room_ = true;
    return fits;
}

void RdmaPath::send(Lane lane, base::ByteView record) {
    send({.lane = lane, .priority = priority_of(record)}, record);
}

// Says so by the immediate, whose line is still open.
void RdmaPath::send(const Immediate& announcement, base::ByteView frames) {
    const Lane lane = announcement.lane;
    ring::RecordPlacer& placer = *out_[index(lane)].placer;
    while (const auto record = placer.place(frames)) {
        const base::ByteView bytes = place(lane, *record);
        const std::size_t at = peers_->geometry().ring_at(lane) + record->at;
        QueuePair::Write write{
            .bytes = bytes, .from = holdings_.mirror.get(), .to = peers_->memory + at};
        const bool is_frame = record->kind == ring::RecordKind::frame;
        if (is_frame) {
            write.immediate = announcement;
            write.immediate->line = static_cast<std::uint32_t>(record->at / ring::kLineBytes);
        }
        add(write);
        if (is_frame) return;
    }
    CHECK(false);  // There was room.
}

bool RdmaPath::has_landings() const {
    return peers_ && landings_out_->count() > 0;
}

std::size_t RdmaPath::landing_room() {
    if (!is_open()) return 0;
    const std::size_t room = landings_out_->room();
    // A write for each at most, and the record.
    const bool fits = room > 0 && out_[index(Lane::data)].placer->fits(room * kLandingFrame) &&
                      free_immediates() > kReserve && holdings_.pair->room() > kReserve + room;
    if (!fits) waits_for_room_ = true;
    return fits ? room : 0;
}

// First the bytes, those of places in a row by one write, then the record that tells of them: a
// queue pair keeps that order.
void RdmaPath::land(std::span<const link::Part> parts) {
    std::array<std::byte, kLandingsMax * kLandingFrame> frames{};
    std::size_t filled = 0;
    LandingWriter::Written row;
    for (const link::Part& each : parts) {
        const auto frame =
            link::encode_landing(each.header,
                                 {.token = landings_out_->token(),
                                  .bytes = static_cast<std::uint32_t>(each.bytes.size())});
        std::ranges::copy(frame, frames.begin() + static_cast<std::ptrdiff_t>(filled));
        filled += frame.size();
        if (const auto before = row.go_on(landings_out_->write(each.bytes))) add_landed(*before);
    }
    add_landed(row);
    send({.kind = Immediate::Kind::landed,
          .lane = Lane::data,
          .priority = parts.front().header.priority},
         base::ByteView(frames).first(filled));
}

void RdmaPath::add_landed(const LandingWriter::Written& written) {
    add({.bytes = written.bytes,
         .from = holdings_.mirror.get(),
         .to = peers_->memory + peers_->geometry().region_bytes() + written.at});
}

base::Result<void> RdmaPath::take_landing(const link::Landing& landing, std::span<std::byte> out) {
    return landings_in_->take(landing, out);
}

// The mirror's place is free: the peer has read what stood there. The body was sealed into it.
base::ByteView RdmaPath::place(Lane lane, const ring::StoredRecord& record) {
    const std::span<std::byte> out = holdings_.mirror->bytes().subspan(
        peers_->geometry().ring_at(lane) + record.at, ring::kWordBytes + record.body_bytes);
    std::memcpy(out.data(), &record.word, ring::kWordBytes);
    return out;
}

// Credit that rides along goes first: the peer looks for it when a record has come.
void RdmaPath::add(const QueuePair::Write& write) {
    if (!std::exchange(has_posted_, true)) {
        const Credit now = taken();
        if (has_taken(now, kQuarter)) add_credit(now, false);
    }
    holdings_.pair->add(write);
    if (write.immediate) ++announced_;
}

std::uint64_t RdmaPath::sent(Lane lane) const {
    return peers_ ? out_[index(lane)].placer->produced() : 0;
}

std::uint64_t RdmaPath::taken(Lane lane) const {
    return peers_ ? out_[index(lane)].placer->consumed() : 0;
}

// --- Turns ----------------------------------------------------------------------------------

base::Result<void> RdmaPath::begin_turn() {
    if (!peers_) return {};
    waits_for_room_ = false;
    // Half a new one and half an old one: the other half comes at once.
    const auto credit = decode_credit(load_words(holdings_.inbound->bytes().data()));
    if (!credit || *credit == credit_) return {};
    if (credit->received < credit_.received || credit->received > announced_)
        return base::fail(base::Errc::invalid, "the peer took other immediates than it was sent");
    for (std::size_t i = 0; i < kLanes; ++i) {
        if (auto taken = out_[i].placer->take_credit(credit->read[i]); !taken) return taken;
    }
    if (auto taken = landings_out_->take_credit(credit->landed); !taken) return taken;
    credit_ = *credit;
    return {};
}

void RdmaPath::end_turn(base::Timestamp now) {
    if (!is_open()) return;
    return_credit(now);
    if (auto posted = holdings_.pair->post(); !posted) return fail(posted.error().detail);
    if (std::exchange(has_posted_, false)) posted_at_ = now;
    look_again(now);
}

Credit RdmaPath::taken() const {
    // Never less than was told, though fewer be wanted.
    Credit out{.received = received_,
               .landed = std::max(told_.landed, landings_in_->freed(lender_.landings_now()))};
    for (std::size_t i = 0; i < kLanes; ++i)
        out.read[i] = in_[i].consumer->position();
    return out;
}

bool RdmaPath::has_taken(const Credit& now, std::size_t part) const {
    const auto is_over = [part](std::uint64_t taken, std::size_t all) {
        return taken > 0 && part * taken >= all;
    };
    const auto rings = setting_.ours.geometry().ring_bytes;
    return is_over(now.read[0] - told_.read[0], rings[0]) ||
           is_over(now.read[1] - told_.read[1], rings[1]) ||
           is_over(now.received - told_.received, setting_.ours.receives) ||
           is_over(now.landed - told_.landed, lender_.landings_now());
}

bool RdmaPath::is_asked() const {
    return in_[0].consumer->is_asked() || in_[1].consumer->is_asked();
}

// By a write that wakes the peer where it asked, or may be out of something; else by one that it
// sees when it looks. Of credit alone none is told: that would never end.
void RdmaPath::return_credit(base::Timestamp now) {
    const Credit taken = this->taken();
    const bool is_due = has_taken(taken, kHalf) || is_asked();
    if (!is_due && taken.read == told_.read) return tells_at_.reset();
    if (!tells_at_) tells_at_ = now + kTellMax;
    if ((is_due || now >= *tells_at_) && holdings_.pair->room() > 0) add_credit(taken, is_due);
}

void RdmaPath::add_credit(const Credit& now, bool wakes) {
    for (const In& in : in_)
        in.consumer->count_returned();
    told_ = now;
    tells_at_.reset();
    const CreditWords words = encode(now);
    const std::span<std::byte> cell = holdings_.mirror->bytes().first(sizeof words);
    std::memcpy(cell.data(), words.data(), sizeof words);
    QueuePair::Write write{.bytes = cell, .from = holdings_.mirror.get(), .to = peers_->memory};
    if (wakes && free_immediates() > 0) {
        write.immediate = Immediate{.kind = Immediate::Kind::credit};
        ++announced_;
    }
    has_posted_ = true;
    holdings_.pair->add(write);
}

void RdmaPath::look_again(base::Timestamp now) {
    std::uint64_t moved = 0;
    bool is_owed = waits_for_room_;
    for (const Lane lane : kBothLanes) {
        moved += sent(lane) + taken(lane) + in_[index(lane)].consumer->position();
        is_owed = is_owed || sent(lane) != taken(lane);
    }
    const bool has_moved = std::exchange(moved_, moved) != moved;
    if ((!is_owed && !tells_at_) || (!has_moved && link::Schedule::is_waiting(*this))) return;
    again_ = has_moved ? ring::kRingAgain : std::min<base::Duration>(2 * again_, kAgainMax);
    schedule_.run_at(*this, is_owed ? now + again_ : std::max(*tells_at_, now + ring::kRingAgain));
}

base::Result<void> RdmaPath::tick(base::Timestamp now) {
    if (!is_open()) return {};
    for (const Out& out : out_) {
        if (out.placer->is_worn_out())
            return base::fail(base::Errc::unavailable, "the rings have used up their laps");
    }
    if (now - posted_at_ < kHeartbeatEvery || holdings_.pair->room() == 0) return {};
    posted_at_ = now;
    holdings_.pair->add({.to = peers_->memory});
    return holdings_.pair->post();
}

}  // namespace transport::rdma
