#pragma once

#include "base/log.hpp"
#include "node/http/limits.hpp"
#include "node/http/server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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

// What all connections of a server share. Outlives every connection.
struct Service {
    Service(Options options_in, Router router_in, base::Log log_in)
        : options(std::move(options_in)),
          router(std::move(router_in)),
          log(log_in),
          rate(options.requests_per_second_max) {}

    Options options;
    Router router;
    base::Log log;
    RateLimiter rate;
    std::shared_ptr<Gate> gate = std::make_shared<Gate>();
    std::atomic<bool> stopping = false;
    std::atomic<std::size_t> bytes_in_flight = 0;
    std::atomic<std::size_t> requests_in_flight = 0;
    std::atomic<std::size_t> connections = 0;
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
