#include "transport/tcp/connection.hpp"

#include "base/check.hpp"

#include <netinet/in.h>
#include <openssl/rand.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace transport::tcp {

namespace {

// After these a turn ends, for the others' sake.
constexpr std::size_t kReadBudget = std::size_t{32} << 10;
constexpr std::size_t kWriteBudget = std::size_t{32} << 10;
// Ciphertext made ahead of the socket: a turn's, by one system call, because by two the peer is
// woken twice. Little enough that a vote does not stand behind it for long.
constexpr std::size_t kCorkBytes = kWriteBudget;
constexpr std::chrono::seconds kTuneEvery{1};
constexpr std::string_view kBindingLabel = "EXPORTER-BoR channel 1";

std::string errno_text(int error) {
    return std::strerror(error);  // NOLINT(concurrency-mt-unsafe): glibc's is safe.
}

std::uint64_t random_seed() {
    std::uint64_t seed = 0;
    CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&seed), sizeof seed) == 1);
    return seed;
}

}  // namespace

Connection::Connection(ConnectionOwner& owner,
                       const TlsContext& tls,
                       Socket socket,
                       Identity identity)
    : owner_(owner),
      identity_(std::move(identity)),
      socket_(std::move(socket)),
      tls_(tls, identity_.is_outbound ? TlsSession::Role::client : TlsSession::Role::server),
      reassembly_(owner.pool()),
      queue_(owner.options().queue),
      detection_({.leads = identity_.is_outbound, .nonce_seed = random_seed()}, *this),
      fast_(queue_, reassembly_),
      started_(owner.now()),
      received_(started_),
      sent_(started_),
      progress_(started_) {}

void Connection::start() {
    CHECK(state_ == State::connecting);
    state_ = State::handshaking;
    tune_window();
    shake_hands();
    wait_readable();
}

// --- Reading --------------------------------------------------------------------------------

void Connection::wait_readable() {
    if (waits_readable_ || is_paused_ || state_ == State::ended) return;
    waits_readable_ = true;
    ++pending_;
    socket_.async_wait(Socket::wait_read, [this](const boost::system::error_code& /*unused*/) {
        --pending_;
        waits_readable_ = false;
        // An error shows again in recv(). What a fast path brought may have paused us since.
        if (state_ != State::ended && !is_paused_) on_readable();
        owner_.end_turn();
    });
}

