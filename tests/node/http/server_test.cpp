// A server on a free port of loopback and a client that writes chosen bytes: what is answered,
// what is refused and by which limit, and that a bad client does not hold a good one.
#include "node/http/server.hpp"

#include "client.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <future>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using namespace tests;
using nlohmann::json;
namespace http = node::http;

// A server with an echo, until the end of the test.
class Running {
  public:
    explicit Running(http::Options options, http::Router router = {}) {
        if (options.listen.empty()) options.listen.push_back({.address = "127.0.0.1:0"});
        router.add("/echo", {.handler = echo});
        router.add("/later",
                   {.handler = [this](const http::Request& request, const http::Reply& reply) {
                       later_.emplace_back([request, reply] {
                           std::this_thread::sleep_for(20ms);
                           reply({.body = request.body});
                       });
                   }});
        router.add("/dropped", {.handler = [](const http::Request&, const http::Reply&) {}});
        router.add("/state", {.handler = echo, .queries = {"at=final"}});
        router.add("/throws", {.handler = [](const http::Request&, const http::Reply&) {
                       throw std::runtime_error("on purpose");
                   }});
        server_.emplace(std::move(options), std::move(router), base::Log(log_, "http"));
        REQUIRE(server_->start());
    }
    ~Running() {
        for (std::thread& thread : later_)
            thread.join();
    }

    TcpClient client() { return TcpClient(endpoint_of(server_->addresses().front())); }
    http::Server& server() { return *server_; }

  private:
    static void echo(const http::Request& request, const http::Reply& reply) {
        reply({.body = request.body.empty() ? request.path : request.body});
    }

    NoLog log_;
    std::vector<std::thread> later_;
    std::optional<http::Server> server_;
};

// Those that wait go on, at the end of the test at the latest.
class Ending {
  public:
    explicit Ending(std::promise<void>& end) : end_(end) {}
    ~Ending() { now(); }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    void now() const {
        if (!std::exchange(has_ended_, true)) end_.set_value();
    }

  private:
    std::promise<void>& end_;
    mutable bool has_ended_ = false;
};

std::string path_of_socket() {
    return (std::filesystem::temp_directory_path() / ("bor-http-" + std::to_string(::getpid())))
        .string();
}

// Whether `happens` becomes true; asks until it does, for a minute at most.
template <class Condition>
bool soon(Condition happens) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!happens()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

std::string detail_of(const bhttp::response<bhttp::string_body>& answer) {
    return json::parse(answer.body())["error"]["details"][0]["message"];
}

}  // namespace

TEST_CASE("requests of one connection are answered in order, also when pipelined") {
    Running running({});
    auto client = running.client();
    client.write(request("POST", "/later", "one") + request("GET", "/echo") +
                 request("POST", "/echo", "three"));
    CHECK(client.read().body() == "one");
    CHECK(client.read().body() == "/echo");
    CHECK(client.read().body() == "three");
    CHECK(running.server().counters().requests == 3);
}

TEST_CASE("an unknown path has Antelope's error body") {
    Running running({});
    auto client = running.client();
    for (const char* target : {"/", "/echo/", "/ECHO", "/echo?x=1", "/state?at=head"}) {
        const auto answer = client.ask(request("POST", target, "{}"));
        CHECK(answer.result_int() == 404);
        CHECK(answer[bhttp::field::content_type] == "application/json");
        json body = json::parse(answer.body());
        CHECK(body["error"]["details"].size() == 1);
        body["error"]["details"][0].erase("file");
        body["error"]["details"][0].erase("line_number");
        body["error"]["details"][0].erase("method");
        CHECK(body == json::parse(R"({"code":404,"message":"Not Found","error":{"code":0,
            "name":"exception","what":"unspecified","details":[{"message":"Unknown Endpoint"}]}})"));
    }
    CHECK(client.ask(request("GET", "/state?at=final")).result_int() == 200);
}

