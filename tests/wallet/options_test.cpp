// Options: keosd's names, the paths they refer to, and refusals of what would be unsafe.
#include "wallet/options.hpp"

#include "scratch.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace wallet;
using wallet::tests::Scratch;

namespace {

base::Result<Options> read(const std::vector<std::string>& arguments) {
    std::vector<const char*> argv{"bor-wallet"};
    for (const std::string& argument : arguments)
        argv.push_back(argument.c_str());
    return read_options(static_cast<int>(argv.size()), argv.data());
}

void refused(const std::vector<std::string>& arguments, const std::string& text) {
    const auto options = read(arguments);
    REQUIRE_FALSE(options);
    CHECK_THAT(options.error().detail, Catch::Contains(text));
}

}  // namespace

TEST_CASE("by default only a Unix socket in the data directory is served") {
    const Scratch scratch;
    const auto options = read({"--data-dir", scratch.path()});
    REQUIRE(options);
    CHECK(options->wallet_dir == scratch.path());
    CHECK(options->unix_socket_path == scratch.file("bor-wallet.sock"));
    CHECK(options->http_server_address.empty());
    CHECK(options->unlock_timeout == std::chrono::seconds(900));
    CHECK_FALSE(options->verbose_http_errors);
}

TEST_CASE("config.ini is read below the command line") {
    const Scratch scratch;
    scratch.write(
        "config.ini",
        "# comment\nunlock-timeout = 60\nwallet-dir = keys\nverbose-http-errors = true\n");
    const auto options = read({"--data-dir", scratch.path(), "--unlock-timeout=70"});
    REQUIRE(options);
    CHECK(options->unlock_timeout == std::chrono::seconds(70));
    CHECK(options->wallet_dir == scratch.file("keys"));
    CHECK(options->verbose_http_errors);
    scratch.write("config.ini", "unlock-timeot = 60\n");
    refused({"--data-dir", scratch.path()}, "unlock-timeot");
    CHECK(read({"--data-dir", "/nowhere", "--wallet-dir", "/abs"})->wallet_dir == "/abs");
}

TEST_CASE("TCP needs a token, and only loopback may do without") {
    const Scratch scratch;
    const std::string& dir = scratch.path();
    refused({"--data-dir", dir, "--http-server-address", "127.0.0.1:1"}, "needs http-token");
    refused({"--data-dir", dir, "--http-server-address", "0.0.0.0:1", "--http-token", "none"},
            "loopback");
    refused({"--data-dir", dir, "--http-server-address", "127.evil.com:1", "--http-token", "none"},
            "loopback");
    refused({"--data-dir", dir, "--http-server-address", "127.0.0.1:1", "--http-token", "t"},
            "http-token");
    scratch.write("t", "short\n");
    refused({"--data-dir", dir, "--http-server-address", "127.0.0.1:1", "--http-token", "t"},
            "at least 16");
    scratch.write("t", "0123456789abcdef\n");
    std::filesystem::permissions(scratch.file("t"), std::filesystem::perms(0644));
    refused({"--data-dir", dir, "--http-server-address", "127.0.0.1:1", "--http-token", "t"},
            "chmod");
    std::filesystem::permissions(scratch.file("t"), std::filesystem::perms(0600));
    CHECK(read({"--data-dir", dir, "--http-server-address", "0.0.0.0:1", "--http-token", "t"})
              ->token == "0123456789abcdef");
    CHECK(read({"--data-dir", dir, "--http-server-address", "127.0.0.1:1", "--http-token", "none"})
              ->token.empty());
}

TEST_CASE("options that make no sense are refused by name") {
    refused({"--nonsense"}, "nonsense");
    refused({"stray"}, "options");
    refused({"--unlock-timeout", "0"}, "unlock-timeout is 0");
    refused({"--unlock-timeout", "x"}, "unlock-timeout");
    refused({"--unlock-timeout", "99999999999999"}, "unlock-timeout");
    refused({"--unix-socket-path", ""}, "nothing to serve");
}

TEST_CASE("help and version are texts") {
    CHECK_THAT(read({"--help"})->text, Catch::Contains("--unlock-timeout"));
    CHECK_THAT(read({"--version"})->text, Catch::StartsWith("bor-wallet "));
}
