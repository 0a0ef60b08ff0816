#include "node/http/server.hpp"

#include "node/http/connection.hpp"
#include "node/http/listener.hpp"
#include "node/http/socket_queue.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace node::http {

namespace asio = boost::asio;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr auto kAcceptPause = std::chrono::milliseconds(50);
constexpr auto kStopPoll = std::chrono::milliseconds(5);
constexpr auto kRoomPause = std::chrono::milliseconds(2);

Endpoint endpoint_of(const Service&,
                     const Listen& listen,
                     const asio::local::stream_protocol::socket&) {
    Endpoint endpoint;
    endpoint.listen = &listen;
    endpoint.remote = {.unix_socket = true, .is_local = true, .listener = listen.address};
    return endpoint;
}

// Names under which a browser may reach this socket; other names are another site's page that
// had its name resolve to us.
std::set<std::string> hosts_of(const Service& service, const asio::ip::tcp::endpoint& local) {
    std::set<std::string> hosts;
    const std::string port = ":" + std::to_string(local.port());
    const auto add = [&](const std::string& name) {
        hosts.insert(name);
        hosts.insert(name + port);
    };
    const std::string address = local.address().to_string();
    add(local.address().is_v6() ? "[" + address + "]" : address);
    if (local.address().is_loopback()) add("localhost");
    for (const std::string& alias : service.options.host_aliases)
        add(alias);
    for (const Listen& listen : service.options.listen) {
        if (!listen.is_unix) hosts.insert(listen.address);
    }
    return hosts;
}

Endpoint endpoint_of(const Service& service,
                     const Listen& listen,
                     const asio::ip::tcp::socket& socket) {
    boost::system::error_code ignored;
    const asio::ip::address remote = socket.remote_endpoint(ignored).address();
    Endpoint endpoint;
    endpoint.listen = &listen;
    endpoint.remote = {.address = remote.to_string(),
                       .is_local = remote.is_loopback(),
                       .listener = listen.address};
    if (service.options.validate_host) {
        endpoint.hosts = hosts_of(service, socket.local_endpoint(ignored));
    }
    return endpoint;
}

void set_no_delay(asio::ip::tcp::socket& socket) {
    boost::system::error_code ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}
void set_no_delay(asio::local::stream_protocol::socket&) {}

// Who counts as one sender: an IPv4 address, or the 64 bits of an IPv6 network. Empty: no bound.
std::string origin_of(const Service& service, const asio::ip::tcp::socket& socket) {
    boost::system::error_code ignored;
    asio::ip::address address = socket.remote_endpoint(ignored).address();
    if (address.is_loopback() && !service.options.limits_local) return {};
    if (address.is_v4()) return address.to_string();
    const asio::ip::address_v6 v6 = address.to_v6();
    if (v6.is_v4_mapped()) return make_address_v4(asio::ip::v4_mapped, v6).to_string();
    auto bytes = v6.to_bytes();
    std::fill(bytes.begin() + bytes.size() / 2, bytes.end(), 0);
    return asio::ip::address_v6(bytes).to_string();
}
std::string origin_of(const Service&, const asio::local::stream_protocol::socket&) {
    return {};
}

// A coroutine keeps what it works on.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
asio::awaitable<void> serve_at(Service& service, Stream stream, Endpoint endpoint, Places::Id id) {
    Place place(service.places, id, stream);
    co_await serve(service, stream, place, endpoint);
}

// Listeners of one kind, with an event loop, threads and limits of their own.
class Lane : base::Pinned {
  public:
    Lane(const Options& options, const Router& router, base::Log log)
        : service_(options, router, log), work_(context_.get_executor()) {}

    // Binds; the text is the address with the real port.
    base::Result<std::string> listen(const Listen& listen);
    void run(unsigned threads);
    // begin_to_stop() first; then, once no request is left or time is up, stop().
    void begin_to_stop();
    [[nodiscard]] bool has_requests() const { return service_.requests_in_flight != 0; }
    void stop();
    void add_to(Counters& counters) const;

  private:
    template <class Protocol>
    asio::awaitable<void> accept(typename Protocol::acceptor& acceptor, const Listen& listen);
    asio::awaitable<void> wait_for_room();
    void close_acceptors();

    Service service_;  // Outlives the connections, which end with the context at the latest.
    asio::io_context context_;
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::vector<std::pair<asio::ip::tcp::acceptor, const Listen*>> tcp_;
    std::vector<std::pair<asio::local::stream_protocol::acceptor, const Listen*>> unix_;
    bool are_closed_ = false;
    std::vector<std::thread> threads_;
};

asio::awaitable<void> Lane::wait_for_room() {
    while (!service_.stopping && !service_.places.make_room()) {
        asio::steady_timer pause(context_, kRoomPause);
        co_await pause.async_wait(kAwait);
    }
}

template <class Protocol>
asio::awaitable<void> Lane::accept(typename Protocol::acceptor& acceptor, const Listen& listen) {
    while (!service_.stopping) {
        const asio::any_io_executor strand = asio::make_strand(context_);
        auto [error, socket] = co_await acceptor.async_accept(strand, kAwait);
        if (error == asio::error::operation_aborted || service_.stopping) co_return;
        if (error) {
            // Out of file descriptors, most likely; connections that end will free some.
            service_.log.warn("accept failed address={} error={}", listen.address, error.message());
            asio::steady_timer pause(context_, kAcceptPause);
            co_await pause.async_wait(kAwait);
            continue;
        }
        const std::string origin = origin_of(service_, socket);
        if (service_.places.has_most(origin)) {
            ++service_.refused_connections;
            continue;
        }
        co_await wait_for_room();
        const Places::Id id = service_.places.enter(origin);
        set_no_delay(socket);
        Endpoint endpoint = endpoint_of(service_, listen, socket);
        asio::co_spawn(
            strand,
            serve_at(service_, Stream(Stream::socket_type(std::move(socket))), endpoint, id),
            asio::detached);
    }
}

