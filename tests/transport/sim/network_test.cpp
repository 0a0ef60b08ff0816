// Channels in virtual time: what the real kinds promise (order, refusals with reasons, one Down)
// under weather drawn from a seed, and the same trace for the same seed.
#include "tests/transport/sim/network.hpp"

#include "base/rng.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <map>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace transport {

namespace {

using namespace std::chrono_literals;

PeerKey key_of(unsigned number) {
    PeerKey key;
    key.type = base::crypto::KeyType::r1;
    key.point[0] = std::byte{2};
    key.point[1] = static_cast<std::byte>(number);
    return key;
}

// Delays and breaks as drawn; every connection succeeds unless it is cut.
struct SeededWeather : sim::Weather {
    explicit SeededWeather(std::uint64_t seed) : rng(seed) {}

    sim::Fate fate_of(const sim::Passage& passage) override {
        const bool breaks = break_share > 0 && rng.below(1'000) < break_share;
        const auto delay = base::Duration(rng.below(20'000'000)) + passage.bytes * 1ns;
        return {delay + extra, breaks};
    }
    std::optional<base::Duration> time_to_connect(const PeerKey& from, const PeerKey&) override {
        if (is_cut && from == cut_off) return {};
        return 1ms;
    }
    base::Duration time_to_notice(const PeerKey&) override { return 5ms; }

    base::Rng rng;
    std::uint64_t break_share = 0;
    base::Duration extra{};
    bool is_cut = false;
    PeerKey cut_off{};
};

struct Node : Host {
    [[nodiscard]] Verdict admit(const PeerKey& peer, bool) override {
        return refused && *refused == peer ? Verdict{false, "revoked"} : Verdict{true, ""};
    }
    void on_events(std::vector<Event>& events) override {
        for (Event& each : events)
            heard.push_back(std::move(each));
        events.clear();
    }
    void post(Command command) {
        std::vector<Command> commands;
        commands.push_back(std::move(command));
        endpoint->post(commands);
    }
    void send(ChannelId channel, std::uint32_t number, std::size_t size = 4, Priority level = 1) {
        base::Bytes bytes(size);
        std::memcpy(bytes.data(), &number, sizeof number);
        post(command::Send{channel,
                           level < 4 ? Lane::control : Lane::data,
                           level,
                           std::make_shared<const base::Bytes>(std::move(bytes))});
    }
    template <class E>
    [[nodiscard]] std::vector<const E*> all() const {
        std::vector<const E*> out;
        for (const Event& each : heard) {
            if (const auto* found = std::get_if<E>(&each)) out.push_back(found);
        }
        return out;
    }

    sim::Endpoint* endpoint = nullptr;
    std::optional<PeerKey> refused;
    std::vector<Event> heard;
};

struct World {
    explicit World(std::uint64_t seed = 1)
        : weather(seed),
          pool(*BufferPool::create({.bytes = 256U << 20U, .huge_pages = false})),
          network(weather, *pool) {
        for (unsigned i = 0; i < nodes.size(); ++i)
            nodes[i].endpoint = &network.add(key_of(i), "node" + std::to_string(i), nodes[i]);
    }
    void run(base::Duration time) { network.advance(network.now() + time); }
    ChannelId connect() {
        nodes[0].post(command::Connect{"node1", key_of(1)});
        run(1ms);
        const auto ups = nodes[0].all<event::Up>();
        REQUIRE_FALSE(ups.empty());
        return ups.back()->channel;
    }

