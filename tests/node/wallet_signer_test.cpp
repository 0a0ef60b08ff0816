#include "node/signer.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/temporary_directory.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <string>
#include <thread>
#include <unistd.h>

// Wallets that are of no use: the node goes on without their signature.

namespace {

// Listens at a path, and says nothing until it is told to.
class Wallet {
  public:
    explicit Wallet(const std::string& path)
        : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        REQUIRE(path.size() < sizeof address.sun_path);
        path.copy(address.sun_path, path.size());
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as its calls want it.
        const auto* generic = reinterpret_cast<const sockaddr*>(&address);
        REQUIRE(::bind(socket_, generic, sizeof address) == 0);
        REQUIRE(::listen(socket_, 8) == 0);
    }
    Wallet(const Wallet&) = delete;
    Wallet& operator=(const Wallet&) = delete;
    Wallet(Wallet&&) = delete;
    Wallet& operator=(Wallet&&) = delete;
    ~Wallet() { ::close(socket_); }

    // Answers one call with the text, a byte every 10 ms.
    void trickle(std::string_view text) const {
        const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
        std::array<char, 4096> asked{};
        (void)::recv(client, asked.data(), asked.size(), 0);
        for (const char each : text) {
            if (::send(client, &each, 1, MSG_NOSIGNAL) != 1) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        ::close(client);
    }

  private:
    int socket_;
};

std::string refusal(const std::string& path) {
    const auto key = base::crypto::PrivateKey::generate(base::crypto::KeyType::k1);
    const auto wallet = node::open_wallet(key.public_key(), path);
    const auto answer = wallet->sign(key.public_key(), base::Hash256{});
    REQUIRE_FALSE(answer.has_value());
    return answer.error().detail;
}

}  // namespace

TEST_CASE("a wallet whose socket cannot have its path is refused at once") {
    const auto key = base::crypto::PrivateKey::generate(base::crypto::KeyType::k1).public_key();
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{108}}) {
        const auto made =
            node::NodeSigner::make({key.to_string() + "=WALLET:" + std::string(bytes, 'x')});
        REQUIRE_FALSE(made.has_value());
        CHECK(made.error().code == base::Errc::invalid);
        CHECK(made.error().detail.find("the path of a Unix socket has 1 to 107 bytes") !=
              std::string::npos);
    }
    CHECK(node::NodeSigner::make({key.to_string() + "=WALLET:" + std::string(107, 'x')}));
}

TEST_CASE("a wallet that does not answer in time is as good as none") {
    const TemporaryDirectory directory;
    const std::string path = directory / "wallet.sock";
    const std::string late = "wallet " + path + ": no answer within 200 ms";
    SECTION("it takes the call and is silent") {
        const Wallet wallet(path);
        CHECK(refusal(path) == late);
    }
    SECTION("its answer trickles") {
        const Wallet wallet(path);
        std::thread answering([&wallet] {
            wallet.trickle("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" +
                           std::string(100, 'x'));
        });
        CHECK(refusal(path) == late);
        answering.join();
    }
    SECTION("there is none") {
        CHECK(refusal(path).starts_with("wallet " + path + ": "));
    }
}

TEST_CASE("a key that did not sign when it was asked last is known with the reason") {
    const TemporaryDirectory directory;
    const std::string path = directory / "wallet.sock";
    const auto key = base::crypto::PrivateKey::generate(base::crypto::KeyType::k1).public_key();
    const auto signer = node::NodeSigner::make({key.to_string() + "=WALLET:" + path});
    REQUIRE(signer.has_value());
    const auto failures = (*signer)->failures();
    CHECK(failures->of(key).empty());
    REQUIRE_FALSE((*signer)->sign(key, base::Hash256{}).has_value());
    CHECK(failures->of(key).starts_with("wallet " + path + ": "));
    node::SigningFailures signed_again;
    signed_again.note(key, base::fail(base::Errc::unavailable, "locked"));
    CHECK(signed_again.of(key) == "locked");
    signed_again.note(key, base::crypto::Signature{});
    CHECK(signed_again.of(key).empty());
}
