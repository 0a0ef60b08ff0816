#pragma once

#include "base/crypto/keys.hpp"
#include "base/line_limit.hpp"
#include "base/log.hpp"
#include "transport/io_thread.hpp"
#include "transport/tcp/callers.hpp"
#include "transport/tcp/connection.hpp"
#include "transport/tcp/driver_loop.hpp"
#include "transport/tcp/handshakes.hpp"
#include "transport/tcp/options.hpp"
#include "transport/tcp/tls.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace transport::tcp {

// Counts since the start, for metrics. Any thread.
struct Counters {
    std::atomic<std::uint64_t> channels = 0;  // Up now.
    std::atomic<std::uint64_t> fast = 0;      // Of these, with a faster path than TCP.
    std::atomic<std::uint64_t> accepted = 0;  // TCP connections by peers.
    std::atomic<std::uint64_t> refused = 0;   // By a bound, a certificate or a key.
    std::atomic<std::uint64_t> messages_received = 0;
    std::atomic<std::uint64_t> bytes_received = 0;  // Of messages.
    std::atomic<std::uint64_t> messages_sent = 0;   // Queued.
    std::atomic<std::uint64_t> bytes_sent = 0;
    std::atomic<std::uint64_t> refused_sends = 0;  // The peer was too slow.
    std::atomic<std::uint64_t> pauses = 0;         // Reading waited for memory.
};

// An I/O thread of TCP channels with TLS 1.3: listens, connects, and speaks with its node in
// lists of commands and events.
//
// Threads: has one. start() and stop() are the owner's; post() is for any. The host outlives
// stop() and has given back all messages before this is destroyed.
class Thread final : public IoThread, private ConnectionOwner {
  public:
    Thread(Options options, const base::crypto::PrivateKey& node_key, Host& host, base::Log log);
    // NOLINTNEXTLINE(bugprone-exception-escape): no memory to stop ends the process.
    ~Thread() override;

    // Before start(): another way to peers, which both ends must have.
    void add(std::unique_ptr<link::FastKind> kind) { kinds_.push_back(std::move(kind)); }
    // Binds every address, then runs. unavailable: an address is taken; the text names it.
    base::Result<void> start();
    // Says goodbye to all peers, which takes a second at most. Every channel gets its Down.
    void stop();

    void post(std::vector<Command>& commands) override;

    // Of the channels that are up, by number, as of the last second; never null. Any thread.
    [[nodiscard]] ChannelStatuses channels() const;

    // The addresses bound, in the order of Options::listen, with the real port.
    [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
    [[nodiscard]] const Counters& counters() const { return counters_; }
    [[nodiscard]] std::size_t blocks_out() const { return pool_->blocks_out(); }

  private:
    using Acceptor = boost::asio::ip::tcp::acceptor;
    using Resolver = boost::asio::ip::tcp::resolver;
    // A connection of ours before it has a socket that is connected.
    struct Dialing;
    // One of a peer before its handshake begins.
    struct Caller {
        Connection::Socket socket;
        std::string address;
        std::string origin;
    };

    [[nodiscard]] const Options& options() const override { return options_; }
    [[nodiscard]] BufferPool& pool() override { return *pool_; }
    [[nodiscard]] base::Timestamp now() const override;
    [[nodiscard]] std::span<std::byte> scratch() override { return scratch_; }
    [[nodiscard]] std::span<const std::unique_ptr<link::FastKind>> fast_kinds() override {
        return kinds_;
    }
    [[nodiscard]] Verdict admit(const PeerKey& peer, bool outbound) override;
    void on_open(Connection& connection) override;
    void on_kind(Connection& connection, Kind kind, const std::string& why) override;
    void on_message(Connection& connection, Message message) override;
    void on_writable(Connection& connection, Lane lane) override;
    void on_ended(Connection& connection, const CloseInfo& info) override;
    void mark_dirty(Connection& connection) override;
    void mark_paused(Connection& connection) override;
    void end_turn() override;

    [[nodiscard]] base::Result<void> bind(const std::string& address);
    void begin_stop();
    void accept(Acceptor& acceptor);
    void take_socket(Connection::Socket socket);
    void dial(const command::Connect& connect);
    void note_dialed(const Resolver::results_type& found);
    void dialed(const std::shared_ptr<Dialing>& dialing, const boost::system::error_code& error);
    [[nodiscard]] bool has_room();
    // Of this channel: it has finished or ended.
    void end_handshake(ChannelId id);
    // Begins the handshakes whose turn it is.
    void serve_callers();
    void begin_handshake(Caller caller, bool is_known);
    void note_known();
    // Longer than a stranger, which the core turns away, stays up.
    [[nodiscard]] bool is_up_for_long(ChannelId id) const;
    // The end of a line that a peer can bring about: " others=N", those without one since the last
    // of this cause. No value: no line now.
    [[nodiscard]] std::optional<std::string> others_of(const std::string& cause);
    void complain(const std::string& address, const std::string& cause, const std::string& text);
    [[nodiscard]] ChannelId next_id() { return last_id_ = last_id_.next(); }
    void adopt(Connection::Socket socket, Connection::Identity identity);
    void take_commands();
    void carry_out(command::Send& send);
    void carry_out(const command::Close& close);
    void carry_out(const command::Connect& connect);
    void fail_connect(const std::string& address, CloseReason reason, std::string text);
    void publish_channels();
    void resume_paused();
    void flush_dirty();
    void reap();
    void tick();
    [[nodiscard]] Connection* find(ChannelId id);
    void complain(const Connection& connection, const CloseInfo& info);

    Options options_;
    TlsContext tls_;
    Host& host_;
    base::Log log_;
    std::unique_ptr<BufferPool> pool_;
    std::vector<std::byte> scratch_;
    Counters counters_;
    std::vector<std::string> addresses_;

    boost::asio::io_context context_;
    boost::asio::steady_timer timer_;
    Resolver resolver_;
    std::vector<std::unique_ptr<Acceptor>> acceptors_;
    std::vector<Acceptor*> failed_acceptors_;  // Tried again at the next tick.
    std::vector<std::unique_ptr<link::FastKind>> kinds_;
    std::vector<std::unique_ptr<DriverLoop>> loops_;  // Of the kinds.
    bool is_stopping_ = false;
    std::chrono::steady_clock::time_point stop_deadline_{};

    // Of the I/O thread.
    std::map<ChannelId, std::unique_ptr<Connection>> connections_;
    ChannelId last_id_{};
    std::size_t dialing_ = 0;
    // Begun. Strangers push out none of a known origin, which may have many nodes.
    Handshakes handshakes_;
    Handshakes known_handshakes_;
    Callers callers_;
    std::map<ChannelId, Caller> waiting_;            // That callers_ has, by ids of its own.
    std::map<ChannelId, base::Timestamp> up_since_;  // Of connections_.
    std::vector<ChannelId> dirty_;
    std::vector<ChannelId> flushing_;  // Was dirty_.
    std::vector<ChannelId> paused_;
    std::vector<ChannelId> ended_;
    std::vector<Event> events_;
    base::LineLimit<std::string> lines_;  // About peers that connected to us.

    bool is_status_old_ = false;  // A channel has come, gone or changed its kind.
    std::chrono::steady_clock::time_point published_{};

    mutable std::mutex status_mutex_;
    ChannelStatuses statuses_ = std::make_shared<const std::vector<ChannelStatus>>();

    std::mutex command_mutex_;
    std::vector<Command> commands_;        // Posted.
    std::vector<Command> taken_commands_;  // Being carried out.
    std::thread thread_;
};

}  // namespace transport::tcp
