#include "chain/execution/schedule_rows.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"
#include "tests/support/elections.hpp"

// What nodes say on the chain by themselves: `ready` of a standby, and evidence.

namespace {

using support::Cluster;

using support::elect;
using support::name;
using support::registration;
using support::votes;

// With node 3's key, for another block than the head that it voted for.
chain::Vote second_vote(Cluster& cluster) {
    const chain::Block& head = *cluster[0].view().head;
    chain::VoteData data;
    data.kind = chain::VoteKind::notarize;
    data.slot = head.header.slot;
    data.height = head.header.height;
    data.block_id = head.id;
    data.block_id.bytes[31] ^= std::byte{1};
    const auto key = support::key_of(10);
    return {data, key.public_key(), key.sign(data.digest(cluster[0].genesis().chain_id()))};
}

const chain::StateView& final_state(Cluster& cluster, std::size_t node) {
    return *cluster[node].view().final_state;
}

std::size_t scheduled(Cluster& cluster) {
    return chain::load_schedule(final_state(cluster, 0)).value().entries.size();
}

}  // namespace

TEST_CASE("a standby says by itself that it is ready, enters the schedule and votes", "[duties]") {
    constexpr chain::Slot kPeriod = 12;
    Cluster cluster(4, 1, kPeriod);
    cluster.run(1, 3);
    const auto registers = cluster[4].submit(cluster[4].act(
        "mint", "regproducer", registration("mint", support::key_of(11).public_key())));
    REQUIRE(cluster[4].answers.at(registers).outcome.has_value());
    cluster.run(4, 16);
    // Registered, it waits for votes; there is nothing yet to be ready for.
    CHECK_FALSE(chain::find_ready(final_state(cluster, 0), name("mint")).has_value());
    elect(cluster, {"bank", "bourse", "broker", "mint", "vault"});
    cluster.run(17, 23);
    const auto ready = chain::find_ready(final_state(cluster, 0), name("mint"));
    REQUIRE(ready.has_value());
    CHECK(ready->slot >= 17);
    CHECK(scheduled(cluster) == 4);
    cluster.run(24, 34);
    CHECK(scheduled(cluster) == 5);
    CHECK(cluster[4].view().keys.at(0).last_notarize >= 33);
    // In the schedule it has nothing to say any more.
    cluster.run(35, 60);
    CHECK(chain::find_ready(final_state(cluster, 0), name("mint"))->slot < 34);
    CHECK(cluster.refused.empty());
    for (std::size_t i = 0; i < cluster.size(); ++i)
        CHECK(cluster[i].dropped.empty());
}

TEST_CASE("a standby that is cut off says nothing; back, it is ready again", "[duties]") {
    constexpr chain::Slot kPeriod = 12;
    Cluster cluster(4, 1, kPeriod);
    cluster.run(1, 3);
    (void)cluster[4].submit(cluster[4].act(
        "mint", "regproducer", registration("mint", support::key_of(11).public_key())));
    cluster.run(4, 5);
    for (std::size_t i = 0; i < 4; ++i)
        cluster.cut(i, 4);
    // Not by the key of a schedule, so that it is no part of a quorum here.
    elect(cluster, {"bank", "bourse", "broker", "mint", "vault"});
    cluster.run(6, 40);
    CHECK(scheduled(cluster) == 4);
    CHECK(cluster[4].view().pool_transactions == 0);
    cluster.heal();
    cluster.deliver();
    cluster.run(41, 60);
    CHECK(scheduled(cluster) == 5);
}

TEST_CASE("a validator changes to a key that its node holds, and to no other", "[duties]") {
    constexpr chain::Slot kPeriod = 12;
    const std::size_t count = GENERATE(1U, 4U);
    Cluster cluster(count, 0, kPeriod);
    cluster.run(1, 3);
    const auto key = support::key_of(20);
    const auto registers = cluster[0].submit(
        cluster[0].act("bank", "regproducer", registration("bank", key.public_key())));
    REQUIRE(cluster[0].answers.at(registers).outcome.has_value());
    cluster.run(4, 16);
    const auto elects =
        cluster[0].submit(cluster[0].act("bank", "voteproducer", votes("bank", {"bank"})));
    REQUIRE(cluster[0].answers.at(elects).outcome.has_value());
    const auto signs = [&] {
        return chain::load_schedule(final_state(cluster, 0)).value().entries[0].signing_key;
    };
    // Nobody holds it: the old one goes on.
    cluster.run(17, 60);
    CHECK(signs() == cluster[0].public_key());
    CHECK(cluster[0].view().finalized->header.slot >= 59);
    cluster[0].add_key(key);
    cluster.kill(0);
    cluster.start(0);
    cluster.deliver();
    cluster.run(61, 100);
    CHECK(signs() == key.public_key());
    CHECK(cluster[0].view().finalized->header.slot >= 99);
    CHECK(cluster[0].view().pool_transactions == 0);
    CHECK(cluster.refused.empty());
}

