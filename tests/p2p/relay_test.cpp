#include "p2p/header_relays.hpp"
#include "p2p/world.hpp"

#include <catch2/catch.hpp>

#include <array>

// A node is charged for what it passes on of others. Validators that give each honest one other
// good headers and votes, within their budgets, do not make honest ones close each other's
// connections; and what convicts them reaches everybody, whatever they sent before.

using namespace p2p;
using namespace p2p::test;

namespace {

// Nodes that are all connected; the last ones lie.
struct Liars {
    World world;
    std::size_t count;
    std::size_t honest;
    unsigned variants = 0;

    Liars(std::size_t nodes, std::size_t liars)
        : world(nodes), count(nodes), honest(nodes - liars) {
        world.join_all();
        world.run(seconds(1));
        world.closes.clear();
    }
    // Where `liar` speaks to `to`, after join_all().
    [[nodiscard]] ChannelId channel(std::size_t liar, std::size_t to) const {
        std::uint64_t next = 0;
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = i + 1; j < count; ++j, next += 2) {
                if (i == to && j == liar) return ChannelId{next + 1};
            }
        }
        return {};
    }
    // No two are the same.
    chain::Vote say_vote(std::size_t liar, std::size_t to, chain::Slot slot) {
        chain::Vote vote = vote_of(*world[0].ledger.head, liar);
        vote.data.slot = slot;
        vote.data.block_id.bytes[31] = static_cast<std::byte>(to);
        world.input(world[to], input::Message{channel(liar, to), *pack_message(vote)});
        return vote;
    }
    chain::BlockHeader say_header(std::size_t liar, std::size_t to, chain::Slot slot = 1) {
        const auto block = block_on(*world[0].ledger.head, {.slots = slot});
        HeaderPush push{{block->header, block->signature}, {}};
        push.signed_header.header.state_digest.bytes[0] = static_cast<std::byte>(++variants);
        push.signed_header.header.state_digest.bytes[1] = static_cast<std::byte>(variants >> 8U);
        world.input(world[to], input::Message{channel(liar, to), *pack_message(push)});
        return push.signed_header.header;
    }
    [[nodiscard]] std::size_t honest_peers(std::size_t node) {
        std::size_t found = 0;
        for (const PeerStatus& peer : world[node].network->status().peers) {
            for (std::size_t i = 0; i < honest; ++i)
                found += peer.key == key_of(i) ? 1U : 0U;
        }
        return found;
    }
    // That honest nodes said to anybody.
    [[nodiscard]] std::ptrdiff_t closed_for_flooding() const {
        std::ptrdiff_t found = 0;
        for (std::size_t i = 0; i < honest; ++i) {
            const std::string line = std::string(1, static_cast<char>('A' + i)) + ": flooding";
            found += std::count(world.closes.begin(), world.closes.end(), line);
        }
        return found;
    }
    void check_together() {
        CHECK(closed_for_flooding() == 0);
        for (std::size_t i = 0; i < honest; ++i)
            CHECK(honest_peers(i) == honest - 1);
    }
};

}  // namespace

TEST_CASE("votes of two of seven do not part the others", "[p2p][relay]") {
    Liars test(7, 2);
    chain::Slot slot = 1'000;
    for (int i = 0; i < 600; ++i) {
        for (std::size_t liar = 5; liar < 7; ++liar) {
            for (std::size_t to = 0; to < test.honest; ++to) {
                for (int each = 0; each < 9; ++each)
                    (void)test.say_vote(liar, to, ++slot);
            }
        }
        test.world.run(milliseconds(10));
    }
    test.check_together();
}

// To one what the other passes on to it half a second later.
TEST_CASE("votes of one of four do not part the others", "[p2p][relay]") {
    Liars test(4, 1);
    for (chain::Slot at = 0; at < 1'000; ++at) {
        for (chain::Slot i = 0; i < 7; ++i) {
            (void)test.say_vote(3, 0, 1'000 + at * 100 + i * 10);
            (void)test.say_vote(3, 2, 1'520 + at * 100 + i * 10 + 1);
        }
        test.world.run(milliseconds(10));
    }
    test.check_together();
}

TEST_CASE("headers of one of four do not part the others", "[p2p][relay]") {
    Liars test(4, 1);
    // In each of its slots, one of four, 28 to each: 16 a second may come.
    for (int round = 0; round < 20; ++round) {
        for (std::size_t to = 0; to < test.honest; ++to) {
            for (int i = 0; i < 28; ++i)
                (void)test.say_header(3, to);
        }
        test.world.run(seconds(2));
    }
    test.check_together();
}

TEST_CASE("headers of many slots of one of seven do not part the others", "[p2p][relay]") {
    Liars test(7, 1);
    chain::Slot slot = 0;
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 28; ++i) {
            for (std::size_t to = 0; to < test.honest; ++to)
                (void)test.say_header(6, to, ++slot);
        }
        test.world.run(seconds(2));
    }
    test.check_together();
}