void Connection::on_readable() {
    const std::span<std::byte> scratch = owner_.scratch();
    for (std::size_t total = 0; total < kReadBudget;) {
        const ssize_t count =
            ::recv(socket_.native_handle(), scratch.data(), scratch.size(), MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (count < 0) return fail(CloseReason::lost, "connection lost: " + errno_text(errno));
        if (count == 0) {
            return fail(CloseReason::lost, "the peer ended the connection without a goodbye");
        }
        received_ = owner_.now();
        total += static_cast<std::size_t>(count);
        take_ciphertext(scratch.first(static_cast<std::size_t>(count)));
        if (state_ == State::ended || is_paused_) return;
        if (static_cast<std::size_t>(count) < scratch.size()) break;
    }
    wait_readable();
}

void Connection::take_ciphertext(base::ByteView bytes) {
    if (is_deaf_) return;
    tls_.put(bytes);
    if (state_ == State::handshaking) shake_hands();
    if (state_ != State::handshaking && !is_deaf_) take_plaintext();
}

void Connection::shake_hands() {
    const auto done = tls_.handshake();
    want_flush();
    if (!done) {
        // The alert says why; whatever the peer still sends must not destroy it on its way.
        close(CloseReason::refused, done.error().detail);
        close_deadline_ = owner_.now() + owner_.options().goodbye_max;
        goodbye_written_ = true;
        is_deaf_ = true;
        return;
    }
    if (*done) on_authenticated();
}

void Connection::on_authenticated() {
    auto key = tls_.peer_key();
    if (!key) return fail(CloseReason::refused, key.error().detail);
    peer_ = std::move(*key);
    binding_ = tls_.exporter(kBindingLabel);
    if (identity_.expected && peer_ != *identity_.expected) {
        return refuse("the peer's key is " + peer_.to_string() + ", expected was " +
                      identity_.expected->to_string());
    }
    const Verdict verdict = owner_.admit(peer_, identity_.is_outbound);
    if (!verdict.is_allowed) return refuse(verdict.text);
    state_ = State::greeting;
    detection_.start(owner_.now());
}

void Connection::refuse(std::string text) {
    state_ = State::greeting;
    close(CloseReason::refused, std::move(text));
}

void Connection::take_plaintext() {
    while (state_ != State::ended && !is_paused_) {
        const auto count = tls_.read(reader_.space());
        if (!count) {
            const bool is_shut = count.error().code == base::Errc::unavailable;
            // After our own goodbye the peer just shuts its side too.
            if (state_ == State::closing) return end(goodbye_);
            return fail(is_shut ? CloseReason::lost : CloseReason::violation, count.error().detail);
        }
        if (*count == 0) return;
        reader_.commit(*count);
        take_frames();
    }
}

void Connection::take_frames() {
    while (state_ != State::ended) {
        const auto frame = reader_.peek();
        if (!frame) return fail(CloseReason::violation, frame.error().detail);
        if (!*frame) return;
        if ((*frame)->header.kind == link::FrameKind::slice) {
            if (fast_.is_in()) {
                return fail(CloseReason::violation, "a message by TCP after the switch");
            }
            if (!take_slice(**frame)) return;
        } else {
            take_other(**frame);
        }
        reader_.consume(**frame);
    }
}

// False: the slice has to wait for memory, or the connection has ended.
bool Connection::take_slice(const link::Frame& frame) {
    if (state_ == State::closing) return true;  // Nobody wants it any more.
    return may_take(frame.header) && take(reassembly_.take(frame.header, frame.payload));
}

// Of a slice or a landing. False: it has to wait, or the connection has ended.
bool Connection::may_take(const link::FrameHeader& header) {
    if (state_ != State::open) {
        fail(CloseReason::violation, "a message before the prelude");
        return false;
    }
    if (header.is_first && *held_bytes_ > owner_.options().held_bytes_max) {
        pause();
        return false;
    }
    return true;
}

bool Connection::take(base::Result<link::Reassembly::Taken> taken) {
    if (!taken) {
        fail(CloseReason::violation, taken.error().detail);
        return false;
    }
    if (taken->is_short_of_memory) {
        wait_for_memory();
        return false;
    }
    progress_ = owner_.now();
    if (taken->message) {
        if (fast_.is_in()) fast_.count_in(taken->message->lane);
        taken->message->charge = Charge(held_bytes_, taken->message->bytes.size());
        owner_.on_message(*this, std::move(*taken->message));
    }
    return true;
}

// Waiting is safe only for who holds nothing himself: else all could wait for each other.
void Connection::wait_for_memory() {
    if (reassembly_.open_bytes() == 0) return pause();
    fail(CloseReason::limit, "all memory for messages is in use; see PoolOptions::bytes");
}

void Connection::take_other(const link::Frame& frame) {
    switch (frame.header.kind) {
        case link::FrameKind::prelude:
            return on_prelude(frame.payload);
        case link::FrameKind::goodbye:
            return on_goodbye(frame.payload);
        case link::FrameKind::probe:
            return fail(CloseReason::violation, "a probe by TCP");
        case link::FrameKind::landing:
            return fail(CloseReason::violation, "a landing by TCP");
        case link::FrameKind::heartbeat:
        case link::FrameKind::slice:
            return;
    }
}

void Connection::on_prelude(base::ByteView payload) {
    // What we say last may have to wait for the peer to say what it lacks.
    if (state_ == State::closing && !fast_.is_silent()) return on_last_prelude(payload);
    if (auto taken = detection_.on_prelude(owner_.now(), payload); !taken) {
        return fail(CloseReason::violation, taken.error().detail);
    }
    if (!is_resume_possible_) {
        return fail(CloseReason::violation, "the peer lacks messages that it took");
    }
    want_flush();
    if (state_ != State::greeting || !detection_.is_established()) return;
    state_ = State::open;
    was_open_ = true;
    owner_.on_open(*this);
}

void Connection::on_goodbye(base::ByteView payload) {
    auto info = link::decode_goodbye(payload);
    if (!info) return fail(CloseReason::violation, info.error().detail);
    // Two goodbyes may cross; ours came first then.
    end(state_ == State::closing ? goodbye_ : std::move(*info));
}

void Connection::pause() {
    is_paused_ = true;
    // Paused again before what was kept is read: it stays.
    if (unread_.empty()) unread_ = base::to_bytes(tls_.take_unread());
    owner_.mark_paused(*this);
}

bool Connection::try_resume() {
    if (state_ == State::ended) return true;
    is_paused_ = false;
    take_frames();
    if (is_paused_) return false;
    // What comes of it may pause us again.
    const base::Bytes unread = std::exchange(unread_, {});
    take_ciphertext(unread);
    if (is_paused_) return false;
    received_ = progress_ = owner_.now();
    if (fast_.path() != nullptr) fast_.path()->call_again();
    wait_readable();
    return true;
}

// --- Writing --------------------------------------------------------------------------------

void Connection::want_flush() {
    if (!std::exchange(is_dirty_, true)) owner_.mark_dirty(*this);
}

base::Result<void> Connection::send(Lane lane, Priority priority, Payload&& payload) {
    if (state_ != State::open) {
        return base::fail(base::Errc::unavailable, "the channel is closing");
    }
    auto queued = queue_.push(lane, priority, std::move(payload));
    if (queued) want_flush();
    return queued;
}

void Connection::close(CloseReason reason, std::string text) {
    if (state_ == State::closing || state_ == State::ended) return;
    const bool can_talk = state_ == State::open || state_ == State::greeting;
    goodbye_ = {.reason = reason, .text = std::move(text)};
    close_deadline_ =
        owner_.now() + (can_talk ? owner_.options().goodbye_max : std::chrono::milliseconds(0));
    state_ = State::closing;
    queue_.drop(Lane::data);
    if (!fast_.is_out()) fast_.stay_on_tcp();
    want_flush();
}

void Connection::write_frame(link::FrameKind kind, base::ByteView payload) {
    const auto header =
        link::encode({.kind = kind, .length = static_cast<std::uint16_t>(payload.size())});
    base::Bytes frame(header.begin(), header.end());
    frame.insert(frame.end(), payload.begin(), payload.end());
    tls_.write(frame);
}

void Connection::say_goodbye() {
    if (goodbye_written_) return;
    goodbye_written_ = true;
    write_frame(link::FrameKind::goodbye, link::encode_goodbye(goodbye_.reason, goodbye_.text));
    tls_.shut();
}

// Makes ciphertext of what is queued, a system call's worth. False: there is none.
bool Connection::fill_outbound() {
    std::array<std::byte, link::kFrameBytesMax> record;  // NOLINT(*-member-init): filled below.
    ByteQueue& outbound = tls_.outbound();
    const bool sends_messages =
        (state_ == State::open || state_ == State::closing) && fast_.sends_by_tcp();
    while (sends_messages && !queue_.empty() && outbound.view().size() < kCorkBytes) {
        const std::size_t filled = queue_.fill(record);
        if (filled == 0) break;
        tls_.write(base::ByteView(record).first(filled));
    }
    if (state_ == State::closing && queue_.empty() && fast_.is_covered()) say_goodbye();
    return !outbound.empty();
}

// False: the socket takes no more now, or the connection has ended.
bool Connection::write_outbound() {
    const base::ByteView bytes = tls_.outbound().view();
    if (bytes.empty()) return true;
    const ssize_t count =
        ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        ++tcp_stalls_;
        wait_writable();
        return false;
    }
    if (count < 0) {
        fail(CloseReason::lost, "connection lost: " + errno_text(errno));
        return false;
    }
    sent_ = owner_.now();
    tls_.outbound().consume(static_cast<std::size_t>(count));
    return true;
}

