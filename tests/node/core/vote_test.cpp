#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"

#include <algorithm>
#include <string>

// Which votes of others are good, and so passed on.

namespace {

using support::Cluster;

// The second of four validators hears votes of the first.
struct Listener {
    static constexpr unsigned char kVoter = 7;
    static constexpr unsigned char kOwn = 8;

    Cluster cluster{4};
    std::vector<p2p::input::Judged> judged;

    Listener() {
        cluster.run(1, 4);
        cluster[1].to_peers = [this](const p2p::Input& said) {
            if (const auto* one = std::get_if<p2p::input::Judged>(&said)) judged.push_back(*one);
        };
    }
    // For a block that nobody has.
    p2p::input::Judged say(chain::Slot slot, unsigned char by = kVoter, bool is_signed = true) {
        chain::VoteData data;
        data.kind = chain::VoteKind::notarize;
        data.slot = slot;
        data.height = 5;
        data.schedule_version = cluster[1].view().head->header.schedule_version;
        data.block_id.bytes[3] = std::byte{5};
        const auto key = support::key_of(by);
        auto signature = key.sign(data.digest(cluster[1].genesis().chain_id()));
        if (!is_signed) signature.compact[40] ^= std::byte{1};
        judged.clear();
        cluster[1].step(node::input::FromPeers{p2p::effect::VoteArrived{
            Cluster::channel(0), {}, {data, key.public_key(), signature}}});
        REQUIRE(judged.size() == 1);
        return judged.front();
    }
};

}  // namespace

TEST_CASE("a vote of a slot that has not come is not good, and nobody's fault", "[network]") {
    Listener test;
    CHECK(test.say(4).verdict == p2p::Verdict::good);
    CHECK(test.say(5).verdict == p2p::Verdict::good);  // As clocks differ.
    for (const chain::Slot slot : {7U, 8U, 1'000'000U}) {
        const auto judged = test.say(slot);
        CHECK(judged.verdict == p2p::Verdict::unsure);
        CHECK(judged.text ==
              "slot " + std::to_string(slot) + " has not come: its voter's clock or ours is wrong");
    }
    test.cluster.tick_at(7);
    CHECK(test.say(7).verdict == p2p::Verdict::good);
}

TEST_CASE("a vote of an own key binds it, also of a slot that has not come", "[network]") {
    Listener test;
    const auto is_lost = [&] {
        const auto& keys = test.cluster[1].view().keys;
        return std::ranges::any_of(keys, [](const auto& key) { return key.lost; });
    };
    REQUIRE_FALSE(is_lost());
    CHECK(test.say(1'000, Listener::kOwn).verdict == p2p::Verdict::unsure);
    test.cluster.run(5, 9);
    CHECK(is_lost());
}

TEST_CASE("a vote of an own key that is in no schedule that this node knows binds it",
          "[network]") {
    Cluster cluster(4, 1);
    cluster.run(1, 4);
    const auto own = support::key_of(11);
    chain::VoteData data{.kind = chain::VoteKind::notarize,
                         .schedule_version = cluster[4].view().head->header.schedule_version,
                         .slot = 5,
                         .height = 5,
                         .block_id = {},
                         .justify_slot = 0};
    data.block_id.bytes[3] = std::byte{5};
    const std::size_t said = cluster[4].warnings().size();
    cluster[4].step(node::input::FromPeers{p2p::effect::VoteArrived{
        Cluster::channel(0),
        {},
        {data, own.public_key(), own.sign(data.digest(cluster[4].genesis().chain_id()))}}});
    REQUIRE(cluster[4].warnings().size() == said + 1);
    CHECK(cluster[4].warnings().back().find("the safety journal does not know all that key " +
                                            own.public_key().to_string()) != std::string::npos);
}

TEST_CASE("votes far below the final block are not looked at, whoever has kept them", "[network]") {
    Listener test;
    test.cluster.run(5, 40);
    REQUIRE(test.cluster[1].view().finalized->header.slot == 40);
    for (const unsigned char key : {Listener::kVoter, Listener::kOwn}) {
        for (const bool is_signed : {true, false}) {
            CHECK(test.say(4, key, is_signed).verdict == p2p::Verdict::duplicate);
            CHECK(test.say(23, key, is_signed).verdict == p2p::Verdict::duplicate);
        }
    }
    // Those of two slots that are not decided everywhere may convict yet.
    CHECK(test.say(24).verdict == p2p::Verdict::good);
    CHECK(test.say(25, Listener::kVoter, false).verdict == p2p::Verdict::bad);
    CHECK(test.say(1'000, Listener::kOwn, false).verdict == p2p::Verdict::bad);
}
