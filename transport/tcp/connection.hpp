#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "transport/channel.hpp"
#include "transport/channel_status.hpp"
#include "transport/io_thread.hpp"
#include "transport/link/detection.hpp"
#include "transport/link/fast_path.hpp"
#include "transport/link/fast_side.hpp"
#include "transport/link/frame.hpp"
#include "transport/link/reassembly.hpp"
#include "transport/link/send_queue.hpp"
#include "transport/tcp/options.hpp"
#include "transport/tcp/receive_window.hpp"
#include "transport/tcp/tls.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace transport::tcp {

class Connection;

// What a connection asks of the thread that it lives on.
class ConnectionOwner {
  public:
    virtual ~ConnectionOwner() = default;

    [[nodiscard]] virtual const Options& options() const = 0;
    [[nodiscard]] virtual BufferPool& pool() = 0;
    [[nodiscard]] virtual base::Timestamp now() const = 0;
    // Scratch memory for one system call, shared by all connections.
    [[nodiscard]] virtual std::span<std::byte> scratch() = 0;
    // What this node has besides TCP.
    [[nodiscard]] virtual std::span<const std::unique_ptr<link::FastKind>> fast_kinds() = 0;
    [[nodiscard]] virtual Verdict admit(const PeerKey& peer, bool outbound) = 0;
    // Both ends have admitted each other: messages may be sent.
    virtual void on_open(Connection& connection) = 0;
    // Messages take another way than before; `why` they don't take a faster one.
    virtual void on_kind(Connection& connection, Kind kind, const std::string& why) = 0;
    virtual void on_message(Connection& connection, Message message) = 0;
    // After would_block: half of the lane's queue is free again.
    virtual void on_writable(Connection& connection, Lane lane) = 0;
    // Once. The connection is destroyed when nothing it waits for is outstanding.
    virtual void on_ended(Connection& connection, const CloseInfo& info) = 0;
    // Something waits to be flushed at the end of this turn of the loop.
    virtual void mark_dirty(Connection& connection) = 0;
    // Reading has stopped until buffers come back.
    virtual void mark_paused(Connection& connection) = 0;
    // Each asynchronous handler's last act: flushes, hands over events, destroys what has ended.
    virtual void end_turn() = 0;
};

// An ordered, reliable, authenticated stream of messages to one peer, by a TCP connection with
// TLS 1.3: handshake, prelude, frames both ways, goodbye. Where both ends have a faster path,
// messages take that (connection_fast.cpp).
//
// Thread: its I/O thread (IoThread::post reaches it from others). Callbacks to the owner about
// messages come from the event loop, never from within send() or close().
class Connection final : base::Pinned, private link::PathOwner, private link::FastUser {
  public:
    using Socket = boost::asio::ip::tcp::socket;
    struct Identity {
        ChannelId id{};
        std::string address{};  // Of the peer.
        bool is_outbound = false;
        std::optional<PeerKey> expected{};
        std::string origin{};  // origin_of() its address.
    };

    Connection(ConnectionOwner& owner, const TlsContext& tls, Socket socket, Identity identity);

    // The socket is connected: begins the handshake.
    void start();
    // Sends what is queued, as far as the socket takes it.
    void flush();
    // Reads on if memory allows it again. False: still paused.
    bool try_resume();
    // Looks at the clock: deadlines, heartbeats, the prelude's timers.
    void tick();
    // Ends at once, without a goodbye.
    void fail(CloseReason reason, std::string text);

    [[nodiscard]] ChannelId id() const { return identity_.id; }
    [[nodiscard]] const PeerKey& peer() const { return peer_; }
    // Queues one message of 1..kMessageBytesMax bytes. would_block: the lane's queue is full and
    // the payload was not touched; on_writable follows. unavailable: closing.
    base::Result<void> send(Lane lane, Priority priority, Payload&& payload);
    // Says goodbye with `text`: what is queued on the control lane goes first, for a second at
    // most; then on_ended.
    void close(CloseReason reason, std::string text);