void Connection::flush() {
    is_dirty_ = false;
    if (state_ == State::connecting || state_ == State::ended) return;
    write_fast();
    if (!waits_writable_) write_queued();
    switch_if_finished();
    if (state_ == State::ended) return;
    tell_kind();
    if (goodbye_written_ && tls_.outbound().empty() && !goodbye_flushed_) {
        // The peer reads the goodbye and ends; a close() now might destroy it on its way.
        goodbye_flushed_ = true;
        ::shutdown(socket_.native_handle(), SHUT_WR);
    }
    for (const Lane lane : {Lane::control, Lane::data}) {
        if (state_ == State::open && queue_.take_writable(lane)) owner_.on_writable(*this, lane);
    }
}

// Ends when nothing is queued, when the socket takes no more, or after a turn's worth.
void Connection::write_queued() {
    std::size_t written = 0;
    while (fill_outbound()) {
        const std::size_t waiting = tls_.outbound().view().size();
        if (!write_outbound()) return;
        written += waiting - tls_.outbound().view().size();
        if (written >= kWriteBudget) return wait_writable();
    }
}

void Connection::wait_writable() {
    if (waits_writable_ || state_ == State::ended) return;
    waits_writable_ = true;
    ++pending_;
    socket_.async_wait(Socket::wait_write, [this](const boost::system::error_code& /*unused*/) {
        --pending_;
        waits_writable_ = false;
        if (state_ != State::ended) flush();
        owner_.end_turn();
    });
}

