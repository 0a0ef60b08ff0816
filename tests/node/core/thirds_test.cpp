#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "consensus/certificate.hpp"
#include "node/core/arrivals.hpp"
#include "tests/support/blocks.hpp"
#include "tests/support/cluster.hpp"
#include "tests/support/elections.hpp"

#include <algorithm>

// Blocks of one producer and slot: two are evidence, a third waits for what names it.

namespace {

using support::Cluster;
using support::with_header;

// A producer made five blocks of slot 4 and gave node 3 others than the rest, which built on
// theirs and certified what they built.
struct Divided {
    Cluster cluster{4};
    chain::BlockPtr good;   // Of slot 4, that the others have;
    chain::BlockPtr child;  // of slot 5.
    chain::BlockPtr grandchild;
    std::vector<p2p::input::Judged> judged;  // What node 3 said.
    std::vector<p2p::input::Certified> certified;

    explicit Divided(bool is_sync) {
        cluster.run(1, 3);
        for (const std::size_t i : {0U, 1U, 2U})
            cluster.cut(i, 3);
        (void)cluster[0].submit(cluster[0].new_account("bank", "alice"));
        cluster.tick_at(4);
        good = cluster[0].view().head;
        REQUIRE(good->header.slot == 4);
        cluster.tick_at(5);
        child = cluster[0].view().head;
        REQUIRE(child->header.previous == good->id);
        cluster.tick_at(6);
        grandchild = cluster[0].view().head;
        REQUIRE(grandchild->header.previous == child->id);
        // What node 3 says is not passed on to others any more.
        cluster[3].to_peers = [this](const p2p::Input& said) {
            if (const auto* each = std::get_if<p2p::input::Judged>(&said)) {
                if (each->item == p2p::Item::block) judged.push_back(*each);
            } else if (const auto* named = std::get_if<p2p::input::Certified>(&said)) {
                certified.push_back(*named);
            }
        };
        for (const unsigned i : {1U, 2U}) {
            send({Cluster::channel(0), variant(i), is_sync});
            REQUIRE(judged.size() == i);
            CHECK(judged.back().verdict == p2p::Verdict::bad);  // Its state is wrong.
        }
        judged.clear();
    }
    [[nodiscard]] chain::BlockPtr variant(unsigned number) {
        chain::BlockHeader header = good->header;
        header.state_digest.bytes[5] ^= static_cast<std::byte>(number);
        return with_header(*good, header, support::key_of(7), cluster[0].genesis().chain_id());
    }
    void send(const p2p::effect::BlockArrived& block) {
        cluster[3].step(node::input::FromPeers{block});
    }
    [[nodiscard]] chain::BlockId head() { return cluster[3].view().head->id; }
};

}  // namespace

TEST_CASE("of one producer and slot two blocks are executed, a restart between or not",
          "[network]") {
    Cluster cluster(4);
    cluster.run(1, 5);
    cluster.kill(1);
    cluster.kill(2);
    cluster.tick_at(7);
    const chain::BlockPtr first = cluster[0].view().head;
    REQUIRE(first->header.slot == 7);
    REQUIRE(cluster.refused.empty());
    const bool restarts = GENERATE(false, true);
    if (restarts) {
        cluster.kill(0);
        cluster.start(0);
        cluster.deliver();
    }
    for (const unsigned tag : {1U, 2U}) {
        chain::BlockHeader header = first->header;
        header.state_digest.bytes[0] = static_cast<std::byte>(tag);
        const auto variant =
            with_header(*first, header, support::key_of(7 + 3), cluster[0].genesis().chain_id());
        cluster.send(
            3, 0, p2p::effect::BlockArrived{Cluster::channel(3), variant, /*is_sync=*/false});
        cluster.deliver();
    }
    // The second is executed, and its state is wrong; the third is not.
    CHECK(cluster.refused.size() == 1);
}