base::Result<std::string> Lane::listen(const Listen& listen) {
    if (listen.is_unix) {
        auto bound = bind_unix(context_, listen.address, service_.options.unix_mode);
        if (!bound) return base::fail(bound.error());
        unix_.emplace_back(std::move(*bound), &listen);
        return listen.address;
    }
    auto bound = bind_tcp(context_, listen.address);
    if (!bound) return base::fail(bound.error());
    const std::string address = text_of(bound->front().local_endpoint());
    for (asio::ip::tcp::acceptor& each : *bound)
        tcp_.emplace_back(std::move(each), &listen);
    return address;
}

void Lane::run(unsigned threads) {
    if (tcp_.empty() && unix_.empty()) return;
    for (auto& [acceptor, listen] : tcp_)
        asio::co_spawn(context_, accept<asio::ip::tcp>(acceptor, *listen), asio::detached);
    for (auto& [acceptor, listen] : unix_) {
        asio::co_spawn(
            context_, accept<asio::local::stream_protocol>(acceptor, *listen), asio::detached);
    }
    for (unsigned i = 0; i < std::max(1U, threads); ++i)
        threads_.emplace_back([this] { context_.run(); });
}

// Once: the path of a Unix socket may be another's afterwards.
void Lane::close_acceptors() {
    if (std::exchange(are_closed_, true)) return;
    boost::system::error_code ignored;
    for (auto& [acceptor, listen] : tcp_)
        acceptor.close(ignored);
    for (auto& [acceptor, listen] : unix_) {
        acceptor.close(ignored);
        remove_unix(listen->address);
    }
}

void Lane::begin_to_stop() {
    service_.stopping = true;
    if (threads_.empty()) return;
    // Acceptors belong to the loop's threads.
    asio::post(context_, [this] { close_acceptors(); });
    const std::scoped_lock lock(service_.sockets_mutex);
    for (const std::weak_ptr<SocketQueue>& each : service_.sockets) {
        if (const auto queue = each.lock()) queue->close("the server stops");
    }
}

void Lane::stop() {
    {
        const std::scoped_lock lock(service_.gate->mutex);
        service_.gate->open = false;
    }
    context_.stop();
    for (std::thread& thread : threads_)
        thread.join();
    threads_.clear();
    close_acceptors();
    // What may outlive the server finds no connection any more.
    const std::scoped_lock lock(service_.sockets_mutex);
    for (const std::weak_ptr<SocketQueue>& each : service_.sockets) {
        if (const auto queue = each.lock()) queue->abandon();
    }
}

void Lane::add_to(Counters& counters) const {
    counters.requests += service_.requests;
    counters.connections += service_.places.count();
    counters.refused_connections += service_.refused_connections;
    counters.closed_idle += service_.places.closed_idle();
    counters.closed_slow += service_.places.closed_slow();
    counters.refused_rate += service_.refused_rate;
    counters.bytes_in_flight += service_.bytes_in_flight;
}

}  // namespace

class Server::State : base::Pinned {
  public:
    State(Options options, Router router, base::Log log)
        : options_(std::move(options)),
          router_(std::move(router)),
          tcp_(options_, router_, log),
          unix_(options_, router_, log) {}

    base::Result<void> start();
    void stop(std::chrono::milliseconds grace);
    [[nodiscard]] Counters counters() const;

    std::vector<std::string> addresses;

  private:
    const Options options_;
    const Router router_;
    Lane tcp_;
    Lane unix_;
    std::atomic<bool> is_stopping_ = false;
};

base::Result<void> Server::State::start() {
    for (const Listen& listen : options_.listen) {
        auto bound = (listen.is_unix ? unix_ : tcp_).listen(listen);
        if (!bound) return base::fail(bound.error());
        addresses.push_back(*std::move(bound));
    }
    tcp_.run(options_.threads);
    unix_.run(1);
    return {};
}

void Server::State::stop(std::chrono::milliseconds grace) {
    if (is_stopping_.exchange(true)) return;
    for (Lane* const lane : {&tcp_, &unix_})
        lane->begin_to_stop();
    const auto deadline = std::chrono::steady_clock::now() + grace;
    while ((tcp_.has_requests() || unix_.has_requests()) &&
           std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(kStopPoll);
    }
    for (Lane* const lane : {&tcp_, &unix_})
        lane->stop();
}

Counters Server::State::counters() const {
    Counters counters;
    for (const Lane* const lane : {&tcp_, &unix_})
        lane->add_to(counters);
    return counters;
}

Server::Server(Options options, Router router, base::Log log)
    : state_(std::make_unique<State>(std::move(options), std::move(router), log)) {}

// NOLINTNEXTLINE(bugprone-exception-escape): no memory to stop ends the process.
Server::~Server() {
    stop(std::chrono::milliseconds(0));
}

base::Result<void> Server::start() {
    return state_->start();
}

void Server::stop(std::chrono::milliseconds grace) {
    state_->stop(grace);
}

std::vector<std::string> Server::addresses() const {
    return state_->addresses;
}

Counters Server::counters() const {
    return state_->counters();
}

}  // namespace node::http
