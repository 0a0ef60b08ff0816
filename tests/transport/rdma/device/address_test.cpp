// Which addresses of a device are used, and how peers are looked for, on real verbs: IPv4 and IPv6,
// where nobody is, where nobody can be, and beyond the table that a queue pair can name.
#include "paths.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <poll.h>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tests {

using namespace verbs;
using Clock = std::chrono::steady_clock;

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

rdma::RdmaKind::Options options_at(const std::string& address) {
    auto options = test_options(0);
    options.address = address;
    // The device hears of a new address a moment later.
    REQUIRE(comes_true([&] { return rdma::open_device(address).has_value(); }));
    return options;
}

class Lines final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level level) const override {
        return level != base::Level::debug;
    }
    void write(base::Level /*level*/,
               std::string_view /*component*/,
               std::string_view line) override {
        lines.emplace_back(line);
    }
    std::vector<std::string> lines;
};

const base::Bytes kNobodys = encode(rdma::Parameters{.pair = 17, .key = 1});

// Of bringing a path up to where nobody is, and of the turns until that is known.
Clock::duration longest_turn(const std::string& nobody) {
    End end(options_at("fd77::1"));
    end.prepare(offer(*end.kind, nobody), true);
    const auto begin = Clock::now();
    REQUIRE(end.path->bring_up(kNobodys));
    auto longest = Clock::now() - begin;
    while (end.failure.empty()) {
        const auto before = Clock::now();
        end.take();
        longest = std::max(longest, Clock::now() - before);
        REQUIRE(before - begin < kPatience);
    }
    CHECK_THAT(end.failure,
               Catch::Contains("nobody answers at the peer's RDMA address: Connection timed out"));
    leave(end);
    return longest;
}

}  // namespace

TEST_CASE("two nodes with addresses of IPv6 find each other, and write") {
    run(kUseIpv6);
    End leader(options_at("fd77::1"));
    End follower(options_at("fd77::2"));
    check_path(leader, follower, 30);
}

TEST_CASE("an address of IPv6 where nobody is costs no waiting") {
    run(kUseIpv6);
    // Who waits does so for 800 ms each time, and a busy machine stands still now and then: the
    // best of three counts.
    auto longest = Clock::duration::max();
    for (const char* nobody : {"fd77::99", "fd77::98", "fd77::97"}) {
        if (longest >= 400ms) longest = std::min(longest, longest_turn(nobody));
    }
    CHECK(longest < 400ms);
}

TEST_CASE("a path whose user does not read leaves its thread asleep") {
    End end(0);
    end.prepare(offer(*end.kind, "::ffff:10.77.0.99"), true);
    REQUIRE(end.path->bring_up(kNobodys));
    const auto is_woken = [&](int ms) {
        pollfd each{.fd = end.kind->driver().event_fd(), .events = POLLIN, .revents = 0};
        return ::poll(&each, 1, ms) > 0;
    };
    // It has been heard that nobody is there.
    REQUIRE(is_woken(10'000));
    REQUIRE(comes_true([&] {
        turn(*end.kind);
        return !is_woken(0);
    }));
    CHECK_FALSE(is_woken(300));
    const auto told = end.path->peek();
    REQUIRE_FALSE(told);
    CHECK_THAT(told.error().detail, Catch::Contains("nobody answers"));
}

TEST_CASE("a peer whose address leads to no node is refused before anything is taken for it") {
    run(kUseIpv6);
    const auto four = make_kind(0);
    const auto six = make_kind(options_at("fd77::1"));
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

TEST_CASE("a device that comes after its node has begun is found, and told of once") {
    run("rdma link delete rxe1");
    REQUIRE(comes_true([] { return !rdma::open_device(address_of(1)); }));
    auto options = test_options(1);
    CHECK_FALSE(rdma::RdmaKind::create(options));
    Lines log;
    options.waits_for_device = true;
    options.log = base::Log(log, "transport");
    End late(options);
    End other(0);
    CHECK(late.kind->address().empty());
    CHECK_THAT(late.kind->why_not(), Catch::Contains("has the address 10.77.0.2"));
    const auto refused = late.kind->prepare(
        {.peer_address = other.kind->address(), .leads = true, .secrets = {}}, late.user);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == late.kind->why_not());
    // Turns in between look for no device: the next look is 10 s after the first.
    turn(*late.kind);
    turn(*late.kind);
    CHECK(late.kind->driver().wake_at() > now() + 8s);
    CHECK(late.kind->driver().wake_at() <= now() + 10s);
    CHECK(log.lines.empty());
    run("rdma link add rxe1 type rxe netdev rdma1");
    REQUIRE(comes_true([&] {
        turn(*late.kind);
        return late.kind->why_not().empty();
    }));
    CHECK(late.kind->address() == encode(rdma::open_device(address_of(1))->address));
    REQUIRE(log.lines.size() == 1);
    CHECK_THAT(log.lines.front(), Catch::Contains("to be had") && Catch::Contains("device rxe1"));
    bring_up(late, other);
    stream(late, other, 10);
    CHECK(log.lines.size() == 1);
}

TEST_CASE("who looks for an address that can't be is refused, device or not") {
    auto options = test_options(0);
    options.address = "over there";
    options.waits_for_device = true;
    CHECK_FALSE(rdma::RdmaKind::create(options));
}

}  // namespace tests