TEST_CASE("a third block of a slot is taken when a certificate names one that builds on it",
          "[network]") {
    Divided test(false);
    test.send({Cluster::channel(0), test.good});
    CHECK(test.judged.empty());
    CHECK(test.head() != test.good->id);
    // Of its grandchild, whose justify it is: the peers are asked for that block.
    REQUIRE(test.grandchild->witness.justify.has_value());
    const chain::Certificate& certificate = *test.grandchild->witness.justify;
    REQUIRE(certificate.data.block_id == test.child->id);
    test.cluster[3].step(node::input::FromPeers{
        p2p::effect::CertificateArrived{Cluster::channel(0), {}, certificate}});
    REQUIRE(test.certified.size() == 1);
    CHECK(test.certified[0].id == test.child->id);
    CHECK(test.certified[0].channel == Cluster::channel(0));
    // Which give it with those below it.
    test.send({Cluster::channel(0), test.good, false, true});
    test.send({Cluster::channel(0), test.child, false, true});
    CHECK(test.head() == test.child->id);
}

// Its place among those that wait others may take.
TEST_CASE("a third block of a slot that is below a certified one waits for no child", "[network]") {
    Divided test(false);
    test.cluster[3].step(node::input::FromPeers{p2p::effect::CertificateArrived{
        Cluster::channel(0), {}, *test.grandchild->witness.justify}});
    test.send({Cluster::channel(0), test.good, false, true});
    REQUIRE(test.judged.size() == 1);
    CHECK(test.judged[0].verdict == p2p::Verdict::good);
}

TEST_CASE("a third block of a slot is taken when another producer builds on it", "[network]") {
    Divided test(false);
    test.cluster.tick_at(9);
    test.judged.clear();
    const chain::BlockPtr third = test.variant(3);
    test.send({Cluster::channel(0), third});
    const auto on_top = [&](chain::Slot slot, unsigned char producer) {
        chain::BlockHeader header = test.child->header;
        header.slot = slot;
        header.producer = *chain::Name::from_string(producer == 7 ? "bank" : "bourse");
        header.previous = third->id;
        header.justify = third->header.justify;
        header.finalized = third->header.finalized;
        chain::Block bare = *test.child;
        bare.witness = {};
        test.send(
            {Cluster::channel(0),
             with_header(
                 bare, header, support::key_of(producer), test.cluster[0].genesis().chain_id())});
    };
    REQUIRE(test.child->header.producer == *chain::Name::from_string("bourse"));
    on_top(8, 7);  // Its own.
    CHECK(test.judged.empty());
    on_top(5, 8);
    // It was executed: its state is wrong.
    REQUIRE(test.judged.size() == 1);
    CHECK(test.judged[0].id == third->id);
    CHECK(test.judged[0].verdict == p2p::Verdict::bad);
}

TEST_CASE("who makes a block names neither the producers nor the voters of what builds on it",
          "[network]") {
    Divided test(false);
    test.cluster.tick_at(9);
    const chain::ChainId chain_id = test.cluster[0].genesis().chain_id();
    const chain::BlockHeader& right = test.good->header;
    const chain::Name other = test.child->header.producer;
    const auto entry = [](chain::Name name, unsigned char key) {
        const auto public_key = support::key_of(key).public_key();
        return chain::ScheduleEntry{name, public_key, public_key};
    };
    // None of these is executed: the first waits to be named, as a third of its slot. It proposes
    // two members with keys of its own, and claims that this is final.
    chain::Block bare = *test.good;
    bare.witness = {};
    chain::BlockHeader header = right;
    header.schedule_change = {right.schedule_version, {entry(right.producer, 7), entry(other, 66)}};
    header.finalized.id.bytes.fill(std::byte{0xFF});
    chain::BlockPtr block;
    for (int depth = 0; depth < 3; ++depth) {
        block = with_header(bare, header, support::key_of(7), chain_id);
        test.send({Cluster::channel(0), block});
        header.schedule_change.reset();
        header.previous = block->id;
        ++header.height;
    }
    REQUIRE(test.judged.empty());
    SECTION("a certificate by them proves nothing") {
        std::vector<p2p::input::Judged> said;
        test.cluster[3].to_peers = [&](const p2p::Input& each) {
            if (const auto* judged = std::get_if<p2p::input::Judged>(&each))
                said.push_back(*judged);
        };
        chain::VoteData data = consensus::vote_data(chain::VoteKind::notarize, *block);
        data.slot = chain::Slot{1} << 30U;
        const auto digest = data.digest(chain_id);
        const chain::Certificate forged{
            data,
            {{std::byte{0b11}}},
            {support::key_of(7).sign(digest), support::key_of(66).sign(digest)}};
        test.cluster[3].step(node::input::FromPeers{
            p2p::effect::CertificateArrived{Cluster::channel(0), {}, forged}});
        REQUIRE(said.size() == 1);
        CHECK(said.front().item == p2p::Item::certificate);
        CHECK(said.front().verdict == p2p::Verdict::bad);
    }
    SECTION("blocks in the name of another are no twins of what that one makes") {
        header.slot = test.child->header.slot;
        header.producer = other;
        for (const unsigned tag : {1U, 2U}) {
            header.action_root.bytes[0] = static_cast<std::byte>(tag);
            test.send(
                {Cluster::channel(0), with_header(bare, header, support::key_of(66), chain_id)});
        }
        // Nor does another producer build on what waits.
        REQUIRE(test.judged.empty());
        chain::BlockHeader own = right;
        own.slot = test.child->header.slot;
        own.producer = other;
        test.send({Cluster::channel(0), with_header(bare, own, support::key_of(8), chain_id)});
        // It was executed: its state is wrong.
        REQUIRE(test.judged.size() == 1);
        CHECK(test.judged.front().verdict == p2p::Verdict::bad);
    }
}

