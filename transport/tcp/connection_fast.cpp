// The other way that a connection's messages can take: found and proved by Detection, kept by
// FastSide; here they meet TCP.
#include "transport/tcp/connection.hpp"

#include <utility>
#include <variant>

namespace transport::tcp {

namespace {

// After so many bytes a turn ends, for the others' sake; a frame costs as much as some of its own.
constexpr std::size_t kReadBudget = std::size_t{32} << 10;
constexpr std::size_t kFrameCostBytes = 512;
constexpr std::string_view kSecretLabel = "EXPORTER-BoR ring 1";

// Whose secret it is: of which kind, attempt, direction and lane.
base::Bytes secret_context(Kind kind, std::uint32_t attempt, bool from_leader, Lane lane) {
    base::Bytes out{static_cast<std::byte>(kind),
                    static_cast<std::byte>(from_leader ? 0 : 1),
                    static_cast<std::byte>(lane)};
    for (unsigned i = 0; i < sizeof attempt; ++i)
        out.push_back(static_cast<std::byte>(attempt >> (8 * i) & 0xFFU));
    return out;
}

}  // namespace

// --- What Detection asks for ----------------------------------------------------------------

std::vector<link::Offer> Connection::offers() {
    std::vector<link::Offer> out;
    for (const auto& kind : owner_.fast_kinds()) {
        if (auto address = kind->address(); !address.empty())
            out.push_back({kind->kind(), std::move(address)});
    }
    return out;
}

link::PathSecrets Connection::path_secrets(Kind kind) const {
    link::PathSecrets out;
    for (const Lane lane : {Lane::control, Lane::data}) {
        const auto secret = [&](bool from_leader) {
            return tls_.exporter(kSecretLabel,
                                 secret_context(kind, detection_.attempt(), from_leader, lane));
        };
        const auto i = static_cast<std::size_t>(lane);
        out.out[i] = secret(identity_.is_outbound);
        out.in[i] = secret(!identity_.is_outbound);
    }
    return out;
}

base::Result<base::Bytes> Connection::prepare(Kind kind, base::ByteView peer_address) {
    link::FastUser& user = *this;
    for (const auto& each : owner_.fast_kinds()) {
        if (each->kind() != kind) continue;
        auto path = each->prepare({.peer_address = peer_address,
                                   .leads = identity_.is_outbound,
                                   .secrets = path_secrets(kind)},
                                  user);
        if (!path) return base::fail(path.error());
        base::Bytes parameters = (*path)->parameters();
        fast_.adopt(std::move(*path));
        return parameters;
    }
    return base::fail(base::Errc::unavailable, "this node offers no such path");
}

base::Result<void> Connection::bring_up(base::ByteView peer_parameters) {
    return fast_.path()->bring_up(peer_parameters);
}

void Connection::write_probe(std::uint64_t nonce) {
    fast_.write_probe(nonce);
    want_flush();
}

void Connection::finish_tcp() {
    fast_.finish_tcp();
    want_flush();
}

void Connection::receive_fast() {
    fast_.begin_in();
    // What came before the switch lies unread.
    fast_.path()->call_again();
}

link::NextNumbers Connection::stop_fast() {
    return fast_.stop();
}

void Connection::replay(const link::NextNumbers& peer_next) {
    is_resume_possible_ = fast_.replay(peer_next);
    want_flush();
}

// --- Reading --------------------------------------------------------------------------------

void Connection::on_fast_ready() {
    take_fast();
    want_flush();
}

void Connection::take_fast() {
    std::size_t taken = 0;
    while (state_ != State::ended && !is_paused_ && fast_.path() != nullptr) {
        const auto received = fast_.path()->peek();
        if (!received) return fail_fast(received.error().detail);
        if (!*received) return;
        if (taken >= kReadBudget) return fast_.path()->call_again();
        const std::uint64_t landed = fast_.landed_in().bytes;
        const std::size_t bytes = take_fast_frame(**received);
        if (bytes == 0) return;
        taken += bytes + kFrameCostBytes + (fast_.landed_in().bytes - landed);
    }
}

// How many bytes it had. 0: the frame has to wait, or there is no path any more.
std::size_t Connection::take_fast_frame(const link::FastPath::Received& received) {
    const auto frame = link::first_frame(fast_.unread(received));
    if (!frame) {
        fail(CloseReason::violation, frame.error().detail);
        return 0;
    }
    const link::FrameHeader& header = frame->header;
    if (header.kind == link::FrameKind::probe) {
        const std::uint64_t nonce = link::decode_probe(frame->payload);
        fast_.consume(received, frame->bytes());
        detection_.on_probe(owner_.now(), nonce);
        return frame->bytes();
    }
    const bool lands = header.kind == link::FrameKind::landing;
    if ((header.kind != link::FrameKind::slice && !lands) || header.lane != received.lane) {
        fail(CloseReason::violation, "a frame that belongs elsewhere, on a fast path");
        return 0;
    }
    // The peer's switch is still on its way, behind its last messages by TCP.
    if (!fast_.is_in()) return 0;
    if (lands ? !take_landing(*frame) : !take_slice(*frame)) return 0;
    fast_.consume(received, frame->bytes());
    return frame->bytes();
}

// False: it has to wait for memory, or there is no path any more.
bool Connection::take_landing(const link::Frame& frame) {
    if (state_ == State::closing) return true;  // Nobody wants it any more.
    const auto landing = link::decode_landing(frame.payload);
    if (!landing) {
        fail_fast(landing.error().detail);
        return false;
    }
    if (!may_take(frame.header)) return false;
    const auto place = reassembly_.place(frame.header, landing->bytes);
    if (!place) {
        fail(CloseReason::violation, place.error().detail);
        return false;
    }
    if (place->is_short_of_memory) {
        wait_for_memory();
        return false;
    }
    if (auto taken = fast_.path()->take_landing(*landing, place->bytes); !taken) {
        fail_fast(taken.error().detail);
        return false;
    }
    fast_.count_landing(landing->bytes);
    return take(reassembly_.landed(frame.header, landing->bytes));
}

// --- Writing --------------------------------------------------------------------------------

void Connection::write_fast() {
    if (fast_.path() == nullptr) return;
    if (auto written = fast_.write(owner_.now()); !written) fail_fast(written.error().detail);
}

void Connection::switch_if_finished() {
    if (state_ != State::open || !fast_.take_finished()) return;
    detection_.tcp_finished(owner_.now());
    using link::Detection;
    if (detection_.state() != Detection::State::switching &&
        detection_.state() != Detection::State::fast) {
        return;
    }
    fast_.begin_out();
    want_flush();
}

void Connection::tick_fast(base::Timestamp now) {
    if (fast_.path() == nullptr) return;
    if (auto alive = fast_.path()->tick(now); !alive) return fail_fast(alive.error().detail);
    if (!fast_.is_owed() || now - fast_.taken_at() < owner_.options().stall_max) return;
    fail(CloseReason::timed_out, "the peer takes no messages");
}

// --- The end of a path ----------------------------------------------------------------------

void Connection::fail_fast(std::string why) {
    if (state_ == State::closing) return abandon_fast();
    detection_.on_fast_failed(owner_.now(), std::move(why));
    want_flush();
}

// Closing: nothing matters any more but whether the peer still reads the path.
void Connection::on_last_prelude(base::ByteView payload) {
    const auto prelude = link::decode_prelude(payload);
    if (prelude && std::holds_alternative<link::prelude::Resume>(*prelude)) abandon_fast();
}

// Closing: what went by the path can't be sent again in time, but why we close can be said.
void Connection::abandon_fast() {
    if (fast_.is_out()) queue_.drop(Lane::control);
    fast_.drop();
    want_flush();
}

void Connection::tell_kind() {
    const Kind kind = detection_.kind();
    if (std::exchange(told_kind_, kind) == kind) return;
    if (kind == Kind::tcp) ++fallbacks_;
    owner_.on_kind(*this, kind, detection_.why_not());
}

ChannelStatus Connection::status() const {
    return {.channel = identity_.id,
            .kind = detection_.kind(),
            .why_not = detection_.why_not(),
            .fallbacks = fallbacks_,
            .stalls = tcp_stalls_ + fast_.stalls(),
            .landed_out = fast_.landed_out(),
            .landed_in = fast_.landed_in()};
}

}  // namespace transport::tcp
