#pragma once

#include "base/pinned.hpp"
#include "node/bps/server/answers.hpp"
#include "node/bps/server/frame.hpp"
#include "node/bps/server/options.hpp"
#include "node/bps/server/stream.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace bps {

class Connection;

// Who has connected, as far as the connection tells.
struct ClientPeer {
    std::string address{};   // Without the port.
    std::string listener{};  // The address of ours, as configured.
    bool is_loopback = false;
    bool is_tls = false;
    // SHA-256 of the 33 bytes of the P-256 key that the client has proved by TLS.
    std::optional<base::Hash256> certificate{};
};

// What a connection asks of the thread that it lives on.
class ConnectionOwner {
  public:
    virtual ~ConnectionOwner() = default;

    [[nodiscard]] virtual const ListenerOptions& options() const = 0;
    [[nodiscard]] virtual MemoryShares& memory() = 0;
    // The client may send requests.
    virtual void on_open(Connection& connection) = 0;
    virtual void on_frame(Connection& connection, std::uint64_t number, Frame frame) = 0;
    // It has answers to write, and had none: write_answers(), when those that come with them are
    // there, too.
    virtual void on_answered(Connection& connection) = 0;
    // A request waits until memory was given back: try_resume().
    virtual void on_starved(Connection& connection) = 0;
    // Once. It is destroyed when nothing it waits for is outstanding.
    virtual void on_ended(Connection& connection, const std::string& reason) = 0;
    // The last act of each asynchronous handler.
    virtual void end_turn() = 0;
};

// One client's connection: frames in, answers out in the order of the requests. It is not read
// while its answers are not taken, too many of its requests wait, its tenant holds its share of
// memory, or it is muted.
//
// Thread: that of its owner.
class Connection : base::Pinned {
  public:
    using Socket = boost::asio::ip::tcp::socket;
    using Clock = std::chrono::steady_clock;
    struct Identity {
        std::uint64_t id = 0;
        ClientPeer peer{};
    };

    // `tls` outlives it; null: in clear.
    Connection(ConnectionOwner& owner, const ServerTls* tls, Socket socket, Identity identity);

    void start();
    // Of a request that waits; any other number does nothing. It is written by write_answers(), or
    // before, where it is long.
    void answer(std::uint64_t number, Answer answer);
    void write_answers();
    // The client has logged in as one of the tenant: its frames may be large and take their time.
    void admit(Tenant tenant);
    // Reads nothing for so long (KIP-219: a client may not heed throttle_time_ms).
    void mute(std::chrono::milliseconds duration);
    // Takes no new requests, and ends when those that it has are answered.
    void drain();
    // Ends at once; what was not written is lost.
    void end(const std::string& reason);
    // Reads on where memory allows it again.
    void try_resume();
    // Looks at the clock.
    void tick(Clock::time_point now);

    [[nodiscard]] std::uint64_t id() const { return identity_.id; }
    [[nodiscard]] const ClientPeer& peer() const { return identity_.peer; }
    [[nodiscard]] bool is_admitted() const { return is_admitted_; }
    [[nodiscard]] bool was_open() const { return was_open_; }
    [[nodiscard]] bool has_ended() const { return state_ == State::ended; }
    [[nodiscard]] bool has_pending() const { return pending_ > 0; }

  private:
    enum class State : std::uint8_t {
        handshaking,  // TLS.
        open,
        lingering,  // The last answer is written; what still comes is thrown away.
        ended,
    };

    void wait_readable();
    void wait_writable();
    void on_ready();
    void shake_hands();
    void read_on();
    void write_on();
    void continue_later();
    void await_unmute();
    void throw_away();
    void linger();
    // Whether it may be read, at whatever place of a frame.
    [[nodiscard]] bool may_read() const;
    // Where the next bytes belong; empty: the frame has to wait for memory.
    [[nodiscard]] std::span<std::byte> space();
    // For the length of the request that follows: the frame's own is known by then.
    [[nodiscard]] std::span<std::byte> space_behind();
    // Before a wait for the rest of a request: how many bytes the socket has to have before it
    // wakes this thread.
    void await_rest();
    void set_low_water(int bytes);
    void take(std::size_t bytes);
    void take_of_length(std::size_t bytes);
    void take_length();
    // False: it waits, or has ended.
    [[nodiscard]] bool go_on(const Transfer& transfer);
    [[nodiscard]] std::string why_late(Clock::time_point now) const;

    ConnectionOwner& owner_;
    Identity identity_;
    Socket socket_;
    std::unique_ptr<Stream> stream_;  // After socket_, which it uses.
    boost::asio::steady_timer unmute_;
    State state_ = State::handshaking;
    Tenant tenant_ = 0;
    bool is_admitted_ = false;
    bool was_open_ = false;
    bool is_draining_ = false;
    bool is_muted_ = false;
    bool is_starved_ = false;
    bool waits_readable_ = false;
    bool waits_writable_ = false;
    bool waits_muted_ = false;
    bool continues_ = false;
    unsigned pending_ = 0;  // Asynchronous operations whose handler has not run.

    static constexpr std::size_t kLengthBytes = 4;
    std::array<std::byte, kLengthBytes> length_{};
    std::size_t length_taken_ = 0;
    std::size_t frame_bytes_ = 0;  // Of the frame that is read, once its length is there.
    std::size_t frame_taken_ = 0;
    std::optional<Frame> frame_;
    int low_water_ = 1;  // Bytes: SO_RCVLOWAT.
    Answers answers_;

    Clock::time_point started_;
    Clock::time_point received_;     // A byte last came, or reading began again.
    Clock::time_point frame_since_;  // Its first byte came, or reading began again.
    Clock::time_point progress_;     // A byte of an answer was last taken, or none was ready.
    Clock::time_point linger_until_;
    Clock::time_point muted_until_{};
};

}  // namespace bps
