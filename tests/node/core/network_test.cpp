#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "node/core/arrivals.hpp"
#include "tests/support/blocks.hpp"
#include "tests/support/cluster.hpp"

// Four whole nodes, production code, connected by wires in one thread: what three of four agree
// on is final, whatever one of them does, and who was away catches up.

namespace {

using support::Cluster;
using support::with_header;

void check_same_final(Cluster& cluster) {
    for (std::size_t i = 1; i < cluster.size(); ++i) {
        CHECK(cluster[i].view().finalized->id == cluster[0].view().finalized->id);
    }
}

}  // namespace

TEST_CASE("four validators make blocks in turn and each is final within its slot", "[network]") {
    Cluster cluster(4);
    for (chain::Slot slot = 1; slot <= 12; ++slot) {
        cluster.tick_at(slot);
        check_same_final(cluster);
        const chain::Block& block = *cluster[0].view().finalized;
        REQUIRE(block.header.slot == slot);
        CHECK(block.header.producer == cluster[0].genesis().schedule.producer_of(slot, 1).producer);
        CHECK(cluster[0].view().certificate->data.block_id == block.id);
        CHECK(cluster[0].view().certificate->signatures.size() == 3);
    }
    CHECK(cluster.refused.empty());
}

TEST_CASE("with one of four killed finality goes on; restarted it catches up and votes",
          "[network]") {
    Cluster cluster(4);
    cluster.run(1, 5);
    cluster.kill(3);
    for (chain::Slot slot = 6; slot <= 20; ++slot) {
        cluster.tick_at(slot);
        const bool is_dead = slot % 4 == 3;
        CHECK(cluster[0].view().finalized->header.slot == (is_dead ? slot - 1 : slot));
    }
    SECTION("killed") {
        cluster.start(3);
    }
    SECTION("power cut") {
        cluster.restart_after_power_cut(3);
    }
    cluster.deliver();
    cluster.run(21, 24);
    check_same_final(cluster);
    CHECK(cluster[3].view().finalized->header.slot == 24);
    cluster.kill(0);  // Now it is needed for the quorum.
    cluster.run(25, 27);
    CHECK(cluster[1].view().finalized->header.slot == 27);
    CHECK(cluster[3].view().finalized->header.slot == 27);
    CHECK(cluster.refused.empty());
}

TEST_CASE("with two of four killed nothing is final, and what waited is final later", "[network]") {
    Cluster cluster(4);
    cluster.run(1, 4);
    cluster.kill(2);
    cluster.kill(3);
    cluster.run(5, 14);
    CHECK(cluster[0].view().finalized->header.slot == 4);
    CHECK(cluster[0].view().head->header.slot == 13);
    CHECK(cluster[0].view().head->id == cluster[1].view().head->id);
    SECTION("the others come back") {
        cluster.start(2);
        cluster.start(3);
    }
    SECTION("all restart") {
        for (std::size_t i = 0; i < 4; ++i) {
            cluster.restart_after_power_cut(i);
        }
    }
    cluster.deliver();
    cluster.run(15, 20);
    check_same_final(cluster);
    CHECK(cluster[2].view().finalized->header.slot == 20);
    // Those of slots 5, 8, 9, 12 and 13, made by two alone, are in it.
    CHECK(cluster[2].view().finalized->header.height == 16);
}

TEST_CASE("a transaction given to one node is in the block of another", "[network]") {
    Cluster cluster(4);
    cluster.run(1, 1);
    const auto transaction = cluster[3].new_account("vault", "alice");
    const auto ticket = cluster[3].submit(transaction);
    REQUIRE(cluster[3].answers.at(ticket).outcome.has_value());
    cluster.deliver();
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(cluster[i].view().pool_transactions <= 1);
    }
    cluster.run(2, 2);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(support::Machine::has_account("alice", *cluster[i].view().final_state));
        CHECK(cluster[i].view().pool_transactions == 0);
    }
    const auto again = cluster[0].submit(transaction);
    REQUIRE_FALSE(cluster[0].answers.at(again).outcome.has_value());
    CHECK(cluster[0].answers.at(again).outcome.error().exception ==
          static_cast<std::uint32_t>(chain::Exception::tx_duplicate));
}

