#include "node/bps/server/connection.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace bps {

namespace asio = boost::asio;
using boost::system::error_code;
using Kind = Transfer::Kind;

namespace {

// Of one turn; then others have theirs.
constexpr std::size_t kReadBudget = std::size_t{256} << 10;
constexpr std::size_t kWriteBudget = std::size_t{1} << 20;
constexpr std::size_t kWasteBytes = 4'096;
// Of answers that are written together: more of them need not hold memory.
constexpr std::size_t kGatheredBytes = std::size_t{64} << 10;
// What waits for the rest of a request that is so long is woken by a part of it, since each time
// costs. Of half at most: TLS may have some of it that the socket does not have any more.
constexpr std::size_t kLongRest = std::size_t{64} << 10;
constexpr std::size_t kLowWaterMost = std::size_t{256} << 10;
// Key, version and correlation: no request is smaller.
constexpr std::size_t kFrameBytesMin = 8;

}  // namespace

Connection::Connection(ConnectionOwner& owner,
                       const ServerTls* tls,
                       Socket socket,
                       Identity identity)
    : owner_(owner),
      identity_(std::move(identity)),
      socket_(std::move(socket)),
      unmute_(socket_.get_executor()),
      started_(Clock::now()),
      received_(started_),
      frame_since_(started_),
      progress_(started_),
      linger_until_(started_) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    const int descriptor = socket_.native_handle();
    stream_ = tls == nullptr ? make_plain_stream(descriptor) : make_tls_stream(*tls, descriptor);
}

void Connection::start() {
    shake_hands();
}

// --- Waiting --------------------------------------------------------------------------------

void Connection::wait_readable() {
    if (std::exchange(waits_readable_, true)) return;
    ++pending_;
    socket_.async_wait(Socket::wait_read, [this](const error_code& /*shows again*/) {
        --pending_;
        waits_readable_ = false;
        on_ready();
        owner_.end_turn();
    });
}

void Connection::wait_writable() {
    if (std::exchange(waits_writable_, true)) return;
    ++pending_;
    socket_.async_wait(Socket::wait_write, [this](const error_code& /*shows again*/) {
        --pending_;
        waits_writable_ = false;
        on_ready();
        owner_.end_turn();
    });
}

// TLS may have bytes that the socket does not have any more, so that nothing would wake it.
void Connection::continue_later() {
    if (std::exchange(continues_, true)) return;
    ++pending_;
    asio::post(socket_.get_executor(), [this] {
        --pending_;
        continues_ = false;
        on_ready();
        owner_.end_turn();
    });
}

// Both: TLS may have to read in order to write, and the other way round.
void Connection::on_ready() {
    if (state_ == State::handshaking) shake_hands();
    if (state_ == State::open) write_on();
    if (state_ == State::lingering) throw_away();
}

bool Connection::go_on(const Transfer& transfer) {
    switch (transfer.kind) {
        case Kind::done:
            return true;
        case Kind::wait_read:
            wait_readable();
            return false;
        case Kind::wait_write:
            wait_writable();
            return false;
        case Kind::ended:
            end(answers_.refusal().empty() ? "the client has closed"
                                           : "the client has closed after: " + answers_.refusal());
            return false;
        case Kind::failed:
            end(transfer.text);
            return false;
    }
    return false;
}

void Connection::shake_hands() {
    if (!go_on(stream_->handshake())) return;
    state_ = State::open;
    was_open_ = true;
    identity_.peer.certificate = stream_->certificate();
    owner_.on_open(*this);
    read_on();
}

// --- Requests -------------------------------------------------------------------------------

bool Connection::may_read() const {
    const ListenerOptions& options = owner_.options();
    return state_ == State::open && !is_draining_ && !is_muted_ &&
           answers_.close_reason().empty() && answers_.waiting() < options.requests_in_flight_max &&
           answers_.unsent_bytes() <= options.unsent_bytes_max;
}

void Connection::read_on() {
    std::size_t left = kReadBudget;
    while (may_read()) {
        if (left == 0) return continue_later();
        const std::span<std::byte> out = space();
        if (out.empty()) return;
        const Transfer transfer = stream_->read(out, space_behind());
        if (transfer.kind == Kind::wait_read) await_rest();
        if (!go_on(transfer)) return;
        take(transfer.bytes);
        left -= std::min(left, transfer.bytes);
    }
}

