// Where a session asks its node, and where operator's calls go.
#include "base/pinned.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/http_client.hpp"
#include "cli/network_file.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace {

constexpr const char* kFirst = "http://127.0.0.1:18001";
constexpr const char* kSecond = "http://127.0.0.1:18002";
constexpr const char* kForeign = "http://127.0.0.1:18003";

using Typed = std::vector<std::pair<std::string, std::string>>;

base::Result<cli::Session> session_of(const Typed& typed, bool makes_network = false) {
    cli::Arguments globals;
    for (const auto& [option, value] : typed)
        globals.options.emplace(option, value);
    return cli::make_session(globals, makes_network);
}

std::string operator_url(const Typed& typed) {
    const auto session = session_of(typed);
    REQUIRE(session);
    return session->operator_url;
}

// A folder as `network up -n 2` leaves it, as far as sessions read it.
class TwoNodes {
  public:
    TwoNodes() {
        cli::NetworkFile file;
        file.validators.push_back({"bora", kFirst, "", 0, data_of("bora"), ""});
        file.validators.push_back({"borb", kSecond, "", 0, data_of("borb"), ""});
        file.wallet.socket = dir() + "/wallet/bor-wallet.sock";
        for (const cli::NetworkFile::Validator& each : file.validators)
            std::filesystem::create_directories(each.data_dir);
        REQUIRE(file.write(dir()));
    }
    [[nodiscard]] const std::string& dir() const { return scratch_.path(); }
    [[nodiscard]] std::string data_of(const std::string& name) const {
        return dir() + "/" + name + "/data";
    }
    // A file of this folder; its path.
    [[nodiscard]] std::string with_file(const std::string& name, const std::string& text) const {
        std::string path = scratch_ / name;
        REQUIRE(cli::write_file(path, text));
        return path;
    }

  private:
    TemporaryDirectory scratch_;
};

// Until it goes, the program is in this folder.
class InFolder : base::Pinned {
  public:
    explicit InFolder(const std::string& folder) { std::filesystem::current_path(folder); }
    ~InFolder() {
        std::error_code ignored;
        std::filesystem::current_path(before_, ignored);
    }

  private:
    std::filesystem::path before_ = std::filesystem::current_path();
};

}  // namespace

TEST_CASE("operator's calls of a local network go to the socket of the node that is asked") {
    const TwoNodes network;
    const std::string first = "unix://" + network.data_of("bora") + "/bor.sock";
    const auto session = session_of({{"dir", network.dir()}});
    REQUIRE(session);
    CHECK(session->url == kFirst);
    CHECK(session->operator_url == first);
    CHECK(session->wallet_url == "unix://" + network.dir() + "/wallet/bor-wallet.sock");
    CHECK(operator_url({{"dir", network.dir()}, {"url", kFirst}}) == first);
    CHECK(operator_url({{"dir", network.dir()}, {"url", kSecond}}) ==
          "unix://" + network.data_of("borb") + "/bor.sock");
    // Of nobody in the file: it has no socket that is known here.
    CHECK(operator_url({{"dir", network.dir()}, {"url", kForeign}}) == kForeign);
    CHECK(operator_url({{"dir", network.dir()}, {"url", "unix:///x.sock"}}) == "unix:///x.sock");
}

TEST_CASE("the socket of a network made before is found by its older name") {
    const TwoNodes network;
    const Typed typed{{"dir", network.dir()}};
    const std::string older = network.with_file("bora/data/bor-node.sock", "");
    CHECK(operator_url(typed) == "unix://" + older);
    const std::string present = network.with_file("bora/data/bor.sock", "");
    CHECK(operator_url(typed) == "unix://" + present);
}

TEST_CASE("without --dir a socket is guessed for the default node alone") {
    const TwoNodes network;
    std::filesystem::create_directories(network.dir() + "/bor-data");
    (void)network.with_file("bor-data/bor.sock", "");
    const InFolder in_folder(network.dir());
    const auto session = session_of({});
    REQUIRE(session);
    CHECK(session->url == "http://127.0.0.1:8888");
    CHECK(session->operator_url == "unix://bor-data/bor.sock");
    CHECK(operator_url({{"url", session->url}}) == session->url);
    CHECK(operator_url({{"url", kForeign}}) == kForeign);
    CHECK(operator_url({{"url", "unix:///x.sock"}}) == "unix:///x.sock");
    // A network that is only to be made has no node yet.
    const auto made = session_of({{"dir", network.dir() + "/none"}}, true);
    REQUIRE(made);
    CHECK(made->operator_url == made->url);
    CHECK_FALSE(session_of({{"dir", network.dir() + "/none"}}));
}

TEST_CASE("who gives a token asks over TCP") {
    const TwoNodes network;
    const std::string file = network.with_file("token", "  0123456789abcdef of the first node\n");
    const std::pair<std::string, std::string> token{"operator-token-file", file};
    const auto session = session_of({{"url", kForeign}, token});
    REQUIRE(session);
    CHECK(session->operator_token == "0123456789abcdef");
    CHECK(session->operator_url == kForeign);
    CHECK(operator_url({{"dir", network.dir()}, token}) == kFirst);
    CHECK(operator_url({{"dir", network.dir()}, {"url", kSecond}, token}) == kSecond);
    CHECK(operator_url({{"url", "unix:///x.sock"}, token}) == "unix:///x.sock");
}

TEST_CASE("a file without a token is named") {
    const TwoNodes network;
    const auto refused = [](const std::string& path) {
        const auto session = session_of({{"operator-token-file", path}});
        REQUIRE_FALSE(session);
        CHECK(session.error().detail.starts_with("--operator-token-file " + path));
        return session.error().detail;
    };
    CHECK(refused(network.dir() + "/none").find("No such file") != std::string::npos);
    for (const char* text : {"", " \n\t\r\n"}) {
        const std::string why = refused(network.with_file("token", text));
        CHECK(why.find("'openssl rand -hex 32' makes one") != std::string::npos);
    }
    CHECK(refused(network.with_file("token", "\x01\x02 secret")).find("is no token") !=
          std::string::npos);
    CHECK(refused(network.with_file("token", std::string(5'000, 'a'))).find("5000 bytes") !=
          std::string::npos);
}

TEST_CASE("a socket whose path is too long for the system is named") {
    const std::string path = "/" + std::string(120, 'x');
    const auto answer = cli::call("unix://" + path, "/v1/chain/get_info", cli::Json());
    REQUIRE_FALSE(answer);
    CHECK(answer.error().detail.find(path + " has 121 bytes") != std::string::npos);
}