TEST_CASE("HEAD has the headers of GET and no body; OPTIONS answers for every path") {
    Running running({.allow_origin = "*", .allow_headers = "Content-Type", .max_age = "600"});
    auto client = running.client();
    client.write(request("HEAD", "/echo"));
    const auto head = client.read(true);
    CHECK(head.result_int() == 200);
    CHECK(head[bhttp::field::content_length] == "5");
    const auto options = client.ask(request("OPTIONS", "/whatever"));
    CHECK(options.result_int() == 200);
    CHECK(options.body() == "{}");
    CHECK(options[bhttp::field::access_control_allow_origin] == "*");
    CHECK(options[bhttp::field::access_control_allow_headers] == "Content-Type");
    CHECK(options[bhttp::field::access_control_max_age] == "600");
    CHECK(options.count(bhttp::field::access_control_allow_credentials) == 0);
    CHECK(client.ask(request("GET", "/nosuch"))[bhttp::field::access_control_allow_origin] == "*");
}

TEST_CASE("other methods are refused with 405 and the connection stays") {
    Running running({});
    auto client = running.client();
    for (const char* method : {"PUT", "DELETE", "PATCH", "TRACE"}) {
        const auto answer = client.ask(request(method, "/echo"));
        CHECK(answer.result_int() == 405);
        CHECK(answer[bhttp::field::allow] == "GET, HEAD, POST, OPTIONS");
    }
    CHECK(client.ask(request("GET", "/echo")).result_int() == 200);
}

