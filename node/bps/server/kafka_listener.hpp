#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/bps/core/reply.hpp"
#include "node/bps/server/connection.hpp"
#include "node/bps/server/options.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace bps {

// Counts since the start, for metrics. Any thread.
struct ListenerCounters {
    std::atomic<std::uint64_t> connections = 0;  // Now, handshakes among them.
    std::atomic<std::uint64_t> accepted = 0;
    std::atomic<std::uint64_t> refused = 0;  // By a bound on connections.
    std::atomic<std::uint64_t> requests = 0;
};

// Clients' connections over TCP and TLS. What they ask is kept until deliver(), and bounded by the
// bounds of connections: each request is counted as one in flight, and its bytes as memory.
//
// Thread: that which runs the context, and start() before that; counters() and memory_used() any.
// SIGPIPE is ignored there: a client that is gone is an error, also of sendfile and of OpenSSL. All
// frames that were handed out end before this, and this before the context.
class KafkaListener final : base::Pinned, private ConnectionOwner {
  public:
    // What happens to connections, in order. Called by deliver().
    class Handler {
      public:
        virtual ~Handler() = default;

        virtual void on_open(std::uint64_t connection, const ClientPeer& peer) = 0;
        // Its answer, by send(), may come in any order; each request has one.
        virtual void on_request(const RequestId& id, Frame frame) = 0;
        // The last of a connection. Answers to it are thrown away.
        virtual void on_closed(std::uint64_t connection) = 0;
    };

    KafkaListener(boost::asio::io_context& context,
                  ListenerOptions options,
                  RecordFiles& files,
                  base::Log log);

    // Binds every address, then serves. invalid: an address without TLS that is not of loopback, or
    // files of TLS that cannot be used. unavailable: an address is taken.
    base::Result<void> start();
    // Accepts and reads nothing more, and gives what is asked `grace` to be answered.
    void stop(std::chrono::milliseconds grace);
    // It was stopped, and no client is left.
    [[nodiscard]] bool has_ended() const { return is_stopping_ && connections_.empty(); }

    // Something waits for deliver() or write_answers().
    [[nodiscard]] bool has_more() const { return !events_.empty() || !answered_.empty(); }
    // Hands over what has happened since the last call.
    void deliver(Handler& handler);
    // The answer to a request. It leaves by write_answers(), or before, where it is long.
    void send(Reply reply);
    // The client has logged in: its requests may be as large as messages are, and it shares memory
    // with its tenant only.
    void admit(std::uint64_t connection, Tenant tenant);
    // Reads nothing of it for so long.
    void mute(std::uint64_t connection, std::chrono::milliseconds duration);
    // Writes what was answered, as far as it can be at once, and ends it. `reason` is for the log.
    void close(std::uint64_t connection, const std::string& reason);
    // At the end of a turn: answers to one client leave together, since each time costs as much.
    // For 2 ms, since other clients wait; the rest is written by the next call.
    void write_answers();

    // The addresses bound, in the order of the options, with the real port.
    [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
    [[nodiscard]] const ListenerCounters& counters() const { return counters_; }
    // Bytes of requests and answers in memory.
    [[nodiscard]] std::size_t memory_used() const { return memory_.used(); }

  private:
    using Acceptor = boost::asio::ip::tcp::acceptor;
    struct Listening {
        Acceptor acceptor;
        std::string address;  // As configured.
        bool is_tls = false;
    };
    // Of lines of the log that clients bring about.
    enum class Cause : std::uint8_t { refused, gone_before_login, gone };
    struct Complaints {
        std::uint64_t count = 0;
        std::chrono::steady_clock::time_point since{};
    };
    struct Opened {
        std::uint64_t connection = 0;
        ClientPeer peer;
    };
    struct Asked {
        RequestId id;
        Frame frame;
    };
    struct Closed {
        std::uint64_t connection = 0;
    };
    using Event = std::variant<Opened, Asked, Closed>;
    [[nodiscard]] const ListenerOptions& options() const override { return options_; }
    [[nodiscard]] MemoryShares& memory() override { return memory_; }
    void on_open(Connection& connection) override;
    void on_frame(Connection& connection, std::uint64_t number, Frame frame) override;
    void on_answered(Connection& connection) override;
    void on_starved(Connection& connection) override;
    void on_ended(Connection& connection, const std::string& reason) override;
    void end_turn() override;

    [[nodiscard]] base::Result<void> bind(const ListenerOptions::Listen& listen);
    void accept(Listening& listening);
    void take_socket(const Listening& listening, Connection::Socket socket);
    [[nodiscard]] std::string why_not(const std::string& address) const;
    void make_room();
    void resume_starved();
    void tick();
    [[nodiscard]] Connection* find(std::uint64_t id);
    // Whether a line of the log may still be written for it.
    [[nodiscard]] bool may_complain(Cause cause);

    const ListenerOptions options_;
    RecordFiles& files_;
    base::Log log_;
    MemoryShares memory_;
    ListenerCounters counters_;
    std::vector<std::string> addresses_;
    std::unique_ptr<ServerTls> tls_;  // Null: nothing listens with TLS.

    boost::asio::io_context& context_;
    boost::asio::steady_timer timer_;
    std::vector<std::unique_ptr<Listening>> listening_;
    bool is_stopping_ = false;
    std::chrono::steady_clock::time_point stop_deadline_{};
    std::chrono::steady_clock::time_point ticked_{};
    std::vector<Listening*> failed_;  // Tried again at the next tick.
    std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;  // By age.
    std::map<std::string, std::size_t> by_address_;
    std::uint64_t last_id_ = 0;
    std::set<std::uint64_t> logins_;      // Connections that are not admitted.
    std::deque<std::uint64_t> answered_;  // Those that have answers to write.
    std::vector<std::uint64_t> starved_;
    std::vector<std::uint64_t> ended_;
    std::vector<Event> events_;             // For deliver().
    std::array<Complaints, 3> complaints_;  // By Cause.
};

}  // namespace bps