void Connection::await_rest() {
    const std::size_t rest = frame_ ? frame_bytes_ - frame_taken_ : 0;
    set_low_water(rest < kLongRest ? 1 : static_cast<int>(std::min(rest / 2, kLowWaterMost)));
}

void Connection::set_low_water(int bytes) {
    if (std::exchange(low_water_, bytes) == bytes) return;
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

std::span<std::byte> Connection::space() {
    if (length_taken_ < kLengthBytes) return std::span(length_).subspan(length_taken_);
    if (!frame_) {
        if (!owner_.memory().try_take(tenant_, frame_bytes_, MemoryShares::Use::request)) {
            if (!std::exchange(is_starved_, true)) owner_.on_starved(*this);
            return {};
        }
        frame_.emplace(MemoryHold(owner_.memory(), tenant_, frame_bytes_), frame_bytes_);
        frame_since_ = Clock::now();
    }
    return frame_->bytes().subspan(frame_taken_);
}

std::span<std::byte> Connection::space_behind() {
    return frame_ ? std::span<std::byte>(length_) : std::span<std::byte>();
}

void Connection::take(std::size_t bytes) {
    received_ = Clock::now();
    if (!frame_) return take_of_length(bytes);
    const std::size_t of_frame = std::min(bytes, frame_bytes_ - frame_taken_);
    frame_taken_ += of_frame;
    if (frame_taken_ < frame_bytes_) return;
    length_taken_ = 0;
    frame_taken_ = 0;
    frame_bytes_ = 0;
    owner_.on_frame(*this, answers_.expect(), *std::exchange(frame_, std::nullopt));
    if (bytes > of_frame) take_of_length(bytes - of_frame);
}

void Connection::take_of_length(std::size_t bytes) {
    if (length_taken_ == 0) frame_since_ = received_;
    length_taken_ += bytes;
    if (length_taken_ == kLengthBytes) take_length();
}

void Connection::take_length() {
    frame_bytes_ = 0;
    for (const std::byte byte : length_)
        frame_bytes_ = frame_bytes_ << 8U | std::to_integer<std::size_t>(byte);
    const ListenerOptions& options = owner_.options();
    const std::size_t most =
        is_admitted_ ? options.frame_bytes_max() : options.login_frame_bytes_max;
    if (frame_bytes_ < kFrameBytesMin || frame_bytes_ > most) {
        end(fmt::format(
            "a request of {} bytes; {} to {} are taken {}",
            frame_bytes_,
            kFrameBytesMin,
            most,
            is_admitted_ ? "(the limit is that of messages and 1 MiB)" : "before the login"));
    }
}

void Connection::try_resume() {
    is_starved_ = false;
    if (state_ == State::open) read_on();
}

void Connection::mute(std::chrono::milliseconds duration) {
    if (state_ != State::open) return;
    is_muted_ = true;
    muted_until_ = std::max(muted_until_, Clock::now() + duration);
    if (!waits_muted_) await_unmute();
}

// One wait at a time: a tenant that is over its quota is muted in each turn.
void Connection::await_unmute() {
    waits_muted_ = true;
    unmute_.expires_at(muted_until_);
    ++pending_;
    unmute_.async_wait([this](const error_code& /*of end(), which the state tells*/) {
        --pending_;
        waits_muted_ = false;
        if (state_ == State::open && Clock::now() < muted_until_) {
            await_unmute();
        } else if (state_ == State::open) {
            is_muted_ = false;
            read_on();
        }
        owner_.end_turn();
    });
}

void Connection::admit(Tenant tenant) {
    tenant_ = tenant;
    is_admitted_ = true;
}

// --- Answers --------------------------------------------------------------------------------

void Connection::answer(std::uint64_t number, Answer answer) {
    if (state_ != State::open) return;
    if (answer.response) {
        const std::size_t bytes = answer.response->bytes.size();
        if (!owner_.memory().try_take(tenant_, bytes, MemoryShares::Use::answer)) {
            return end(
                fmt::format("no memory for an answer of {} bytes: others of the same tenant "
                            "are not taken",
                            bytes));
        }
        answer.hold = MemoryHold(owner_.memory(), tenant_, bytes);
    }
    const bool was_ready = answers_.is_ready();
    if (!answers_.put(number, std::move(answer)) || !answers_.is_ready()) return;
    if (!was_ready) {
        progress_ = Clock::now();
        owner_.on_answered(*this);
    }
    if (!waits_writable_ && !continues_ && answers_.unsent_bytes() > kGatheredBytes) write_on();
}

void Connection::write_answers() {
    if (state_ == State::open) write_on();
}

void Connection::write_on() {
    std::size_t left = kWriteBudget;
    // Where the socket is full it says when it takes more; to try costs reading the file again.
    while (state_ == State::open && answers_.is_ready() && !waits_writable_) {
        if (left == 0) return continue_later();
        const Transfer transfer = answers_.write(*stream_);
        if (transfer.bytes > 0) progress_ = Clock::now();
        if (!go_on(transfer)) break;
        left -= std::min(left, transfer.bytes);
        if (!answers_.close_reason().empty()) return linger();
    }
    if (state_ != State::open) return;
    if (is_draining_ && answers_.waiting() == 0) return linger();
    read_on();
}

void Connection::drain() {
    is_draining_ = true;
    if (state_ == State::handshaking) return end("the broker stops");
    if (state_ == State::open && answers_.waiting() == 0) linger();
}

// --- The end --------------------------------------------------------------------------------

// A socket that is closed with bytes unread resets the connection, and the client may never see the
// last answer.
void Connection::linger() {
    state_ = State::lingering;
    linger_until_ = Clock::now() + owner_.options().linger_time;
    stream_->shut();
    set_low_water(1);
    throw_away();
}

// From the socket itself: nobody wants to know what it means.
void Connection::throw_away() {
    std::array<std::byte, kWasteBytes> waste{};
    for (std::size_t total = 0; total < kReadBudget;) {
        error_code error;
        const std::size_t bytes = socket_.read_some(asio::buffer(waste), error);
        if (error == asio::error::would_block) return wait_readable();
        if (error) {
            const std::string& reason = answers_.close_reason();
            return end(reason.empty() ? "the broker stops" : std::string(reason));
        }
        total += bytes;
    }
    continue_later();
}

void Connection::end(const std::string& reason) {
    if (std::exchange(state_, State::ended) == State::ended) return;
    // A client of TLS has to take an end that nobody announced for an attack.
    stream_->shut();
    stream_.reset();
    error_code ignored;
    socket_.close(ignored);
    unmute_.cancel();
    frame_.reset();
    answers_ = Answers();
    owner_.on_ended(*this, reason);
}

std::string Connection::why_late(Clock::time_point now) const {
    const ListenerOptions& options = owner_.options();
    const auto since = [now](Clock::time_point then, ListenerOptions::Duration most) {
        return now - then > most;
    };
    if (!is_admitted_ && since(started_, options.login_time)) {
        return fmt::format("no login within {} ms", options.login_time.count());
    }
    if (answers_.is_ready() && since(progress_, options.progress_time)) {
        return fmt::format("no byte of an answer was taken for {} ms",
                           options.progress_time.count());
    }
    if (length_taken_ > 0 && since(frame_since_, options.frame_time)) {
        return fmt::format("{} of {} bytes of a request after {} ms",
                           frame_taken_,
                           frame_bytes_,
                           options.frame_time.count());
    }
    if (answers_.waiting() == 0 && since(std::max(received_, progress_), options.idle_time)) {
        return fmt::format("idle for {} ms", options.idle_time.count());
    }
    return {};
}

void Connection::tick(Clock::time_point now) {
    if (state_ == State::ended) return;
    if (state_ == State::lingering) {
        if (now > linger_until_) end(std::string(answers_.close_reason()));
        return;
    }
    // Time does not count against a client that is not read.
    if (!may_read() || is_starved_) received_ = frame_since_ = now;
    if (const std::string reason = why_late(now); !reason.empty()) end(reason);
}

}  // namespace bps