// Member 1 of four changes to key 20, which its node holds, and `taker` registers that key as well:
// a validator, or somebody who is in no schedule.
TEST_CASE("nobody takes the key that another's node holds and changes to", "[duties]") {
    constexpr chain::Slot kPeriod = 12;
    Cluster cluster(4, 1, kPeriod);
    const auto key = support::key_of(20);
    const auto [taker, taker_name] =
        GENERATE(table<std::size_t, std::string>({{0, "bank"}, {4, "mint"}}));
    const bool comes_first = GENERATE(false, true);
    cluster.run(1, 3);
    cluster[1].add_key(key);
    if (GENERATE(false, true)) cluster[1].producers = {name("bourse")};
    cluster.kill(1);
    cluster.start(1);
    cluster.deliver();
    cluster.run(4, 12);
    const auto push =
        [&](std::size_t node, const std::string& who, std::string_view action, base::Bytes data) {
            const auto ticket =
                cluster[node].submit(cluster[node].act(who, action, std::move(data)));
            REQUIRE(cluster[node].answers.at(ticket).outcome.has_value());
        };
    const auto registers = [&](std::size_t node, const std::string& who) {
        push(node, who, "regproducer", registration(who, key.public_key()));
    };
    const auto takes = [&] {
        registers(taker, taker_name);
        cluster.deliver();
        std::vector<std::string> producers{"bank", "bourse", "broker", "vault"};
        if (taker == 4) producers.insert(producers.begin() + 3, taker_name);
        elect(cluster, producers);
    };
    if (comes_first) takes();
    cluster.run(13, 28);
    registers(1, "bourse");
    cluster.run(29, 30);
    if (!comes_first) takes();
    cluster.run(31, 64);
    const auto entries = chain::load_schedule(final_state(cluster, 2)).value().entries;
    REQUIRE(entries.size() == 4);
    CHECK(entries[0].signing_key == cluster[0].public_key());
    CHECK(entries[1].signing_key == key.public_key());
    CHECK_FALSE(chain::find_ready(final_state(cluster, 2), name(taker_name)).has_value());
    CHECK(cluster[2].view().finalized->header.slot >= 63);
}

// Key 20 is all that the node of member 1 has: no schedule tells whose it is.
TEST_CASE("a node without its validator's old key speaks for who is named as its own", "[duties]") {
    constexpr chain::Slot kPeriod = 12;
    Cluster cluster(4, 0, kPeriod);
    const auto key = support::key_of(20);
    cluster.run(1, 3);
    for (const auto& [node, who] : {std::pair(1U, "bourse"), std::pair(0U, "bank")}) {
        const auto ticket = cluster[node].submit(
            cluster[node].act(who, "regproducer", registration(who, key.public_key())));
        REQUIRE(cluster[node].answers.at(ticket).outcome.has_value());
        cluster.deliver();
    }
    const auto elects =
        cluster[0].submit(cluster[0].act("bank", "voteproducer", votes("bank", {"bank"})));
    REQUIRE(cluster[0].answers.at(elects).outcome.has_value());
    cluster.deliver();
    const bool is_named = GENERATE(false, true);
    if (is_named) cluster[1].producers = {name("bourse")};
    cluster.kill(1);
    cluster[1].set_key(key);
    cluster.start(1);
    cluster.deliver();
    cluster.run(4, 60);
    const auto entries = chain::load_schedule(final_state(cluster, 2)).value().entries;
    CHECK(entries[0].signing_key == cluster[0].public_key());
    CHECK((entries[1].signing_key == key.public_key()) == is_named);
}

TEST_CASE("a standby's node is ready for who is named as its own alone", "[duties]") {
    constexpr chain::Slot kPeriod = 12;
    Cluster cluster(4, 2, kPeriod);
    cluster[4].producers = {name("mint")};
    cluster.kill(4);
    cluster.start(4);
    cluster.deliver();
    cluster.run(1, 3);
    const auto key = support::key_of(11).public_key();
    for (const auto& [node, who] : {std::pair(5U, "shop"), std::pair(4U, "mint")}) {
        const auto ticket =
            cluster[node].submit(cluster[node].act(who, "regproducer", registration(who, key)));
        REQUIRE(cluster[node].answers.at(ticket).outcome.has_value());
        cluster.deliver();
    }
    elect(cluster, {"bank", "bourse", "broker", "mint", "shop", "vault"});
    cluster.run(4, 60);
    CHECK(scheduled(cluster) == 5);
    CHECK_FALSE(chain::find_ready(final_state(cluster, 0), name("shop")).has_value());
    CHECK(chain::load_schedule(final_state(cluster, 0)).value().find_producer(name("mint")));
}

