#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/http/types.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace node::http {

// Where to listen and what is served there.
struct Listen {
    std::string address{};  // "host:port" (port 0: any free one), or the path of a Unix socket.
    bool is_unix = false;
    std::set<std::string> categories{};  // Empty: all.
};

// What a route allows.
struct Route {
    Handler handler{};
    std::string category{};           // Served where the listener has it; empty: everywhere.
    std::set<std::string> queries{};  // Queries served besides none; "*": any. Others are 404.
    // It is for the operator (spec 10): only POST, which an <img> is not, from no page but the
    // node's own or one of Options::allow_origin by its name, and see Options::operator_token.
    bool is_operators = false;
    bool is_of_socket = false;  // It is served on Unix sockets alone.
    // Served on Unix sockets, and over TCP only where the listener names its category.
    bool is_listed = false;
};

// Which path is whose. Filled before the server starts, immutable after.
class Router {
  public:
    void add(std::string path, Route route);
    void add_socket(std::string path, std::string category, Upgrade upgrade);

    [[nodiscard]] const Route* find(const Request& request, const Listen& listen) const;
    [[nodiscard]] const Upgrade* find_socket(const Request& request, const Listen& listen) const;
    // Every path, in order.
    [[nodiscard]] std::vector<std::string> paths() const;

  private:
    struct SocketRoute {
        std::string category;
        Upgrade upgrade;
    };
    std::map<std::string, Route, std::less<>> routes_;
    std::map<std::string, SocketRoute, std::less<>> sockets_;
};

// Limits and headers. Every refusal names the option by the text given here.
struct Options {
    std::vector<Listen> listen{};
    unsigned threads = 2;
    std::string server_name = "bor";                    // The header Server.
    std::size_t body_bytes_max = std::size_t{4} << 20;  // max-body-size: 413.
    std::uint32_t header_bytes_max = 16U << 10;         // 431.
    // http-max-connections. When they are taken the longest idle one of the address with the most
    // is closed, and if none is idle a new one waits.
    std::size_t connections_max = 2'048;
    std::size_t connections_of_address_max = 64;  // More are closed. Of IPv6 a /64 is one.
    std::size_t bytes_in_flight_max = std::size_t{512} << 20;  // Bodies and answers: 503.
    // Bytes of requests, from their arrival until they are answered, and of answers and messages
    // that were not taken yet. Above them the slowest connection is closed, if its first byte came,
    // or it took some, so long ago.
    std::size_t held_max = std::size_t{256} << 20;
    std::size_t held_of_address_max = std::size_t{16} << 20;
    std::chrono::milliseconds slow_after{2'000};
    unsigned requests_per_second_max = 0;  // Of one address, bursts of twice that: 429. 0: none.
    bool limits_local = false;  // Whether what holds for one address also holds for loopback.
    std::chrono::milliseconds header_timeout{10'000};  // From a request's first byte on.
    std::chrono::milliseconds body_timeout{30'000};
    std::chrono::milliseconds idle_timeout{75'000};   // Between requests of a connection.
    std::chrono::milliseconds write_timeout{60'000};  // For one whole answer.
    std::size_t socket_queue_bytes_max = std::size_t{16} << 20;  // Of one WebSocket.
    std::size_t socket_message_bytes_max = std::size_t{64} << 10;
    bool verbose_errors = false;
    bool validate_host = true;
    std::set<std::string> host_aliases{};  // Accepted as Host besides our own addresses.
    unsigned unix_mode = 0660;             // Permissions of Unix sockets.
    // What an operator's call over TCP has to show (RFC 6750): 401. Empty: there it is always
    // refused, of loopback addresses, too, since a proxy and `ssh -L` have these. Nothing: handlers
    // ask themselves.
    std::optional<std::string> operator_token{};
    // CORS; an empty text or false leaves the header out. WebSockets are for the pages that this
    // origin names, too: of no other, "*": of any.
    std::string allow_origin{};
    std::string allow_headers{};
    std::string max_age{};
    bool allow_credentials = false;
};

// Counts since the start, for metrics.
struct Counters {
    std::uint64_t requests = 0;
    std::uint64_t connections = 0;          // Open now.
    std::uint64_t refused_connections = 0;  // By connections_of_address_max.
    std::uint64_t closed_idle = 0;          // To make room.
    std::uint64_t closed_slow = 0;          // By held_max and held_of_address_max.
    std::uint64_t refused_rate = 0;
    std::uint64_t bytes_in_flight = 0;
};

// HTTP/1.1 and WebSocket over TCP and Unix sockets. Unix sockets have a thread and limits of their
// own: what comes over TCP keeps no operator waiting (spec 10).
//
// Threads: has its own; start() and stop() are called by the owner. Handlers run on its
// threads. The router and what handlers refer to must outlive stop().
class Server : base::Pinned {
  public:
    Server(Options options, Router router, base::Log log);
    // NOLINTNEXTLINE(bugprone-exception-escape): no memory to stop ends the process.
    ~Server();

    // Binds every address, then serves. unavailable: an address is taken or forbidden; the
    // text names it. A Unix socket left by a dead process is replaced.
    base::Result<void> start();
    // Accepts nothing more, lets answers under way finish for at most `grace`, then ends.
    void stop(std::chrono::milliseconds grace = std::chrono::milliseconds(1'000));

    // The addresses bound, in the order of Options::listen, with the real port.
    [[nodiscard]] std::vector<std::string> addresses() const;
    [[nodiscard]] Counters counters() const;

  private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace node::http