TEST_CASE("in a partition of two and two nothing is final; healed, what lost is made again",
          "[network]") {
    Cluster cluster(4);
    cluster.run(1, 4);
    for (const std::size_t a : {0U, 1U}) {
        for (const std::size_t b : {2U, 3U}) {
            cluster.cut(a, b);
        }
    }
    const auto left = cluster[0].submit(cluster[0].new_account("bank", "alice"));
    const auto right = cluster[2].submit(cluster[2].new_account("broker", "bob"));
    cluster.run(5, 9);
    CHECK(cluster[0].answers.at(left).outcome.has_value());
    CHECK(cluster[2].answers.at(right).outcome.has_value());
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(cluster[i].view().finalized->header.slot == 4);
    }
    CHECK(cluster[0].view().head->id != cluster[2].view().head->id);
    cluster.heal();
    cluster.deliver();
    cluster.run(10, 13);
    check_same_final(cluster);
    CHECK(cluster[0].view().finalized->header.slot >= 12);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(support::Machine::has_account("alice", *cluster[i].view().final_state));
        CHECK(support::Machine::has_account("bob", *cluster[i].view().final_state));
        CHECK(cluster[i].dropped.empty());
    }
}

namespace {

// What node 3 says to a block that node 0 sends it.
p2p::input::Judged judgement(Cluster& cluster, const chain::BlockPtr& block) {
    cluster.refused.clear();
    cluster.send(0, 3, p2p::effect::BlockArrived{Cluster::channel(0), block, false});
    cluster.deliver();
    REQUIRE(cluster.refused.size() == 1);
    return cluster.refused.front();
}

}  // namespace

TEST_CASE("a block that is not what it says is refused by name, and stays refused", "[network]") {
    Cluster cluster(4);
    cluster.run(1, 3);
    // Node 0 makes the block of slot 4; node 3 gets others instead.
    cluster.cut(0, 3);
    cluster.cut(1, 3);
    cluster.cut(2, 3);
    cluster.tick_at(4);
    cluster.mend();
    const chain::BlockPtr good = cluster[0].view().head;
    REQUIRE(good->header.slot == 4);
    const auto key = support::key_of(7);
    const chain::ChainId chain_id = cluster[0].genesis().chain_id();
    chain::BlockHeader header = good->header;
    SECTION("another state") {
        header.state_digest.bytes[5] ^= std::byte{1};
        const auto block = with_header(*good, header, key, chain_id);
        CHECK(judgement(cluster, block).text.find("state_digest") != std::string::npos);
        const auto again = judgement(cluster, block);
        CHECK(again.verdict == p2p::Verdict::bad);
        CHECK(again.text.find("state_digest") != std::string::npos);
    }
    SECTION("another producer") {
        header.producer = *chain::Name::from_string("bourse");
        const auto judged =
            judgement(cluster, with_header(*good, header, support::key_of(8), chain_id));
        CHECK(judged.verdict == p2p::Verdict::bad);
    }
    SECTION("another signature") {
        const auto judged =
            judgement(cluster, with_header(*good, header, support::key_of(8), chain_id));
        CHECK(judged.verdict == p2p::Verdict::bad);
        CHECK(judged.text.find("signature") != std::string::npos);
        // The id is that of the good block, which must still be welcome.
        cluster.send(0, 3, p2p::effect::BlockArrived{Cluster::channel(0), good, false});
        cluster.deliver();
        CHECK(cluster[3].view().head->id == good->id);
    }
    SECTION("a certificate with a wrong signature") {
        REQUIRE(good->witness.justify.has_value());
        chain::Block other = *good;
        other.witness.justify->signatures[0].compact[9] ^= std::byte{1};
        const auto block = with_header(other, header, key, chain_id);
        CHECK(judgement(cluster, block).verdict == p2p::Verdict::bad);
    }
    SECTION("many transactions, signed by somebody else: none of them is looked at") {
        chain::Block other = *good;
        const auto transaction = cluster[3].new_account("vault", "alice");
        other.transactions.assign(100, chain::TransactionReceipt{{}, transaction->packed});
        const std::size_t before = cluster[3].recoveries;
        const auto judged =
            judgement(cluster, with_header(other, header, support::key_of(8), chain_id));
        CHECK(judged.verdict == p2p::Verdict::bad);
        CHECK(cluster[3].recoveries == before);
    }
    SECTION("many of one slot: two are looked at, and the one that a certificate names") {
        for (unsigned i = 0; i < 5; ++i) {
            header.state_digest.bytes[5] = good->header.state_digest.bytes[5] ^ std::byte(i + 1);
            const auto block = with_header(*good, header, key, chain_id);
            cluster.refused.clear();
            cluster.send(0, 3, p2p::effect::BlockArrived{Cluster::channel(0), block, false});
            cluster.deliver();
            CHECK(cluster.refused.size() == (i < 2 ? 1 : 0));
        }
        const auto& certificate = cluster[0].view().certificate;
        REQUIRE(certificate.has_value());
        REQUIRE(certificate->data.block_id == good->id);
        cluster.send(0, 3, p2p::effect::CertificateArrived{Cluster::channel(0), {}, *certificate});
        cluster.send(0, 3, p2p::effect::BlockArrived{Cluster::channel(0), good, false});
        cluster.deliver();
        CHECK(cluster[3].view().head->id == good->id);
    }
    SECTION("far ahead of its slot, signed by somebody else") {
        header.slot = 12;
        const auto judged =
            judgement(cluster, with_header(*good, header, support::key_of(8), chain_id));
        CHECK(judged.verdict == p2p::Verdict::bad);
        CHECK(judged.text.find("signature") != std::string::npos);
    }
    cluster.heal();
    cluster.run(5, 9);
    check_same_final(cluster);
}

