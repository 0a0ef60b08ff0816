// The daemon as clients meet it: over its Unix socket, over TCP with a token, and refused to a
// second daemon on the same directory.
#include "wallet/daemon.hpp"

#include "scratch.hpp"

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <unistd.h>

using namespace wallet;
using wallet::tests::Scratch;
using Json = nlohmann::ordered_json;

namespace {

// Keeps only whether wallets locked by themselves.
class LockLog : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level /*level*/) const override { return true; }
    void write(base::Level /*level*/, std::string_view /*c*/, std::string_view line) override {
        if (line.find("locked all wallets") != std::string_view::npos) has_locked = true;
    }

    std::atomic<bool> has_locked = false;
};

struct Running {
    explicit Running(Options options)
        : daemon(std::move(options), base::Log(sink, "test"), [this] { stops.fetch_add(1); }) {}

    LockLog sink;
    std::atomic<int> stops{0};
    Daemon daemon;
};

Options on_unix(const Scratch& scratch) {
    Options options;
    options.wallet_dir = scratch.path();
    options.unix_socket_path = scratch.file("s.sock");
    return options;
}

// Whether `happens` becomes true, within a minute.
template <class Condition>
bool soon(Condition happens) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!happens()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

struct Answer {
    int status = 0;
    std::string head;
    std::string body;
};

// Sends all, reads to the end.
Answer converse(int socket, const std::string& request) {
    REQUIRE(::send(socket, request.data(), request.size(), 0) ==
            static_cast<ssize_t>(request.size()));
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::recv(socket, buffer.data(), buffer.size(), 0)) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    ::close(socket);
    const std::size_t end = text.find("\r\n\r\n");
    REQUIRE(end != std::string::npos);
    return {std::stoi(text.substr(9, 3)), text.substr(0, end), text.substr(end + 4)};
}

std::string request_text(const std::string& path,
                         const std::string& body,
                         const std::string& more,
                         const std::string& method = "POST") {
    return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + more +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

Answer post(const Scratch& scratch, const std::string& path, const std::string& body = {}) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    scratch.file("s.sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
    REQUIRE(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    return converse(socket, request_text(path, body, ""));
}

Answer ask_tcp(const std::string& to,
               const std::string& path,
               const std::string& more,
               const std::string& method) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(to.substr(to.rfind(':') + 1))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    return converse(socket, request_text(path, "", more, method));
}

Answer post_tcp(const std::string& to, const std::string& path, const std::string& more) {
    return ask_tcp(to, path, more, "POST");
}

}  // namespace

