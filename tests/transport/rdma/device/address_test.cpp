// Which addresses of a device are used, and how peers are looked for, on real verbs: IPv4 and IPv6,
// where nobody is, where nobody can be, and beyond the table that a queue pair can name.
#include "kinds.hpp"

#include <arpa/inet.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <poll.h>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace tests {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using transport::Lane;

namespace {

// The two interfaces with IPv6 addresses fd77::1 and fd77::2, whose packets go by the cable though
// both are of one machine; as vm/guest-net.sh does for IPv4.
constexpr const char* kUseIpv6 = R"(
[ -e /tmp/has-ipv6 ] && exit 0
set -e
ip -6 rule add pref 32800 lookup local
for i in 0 1; do
  ip -6 addr add fd77::$((i + 1))/128 dev rdma$i nodad
  ip -6 rule add pref 10 iif rdma$i lookup local
  ip -6 rule add pref 14 from fd77::$((i + 1)) lookup $((200 + i))
  ip -6 route add fd77::/64 dev rdma$i table $((200 + i))
  ip -6 neigh replace fd77::$((2 - i)) dev rdma$i nud permanent \
    lladdr $(cat /sys/class/net/rdma$((1 - i))/address)
done
ip -6 rule del pref 0 lookup local
touch /tmp/has-ipv6
)";

void run(const std::string& command) {
    // NOLINTNEXTLINE(cert-env33-c,concurrency-mt-unsafe): a test's own, in a machine of its own.
    REQUIRE(std::system(command.c_str()) == 0);
}

template <class F>
bool comes_true(const F& condition) {
    const auto deadline = Clock::now() + 30s;
    while (!condition()) {
        if (Clock::now() > deadline) return false;
        std::this_thread::yield();
    }
    return true;
}

base::Timestamp now() {
    return base::Timestamp(Clock::now().time_since_epoch());
}

void turn(rdma::RdmaKind& kind) {
    kind.driver().drain_events();
    kind.driver().progress(now(), 64);
    (void)kind.driver().arm();
}

class Silent final : public link::FastUser {
  public:
    void on_fast_ready() override {}
};

rdma::Gid gid_of(const std::string& ipv6) {
    rdma::Gid out{};
    REQUIRE(::inet_pton(AF_INET6, ipv6.c_str(), out.data()) == 1);
    return out;
}

// What a peer would offer that is at this address.
base::Bytes offer(const rdma::RdmaKind& like, const std::string& ipv6) {
    auto address = *rdma::decode_address(like.address());
    address.gid = gid_of(ipv6);
    return encode(address);
}

std::unique_ptr<rdma::RdmaKind> make_kind_at(const std::string& address) {
    auto options = test_options(0);
    options.address = address;
    // The device hears of a new address a moment later.
    REQUIRE(comes_true([&] { return rdma::open_device(address).has_value(); }));
    return make_kind(options);
}

// A path of a kind to whoever is at an address.
struct Path {
    Path(rdma::RdmaKind& owner, base::ByteView peer, bool leads) : kind(owner) {
        link::FastUser& user = silent;
        auto made = kind.prepare({.peer_address = peer, .leads = leads, .secrets = {}}, user);
        if (!made) FAIL(made.error().detail);
        path = std::move(*made);
    }
    [[nodiscard]] bool has_come_up() {
        turn(kind);
        const auto received = path->peek();
        if (!received) failure = received.error().detail;
        if (received && *received) {
            record = base::to_bytes((*received)->record);
            path->consume((*received)->lane);
        }
        return path->has_room(Lane::control);
    }

    Silent silent;
    rdma::RdmaKind& kind;
    std::unique_ptr<link::FastPath> path;
    std::string failure;
    base::Bytes record;
};

const base::Bytes kNobodys = encode(rdma::Parameters{.pair = 17, .key = 1});

}  // namespace

TEST_CASE("two nodes with addresses of IPv6 find each other, and write") {
    run(kUseIpv6);
    const auto first = make_kind_at("fd77::1");
    const auto second = make_kind_at("fd77::2");
    Path leader(*first, second->address(), true);
    Path follower(*second, first->address(), false);
    REQUIRE(follower.path->bring_up(leader.path->parameters()));
    REQUIRE(leader.path->bring_up(follower.path->parameters()));
    REQUIRE(comes_true([&] {
        (void)follower.has_come_up();
        const bool is_up = leader.has_come_up();
        REQUIRE(leader.failure.empty());
        REQUIRE(follower.failure.empty());
        return is_up;
    }));
    const base::Bytes record(100, std::byte{7});
    leader.path->send(Lane::control, record);
    leader.path->end_turn(now());
    REQUIRE(comes_true([&] {
        (void)leader.has_come_up();
        return follower.has_come_up();
    }));
    CHECK(follower.record == record);
}