TEST_CASE("a foreign Host is refused, our own and aliases are served") {
    Running running({.host_aliases = {"api.example.com"}, .allow_origin = "*"});
    auto client = running.client();
    const auto refused = client.ask("GET /echo HTTP/1.1\r\nHost: evil.example.com\r\n\r\n");
    CHECK(refused.result_int() == 400);
    CHECK(json::parse(refused.body())["message"] == "Disallowed HTTP HOST header in the request");
    CHECK(json::parse(refused.body())["error"]["details"].empty());
    CHECK(refused.count(bhttp::field::access_control_allow_origin) == 0);
    CHECK(client.ask("GET /echo HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
              .result_int() == 400);
    for (const std::string& host : {running.server().addresses().front(),
                                    std::string("localhost"),
                                    std::string("api.example.com")}) {
        const auto answer = client.ask("GET /echo HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
        CHECK(answer.result_int() == 200);
    }
}

TEST_CASE("an operator's call is a POST, and of no page of another origin") {
    const std::string allowed = GENERATE("https://dapp.example", "*", "");
    std::atomic<int> calls = 0;
    http::Router router;
    router.add("/pause",
               {.handler =
                    [&calls](const http::Request&, const http::Reply& reply) {
                        ++calls;
                        reply({.body = "{}"});
                    },
                .is_operators = true});
    router.add("/read", {.handler = [](const http::Request&, const http::Reply& reply) {
                   reply({.body = "{}"});
               }});
    Running running({.allow_origin = allowed}, std::move(router));
    auto client = running.client();
    for (const char* method : {"GET", "HEAD"}) {
        client.write(request(method, "/pause"));
        const auto answer = client.read(std::string_view(method) == "HEAD");
        CHECK(answer.result_int() == 405);
        CHECK(answer[bhttp::field::allow] == "POST, OPTIONS");
    }
    const std::string own = running.server().addresses().front();
    const std::string port = own.substr(own.rfind(':'));
    const auto of = [](const std::string& origin) { return "Origin: " + origin + "\r\n"; };
    for (const std::string& headers :
         {of("https://evil.example"),
          of("null"),
          of("*"),
          of(""),
          of("http://127.0.0.1" + port),  // Another port is another origin.
          of("http://127.0.0.1.evil.example"),
          of("ftp://127.0.0.1"),
          of("127.0.0.1"),
          of("http://127.0.0.1") + of("https://evil.example")}) {
        CAPTURE(headers);
        const auto answer = client.ask(request("POST", "/pause", "{}", headers));
        CHECK(answer.result_int() == 403);
        CHECK(detail_of(answer).find("access-control-allow-origin") != std::string::npos);
        CHECK(client.ask(request("POST", "/read", "{}", headers)).result_int() == 200);
    }
    CHECK(calls == 0);
    std::vector<std::string> good = {"", of("http://127.0.0.1"), of("https://127.0.0.1")};
    if (allowed.size() > 1) good.push_back(of(allowed));
    for (const std::string& headers : good)
        CHECK(client.ask(request("POST", "/pause", "{}", headers)).result_int() == 200);
    CHECK(calls == static_cast<int>(good.size()));
}

TEST_CASE("a body above the limit gets 413 and its sender can read that") {
    Running running({.body_bytes_max = 1000});
    auto client = running.client();
    CHECK(client.ask(request("POST", "/echo", std::string(1000, 'x'))).body().size() == 1000);
    const auto answer = client.ask(request("POST", "/echo", std::string(2'000'000, 'x')));
    CHECK(answer.result_int() == 413);
    CHECK(detail_of(answer).find("max-body-size (1000 bytes)") != std::string::npos);
    CHECK(json::parse(answer.body())["code"] == 413);
    auto chunked = running.client();
    std::string text =
        "POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    text += "400\r\n" + std::string(0x400, 'y') + "\r\n0\r\n\r\n";
    CHECK(chunked.ask(text).result_int() == 413);
}

TEST_CASE("a header above the limit gets 431, a malformed request 400") {
    Running running({.header_bytes_max = 2000});
    CHECK(running.client()
              .ask("GET /echo HTTP/1.1\r\nX: " + std::string(3000, 'x') + "\r\n\r\n")
              .result_int() == 431);
    for (const char* text : {"GET /echo HTTP/9.9\r\n\r\n",
                             "no request at all\r\n\r\n",
                             "GET /echo HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                             "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
                             "POST /echo HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                             "POST /echo HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n",
                             "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
                             "Transfer-Encoding: chunked\r\n\r\n",
                             "POST /echo HTTP/1.1\r\nContent-Length: 3\r\n"
                             "Transfer-Encoding: chunked\r\n\r\n",
                             "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
        auto client = running.client();
        CHECK(client.ask(text).result_int() == 400);
        CHECK(client.is_closed());
    }
}

TEST_CASE("a client that dribbles its request is cut off while others are served") {
    Running running({.header_timeout = 1s});
    auto slow = running.client();
    slow.write("GET /echo HTTP/1.1\r\nX: ");
    CHECK(running.client().ask(request("GET", "/echo")).result_int() == 200);
    // It never pauses for a second, and yet its time ends.
    CHECK(soon([&] {
        slow.write("x");
        return slow.is_closed_already();
    }));
}

TEST_CASE("a body has its own time") {
    Running running({.header_timeout = 60s, .body_timeout = 1s});
    auto slow = running.client();
    slow.write(request("POST", "/echo", "", "Content-Length: 1000\r\n"));
    CHECK(soon([&] {
        slow.write("x");
        return slow.is_closed_already();
    }));
}

TEST_CASE("an idle connection is closed") {
    Running running({.idle_timeout = 1s});
    auto client = running.client();
    CHECK(client.ask(request("GET", "/echo")).result_int() == 200);
    CHECK(client.is_closed());
}

TEST_CASE("a client that does not read its answer loses the connection") {
    http::Router router;
    router.add("/big", {.handler = [](const http::Request&, const http::Reply& reply) {
                   reply({.body = std::string(std::size_t{32} << 20, 'x')});
               }});
    Running running({.write_timeout = 2s}, std::move(router));
    auto client = running.client();
    client.write(request("GET", "/big"));
    CHECK(soon([&] { return running.server().counters().bytes_in_flight >= 32U << 20U; }));
    CHECK(soon([&] { return running.server().counters().connections == 0; }));
    CHECK(running.server().counters().bytes_in_flight == 0);
}

TEST_CASE("where all places are taken, the longest idle connection makes room") {
    Running running({.threads = 1, .connections_max = 2});
    auto first = running.client();
    CHECK(first.ask(request("GET", "/echo")).result_int() == 200);
    auto second = running.client();
    CHECK(second.ask(request("GET", "/echo")).result_int() == 200);
    CHECK(running.client().ask(request("GET", "/echo")).result_int() == 200);
    CHECK(first.is_closed());
    CHECK(running.server().counters().closed_idle == 1);
    // The third one has left.
    CHECK(second.ask(request("GET", "/echo")).result_int() == 200);
}

TEST_CASE("where all places are taken and busy, a client waits, and is not refused") {
    std::mutex mutex;
    std::vector<http::Reply> waiting;
    http::Router router;
    router.add("/waits", {.handler = [&](const http::Request&, const http::Reply& reply) {
                   const std::scoped_lock lock(mutex);
                   waiting.push_back(reply);
               }});
    Running running({.connections_max = 1}, std::move(router));
    auto first = running.client();
    first.write(request("GET", "/waits"));
    const auto is_asked = [&] {
        const std::scoped_lock lock(mutex);
        return waiting.size() == 1;
    };
    CHECK(soon(is_asked));
    auto second = running.client();
    second.write(request("GET", "/echo"));
    std::this_thread::sleep_for(100ms);
    CHECK(running.server().counters().requests == 1);
    {
        const std::scoped_lock lock(mutex);
        waiting.front()({.body = "{}"});
    }
    CHECK(first.read().result_int() == 200);
    CHECK(second.read().result_int() == 200);
}

TEST_CASE("an address has a bound of its own") {
    Running running({.connections_of_address_max = 2, .limits_local = true});
    auto first = running.client();
    auto second = running.client();
    for (auto* const client : {&first, &second})
        CHECK(client->ask(request("GET", "/echo")).result_int() == 200);
    CHECK(running.client().is_closed());
    CHECK(soon([&] { return running.server().counters().refused_connections == 1; }));
    CHECK(first.ask(request("GET", "/echo")).result_int() == 200);
}

TEST_CASE("of readers that are slow the slowest is closed when they have too much") {
    http::Router router;
    router.add("/big", {.handler = [](const http::Request&, const http::Reply& reply) {
                   reply({.body = std::string(std::size_t{24} << 20, 'x')});
               }});
    Running running({.held_max = std::size_t{32} << 20, .slow_after = 0ms}, std::move(router));
    auto first = running.client();
    first.write(request("GET", "/big"));
    CHECK(soon([&] { return running.server().counters().bytes_in_flight >= 24U << 20U; }));
    auto second = running.client();
    CHECK(second.ask(request("GET", "/big")).body().size() == 24U << 20U);
    CHECK(running.server().counters().closed_slow >= 1);
    CHECK(first.read().result_int() == 0);
}

TEST_CASE("of bodies that do not end the oldest is closed when they are too much") {
    Running running({.held_max = std::size_t{1} << 20, .slow_after = 0ms});
    const std::string body(std::size_t{3} << 18, 'x');
    const std::string whole = request("POST", "/echo", body);
    std::array<TcpClient, 2> clients{running.client(), running.client()};
    for (TcpClient& client : clients)
        client.write(std::string_view(whole).substr(0, whole.size() - 1));
    CHECK(soon([&] { return std::ranges::any_of(clients, &TcpClient::is_closed_already); }));
    CHECK(running.server().counters().closed_slow == 1);
    const bool is_first = clients[0].is_closed_already();
    CHECK(clients[is_first ? 1 : 0].ask("x").body() == body);
}

TEST_CASE("what comes over TCP keeps nobody waiting on a Unix socket") {
    std::promise<void> end;
    const std::shared_future<void> ended = end.get_future().share();
    http::Router router;
    router.add("/blocks", {.handler = [ended](const http::Request&, const http::Reply& reply) {
                   ended.wait();
                   reply({.body = "{}"});
               }});
    const std::string path = path_of_socket();
    http::Options options{.threads = 1, .connections_max = 2};
    options.listen = {{.address = "127.0.0.1:0"}, {.address = path, .is_unix = true}};
    Running running(options, std::move(router));
    const Ending ending(end);
    // The one thread, and all places, of what comes over TCP.
    auto first = running.client();
    auto second = running.client();
    for (auto* const client : {&first, &second})
        client->write(request("GET", "/blocks"));
    UnixClient local{asio::local::stream_protocol::endpoint(path)};
    CHECK(local.ask(request("GET", "/echo")).result_int() == 200);
    CHECK(local.ask(request("GET", "/echo")).result_int() == 200);
    ending.now();
    for (auto* const client : {&first, &second})
        CHECK(client->read().result_int() == 200);
}

TEST_CASE("an address that asks too often gets 429") {
    Running running({.requests_per_second_max = 5, .limits_local = true});
    auto client = running.client();
    int served = 0;
    const auto started = std::chrono::steady_clock::now();
    for (int i = 0; i < 30; ++i) {
        const auto answer = client.ask(request("GET", "/echo"));
        if (answer.result_int() == 200) ++served;
        if (answer.result_int() == 429) {
            CHECK(detail_of(answer).find("http-requests-per-second (5)") != std::string::npos);
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    CHECK(served >= 10);
    CHECK(served <= 11 + 5 * took.count());
}

TEST_CASE("bytes in flight are bounded") {
    Running running({.bytes_in_flight_max = 100});
    auto client = running.client();
    CHECK(client.ask(request("POST", "/echo", std::string(101, 'x'))).result_int() == 503);
    CHECK(client.ask(request("POST", "/echo", std::string(99, 'x'))).result_int() == 200);
}

TEST_CASE("a handler that fails or forgets its answer gives 500") {
    Running running({});
    auto client = running.client();
    CHECK(client.ask(request("GET", "/throws")).result_int() == 500);
    CHECK(client.ask(request("GET", "/dropped")).result_int() == 500);
    CHECK(client.ask(request("GET", "/echo")).result_int() == 200);
}

TEST_CASE("Expect: 100-continue and Connection: close are obeyed") {
    Running running({});
    auto client = running.client();
    client.write(
        "POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n"
        "Content-Length: 2\r\nConnection: close\r\n\r\n");
    CHECK(client.read(true).result_int() == 100);
    client.write("hi");
    const auto answer = client.read();
    CHECK(answer.body() == "hi");
    CHECK(answer[bhttp::field::connection] == "close");
    CHECK(client.is_closed());
}

TEST_CASE("a Unix socket is served, replaced when its owner died, refused when it lives") {
    const std::string path = path_of_socket();
    const http::Options options{.listen = {{.address = path, .is_unix = true}}};
    NoLog log;
    {
        asio::io_context context;  // Leaves its file behind, as a killed process does.
        asio::local::stream_protocol::acceptor dead(context,
                                                    asio::local::stream_protocol::endpoint(path));
    }
    Running running(options);
    UnixClient client{asio::local::stream_protocol::endpoint(path)};
    CHECK(client.ask("GET /echo HTTP/1.1\r\nHost: anything\r\n\r\n").result_int() == 200);
    http::Server second(options, {}, base::Log(log, "http"));
    const auto refused = second.start();
    REQUIRE(!refused);
    CHECK(refused.error().detail.find("served by another program") != std::string::npos);
    running.server().stop();
    CHECK(!std::filesystem::exists(path));
}

TEST_CASE("over TCP an operator's call needs the token, on the Unix socket none") {
    constexpr std::string_view kToken = "0123456789abcdef";
    const bool has_token = GENERATE(false, true);
    const std::string token(has_token ? kToken : std::string_view());
    const std::string path = path_of_socket();
    std::atomic<int> calls = 0;
    const auto count = [&calls](const http::Request&, const http::Reply& reply) {
        ++calls;
        reply({.body = "{}"});
    };
    http::Router router;
    router.add("/pause", {.handler = count, .is_operators = true});
    router.add("/answer", {.handler = count, .is_operators = true, .is_of_socket = true});
    http::Options options{
        .listen = {{.address = "127.0.0.1:0"}, {.address = path, .is_unix = true}}};
    options.operator_token = token;
    Running running(options, std::move(router));
    auto client = running.client();
    const auto status = [&](const char* target, const std::string& headers) {
        return client.ask(request("POST", target, "{}", headers)).result_int();
    };
    const std::string right = "Authorization: Bearer " + std::string(kToken) + "\r\n";
    const auto refused = client.ask(request("POST", "/pause", "{}"));
    CHECK(refused.result_int() == 401);
    CHECK(refused[bhttp::field::www_authenticate] == "Bearer");
    CHECK(json::parse(refused.body())["message"] == "Unauthorized");
    CHECK(detail_of(refused).find("http-operator-token-file") != std::string::npos);
    for (const std::string& wrong : {std::string("Authorization: Bearer \r\n"),
                                     std::string("Authorization: Bearer\r\n"),
                                     std::string("Authorization: Bearer 0123456789abcdeF\r\n"),
                                     std::string("Authorization: Bearer 0123456789abcde\r\n"),
                                     std::string("Authorization: 0123456789abcdef\r\n"),
                                     "X-" + right}) {
        CAPTURE(wrong);
        CHECK(status("/pause", wrong) == 401);
    }
    CHECK(calls == 0);
    CHECK(status("/pause", right) == (has_token ? 200 : 401));
    CHECK(status("/pause", "authorization: bearer 0123456789abcdef\r\n") ==
          (has_token ? 200 : 401));
    // A token does not open what only the socket has, nor to a page of another origin.
    CHECK(status("/answer", right) == 403);
    CHECK(status("/pause", right + "Origin: https://evil.example\r\n") == 403);
    CHECK(client.ask(request("GET", "/pause", "", right)).result_int() == 405);
    CHECK(calls == (has_token ? 2 : 0));
    UnixClient local{asio::local::stream_protocol::endpoint(path)};
    CHECK(local.ask(request("POST", "/pause", "{}")).result_int() == 200);
    CHECK(local.ask(request("POST", "/answer", "{}")).result_int() == 200);
    CHECK(local.ask(request("GET", "/pause")).result_int() == 405);
}

TEST_CASE("what is off by default is served where its category is named, and on the Unix socket") {
    const std::string path = path_of_socket();
    http::Router router;
    router.add("/list",
               {.handler = [](const auto&, const auto& reply) { reply({.body = "l"}); },
                .category = "snapshot",
                .is_listed = true});
    http::Options options;
    options.listen = {{.address = "127.0.0.1:0"},
                      {.address = "127.0.0.1:0", .categories = {"snapshot"}},
                      {.address = path, .is_unix = true}};
    Running running(options, std::move(router));
    CHECK(running.client().ask(request("GET", "/list")).result_int() == 404);
    TcpClient named(endpoint_of(running.server().addresses().at(1)));
    CHECK(named.ask(request("GET", "/list")).result_int() == 200);
    UnixClient local{asio::local::stream_protocol::endpoint(path)};
    CHECK(local.ask(request("GET", "/list")).result_int() == 200);
}

TEST_CASE("categories decide what a listener serves") {
    http::Router router;
    router.add("/secret",
               {.handler = [](const auto&, const auto& reply) { reply({.body = "s"}); },
                .category = "producer_rw"});
    http::Options options;
    options.listen = {{.address = "127.0.0.1:0", .categories = {"chain_ro"}},
                      {.address = "127.0.0.1:0", .categories = {"producer_rw"}}};
    Running running(options, std::move(router));
    CHECK(running.client().ask(request("GET", "/secret")).result_int() == 404);
    CHECK(running.client().ask(request("GET", "/echo")).result_int() == 200);
    TcpClient other(endpoint_of(running.server().addresses().at(1)));
    CHECK(other.ask(request("GET", "/secret")).result_int() == 200);
}

TEST_CASE("an address in use and a bad address are refused with their text") {
    Running running({});
    NoLog log;
    for (const std::string& address : {running.server().addresses().front(),
                                       std::string("nonsense"),
                                       std::string("127.0.0.1:x")}) {
        http::Server second({.listen = {{.address = address}}}, {}, base::Log(log, "http"));
        const auto refused = second.start();
        REQUIRE(!refused);
        CHECK(refused.error().detail.find(address) != std::string::npos);
    }
}

TEST_CASE("a reply after the server's end does nothing") {
    std::optional<http::Reply> kept;
    http::Router router;
    std::atomic<bool> asked = false;
    router.add("/keep", {.handler = [&](const http::Request&, const http::Reply& reply) {
                   kept = reply;
                   asked = true;
               }});
    {
        Running running({}, std::move(router));
        auto client = running.client();
        client.write(request("GET", "/keep"));
        while (!asked)
            std::this_thread::sleep_for(1ms);
        running.server().stop(10ms);
    }
    (*kept)({.body = "too late"});
}

TEST_CASE("verbose errors have up to ten details, others one") {
    const http::ErrorBody error{.details = std::vector<std::string>(12, "text")};
    CHECK(json::parse(http::error_response(error, true).body)["error"]["details"].size() == 10);
    CHECK(json::parse(http::error_response(error, false).body)["error"]["details"].size() == 1);
    CHECK_NOTHROW(http::error_response({.details = {"\xff not UTF-8"}}, false));
}
