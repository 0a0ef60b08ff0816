// Peers that connect more often than their handshakes should cost: others get in all the same.
#include "transport/tcp/callers.hpp"

#include "peers.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace tests {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Table {
    tcp::Callers callers{tcp::Callers::Rates{}, 64, 64};
    base::Timestamp now = base::Timestamp(seconds(100));
    std::uint64_t last = 0;
    std::map<std::uint64_t, std::string> origins{};

    // 0: too often.
    std::uint64_t come(const std::string& origin) {
        origins[++last] = origin;
        return callers.arrive(ChannelId{last}, origin, now).is_too_often ? 0 : last;
    }
    // Whose handshakes begin now.
    std::vector<std::uint64_t> begin() {
        std::vector<std::uint64_t> begun;
        while (const auto turn = callers.next(now))
            begun.push_back(turn->channel.value);
        return begun;
    }
    void empty_strangers() {
        (void)begin();
        now += seconds(1);
        for (int i = 0; i < 20; ++i)
            REQUIRE(come("filler" + std::to_string(i)) != 0);
        REQUIRE(begin().size() == 20);
    }
};

bool is_closed(int fd) {
    pollfd poll{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&poll, 1, static_cast<int>(milliseconds(kPatience).count())) != 1) return false;
    char byte = 0;
    return ::recv(fd, &byte, 1, 0) <= 0;
}

}  // namespace

TEST_CASE("an origin connects twenty times at once, then ten times a second") {
    Table table;
    for (int i = 0; i < 20; ++i)
        REQUIRE(table.come("a") != 0);
    CHECK(table.come("a") == 0);
    CHECK(table.come("b") != 0);
    table.now += milliseconds(100);
    CHECK(table.come("a") != 0);
    CHECK(table.come("a") == 0);
    CHECK(table.begin().size() == 20);
    table.now += seconds(1);
    CHECK(table.begin().size() == 2);
}

TEST_CASE("strangers wait for a rate together, origins in turn") {
    Table table;
    table.empty_strangers();
    const std::uint64_t first = table.come("a");
    (void)table.come("a");
    const std::uint64_t third = table.come("a");
    const std::uint64_t other = table.come("b");
    CHECK(table.begin().empty());
    table.now += milliseconds(10);  // Two begin.
    CHECK(table.begin() == std::vector{first, other});
    SECTION("in the order of each") {
        table.now += milliseconds(10);
        CHECK(table.begin() == std::vector{first + 1, third});
    }
    SECTION("but those that have ended") {
        table.callers.remove(ChannelId{first + 1});
        table.now += seconds(1);
        CHECK(table.begin() == std::vector{third});
    }
}

TEST_CASE("an origin of a node waits for no stranger, for a day after it was there") {
    Table table;
    table.callers.note_known("node", table.now);
    table.empty_strangers();
    (void)table.come("a");
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t channel = table.come("node");
        REQUIRE(channel != 0);
        CHECK(table.begin() == std::vector{channel});
    }
    CHECK(table.come("node") == 0);
    table.now += std::chrono::hours(23);
    table.callers.note_known("node", table.now);
    table.now += std::chrono::hours(23);
    table.empty_strangers();
    CHECK(table.come("node") != 0);
    CHECK(table.begin().size() == 1);
    table.now += std::chrono::hours(2);
    table.empty_strangers();
    CHECK(table.come("node") != 0);
    CHECK(table.begin().empty());
}

TEST_CASE("many origins at 1,000 connections a second keep no other out for long") {
    Table table;
    std::map<std::uint64_t, base::Timestamp> since;
    for (int i = 0; i < 3'000; ++i) {
        table.now += milliseconds(1);
        (void)table.come("flood" + std::to_string(i % 50));
        if (i % 500 == 499) since.emplace(table.come("node" + std::to_string(i)), table.now);
        for (const std::uint64_t channel : table.begin()) {
            const auto node = since.find(channel);
            if (node == since.end()) continue;
            CHECK(table.now - node->second < milliseconds(300));
            since.erase(node);
        }
    }
    CHECK(since.size() <= 1);
}