TEST_CASE("a block far ahead of its slot costs nobody anything and is taken in its time",
          "[network]") {
    Cluster cluster(4);
    cluster.tick_at(1);
    const chain::BlockPtr first = cluster[0].view().head;
    cluster.tick_at(5);
    const chain::BlockPtr second = cluster[0].view().head;
    REQUIRE(second->header.previous == first->id);
    REQUIRE(second->header.slot == 5);

    // Alone, and its clock is four slots behind.
    Cluster other(4);
    support::Machine& slow = other[3];
    std::vector<p2p::input::Judged> said;
    slow.to_peers = [&](const p2p::Input& each) {
        if (const auto* judged = std::get_if<p2p::input::Judged>(&each)) said.push_back(*judged);
    };
    slow.set_time(slow.genesis().times.time_of(1).to_timestamp());
    const auto send = [&](const chain::BlockPtr& block, bool is_sync) {
        slow.step(
            node::input::FromPeers{p2p::effect::BlockArrived{Cluster::channel(0), block, is_sync}});
    };
    send(first, false);
    REQUIRE(said.size() == 1);
    CHECK(said[0].verdict == p2p::Verdict::good);
    SECTION("pushed") {
        send(second, false);
        REQUIRE(said.size() == 2);
        CHECK(said[1].verdict == p2p::Verdict::early);
        CHECK(said[1].text.find("early") != std::string::npos);
        slow.set_time(slow.genesis().times.time_of(5).to_timestamp());
        send(second, false);
    }
    SECTION("asked for by height: its sender alone says that it is final") {
        send(second, true);
        REQUIRE(said.size() == 2);
        CHECK(said[1].verdict == p2p::Verdict::early);
        slow.set_time(slow.genesis().times.time_of(5).to_timestamp());
        send(second, true);
    }
    SECTION("certified: then it waits for the clock") {
        slow.step(node::input::FromPeers{p2p::effect::CertificateArrived{
            Cluster::channel(0), {}, *cluster[0].view().certificate}});
        REQUIRE(cluster[0].view().certificate->data.block_id == second->id);
        REQUIRE(said.back().item == p2p::Item::certificate);
        const std::size_t before = said.size();
        send(second, false);
        CHECK(said.size() == before);
        slow.set_time(slow.genesis().times.time_of(3).to_timestamp());
        slow.step(node::input::Tick{});
        CHECK(said.size() == before);
        slow.set_time(slow.genesis().times.time_of(5).to_timestamp());
        slow.step(node::input::Tick{});
    }
    CHECK(said.back().verdict == p2p::Verdict::good);
    CHECK(slow.view().head->id == second->id);
}

