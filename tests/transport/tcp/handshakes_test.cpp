// Peers that begin handshakes and leave them: others get in all the same.
#include "transport/tcp/handshakes.hpp"

#include "peers.hpp"

#include <boost/asio/ip/address.hpp>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace tests {

namespace {

// A peer as the bounds see it.
struct Table {
    tcp::Handshakes handshakes;
    std::uint64_t last = 0;

    // One more begins; who has to end for it. 0: nobody.
    std::uint64_t begin(const std::string& origin) {
        const auto victim = handshakes.make_room(origin);
        if (victim) handshakes.remove(victim->channel);
        handshakes.add(ChannelId{++last}, origin);
        return victim ? victim->channel.value : 0;
    }
};

std::string origin_of(const std::string& address) {
    return tcp::origin_of(boost::asio::ip::make_address(address));
}

// Sockets that say nothing, from this address.
class Silent {
  public:
    Silent() = default;
    ~Silent() {
        for (const int fd : fds_)
            ::close(fd);
    }
    Silent(const Silent&) = delete;
    Silent& operator=(const Silent&) = delete;

    void come(const Node& node, const std::string& from) {
        fds_.push_back(RawPeer::connect_to(node.address(), from));
    }

  private:
    std::vector<int> fds_;
};

// Time frees nothing while a test runs.
tcp::Options patient_options() {
    tcp::Options options;
    options.handshake_max = 2 * kPatience;
    options.handshakes_max = 8;
    options.handshakes_per_address_max = 4;
    return options;
}

bool takes(const Node& node, std::uint64_t connections) {
    return comes_true([&] { return node.thread->counters().accepted >= connections; });
}

}  // namespace

TEST_CASE("an IPv6 network of 64 bits is one peer, as an IPv4 address is") {
    CHECK(origin_of("10.1.2.3") == "10.1.2.3");
    CHECK(origin_of("10.1.2.3") != origin_of("10.1.2.4"));
    CHECK(origin_of("2001:db8:0:7::1") == origin_of("2001:db8:0:7:ffff:1:2:3"));
    CHECK(origin_of("2001:db8:0:7::1") != origin_of("2001:db8:0:8::1"));
    // A socket for both shows IPv4 so.
    CHECK(origin_of("::ffff:10.1.2.3") == "10.1.2.3");
}

TEST_CASE("the oldest handshake of the address that has most gives way") {
    Table table{{8, 4}};
    SECTION("an address over its own bound") {
        for (int i = 0; i < 4; ++i)
            CHECK(table.begin("a") == 0);
        CHECK(table.begin("b") == 0);
        CHECK(table.begin("a") == 1);
        CHECK(table.begin("a") == 2);
    }
    SECTION("of all") {
        CHECK(table.begin("good") == 0);
        for (const char* from : {"a", "a", "a", "b", "b", "b", "b"})
            CHECK(table.begin(from) == 0);
        CHECK(table.begin("c") == 5);  // The first of b.
        // Who has as many as any, with the one that comes, pushes out its own.
        CHECK(table.begin("b") == 6);
        CHECK(table.begin("a") == 2);
    }
    SECTION("where each has one: the oldest of all") {
        for (char from = 'a'; from < 'i'; ++from)
            CHECK(table.begin({from}) == 0);
        CHECK(table.begin("z") == 1);
        CHECK(table.begin("y") == 2);
        CHECK(table.begin("z") == 9);
    }
    SECTION("what has finished or ended counts no more") {
        for (int i = 0; i < 4; ++i)
            CHECK(table.begin("a") == 0);
        table.handshakes.remove(ChannelId{2});
        table.handshakes.remove(ChannelId{2});
        CHECK(table.begin("a") == 0);
        CHECK(table.begin("a") == 1);
    }
}

TEST_CASE("a handshake of few steps ends however many come from a few addresses") {
    Table table{{64, 16}};
    CHECK(table.begin("good") == 0);
    CHECK(table.begin("good") == 0);
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t victim = table.begin(std::to_string(i % 20));
        REQUIRE(victim != 1);
        REQUIRE(victim != 2);
    }
}

TEST_CASE("silent peers keep nobody out") {
    Node server(patient_options());
    Silent silent;
    Node client;
    SECTION("of two other addresses, which fill the table") {
        for (int i = 0; i < 8; ++i)
            silent.come(server, i % 2 == 0 ? "127.0.0.2" : "127.0.0.3");
        REQUIRE(takes(server, 8));
        join(client, server);
        CHECK(logs(server, "gives way to a newer one: over 8 are unfinished"));
    }
    SECTION("of its own address") {
        for (int i = 0; i < 4; ++i)
            silent.come(server, "127.0.0.1");
        REQUIRE(takes(server, 4));
        join(client, server);
        CHECK(logs(server, "gives way to a newer one: over 4 of 127.0.0.1 are unfinished"));
    }
    CHECK(server.thread->counters().refused == 1);
}

TEST_CASE("peers that were told goodbye and stay keep nobody out") {
    tcp::Options options = patient_options();
    options.channels_max = 3;
    options.goodbye_max = 2 * kPatience;
    Node server(options);
    std::vector<std::unique_ptr<RawPeer>> turned_away;
    for (int i = 0; i < 3; ++i) {
        auto& peer = turned_away.emplace_back(std::make_unique<RawPeer>(server.address()));
        REQUIRE(peer->greet());
        const auto up = server.next<event::Up>();
        REQUIRE(up);
        server.post(command::Close{up->channel, "not registered"});
        CHECK(peer->read_goodbye() == "not registered");  // And stays.
    }
    Node other;
    SECTION("who comes") {
        join(other, server);
    }
    SECTION("whom the node dials") {
        join(server, other);
    }
    CHECK(server.thread->counters().channels == 3);
}

TEST_CASE("a handshake under way ends while others flood") {
    Node server(patient_options());
    const int fd = RawPeer::connect_to(server.address());
    Silent silent;
    for (int i = 0; i < 100; ++i)
        silent.come(server, "127.0.0." + std::to_string(2 + i % 4));
    REQUIRE(takes(server, 101));
    CHECK(comes_true([&] { return server.thread->counters().refused == 93; }));
    RawPeer peer(fd);
    REQUIRE(peer.greet());
    CHECK(server.next<event::Up>());
}

}  // namespace tests
// NOLINTEND(bugprone-unchecked-optional-access)
