// WebSockets: the upgrade, messages both ways, and what a slow consumer does to a fast sender.
#include "client.hpp"
#include "node/http/server.hpp"

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/websocket.hpp>
#include <catch2/catch.hpp>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

namespace {

using namespace std::chrono_literals;
using namespace tests;
namespace http = node::http;
namespace websocket = boost::beast::websocket;

struct Observed {
    std::atomic<int> drained = 0;
    std::atomic<int> closed = 0;
    std::mutex mutex;
    std::shared_ptr<http::Socket> socket;
};

// Echoes, and keeps the socket for the test.
class Echo : public http::SocketHandler {
  public:
    explicit Echo(Observed& observed) : observed_(observed) {}
    void opened(std::shared_ptr<http::Socket> socket) override {
        const std::scoped_lock lock(observed_.mutex);
        observed_.socket = std::move(socket);
    }
    void message(std::string_view text) override {
        observed_.socket->send("echo " + std::string(text), false);
    }
    void drained() override { ++observed_.drained; }
    void closed() override { ++observed_.closed; }

  private:
    Observed& observed_;
};

class WebSocket {
  public:
    explicit WebSocket(const std::string& address,
                       const char* path = "/stream",
                       const std::string& origin = "")
        : stream_(context_) {
        stream_.set_option(websocket::stream_base::decorator([origin](auto& request) {
            if (!origin.empty()) request.set(bhttp::field::origin, origin);
        }));
        stream_.next_layer().connect(endpoint_of(address));
        stream_.handshake("127.0.0.1", path, error);
    }
    std::string read() {
        boost::beast::flat_buffer buffer;
        stream_.read(buffer, error);
        return boost::beast::buffers_to_string(buffer.data());
    }
    void write(std::string_view text) { stream_.write(asio::buffer(text), error); }
    void close() { stream_.close(websocket::close_code::normal, error); }
    void shut_down_send() {
        boost::system::error_code ignored;
        stream_.next_layer().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    }
    // Whether what comes ends, at whatever point; waits for it.
    bool is_cut() {
        std::array<char, 65'536> some{};
        boost::system::error_code ended;
        while (!ended)
            stream_.next_layer().read_some(asio::buffer(some), ended);
        return ended == asio::error::eof || ended == asio::error::connection_reset;
    }
    [[nodiscard]] std::string close_reason() const {
        return std::string(stream_.reason().reason.c_str());
    }

    boost::system::error_code error;

  private:
    asio::io_context context_;
    websocket::stream<asio::ip::tcp::socket> stream_;
};

struct Running {
    explicit Running(http::Options options = {}) {
        options.listen = {{.address = "127.0.0.1:0"}};
        http::Router router;
        router.add_socket("/stream", "", [this](const http::Request&) {
            return std::make_unique<Echo>(observed);
        });
        server.emplace(std::move(options), std::move(router), base::Log(log, "http"));
        REQUIRE(server->start());
    }
    [[nodiscard]] std::string address() const { return server->addresses().front(); }
    [[nodiscard]] bool wait_for(const std::atomic<int>& count) const {
        for (int i = 0; i < 12'000 && count == 0; ++i)
            std::this_thread::sleep_for(5ms);
        return count != 0;
    }

    NoLog log;
    Observed observed;
    std::optional<http::Server> server;
};

}  // namespace

TEST_CASE("a WebSocket is upgraded, answers, and its end is reported once") {
    Running running;
    WebSocket client(running.address());
    REQUIRE(!client.error);
    client.write("hello");
    CHECK(client.read() == "echo hello");
    client.close();
    CHECK(running.wait_for(running.observed.closed));
    CHECK(running.observed.closed == 1);
    CHECK_FALSE(running.observed.socket->send("late", false));
}

TEST_CASE("an unknown path is not upgraded") {
    Running running;
    WebSocket client(running.address(), "/nosuch");
    CHECK(client.error == websocket::error::upgrade_declined);
}

TEST_CASE("a page of another origin gets no WebSocket, unless its origin is allowed") {
    Running running({.allow_origin = "https://dapp.example"});
    for (const char* origin :
         {"", "http://127.0.0.1", "https://127.0.0.1", "https://dapp.example"}) {
        CAPTURE(origin);
        CHECK_FALSE(WebSocket(running.address(), "/stream", origin).error);
    }
    for (const char* origin : {"https://evil.example", "null", "*", "http://127.0.0.1:1"}) {
        CAPTURE(origin);
        CHECK(WebSocket(running.address(), "/stream", origin).error ==
              websocket::error::upgrade_declined);
    }
    Running any({.allow_origin = "*"});
    CHECK_FALSE(WebSocket(any.address(), "/stream", "https://evil.example").error);
}

TEST_CASE("a WebSocket whose reader is the slowest ends when too much is held") {
    Running running({.held_max = std::size_t{8} << 20, .slow_after = 0ms});
    WebSocket client(running.address());
    client.write("hello");
    CHECK(client.read() == "echo hello");
    // More than the kernel's buffers take, and nobody reads.
    for (int i = 0; i < 64; ++i)
        (void)running.observed.socket->send(std::string(std::size_t{1} << 20, 'x'), false);
    CHECK(running.wait_for(running.observed.closed));
    CHECK(running.server->counters().closed_slow >= 1);
}

TEST_CASE("a WebSocket whose client writes no more ends, though it reads nothing") {
    Running running;
    WebSocket client(running.address());
    client.write("hello");
    CHECK(client.read() == "echo hello");
    for (int i = 0; i < 16; ++i)
        (void)running.observed.socket->send(std::string(std::size_t{1} << 20, 'x'), false);
    client.shut_down_send();
    CHECK(running.wait_for(running.observed.closed));
    for (int i = 0; i < 12'000 && running.server->counters().connections != 0; ++i)
        std::this_thread::sleep_for(5ms);
    CHECK(running.server->counters().connections == 0);
    CHECK(client.is_cut());
}

TEST_CASE("a message above the limit ends the WebSocket") {
    Running running({.socket_message_bytes_max = 100});
    WebSocket client(running.address());
    client.write(std::string(101, 'x'));
    client.read();
    CHECK(client.error);
    CHECK(running.wait_for(running.observed.closed));
}

TEST_CASE("a slow consumer fills its queue, no more, and is served on when it reads") {
    constexpr std::size_t kQueue = std::size_t{4} << 20;
    Running running({.socket_queue_bytes_max = kQueue});
    WebSocket client(running.address());
    client.write("first");
    CHECK(client.read() == "echo first");
    int sent = 0;
    while (running.observed.socket->send(std::string(100'000, 'x'), true))
        ++sent;
    CHECK(running.observed.socket->queued_bytes() <= kQueue);
    CHECK(sent > 20);
    for (int i = 0; i < sent; ++i) {
        CHECK(client.read().size() == 100'000);
        if (client.error) FAIL(client.error.message());
    }
    CHECK(running.wait_for(running.observed.drained));
    CHECK(running.observed.drained == 1);
}

TEST_CASE("close() sends what is queued and then the reason; stop() does so for all") {
    Running running;
    WebSocket client(running.address());
    client.write("x");
    client.read();
    running.observed.socket->send("last", false);
    std::thread stopper([&] { running.server->stop(); });
    CHECK(client.read() == "last");
    client.read();
    stopper.join();
    CHECK((client.close_reason() == "the server stops" || client.error));
    CHECK(running.wait_for(running.observed.closed));
}
