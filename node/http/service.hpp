#pragma once

#include "base/log.hpp"
#include "node/http/connection_table.hpp"
#include "node/http/limits.hpp"
#include "node/http/server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace node::http {

class SocketQueue;

// Tells whether the event loop still exists. What may outlive the server (Reply, Socket) posts
// to the loop only while it holds the mutex and finds `open`.
struct Gate {
    std::mutex mutex;
    bool open = true;
};

// A coroutine waits here until another thread wakes it. Used on one strand; owned by the
// coroutine, others hold it weakly.
struct Wake {
    explicit Wake(const boost::asio::any_io_executor& executor) : timer(executor) {
        timer.expires_at(boost::asio::steady_timer::time_point::max());
    }

    boost::asio::steady_timer timer;
    std::optional<Response> response;
};

// The places of a lane's connections, one for each.
class Places : base::Pinned {
  public:
    using Id = ConnectionTable::Id;
    // Ends a connection; one that has become busy meanwhile only if `even_busy`.
    using Close = std::function<void(bool even_busy)>;

    explicit Places(const Options& options)
        : slow_after_(options.slow_after),
          table_({.connections = options.connections_max,
                  .connections_of_origin = options.connections_of_address_max,
                  .held = options.held_max,
                  .held_of_origin = options.held_of_address_max}) {}

    // Whether there is a place. If not, the longest idle connection is asked to end, one at a time.
    [[nodiscard]] bool make_room();
    [[nodiscard]] bool has_most(const std::string& origin) const;
    [[nodiscard]] Id enter(const std::string& origin);
    void set_close(Id id, Close close);
    void set_busy(Id id);
    void set_idle(Id id);
    // See ConnectionTable. Where too much is held then, the slowest ends.
    void add_held(Id id, std::size_t bytes);
    void take_held(Id id, std::size_t bytes);
    void leave(Id id);

    [[nodiscard]] std::size_t count() const;
    [[nodiscard]] std::uint64_t closed_idle() const { return closed_idle_; }
    [[nodiscard]] std::uint64_t closed_slow() const { return closed_slow_; }

  private:
    const std::chrono::milliseconds slow_after_;
    mutable std::mutex mutex_;  // Guards the three below.
    ConnectionTable table_;
    std::unordered_map<Id, Close> closes_;
    std::set<Id> asked_;  // To end, and not gone yet.
    std::atomic<std::uint64_t> closed_idle_ = 0;
    std::atomic<std::uint64_t> closed_slow_ = 0;
};

// What all connections of a lane share. Outlives every connection.
struct Service {
    // The router outlives it.
    Service(Options options_in, const Router& router_in, base::Log log_in)
        : options(std::move(options_in)),
          router(router_in),
          log(log_in),
          rate(options.requests_per_second_max),
          places(options) {}

    Options options;
    const Router& router;
    base::Log log;
    RateLimiter rate;
    Places places;
    std::shared_ptr<Gate> gate = std::make_shared<Gate>();
    std::atomic<bool> stopping = false;
    std::atomic<std::size_t> bytes_in_flight = 0;
    std::atomic<std::size_t> requests_in_flight = 0;
    std::atomic<std::uint64_t> requests = 0;
    std::atomic<std::uint64_t> refused_connections = 0;
    std::atomic<std::uint64_t> refused_rate = 0;
    std::mutex sockets_mutex;
    std::vector<std::weak_ptr<SocketQueue>> sockets;
};

// Answers a Reply by waking the coroutine of its connection.
class Reply::Target {
  public:
    Target(std::shared_ptr<Gate> gate, std::weak_ptr<Wake> wake)
        : gate_(std::move(gate)), wake_(std::move(wake)) {}
    // NOLINTNEXTLINE(bugprone-exception-escape): no memory to answer ends the process.
    ~Target();
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    void answer(Response response);

  private:
    std::shared_ptr<Gate> gate_;
    std::weak_ptr<Wake> wake_;
    std::atomic<bool> answered_ = false;
};

}  // namespace node::http