// From slot 26 on a change is pending, from slot 28 on it is in force: so the header below says.
TEST_CASE("a third block of a slot is named by what builds on it under other schedules",
          "[network]") {
    Cluster cluster(4, 1, 12);
    support::elect_standby(cluster);
    const chain::Slot slot = GENERATE(25U, 27U);
    cluster.run(24, slot - 1);
    const std::size_t apart = slot == 25 ? 0 : 1;  // It has no slot meanwhile.
    for (std::size_t i = 0; i < cluster.size(); ++i)
        cluster.cut(apart, i);
    cluster.tick_at(slot);
    const chain::BlockPtr good = cluster[2].view().head;
    cluster.tick_at(slot + 1);
    const chain::BlockPtr child = cluster[2].view().head;
    REQUIRE(child->header.previous == good->id);
    REQUIRE((slot == 27) == (child->header.schedule_version > good->header.schedule_version));
    const auto send = [&](const chain::BlockPtr& block) {
        cluster[apart].step(
            node::input::FromPeers{p2p::effect::BlockArrived{Cluster::channel(2), block}});
    };
    const auto key = support::key_of(slot == 25 ? 8 : 10);
    for (const unsigned tag : {1U, 2U}) {
        chain::BlockHeader header = good->header;
        header.state_digest.bytes[5] ^= static_cast<std::byte>(tag);
        send(with_header(*good, header, key, cluster[0].genesis().chain_id()));
    }
    send(good);
    REQUIRE(cluster[apart].view().head->id == good->header.previous);
    // Without the certificate that it brings: it is refused for that, and names it all the same.
    chain::Block bare = *child;
    bare.witness = {};
    send(std::make_shared<const chain::Block>(bare));
    CHECK(cluster[apart].view().head->id == good->id);
}

TEST_CASE("of third blocks of a producer that come by themselves the last few wait", "[network]") {
    Divided test(false);
    for (unsigned i = 3; i < 203; ++i)
        test.send({Cluster::channel(0), test.variant(i), false});
    CHECK(test.judged.size() == 200 - node::Arrivals::kThirdsLeast);
    for (const auto& each : test.judged)
        CHECK(each.verdict == p2p::Verdict::unsure);
    // What is sent before it does not keep out the one that is built on.
    test.send({Cluster::channel(0), test.good, false});
    test.send({Cluster::channel(0), test.child, false});
    CHECK(test.head() == test.child->id);
}

TEST_CASE("third blocks that one peer sends do not push out that of another", "[network]") {
    Divided test(false);
    test.send({Cluster::channel(1), test.good, false});
    for (unsigned i = 3; i < 103; ++i)
        test.send({Cluster::channel(0), test.variant(i), false});
    CHECK(test.judged.size() == 100 - node::Arrivals::kThirdsLeast);
    test.send({Cluster::channel(1), test.child, false});
    CHECK(test.head() == test.child->id);
}