    SeededWeather weather;
    std::unique_ptr<BufferPool> pool;
    std::array<Node, 2> nodes;
    sim::Network network;
};

std::uint32_t number_of(const event::Received& received) {
    std::uint32_t number = 0;
    std::memcpy(&number, received.message.bytes.run_at(0).data(), sizeof number);
    return number;
}

}  // namespace

TEST_CASE("simulated messages keep their order within a level and arrive once") {
    World world;
    const ChannelId channel = world.connect();
    const auto peer_up = world.nodes[1].all<event::Up>();
    REQUIRE(peer_up.size() == 1);
    CHECK(peer_up[0]->peer == key_of(0));
    CHECK(peer_up[0]->binding == world.nodes[0].all<event::Up>()[0]->binding);
    for (std::uint32_t i = 0; i < 200; ++i)
        world.nodes[0].send(channel, i, 4 + i, static_cast<Priority>(i % kPriorities));
    CHECK(world.nodes[1].all<event::Received>().empty());
    world.run(1s);
    std::map<Priority, std::uint32_t> last;
    const auto received = world.nodes[1].all<event::Received>();
    CHECK(received.size() == 200);
    for (const auto* each : received) {
        const std::uint32_t number = number_of(*each);
        CHECK(each->message.bytes.size() == 4 + number);
        CHECK(last[each->message.priority] <= number);
        last[each->message.priority] = number;
    }
}

TEST_CASE("a simulated close comes after what was sent, with its text") {
    World world;
    const ChannelId channel = world.connect();
    for (std::uint32_t i = 0; i < 20; ++i)
        world.nodes[0].send(channel, i);
    world.nodes[0].post(command::Close{channel, "bye"});
    world.nodes[0].send(channel, 99);
    world.run(1s);
    CHECK(world.nodes[1].all<event::Received>().size() == 20);
    const auto down = world.nodes[1].all<event::Down>();
    REQUIRE(down.size() == 1);
    CHECK(down[0]->info.by_peer);
    CHECK(down[0]->info.text == "bye");
    CHECK(std::holds_alternative<event::Down>(world.nodes[1].heard.back()));
    CHECK(world.nodes[0].all<event::Down>().size() == 1);
    CHECK_FALSE(world.network.next_at());
}

TEST_CASE("simulated refusals have the reasons of the real ones") {
    World world;
    world.nodes[0].post(command::Connect{"nowhere", {}});
    world.nodes[0].post(command::Connect{"node1", key_of(7)});
    world.run(1s);
    world.nodes[1].refused = key_of(0);
    world.nodes[0].post(command::Connect{"node1", {}});
    world.run(1s);
    world.weather.is_cut = true;
    world.weather.cut_off = key_of(0);
    world.nodes[0].post(command::Connect{"node1", {}});
    world.run(1s);
    const auto failed = world.nodes[0].all<event::ConnectFailed>();
    REQUIRE(failed.size() == 4);
    CHECK(failed[0]->info.reason == CloseReason::refused);
    CHECK(failed[0]->info.text == "the peer has another key");
    CHECK(failed[1]->info.reason == CloseReason::lost);
    CHECK(failed[2]->info.by_peer);
    CHECK(failed[2]->info.text == "revoked");
    CHECK(failed[3]->info.reason == CloseReason::lost);
    CHECK(world.nodes[1].heard.empty());
}

TEST_CASE("a broken simulated channel loses what is on its way and ends at both sides once") {
    World world;
    const ChannelId channel = world.connect();
    SECTION("in the middle of a message") {
        world.nodes[0].send(channel, 1);
        world.weather.break_share = 1'000;
        world.nodes[0].send(channel, 2);
    }
    SECTION("by a cut") {
        world.nodes[0].send(channel, 1);
        world.network.cut(key_of(1), key_of(0));
    }
    SECTION("because the peer dies") {
        world.nodes[1].send(world.nodes[1].all<event::Up>()[0]->channel, 1);
        world.network.remove(*world.nodes[1].endpoint);
    }
    world.nodes[0].send(channel, 3);
    world.run(1s);
    CHECK(world.nodes[0].all<event::Received>().empty());
    CHECK(world.nodes[1].all<event::Received>().empty());
    const auto down = world.nodes[0].all<event::Down>();
    REQUIRE(down.size() == 1);
    CHECK(down[0]->info.reason == CloseReason::lost);
    CHECK(world.pool->blocks_out() == 0);
}

TEST_CASE("a clogged simulated channel refuses, and says when there is room") {
    World world;
    const ChannelId channel = world.connect();
    world.weather.extra = 10s;
    for (std::uint32_t i = 0; i < 10; ++i)
        world.nodes[0].send(channel, i, 1'000'000, 6);
    world.nodes[0].send(channel, 100, 100, 0);  // The other lane is free.
    world.run(1s);
    const auto refused = world.nodes[0].all<event::Refused>();
    REQUIRE(refused.size() == 2);
    CHECK(refused[0]->bytes->size() == 1'000'000);
    CHECK(world.nodes[0].all<event::Writable>().empty());
    world.run(20s);
    CHECK(world.nodes[0].all<event::Writable>().size() == 1);
    CHECK(world.nodes[1].all<event::Received>().size() == 9);
}

TEST_CASE("the same seed gives the same trace, under every fault") {
    const auto trace = [](std::uint64_t seed) {
        World world(seed);
        base::Rng rng(seed);
        std::string out;
        world.weather.break_share = 5;
        for (std::uint32_t i = 0; i < 200; ++i) {
            if (i % 50 == 0) world.nodes[0].post(command::Connect{"node1", {}});
            for (Node& node : world.nodes) {
                const auto ups = node.all<event::Up>();
                if (!ups.empty()) node.send(ups.back()->channel, i, 4 + rng.below(1'000));
            }
            if (rng.below(100) == 0) world.network.cut(key_of(0), key_of(1));
            world.run(base::Duration(rng.below(5'000'000)));
        }
        for (const Node& node : world.nodes) {
            for (const Event& each : node.heard) {
                out += static_cast<char>('a' + each.index());
                if (const auto* received = std::get_if<event::Received>(&each)) {
                    out += std::to_string(number_of(*received));
                }
            }
        }
        return out;
    };
    for (std::uint64_t seed = 1; seed < 8; ++seed) {
        const std::string first = trace(seed);
        CHECK(first.size() > 100);
        CHECK(first == trace(seed));
        CHECK(first != trace(seed + 100));
    }
}

}  // namespace transport
// NOLINTEND(bugprone-unchecked-optional-access)