    [[nodiscard]] ChannelStatus status() const;
    [[nodiscard]] const Identity& identity() const { return identity_; }
    [[nodiscard]] const base::Hash256& binding() const { return binding_; }
    [[nodiscard]] bool is_open() const { return state_ == State::open; }
    [[nodiscard]] bool is_closing() const { return state_ == State::closing; }
    [[nodiscard]] bool was_open() const { return was_open_; }
    [[nodiscard]] bool has_ended() const { return state_ == State::ended; }
    [[nodiscard]] bool has_pending() const { return pending_ > 0; }
    [[nodiscard]] Socket& socket() { return socket_; }

  private:
    enum class State : std::uint8_t {
        connecting,   // TCP.
        handshaking,  // TLS.
        greeting,     // Admitted by us; the peer's first prelude frame is awaited.
        open,
        closing,  // Our goodbye is queued or sent.
        ended,
    };

    void send_prelude(base::Bytes payload) override;
    std::vector<link::Offer> offers() override;
    base::Result<base::Bytes> prepare(Kind kind, base::ByteView peer_address) override;
    base::Result<void> bring_up(base::ByteView peer_parameters) override;
    void write_probe(std::uint64_t nonce) override;
    void finish_tcp() override;
    void receive_fast() override;
    link::NextNumbers stop_fast() override;
    void replay(const link::NextNumbers& peer_next) override;

    void on_fast_ready() override;
    [[nodiscard]] link::PathSecrets path_secrets(Kind kind) const;
    void take_fast();
    [[nodiscard]] std::size_t take_fast_frame(const link::FastPath::Received& received);
    [[nodiscard]] bool take_landing(const link::Frame& frame);
    void write_fast();
    void switch_if_finished();
    void fail_fast(std::string why);
    void abandon_fast();
    void tick_fast(base::Timestamp now);
    void tell_kind();

    void tune_window();
    void want_flush();
    void wait_readable();
    void wait_writable();
    void on_readable();
    void take_ciphertext(base::ByteView bytes);
    void shake_hands();
    void on_authenticated();
    void refuse(std::string text);
    void take_plaintext();
    void take_frames();
    void take_other(const link::Frame& frame);
    [[nodiscard]] bool take_slice(const link::Frame& frame);
    [[nodiscard]] bool may_take(const link::FrameHeader& header);
    [[nodiscard]] bool take(base::Result<link::Reassembly::Taken> taken);
    void wait_for_memory();
    void on_prelude(base::ByteView payload);
    void on_last_prelude(base::ByteView payload);
    void on_goodbye(base::ByteView payload);
    void pause();
    void write_queued();
    [[nodiscard]] bool fill_outbound();
    [[nodiscard]] bool write_outbound();
    void write_frame(link::FrameKind kind, base::ByteView payload);
    void say_goodbye();
    void end(CloseInfo info);

    ConnectionOwner& owner_;
    Identity identity_;
    Socket socket_;
    TlsSession tls_;
    State state_ = State::connecting;
    bool was_open_ = false;
    PeerKey peer_{};
    base::Hash256 binding_{};

    link::FrameReader reader_;
    link::Reassembly reassembly_;
    link::SendQueue queue_;
    link::Detection detection_;
    link::FastSide fast_;
    Kind told_kind_ = Kind::tcp;
    std::uint64_t fallbacks_ = 0;
    std::uint64_t tcp_stalls_ = 0;
    bool is_resume_possible_ = true;
    Charge::Total held_bytes_ = std::make_shared<std::atomic<std::size_t>>(0);

    unsigned pending_ = 0;   // Asynchronous operations whose handler has not run.
    bool is_dirty_ = false;  // The owner flushes it at the end of this turn.
    bool waits_readable_ = false;
    bool waits_writable_ = false;
    bool is_paused_ = false;  // Until memory comes back.
    base::Bytes unread_;      // Ciphertext that came before the pause.
    CloseInfo goodbye_{};
    bool goodbye_written_ = false;
    bool goodbye_flushed_ = false;
    bool is_deaf_ = false;  // The TLS session has failed: what comes is thrown away.
    base::Timestamp started_{};
    base::Timestamp received_{};  // A byte last came.
    base::Timestamp sent_{};      // The peer's kernel last took bytes, or none waited.
    base::Timestamp progress_{};  // A slice last came, or no message was unfinished.
    ReceiveWindow window_;
    base::Timestamp tuned_{};  // The window.
    base::Timestamp close_deadline_{};
};

}  // namespace transport::tcp