// Silent ones, of more origins than may be half open: those that begin push each other out.
TEST_CASE("a handshake that has begun has 200 ms, however many origins come") {
    Table table;
    tcp::Handshakes begun(64, 8);
    std::map<ChannelId, base::Timestamp> since;
    std::set<ChannelId> nodes;
    for (int i = 0; i < 5'000; ++i) {
        table.now += milliseconds(1);
        (void)table.come("flood" + std::to_string(i % 128));
        if (i % 101 == 50) (void)table.come("node" + std::to_string(i));
        for (const std::uint64_t channel : table.begin()) {
            const std::string& origin = table.origins.at(channel);
            if (const auto victim = begun.make_room(origin)) {
                const ChannelId other = victim->channel;
                if (nodes.contains(other)) CHECK(table.now - since.at(other) >= milliseconds(200));
                begun.remove(other);
            }
            const ChannelId id{since.size() + 1};
            begun.add(id, origin);
            since.emplace(id, table.now);
            if (origin.starts_with("node")) nodes.insert(id);
        }
    }
    CHECK(nodes.size() >= 5);  // Of 50: of those who come a fifth begins.
}

TEST_CASE("known origins have a rate together, too, and are served in turn") {
    Table table;
    for (int i = 0; i < 40; ++i)
        table.callers.note_known("flood" + std::to_string(i), table.now);
    table.callers.note_known("node", table.now);
    std::size_t begun = 0;
    for (int i = 0; i < 2'000; ++i) {
        table.now += milliseconds(1);
        (void)table.come("flood" + std::to_string(i % 40));
        begun += table.begin().size();
    }
    CHECK(begun <= 200 + 2 * 400 + 1);
    const std::uint64_t node = table.come("node");
    std::vector<std::uint64_t> next;
    for (int i = 0; i < 200 && std::ranges::count(next, node) == 0; ++i) {
        table.now += milliseconds(1);
        (void)table.come("flood" + std::to_string(i % 40));
        next = table.begin();
    }
    CHECK(std::ranges::count(next, node) == 1);
}

TEST_CASE("who chooses the texts of its origins has no turn before others") {
    Table table;
    table.empty_strangers();
    const std::uint64_t good = table.come("5");
    // Each greater than the last, so that an order by text never comes back to the good one.
    for (char origin = '6'; origin < 'z'; ++origin) {
        (void)table.come(std::string(1, origin));
        table.now += milliseconds(5);
        if (std::ranges::count(table.begin(), good) != 0) return;
    }
    FAIL("the first one never came to its turn");
}

TEST_CASE("however many origins come, few are remembered") {
    Table table;
    for (int i = 0; i < 20; ++i)
        REQUIRE(table.come("busy") != 0);
    for (std::size_t i = 0; i < tcp::Callers::kOriginsMax - 1; ++i)
        REQUIRE(table.come(std::to_string(i)) != 0);
    CHECK(table.come("busy") == 0);
    for (std::size_t i = 0; i < 2 * tcp::Callers::kOriginsMax; ++i)
        REQUIRE(table.come("more" + std::to_string(i)) != 0);
    CHECK(table.come("busy") != 0);  // Forgotten: it was the oldest.
}

TEST_CASE("who connects too often is closed at once, and others get in") {
    tcp::Options options;
    options.callers.of_origin = {0, 3};  // Time gives nothing back.
    options.callers.of_strangers = {20, 2};
    Node server(options);
    std::vector<int> fds;
    fds.reserve(4);
    for (int i = 0; i < 4; ++i)
        fds.push_back(RawPeer::connect_to(server.address(), "127.0.0.2"));
    CHECK(is_closed(fds.back()));
    CHECK(logs(server, "reason=too many connections from 127.0.0.2"));
    CHECK(server.thread->counters().refused == 1);
    Node client;
    join(client, server);
    for (const int fd : fds)
        ::close(fd);
}

}  // namespace tests
// NOLINTEND(bugprone-unchecked-optional-access)