// --- The clock and the end ------------------------------------------------------------------

void Connection::tune_window() {
    tuned_ = owner_.now();
    window_.tune(socket_.native_handle());
}

void Connection::tick() {
    const Options& options = owner_.options();
    const base::Timestamp now = owner_.now();
    if (state_ == State::ended) return;
    if (state_ == State::closing) {
        if (now >= close_deadline_) end(goodbye_);
        return;
    }
    if (state_ != State::open) {
        if (now - started_ < options.handshake_max) return;
        return fail(CloseReason::timed_out, "the handshake took too long");
    }
    if (now - tuned_ >= kTuneEvery) tune_window();
    tick_fast(now);
    if (state_ == State::ended) return;
    if (!is_paused_ && now - received_ >= options.silence_max) {
        return fail(CloseReason::timed_out, "the peer is silent");
    }
    if (!is_paused_ && reassembly_.open_bytes() > 0 && now - progress_ >= options.stall_max) {
        return fail(CloseReason::timed_out, "the peer does not finish its message");
    }
    if (tls_.outbound().empty()) {
        if (now - sent_ < options.heartbeat_every) return detection_.tick(now);
        write_frame(link::FrameKind::heartbeat, {});
        want_flush();
    } else if (now - sent_ >= options.stall_max) {
        return fail(CloseReason::timed_out, "the peer takes no bytes");
    }
    detection_.tick(now);
}

void Connection::fail(CloseReason reason, std::string text) {
    if (state_ == State::closing) return end(goodbye_);
    end({.reason = reason, .text = std::move(text)});
}

void Connection::end(CloseInfo info) {
    if (state_ == State::ended) return;
    state_ = State::ended;
    info.unsent_bytes = queue_.unsent_bytes() + fast_.uncovered_bytes();
    fast_.drop();
    if (std::exchange(told_kind_, Kind::tcp) != Kind::tcp) {
        owner_.on_kind(*this, Kind::tcp, "the connection has ended");
    }
    queue_.drop(Lane::control);
    queue_.drop(Lane::data);
    reassembly_.clear();
    boost::system::error_code ignored;
    socket_.close(ignored);
    owner_.on_ended(*this, info);
}

// --- The prelude ----------------------------------------------------------------------------

void Connection::send_prelude(base::Bytes payload) {
    write_frame(link::FrameKind::prelude, payload);
    want_flush();
}

}  // namespace transport::tcp