TEST_CASE("an address of IPv6 where nobody is costs no waiting") {
    run(kUseIpv6);
    const auto kind = make_kind_at("fd77::1");
    Path path(*kind, offer(*kind, "fd77::99"), true);
    const auto begin = Clock::now();
    REQUIRE(path.path->bring_up(kNobodys));
    while (path.failure.empty()) {
        const auto before = Clock::now();
        (void)path.has_come_up();
        // Nothing stands, neither the beginning nor any turn after it.
        CHECK(Clock::now() - before < 400ms);
        REQUIRE(Clock::now() - begin < 30s);
    }
    CHECK_THAT(path.failure,
               Catch::Contains("nobody answers at the peer's RDMA address: Connection timed out"));
}

TEST_CASE("a path whose user does not read leaves its thread asleep") {
    const auto kind = make_kind(0);
    Path path(*kind, offer(*kind, "::ffff:10.77.0.99"), true);
    REQUIRE(path.path->bring_up(kNobodys));
    const auto is_woken = [&](int ms) {
        pollfd each{.fd = kind->driver().event_fd(), .events = POLLIN, .revents = 0};
        return ::poll(&each, 1, ms) > 0;
    };
    // It has been heard that nobody is there.
    REQUIRE(is_woken(10'000));
    REQUIRE(comes_true([&] {
        turn(*kind);
        return !is_woken(0);
    }));
    CHECK_FALSE(is_woken(300));
    const auto told = path.path->peek();
    REQUIRE_FALSE(told);
    CHECK_THAT(told.error().detail, Catch::Contains("nobody answers"));
}

TEST_CASE("a peer whose address leads to no node is refused before anything is taken for it") {
    run(kUseIpv6);
    const auto four = make_kind(0);
    const auto six = make_kind_at("fd77::1");
    const std::vector<std::tuple<rdma::RdmaKind*, std::string, std::string>> wrong{
        {four.get(), "fd77::2", "different families"},
        {six.get(), "::ffff:10.77.0.2", "different families"},
        {six.get(), "fe80::1", "link-local"},
        {six.get(), "ff02::1", "multicast"},
        {six.get(), "::1", "loopback"},
        {four.get(), "::ffff:127.0.0.1", "loopback"},
        {four.get(), "::ffff:224.0.0.1", "multicast"},
        {four.get(), "::ffff:0.0.0.0", "unspecified"},
    };
    Silent silent;
    link::FastUser& user = silent;
    for (const auto& [kind, address, reason] : wrong) {
        const auto refused = kind->prepare(
            {.peer_address = offer(*kind, address), .leads = false, .secrets = {}}, user);
        REQUIRE_FALSE(refused);
        CHECK_THAT(refused.error().detail, Catch::Contains(reason));
        CHECK(kind->pairs() == 0);
        CHECK(kind->locked_bytes() == 0);
    }
}

TEST_CASE("of a device with hundreds of addresses those are used that a queue pair can name") {
    run("seq 1 300 | awk '{ printf \"addr add 10.78.%d.%d/32 dev rdma1\\n\", $1 / 200, "
        "1 + $1 % 200 }' | ip -batch -");
    // The last ones; those before them are there already.
    std::string why;
    REQUIRE(comes_true([&] {
        const auto last = rdma::open_device("10.78.1.101");
        REQUIRE_FALSE(last);
        why = last.error().detail;
        return why.find("of its table") != std::string::npos;
    }));
    CHECK_THAT(why, Catch::Contains("of its table, 255 is the last that can be used"));
    const auto usual = rdma::open_device(address_of(1));
    REQUIRE(usual);
    CHECK(usual->name == "rxe1");
    const auto early = rdma::open_device("10.78.0.3");
    REQUIRE(early);
    CHECK(early->gid_index > 1);
    run("ip addr flush dev rdma1 to 10.78.0.0/16");
}

}  // namespace tests