TEST_CASE("a standby that has answered a recovery is not ready any more", "[duties]") {
    constexpr chain::Slot kPeriod = 12;
    Cluster cluster(4, 1, kPeriod);
    cluster.run(1, 3);
    (void)cluster[4].submit(cluster[4].act(
        "mint", "regproducer", registration("mint", support::key_of(11).public_key())));
    cluster.run(4, 16);
    elect(cluster, {"bank", "bourse", "broker", "mint", "vault"});
    cluster.run(17, 34);
    REQUIRE(scheduled(cluster) == 5);
    cluster[4].step(node::input::AnswerRecovery{});
    cluster.deliver();
    REQUIRE(cluster[4].view().keys.at(0).stopped);
    elect(cluster, {"bank", "bourse", "broker", "vault"});
    cluster.run(35, 60);
    REQUIRE(scheduled(cluster) == 4);
    elect(cluster, {"bank", "bourse", "broker", "mint", "vault"});
    cluster.run(61, 100);
    CHECK(scheduled(cluster) == 4);
}

TEST_CASE("evidence of a double vote gets on the chain, once, and costs the key its weight",
          "[duties]") {
    Cluster cluster(4);
    cluster.run(1, 3);
    // The first was seen by all: that of the block. Node 3 lies to nodes 0 and 1.
    for (const std::size_t to : {0U, 1U}) {
        cluster.send(
            3, to, p2p::effect::VoteArrived{Cluster::channel(3), {}, second_vote(cluster)});
    }
    cluster.deliver();
    CHECK(cluster[0].accused.size() == 1);
    CHECK(cluster[2].accused.empty());
    const auto key = support::key_of(10).public_key();
    CHECK_FALSE(chain::is_convicted(final_state(cluster, 2), key));
    cluster.run(4, 14);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(chain::is_convicted(final_state(cluster, i), key));
        CHECK(cluster[i].view().pool_transactions == 0);
    }
    const auto convicted = chain::convicted_keys(final_state(cluster, 0), 10).value();
    REQUIRE(convicted.size() == 1);
    CHECK(convicted[0].producer == name("vault"));
    // Reported once: nobody repeats what is on the chain.
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(cluster[i].dropped.empty());
}

TEST_CASE("evidence that was not reported yet is reported after a restart, and kept no longer",
          "[duties]") {
    Cluster cluster(4);
    cluster.run(1, 3);
    // Only node 0 sees it, and is killed before it can say so.
    cluster.send(3, 0, p2p::effect::VoteArrived{Cluster::channel(3), {}, second_vote(cluster)});
    cluster.deliver();
    REQUIRE(cluster[0].accused.size() == 1);
    const auto kept = [&] {
        const base::ByteView name = base::as_bytes("evidence/");
        const auto row = cluster[0].storage().at_or_after(base::Family::meta, name).value();
        return row && base::as_text(row->key).starts_with("evidence/");
    };
    CHECK(kept());
    cluster.kill(0);
    cluster.start(0);
    const auto key = support::key_of(10).public_key();
    CHECK_FALSE(chain::is_convicted(final_state(cluster, 2), key));
    cluster.run(4, 40);
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(chain::is_convicted(final_state(cluster, i), key));
    CHECK_FALSE(kept());
    CHECK(cluster[0].dropped.empty());
}

TEST_CASE("a chain that began with one validator goes on after a while without finality",
          "[duties]") {
    const std::size_t first = GENERATE(4U, 1U);
    Cluster cluster(first, 4 - first, 12, 20);
    cluster.run(1, 3);
    if (first == 1) {
        const std::vector<std::string> names{"bank", "bourse", "broker", "vault"};
        for (std::size_t i = 1; i < 4; ++i) {
            const auto key = support::key_of(static_cast<unsigned char>(7 + i)).public_key();
            const auto ticket = cluster[i].submit(
                cluster[i].act(names[i], "regproducer", registration(names[i], key)));
            REQUIRE(cluster[i].answers.at(ticket).outcome.has_value());
        }
        cluster.deliver();
        cluster.run(4, 30);
        elect(cluster, names);
        cluster.run(31, 150);
    } else {
        cluster.run(4, 150);
    }
    REQUIRE(scheduled(cluster) == 4);
    REQUIRE(cluster[0].view().finalized->header.slot >= 148);
    cluster.kill(2);
    cluster.kill(3);
    cluster.run(151, 450);
    cluster.start(2);
    cluster.start(3);
    cluster.deliver();
    cluster.run(451, 2'500);
    CHECK(cluster[0].view().finalized->header.slot > 2'400);
}