TEST_CASE("blocks that one member dates years ahead take no room of others", "[network]") {
    Cluster cluster(4);
    cluster.run(1, 4);
    for (std::size_t i = 0; i < 3; ++i)
        cluster.cut(i, 3);
    cluster.run(5, 6);
    std::vector<p2p::input::Judged> said;
    cluster[3].to_peers = [&](const p2p::Input& each) {
        const auto* judged = std::get_if<p2p::input::Judged>(&each);
        if (judged != nullptr && judged->item == p2p::Item::block) said.push_back(*judged);
    };
    const auto send = [&](const chain::BlockPtr& block) {
        cluster[3].step(
            node::input::FromPeers{p2p::effect::BlockArrived{Cluster::channel(0), block, true}});
    };
    // More than may wait, each the child of the one before; slots of node 0 alone.
    chain::BlockPtr parent = cluster[3].view().head;
    const chain::ChainId chain_id = cluster[0].genesis().chain_id();
    constexpr std::size_t kBlocks = node::Arrivals::kBytesMax / node::Arrivals::kBlockBytes;
    for (std::size_t i = 0; i < kBlocks + 100; ++i) {
        chain::SignedHeader header{parent->header, {}};
        header.header.slot = (parent->header.slot / 4 + (i == 0 ? 15'000'000 : 1)) * 4;
        header.header.height += 1;
        header.header.previous = parent->id;
        header.header.producer = cluster[0].genesis().schedule.entries[0].producer;
        header.signature = support::key_of(7).sign(header.header.signing_digest(chain_id));
        parent = chain::make_block(header, {}, {});
        send(parent);
    }
    REQUIRE(said.size() == kBlocks + 100);
    CHECK(said.front().verdict == p2p::Verdict::early);
    said.clear();
    for (const chain::BlockPtr& block : cluster[0].finalized) {
        if (block->header.slot > 4) send(block);
    }
    REQUIRE(said.size() == 2);
    CHECK(said.back().verdict == p2p::Verdict::good);
    CHECK(cluster[3].view().head->header.slot == 6);
}

TEST_CASE("a block a little before its slot waits for it", "[network]") {
    Cluster cluster(4);
    cluster.run(1, 3);
    cluster.cut(0, 3);
    cluster.cut(1, 3);
    cluster.cut(2, 3);
    cluster.tick_at(4);
    const chain::BlockPtr good = cluster[0].view().head;
    support::Machine& late = cluster[3];
    late.set_time(late.genesis().times.time_of(4).to_timestamp());
    support::Cluster other(4);
    other.run(1, 3);
    other[3].set_time(late.genesis().times.time_of(3).to_timestamp() +
                      std::chrono::milliseconds(300));
    other[3].step(
        node::input::FromPeers{p2p::effect::BlockArrived{Cluster::channel(0), good, false}});
    CHECK(other[3].view().head->header.slot == 3);
    other[3].set_time(late.genesis().times.time_of(4).to_timestamp());
    other[3].step(node::input::Tick{});
    CHECK(other[3].view().head->id == good->id);
}

TEST_CASE("a power cut of all four at any write loses nothing that was final", "[network]") {
    for (int cut = 0; cut < 24; ++cut) {
        Cluster cluster(4);
        cluster.run(1, 3);
        for (std::size_t i = 0; i < 4; ++i) {
            cluster[i].writes_left = cut + static_cast<int>(i);
        }
        cluster.run(4, 8);
        std::vector<chain::BlockPtr> shown;
        for (std::size_t i = 0; i < 4; ++i) {
            shown.push_back(cluster[i].view().finalized);
            cluster[i].writes_left.reset();
        }
        for (std::size_t i = 0; i < 4; ++i) {
            cluster.restart_after_power_cut(i);
        }
        cluster.deliver();
        cluster.run(9, 16);
        check_same_final(cluster);
        CHECK(cluster[0].view().finalized->header.slot == 16);
        for (const chain::BlockPtr& block : shown) {
            const auto kept = chain::BlockReader(cluster[2].storage()).at(block->header.height);
            REQUIRE(kept.has_value());
            REQUIRE(*kept != nullptr);
            CHECK((*kept)->id == block->id);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            CHECK(cluster[i].accused.empty());
        }
    }
}