TEST_CASE("a wallet is made, locked and unlocked over the Unix socket") {
    const Scratch scratch;
    Running running(on_unix(scratch));
    REQUIRE(running.daemon.start());
    struct stat found {};
    REQUIRE(::stat(scratch.file("s.sock").c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0600);

    const Answer made = post(scratch, "/v1/wallet/create", "\"w\"");
    REQUIRE(made.status == 201);
    CHECK(made.head.find("Access-Control") == std::string::npos);
    const Json password = Json::parse(made.body);
    CHECK(post(scratch, "/v1/wallet/list_wallets").body == "[\"w *\"]");
    CHECK(post(scratch, "/v1/wallet/lock", "\"w\"").body == "{}");
    CHECK(post(scratch, "/v1/wallet/unlock", Json({"w", "PW5wrong"}).dump()).status == 500);
    CHECK(post(scratch, "/v1/wallet/unlock", Json({"w", password}).dump()).status == 200);
    CHECK(post(scratch, "/v1/wallet/list_wallets").body == "[\"w *\"]");
    CHECK(post(scratch, "/v1/chain/get_info").status == 404);
}

TEST_CASE("a second daemon on the directory is refused, the first goes on") {
    const Scratch scratch;
    Running first(on_unix(scratch));
    REQUIRE(first.daemon.start());
    Options options = on_unix(scratch);
    options.unix_socket_path = scratch.file("other.sock");
    Running second(options);
    const auto started = second.daemon.start();
    REQUIRE_FALSE(started);
    CHECK_THAT(started.error().detail, Catch::Contains("is another bor-wallet running?"));
    CHECK(post(scratch, "/v1/wallet/list_wallets").body == "[]");
}

TEST_CASE("TCP clients need the token") {
    const Scratch scratch;
    Options options = on_unix(scratch);
    options.http_server_address = "127.0.0.1:0";
    options.token = "0123456789abcdef";
    Running running(options);
    REQUIRE(running.daemon.start());
    const std::string tcp = running.daemon.addresses().at(1);
    const std::string path = "/v1/wallet/list_wallets";
    CHECK(post_tcp(tcp, path, "").status == 401);
    CHECK(post_tcp(tcp, path, "Authorization: Bearer 0123456789abcdeg\r\n").status == 401);
    CHECK(post_tcp(tcp, path, "Authorization: 0123456789abcdef\r\n").status == 401);
    CHECK(post_tcp(tcp, path, "Authorization: Bearer 0123456789abcdef\r\n").status == 200);
    CHECK(post_tcp(tcp, "/v1/keosd/stop", "").status == 401);
    CHECK(running.stops == 0);
    CHECK(post(scratch, path).status == 200);
}

TEST_CASE("without a token the pages of browsers are kept out") {
    const Scratch scratch;
    Options options = on_unix(scratch);
    options.http_server_address = "127.0.0.1:0";
    Running running(options);
    REQUIRE(running.daemon.start());
    const std::string tcp = running.daemon.addresses().at(1);
    CHECK(post_tcp(tcp, "/v1/wallet/list_wallets", "").status == 200);
    CHECK(post_tcp(tcp, "/v1/wallet/list_wallets", "Origin: https://a.example\r\n").status == 403);
    // An <img> of a page has no Origin, and is a GET.
    for (const char* path : {"/v1/keosd/stop", "/v1/wallet/lock_all", "/v1/wallet/create_key"}) {
        CHECK(post_tcp(tcp, path, "Origin: https://a.example\r\n").status == 403);
        CHECK(post_tcp(tcp, path, "Origin: null\r\n").status == 403);
        CHECK(ask_tcp(tcp, path, "", "GET").status == 405);
    }
    CHECK(ask_tcp(tcp, "/v1/wallet/list_wallets", "", "GET").status == 200);
    CHECK(running.stops == 0);
}

TEST_CASE("a client can ask for the calls served and for the end") {
    const Scratch scratch;
    Running running(on_unix(scratch));
    REQUIRE(running.daemon.start());
    const Json apis = Json::parse(post(scratch, "/v1/node/get_supported_apis").body)["apis"];
    CHECK(apis.size() == 23);
    CHECK(apis.front() == "/v1/keosd/stop");
    CHECK(apis.back() == "/v1/wallet/unlock");
    CHECK(post(scratch, "/v1/keosd/stop").body == "{}");
    // The answer goes out first, so that it is not lost.
    CHECK(soon([&] { return running.stops == 1; }));
}

TEST_CASE("wallets lock by themselves, without a call") {
    const Scratch scratch;
    Options options = on_unix(scratch);
    options.unlock_timeout = std::chrono::seconds(1);
    Running running(options);
    REQUIRE(running.daemon.start());
    REQUIRE(post(scratch, "/v1/wallet/create", "\"w\"").status == 201);
    // Asking counts as a use, so nothing is asked until the timeout has passed.
    CHECK(soon([&] { return running.sink.has_locked.load(); }));
    CHECK(post(scratch, "/v1/wallet/list_wallets").body == "[\"w\"]");
}

TEST_CASE("an oversized body is refused before it is read") {
    const Scratch scratch;
    Options options = on_unix(scratch);
    options.max_body_size = 1000;
    Running running(options);
    REQUIRE(running.daemon.start());
    CHECK(post(scratch, "/v1/wallet/create", std::string(1001, ' ')).status == 413);
}