TEST_CASE("a third block of a slot that a sync brings waits for a certificate, and for no longer",
          "[network]") {
    Divided test(true);
    SECTION("that never comes") {
        for (unsigned i = 3; i < 203; ++i)
            test.send({Cluster::channel(0), test.variant(i), true});
        CHECK(test.judged.empty());
        test.cluster.tick_at(30);
        CHECK(test.judged.size() == 200);
        for (const auto& each : test.judged)
            CHECK(each.verdict == p2p::Verdict::unsure);
    }
    SECTION("that a block above it brings") {
        test.send({Cluster::channel(0), test.good, true});
        test.send({Cluster::channel(0), test.variant(3), true});
        CHECK(test.judged.empty());
        REQUIRE(test.child->witness.justify.has_value());
        REQUIRE(test.child->witness.justify->data.block_id == test.good->id);
        test.send({Cluster::channel(0), test.child, true});
        CHECK(test.head() == test.child->id);
        CHECK(test.judged.size() == 2);
    }
    SECTION("that comes by itself") {
        test.send({Cluster::channel(0), test.good, true});
        const chain::Certificate& certificate = *test.child->witness.justify;
        test.cluster[3].step(node::input::FromPeers{
            p2p::effect::CertificateArrived{Cluster::channel(0), {}, certificate}});
        CHECK(test.head() == test.good->id);
    }
    SECTION("of which that block brings a wrong one") {
        test.send({Cluster::channel(0), test.good, true});
        chain::Block other = *test.child;
        other.witness.justify->signatures[1].compact[9] ^= std::byte{1};
        REQUIRE(other.witness.finalized.has_value());
        other.witness.finalized->signatures[1].compact[9] ^= std::byte{1};
        test.send({Cluster::channel(0), std::make_shared<const chain::Block>(other), true});
        // Its header, which another producer has signed, names it all the same.
        REQUIRE(test.judged.size() == 2);
        CHECK(test.judged[0].verdict == p2p::Verdict::good);
        CHECK(test.judged[1].verdict == p2p::Verdict::bad);
        CHECK(test.head() == test.good->id);
    }
}

TEST_CASE("far above the final block no block of another lets a third one in", "[network]") {
    Divided test(false);
    REQUIRE(test.cluster[3].view().finalized->header.slot == 3);
    unsigned number = 3;
    // Whether it was executed, and so found to be wrong.
    const auto is_let_in = [&](chain::Slot slot) {
        test.cluster.tick_at(slot);
        const chain::BlockPtr third = test.variant(number++);
        test.send({Cluster::channel(0), third});
        chain::BlockHeader header = test.child->header;
        header.slot = slot;
        header.previous = third->id;
        header.justify = third->header.justify;
        header.finalized = third->header.finalized;
        header.transaction_root = {};
        chain::Block empty = *test.child;
        empty.witness = {};
        empty.transactions.clear();
        const auto chain_id = test.cluster[0].genesis().chain_id();
        test.judged.clear();
        test.send({Cluster::channel(0), with_header(empty, header, support::key_of(8), chain_id)});
        return std::ranges::any_of(test.judged, [&](const p2p::input::Judged& each) {
            return each.id == third->id && each.verdict == p2p::Verdict::bad;
        });
    };
    CHECK(is_let_in(121));  // All three are of the second validator.
    CHECK_FALSE(is_let_in(125));
    CHECK_FALSE(is_let_in(1'001));
}

TEST_CASE("of a slot two blocks are let in, however many slots came after it", "[network]") {
    node::Arrivals arrivals(1);
    chain::BlockHeader header;
    header.producer = *chain::Name::from_string("bank");
    const auto id = [](unsigned i) {
        chain::BlockId made;
        made.bytes[9] = static_cast<std::byte>(i);
        return made;
    };
    header.slot = 4;
    arrivals.let_in(header, id(1), true);
    CHECK_FALSE(arrivals.has_twins(header, id(3), true));
    arrivals.let_in(header, id(2), true);
    CHECK(arrivals.has_twins(header, id(3), true));
    chain::BlockHeader later = header;
    for (later.slot = 5; later.slot < 5 + node::Arrivals::kSlotsMax; ++later.slot)
        arrivals.let_in(later, id(1), true);
    CHECK(arrivals.has_twins(header, id(3), true));
    CHECK_FALSE(arrivals.has_twins(later, id(3), true));
    // Those of a schedule that nobody has checked are counted apart.
    CHECK_FALSE(arrivals.has_twins(header, id(3), false));
}