TEST_CASE("two votes that convict reach all, though a hundred came before", "[p2p][relay]") {
    Liars test(4, 1);
    for (chain::Slot slot = 1; slot <= 100; ++slot) {
        for (std::size_t to = 0; to < test.honest; ++to)
            (void)test.say_vote(3, to, slot);
    }
    const std::array pair{test.say_vote(3, 0, 101), test.say_vote(3, 1, 101)};
    test.world.run(seconds(8));
    for (std::size_t i = 0; i < test.honest; ++i) {
        const auto& votes = test.world[i].votes;
        for (const chain::Vote& vote : pair)
            CHECK(std::count(votes.begin(), votes.end(), vote) == 1);
    }
    test.check_together();
}

TEST_CASE("two headers that convict reach all, though a hundred came before", "[p2p][relay]") {
    Liars test(4, 1);
    chain::Slot slot = 0;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 25; ++i, ++slot) {
            for (std::size_t to = 0; to < test.honest; ++to)
                (void)test.say_header(3, to, slot + 1);
        }
        test.world.run(seconds(2));
    }
    const std::array pair{test.say_header(3, 0, slot + 1), test.say_header(3, 1, slot + 1)};
    test.world.run(seconds(1));
    for (std::size_t i = 0; i < test.honest; ++i) {
        const auto& headers = test.world[i].headers;
        for (const chain::BlockHeader& header : pair)
            CHECK(std::count(headers.begin(), headers.end(), header) == 1);
    }
    test.check_together();
}

TEST_CASE("of a hundred headers of one slot everybody sees two, and few see more", "[p2p][relay]") {
    Liars test(4, 1);
    for (int i = 0; i < 30; ++i)
        (void)test.say_header(3, 0);
    test.world.run(seconds(1));
    CHECK(test.world[0].headers.size() == 30);
    CHECK(test.world[1].headers.size() == 2);
    CHECK(test.world[2].headers.size() == 2);
    // And everybody, where each was given another.
    Liars other(4, 1);
    for (std::size_t to = 0; to < other.honest; ++to)
        (void)other.say_header(3, to);
    other.world.run(seconds(1));
    for (std::size_t i = 0; i < other.honest; ++i)
        CHECK(other.world[i].headers.size() >= 2);
}

TEST_CASE("headers that wait go on the newest slot first, within the bound", "[p2p][relay]") {
    HeaderRelays relays(500);
    base::Timestamp now(seconds(1'000));
    const auto id_of = [](std::uint8_t number) {
        chain::BlockId id;
        id.bytes[31] = std::byte{number};
        return id;
    };
    const auto message = pack_message(HeaderPush{});
    const TokenBucket::Rate rate = relayed_headers(2);
    std::uint8_t number = 0;
    for (; number < rate.burst; ++number) {
        relays.add({number, {}}, id_of(number), message);
        REQUIRE(relays.take(now).has_value());
    }
    CHECK_FALSE(relays.next_time().has_value());
    for (const chain::Slot slot : {200U, 202U, 201U})
        relays.add({slot, {}}, id_of(++number), message);
    CHECK_FALSE(relays.may_go(now, {203, {}}, id_of(99)));
    std::vector<std::uint8_t> order;
    for (const base::Timestamp begin = now; now < begin + seconds(1);) {
        const auto next = relays.take(now);
        if (next) order.push_back(std::to_integer<std::uint8_t>(next->id.bytes[31]));
        if (!relays.next_time()) break;
        CHECK((next || *relays.next_time() > now));
        now = std::max(now, *relays.next_time());
    }
    using Order = std::vector<std::uint8_t>;
    CHECK(order == Order{static_cast<std::uint8_t>(number - 1),
                         number,
                         static_cast<std::uint8_t>(number - 2)});
}

// All schedules full, all keys of liars, for a quarter of a minute.
TEST_CASE("the most that a node passes on is within the budget of its peers", "[p2p][relay]") {
    for (const std::uint32_t interval : {10U, 250U, 500U, 600U, 999U, 5'000U}) {
        INFO(interval);
        const std::uint64_t slots = slots_of_second(interval);
        CHECK(slots * interval >= 1'000);
        Budget budget(interval);
        TokenBucket headers(relayed_headers(slots));
        TokenBucket votes(relayed_votes_of_key(slots));
        base::Timestamp now(seconds(1'000));
        bool is_enough = true;
        for (int i = 0; i < 1'500; ++i, now += milliseconds(10)) {
            while (headers.take(now, 1))
                is_enough = is_enough && budget.take_message(now, MessageType::header);
            while (votes.take(now, 1)) {
                for (std::size_t key = 0; key < 2 * chain::kProducersMax; ++key)
                    is_enough = is_enough && budget.take_message(now, MessageType::vote);
            }
        }
        CHECK(is_enough);
    }
}
