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

#include <thread>
#include <utility>

namespace node::http {

namespace asio = boost::asio;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr auto kAcceptPause = std::chrono::milliseconds(50);
constexpr auto kStopPoll = std::chrono::milliseconds(5);

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

// Tells a client that there is no room, as far as its socket takes it at once.
template <class Socket>
void refuse_connection(const Service& service, Socket& socket) {
    const std::string body =
        error_response({.status = 503,
                        .message = "Busy",
                        .details = {"http-max-connections (" +
                                    std::to_string(service.options.connections_max) +
                                    ") is reached; try again later"}},
                       false)
            .body;
    const std::string text =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        "Connection: close\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    boost::system::error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(text), ignored);
    socket.shutdown(Socket::shutdown_send, ignored);
}

// A coroutine keeps what it works on.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
asio::awaitable<void> serve_counted(Service& service, Stream stream, Endpoint endpoint) {
    const Charge connection(service.connections, 1);
    co_await serve(service, stream, endpoint);
}

}  // namespace

class Server::State {
  public:
    State(Options options, Router router, base::Log log)
        : service(std::move(options), std::move(router), log), work_(context_.get_executor()) {}

    base::Result<void> start();
    void stop(std::chrono::milliseconds grace);

    Service service;
    std::vector<std::string> addresses;

  private:
    template <class Protocol>
    asio::awaitable<void> accept(typename Protocol::acceptor& acceptor, const Listen& listen);
    void close_acceptors();

    asio::io_context context_;
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::vector<std::pair<asio::ip::tcp::acceptor, const Listen*>> tcp_;
    std::vector<std::pair<asio::local::stream_protocol::acceptor, const Listen*>> unix_;
    std::vector<std::thread> threads_;
};

template <class Protocol>
asio::awaitable<void> Server::State::accept(typename Protocol::acceptor& acceptor,
                                            const Listen& listen) {
    while (!service.stopping) {
        const asio::any_io_executor strand = asio::make_strand(context_);
        auto [error, socket] = co_await acceptor.async_accept(strand, kAwait);
        if (error == asio::error::operation_aborted || service.stopping) co_return;
        if (error) {
            // Out of file descriptors, most likely; connections that end will free some.
            service.log.warn("accept failed address={} error={}", listen.address, error.message());
            asio::steady_timer pause(context_, kAcceptPause);
            co_await pause.async_wait(kAwait);
            continue;
        }
        if (service.connections >= service.options.connections_max) {
            ++service.refused_connections;
            refuse_connection(service, socket);
            continue;
        }
        set_no_delay(socket);
        Endpoint endpoint = endpoint_of(service, listen, socket);
        asio::co_spawn(
            strand,
            serve_counted(
                service, Stream(Stream::socket_type(std::move(socket))), std::move(endpoint)),
            asio::detached);
    }
}

base::Result<void> Server::State::start() {
    for (const Listen& listen : service.options.listen) {
        if (listen.is_unix) {
            auto bound = bind_unix(context_, listen.address, service.options.unix_mode);
            if (!bound) return base::fail(bound.error());
            unix_.emplace_back(std::move(*bound), &listen);
            addresses.push_back(listen.address);
            continue;
        }
        auto bound = bind_tcp(context_, listen.address);
        if (!bound) return base::fail(bound.error());
        addresses.push_back(text_of(bound->front().local_endpoint()));
        for (asio::ip::tcp::acceptor& each : *bound)
            tcp_.emplace_back(std::move(each), &listen);
    }
    for (auto& [acceptor, listen] : tcp_) {
        asio::co_spawn(context_, accept<asio::ip::tcp>(acceptor, *listen), asio::detached);
    }
    for (auto& [acceptor, listen] : unix_) {
        asio::co_spawn(
            context_, accept<asio::local::stream_protocol>(acceptor, *listen), asio::detached);
    }
    for (unsigned i = 0; i < std::max(1U, service.options.threads); ++i) {
        threads_.emplace_back([this] { context_.run(); });
    }
    return {};
}

void Server::State::close_acceptors() {
    boost::system::error_code ignored;
    for (auto& [acceptor, listen] : tcp_)
        acceptor.close(ignored);
    for (auto& [acceptor, listen] : unix_) {
        acceptor.close(ignored);
        remove_unix(listen->address);
    }
}

void Server::State::stop(std::chrono::milliseconds grace) {
    if (service.stopping.exchange(true)) return;
    if (!threads_.empty()) {
        // Acceptors belong to the loop's threads.
        asio::post(context_, [this] { close_acceptors(); });
        {
            const std::scoped_lock lock(service.sockets_mutex);
            for (const std::weak_ptr<SocketQueue>& each : service.sockets) {
                if (const auto queue = each.lock()) queue->close("the server stops");
            }
        }
        const auto deadline = std::chrono::steady_clock::now() + grace;
        while (service.requests_in_flight != 0 && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(kStopPoll);
        }
    }
    {
        const std::scoped_lock lock(service.gate->mutex);
        service.gate->open = false;
    }
    context_.stop();
    for (std::thread& thread : threads_)
        thread.join();
    threads_.clear();
    close_acceptors();
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
    const Service& service = state_->service;
    return {.requests = service.requests,
            .connections = service.connections,
            .refused_connections = service.refused_connections,
            .refused_rate = service.refused_rate,
            .bytes_in_flight = service.bytes_in_flight};
}

}  // namespace node::http