TEST_CASE("blocks asked for by id are found in memory and on disk, past those that nobody has",
          "[network]") {
    Cluster cluster(4);
    cluster.run(1, 4);
    cluster.kill(2);
    cluster.kill(3);
    cluster.run(5, 6);  // Not final: in memory only.
    support::Machine& node = cluster[0];
    const chain::BlockPtr head = node.view().head;
    const chain::BlockPtr final = node.view().finalized;
    REQUIRE(head->header.height > final->header.height);
    std::vector<p2p::input::BlocksRead> answers;
    node.to_peers = [&](const p2p::Input& said) {
        if (const auto* read = std::get_if<p2p::input::BlocksRead>(&said)) answers.push_back(*read);
    };
    const auto ask = [&](std::vector<chain::BlockId> ids) {
        node.reads.clear();
        answers.clear();
        node.step(node::input::FromPeers{
            p2p::effect::ReadBlocks{.ticket = 5, .from = 0, .to = 0, .ids = std::move(ids)}});
    };
    chain::BlockId unknown = head->id;
    unknown.bytes[20] ^= std::byte{1};
    ask({head->id});
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].ticket == 5);
    CHECK(answers[0].blocks.size() == 1);
    CHECK(node.reads.empty());
    ask({unknown, final->id, head->id});
    CHECK(answers.empty());
    REQUIRE(node.reads.size() == 1);
    CHECK(node.reads[0].wanted.ids == std::vector<chain::BlockId>{unknown, final->id});
    REQUIRE(node.reads[0].held.size() == 1);
    CHECK(*node.reads[0].held[0] == chain::encode_block(*head));
}

TEST_CASE("where blocks wait to be executed no producer keeps out those of others", "[network]") {
    Cluster cluster(4);
    cluster.run(1, 4);
    const chain::BlockPtr head = cluster[0].view().head;
    node::Arrivals arrivals(1);
    const auto arrive = [&](const char* producer, chain::Slot slot, std::size_t bytes) {
        chain::Block block = *head;
        block.header.producer = *chain::Name::from_string(producer);
        block.header.slot = slot;
        chain::PackedTransaction transaction;
        transaction.packed_trx.resize(bytes);
        block.transactions.assign(1, chain::TransactionReceipt{{}, transaction});
        return chain::make_block({block.header, block.signature}, block.transactions, {});
    };
    const auto add = [&](const chain::BlockPtr& block) {
        node::Arrival arrival;
        arrival.block = block;
        arrivals.add(std::move(arrival));
    };
    constexpr std::size_t kBytes = std::size_t{4} << 20U;
    chain::Slot slot = 100;
    for (; arrivals.has_room_for(*arrive("bank", slot, kBytes)); ++slot)
        add(arrive("bank", slot, kBytes));
    CHECK(slot > 105);
    CHECK_FALSE(arrivals.in_the_way_of(*arrive("bank", slot, kBytes)).has_value());
    const auto other = arrive("bourse", slot, kBytes);
    const auto way = arrivals.in_the_way_of(*other);
    REQUIRE(way.has_value());
    CHECK(arrivals.take(*way).block->header.producer == *chain::Name::from_string("bank"));
    CHECK(arrivals.has_room_for(*other));
    SECTION("nor do many small ones of two keep out a large one of a third") {
        node::Arrivals small(1);
        for (chain::Slot at = 100; small.has_room_for(*arrive("bank", at, 0)); ++at) {
            node::Arrival arrival;
            arrival.block = arrive(at % 2 == 0 ? "bank" : "bourse", at, 0);
            small.add(std::move(arrival));
        }
        const auto large = arrive("carol", 5'000, kBytes);
        while (!small.has_room_for(*large)) {
            const auto one = small.in_the_way_of(*large);
            REQUIRE(one.has_value());
            (void)small.take(*one);
        }
    }
}

TEST_CASE("what more than f validators call a key of a twin signs nothing more", "[network]") {
    Cluster cluster(4);
    cluster.run(1, 3);
    const auto key_of_node = [](unsigned i) {
        return support::key_of(static_cast<unsigned char>(7 + i)).public_key();
    };
    for (const unsigned by : {0U, 1U}) {
        REQUIRE(cluster[3].view().keys.size() == 1);
        CHECK_FALSE(cluster[3].view().keys[0].twin);
        cluster[3].step(node::input::FromPeers{
            p2p::effect::TwinTold{.keys = {key_of_node(3)}, .said_by = {key_of_node(by)}}});
    }
    CHECK(cluster[3].view().keys[0].twin);
}
