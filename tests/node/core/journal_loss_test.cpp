#include "chain/execution/schedule_rows.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"
#include "tests/support/snapshots.hpp"

#include <fmt/format.h>

#include <algorithm>

// A node whose safety journal is gone, damaged or put back from a copy (spec 04).

namespace {

using support::Cluster;

// The newest vote of a node's key, as another node saw it; 0: none.
chain::Slot voted(Cluster& cluster, std::size_t node, std::size_t seen_by) {
    const auto key = support::key_of(static_cast<unsigned char>(7 + node)).public_key();
    chain::Slot newest = 0;
    for (const chain::Vote& vote : cluster[seen_by].view().votes) {
        if (vote.key == key) newest = std::max(newest, vote.data.slot);
    }
    return newest;
}

}  // namespace

TEST_CASE("a validator whose journal is lost votes again after a later block is final",
          "[journal]") {
    Cluster cluster(4);
    cluster.run(1, 6);
    const base::Bytes copy = cluster[3].log();
    cluster.run(7, 9);
    cluster.kill(3);
    SECTION("gone") {
        cluster[3].log().clear();
    }
    SECTION("put back from a copy") {
        REQUIRE(copy.size() < cluster[3].log().size());
        cluster[3].log() = copy;
    }
    cluster.start(3);
    REQUIRE(cluster[3].view().keys.size() == 1);
    CHECK(cluster[3].view().keys[0].lost);
    cluster.deliver();
    const chain::Slot before = voted(cluster, 3, 0);
    CHECK(before == 9);
    // Of the slots up to its start it signs nothing: the others agree without it.
    cluster.run(10, 10);
    CHECK(cluster[0].view().finalized->header.slot == 10);
    CHECK(voted(cluster, 3, 0) == before);
    cluster.run(11, 14);
    CHECK_FALSE(cluster[3].view().keys[0].lost);
    CHECK(voted(cluster, 3, 0) == 14);
    // It makes blocks in its turns, and nobody has anything to accuse it of.
    cluster.run(15, 23);
    CHECK(cluster[0].view().finalized->header.slot == 23);
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(cluster[i].accused.empty());
    CHECK(cluster.refused.empty());
    // What it has written since is a journal again.
    cluster.kill(3);
    cluster.start(3);
    CHECK_FALSE(cluster[3].view().keys[0].lost);
}

TEST_CASE("a vote of its own that a node knows nothing of binds it, whatever the schedule",
          "[journal]") {
    Cluster cluster(4);
    cluster.run(1, 3);
    const auto own = support::key_of(10);
    chain::VoteData data{.kind = chain::VoteKind::notarize,
                         .schedule_version = 9,  // Of a later schedule than this node knows.
                         .slot = 30,
                         .height = 25,
                         .block_id = {},
                         .justify_slot = 29};
    data.block_id.bytes[5] = std::byte{1};
    const base::Hash256 digest = data.digest(cluster[3].genesis().chain_id());
    const auto hear = [&](const base::crypto::PrivateKey& signer) {
        const chain::Vote vote{data, own.public_key(), signer.sign(digest)};
        cluster.send(0, 3, p2p::effect::VoteArrived{Cluster::channel(0), {}, vote});
        cluster.deliver();
    };
    SECTION("said by somebody else") {
        hear(support::key_of(8));
        REQUIRE(cluster.refused.size() == 1);
        CHECK(cluster.refused[0].verdict == p2p::Verdict::bad);
        cluster.run(4, 4);
        CHECK(voted(cluster, 3, 0) == 4);
    }
    SECTION("signed with it") {
        hear(own);
        CHECK(cluster.refused.empty());
        // As with a journal that is lost: not before a block of a later slot is final.
        cluster.run(4, 32);
        CHECK(cluster[0].view().finalized->header.slot == 32);
        CHECK(voted(cluster, 3, 0) == 3);
        cluster.run(33, 34);
        CHECK(voted(cluster, 3, 0) == 34);
    }
}

// Such as one of a time when all clocks were ahead: nothing else tells how far.
TEST_CASE("what others have seen of a lost key's votes binds it", "[journal]") {
    Cluster cluster(4);
    cluster.run(1, 3);
    cluster.kill(3);
    cluster[3].log().clear();
    cluster.start(3);
    REQUIRE(cluster[3].view().keys.at(0).lost);
    const auto own = support::key_of(10);
    chain::VoteData data{.kind = chain::VoteKind::notarize,
                         .schedule_version = cluster[0].view().head->header.schedule_version,
                         .slot = 30,
                         .height = 4,
                         .block_id = {},
                         .justify_slot = 3};
    data.block_id.bytes[5] = std::byte{1};
    const base::Hash256 digest = data.digest(cluster[3].genesis().chain_id());
    cluster.send(0,
                 3,
                 p2p::effect::VoteArrived{
                     Cluster::channel(0), {}, {data, own.public_key(), own.sign(digest)}});
    cluster.deliver();
    cluster.run(4, 32);
    CHECK(cluster[0].view().finalized->header.slot == 32);
    CHECK(voted(cluster, 3, 0) == 3);
    cluster.run(33, 34);
    CHECK(voted(cluster, 3, 0) == 34);
}

TEST_CASE("a validator alone without its journal makes nothing final until that is accepted",
          "[journal]") {
    Cluster cluster(1);
    cluster.run(1, 3);
    cluster.kill(0);
    cluster[0].log().clear();
    cluster.start(0);
    cluster.run(4, 8);
    CHECK(cluster[0].view().keys[0].lost);
    CHECK(cluster[0].view().finalized->header.slot == 3);
    cluster.kill(0);
    cluster[0].accept_amnesia = true;
    cluster.start(0);
    cluster.run(9, 12);
    CHECK_FALSE(cluster[0].view().keys[0].lost);
    CHECK(cluster[0].view().finalized->header.slot == 12);
    // Its operator learns what may come of that, and what to do about it.
    const std::string key = support::key_of(7).public_key().to_string();
    const auto tells = [&](const std::string& line) {
        return line.find("key " + key + " goes on without all that it has promised") !=
                   std::string::npos &&
               line.find("evidence against it") != std::string::npos &&
               line.find("regproducer NAME NEWKEY") != std::string::npos &&
               line.find("give_up_lock " + key) != std::string::npos;
    };
    CHECK(std::ranges::count_if(cluster[0].warnings(), tells) == 1);
    const auto bank = *chain::Name::from_string("bank");
    const auto noted = chain::find_amnesia(*cluster[0].view().final_state, bank);
    REQUIRE(noted.has_value());
    CHECK(noted->slot >= 9);
    CHECK(noted->vote_key == support::key_of(7).public_key());
    // Said once; and a start with a whole journal says nothing.
    cluster.run(13, 40);
    cluster.kill(0);
    cluster.start(0);
    cluster.run(41, 80);
    CHECK(chain::find_amnesia(*cluster[0].view().final_state, bank) == noted);
}

TEST_CASE("an amnesia that was accepted goes on chain, though the node stops before that",
          "[journal]") {
    Cluster cluster(1);
    cluster.run(1, 3);
    cluster.kill(0);
    cluster[0].log().clear();
    cluster[0].accept_amnesia = true;
    cluster.start(0);
    const auto bank = *chain::Name::from_string("bank");
    REQUIRE_FALSE(chain::find_amnesia(*cluster[0].view().final_state, bank).has_value());
    cluster.kill(0);
    cluster[0].accept_amnesia = false;
    cluster.start(0);
    CHECK_FALSE(cluster[0].view().keys[0].lost);
    cluster.run(4, 12);
    CHECK(chain::find_amnesia(*cluster[0].view().final_state, bank).has_value());
}

// A disk is lost, the journal put back from the day of its creation: what was signed meanwhile
// neither of the two knows.
TEST_CASE("beside a snapshot in which its key is in force a journal without a vote is lost",
          "[journal]") {
    Cluster cluster(4);
    cluster.run(1, 9);
    cluster.kill(3);
    const auto& from = cluster[0].view();
    const auto storage = cluster[0].storage().snapshot();
    const auto taken = support::take_snapshot(*storage,
                                              *storage,
                                              *from.final_state,
                                              cluster[0].genesis().chain_id(),
                                              from.finalized->header.height);
    REQUIRE(taken.has_value());
    support::wipe(cluster[3].storage());
    REQUIRE(support::load_snapshot(
                *taken, support::trust_of(cluster[0].genesis()), cluster[3].storage())
                .has_value());
    const auto key = consensus::key_tag(support::key_of(10).public_key());
    cluster[3].log() = test::fresh_logs({key}).at(key);
    cluster.start(3);
    REQUIRE(cluster[3].view().keys.size() == 1);
    CHECK(cluster[3].view().keys[0].lost);
    cluster.run(10, 14);
    CHECK_FALSE(cluster[3].view().keys[0].lost);
    CHECK(voted(cluster, 3, 0) == 14);
}

// A disk is lost but for the journal, and what it has signed since the snapshot it knows alone.
TEST_CASE("beside a snapshot that is older than it a journal is lost, and nothing is signed twice",
          "[journal][snapshot]") {
    Cluster cluster(4);
    cluster.run(1, 9);
    const auto& from = cluster[0].view();
    const auto storage = cluster[0].storage().snapshot();
    const auto taken = support::take_snapshot(*storage,
                                              *storage,
                                              *from.final_state,
                                              cluster[0].genesis().chain_id(),
                                              from.finalized->header.height);
    REQUIRE(taken.has_value());
    // Without node 2 nothing becomes final but by the votes of node 3.
    cluster.kill(2);
    cluster.run(10, 20);
    REQUIRE(cluster[0].view().finalized->header.slot >= 19);
    const chain::Slot before = voted(cluster, 3, 0);
    cluster.kill(3);
    support::wipe(cluster[3].storage());
    REQUIRE(support::load_snapshot(
                *taken, support::trust_of(cluster[0].genesis()), cluster[3].storage())
                .has_value());
    const auto tag = consensus::key_tag(support::key_of(10).public_key());
    const auto journal = consensus::SafetyJournal::read(tag, cluster[3].log());
    REQUIRE(journal.has_value());
    // It meets nobody: all that binds it is its journal.
    for (const std::size_t other : {0U, 1U})
        cluster.cut(other, 3);
    cluster.start(3);
    REQUIRE(cluster[3].view().finalized->header.slot == 9);
    const std::string key = support::key_of(10).public_key().to_string();
    const std::string lost = fmt::format(
        "the storage is at record 0 of the safety journal of {}, which is at {}: it was set back "
        "further than the journal tells (its log is gone, or a copy or a snapshot took its place); "
        "what the key has signed since is not known: it votes again by itself after a new final "
        "block",
        key,
        journal->last_sequence());
    const auto& warnings = cluster[3].warnings();
    CHECK(std::ranges::count(warnings, lost) == 1);
    cluster.run(21, 24);
    CHECK(cluster[3].view().votes.empty());
    cluster.heal();
    cluster.deliver();
    CHECK(voted(cluster, 3, 0) == before);
    cluster.start(2);
    cluster.deliver();
    cluster.run(25, 40);
    CHECK_FALSE(cluster[3].view().keys[0].lost);
    CHECK(voted(cluster, 3, 0) == 40);
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(cluster[i].accused.empty());
    CHECK(cluster.refused.empty());
}

TEST_CASE("a journal of which nothing but a torn page is left is lost, and its node starts",
          "[journal]") {
    Cluster cluster(4);
    cluster.run(1, 6);
    cluster.kill(3);
    REQUIRE(cluster[3].log().size() > consensus::SafetyJournal::kBlockBytes);
    cluster[3].log().resize(consensus::SafetyJournal::kBlockBytes);
    cluster[3].log()[7] ^= std::byte{1};
    cluster.start(3);
    CHECK(cluster[3].view().keys[0].lost);
    cluster.run(7, 12);
    CHECK_FALSE(cluster[3].view().keys[0].lost);
    CHECK(voted(cluster, 3, 0) == 12);
    cluster.kill(3);
    cluster.start(3);
    CHECK_FALSE(cluster[3].view().keys[0].lost);
}

// Node 0 is Byzantine, the disk of node 3 burns, the network cuts node 1 off. Node 0
// repeats to the new machine of node 3 what the clock of node 1 showed long ago.
TEST_CASE("an old statement of a clock does not make two final blocks", "[journal]") {
    const bool is_attacked = GENERATE(false, true);
    Cluster cluster(4, 1);
    cluster.kill(4);
    const chain::ChainId chain_id = cluster[0].genesis().chain_id();
    std::optional<p2p::ClockStatement> recorded;
    const auto old = cluster[1].to_peers;
    cluster[1].to_peers = [&recorded, old](const p2p::Input& said) {
        const auto* clock = std::get_if<p2p::input::PushClock>(&said);
        if (clock != nullptr && !recorded) recorded = clock->statement;
        old(said);
    };
    cluster.run(1, 19);
    REQUIRE(recorded.has_value());
    REQUIRE(cluster[2].view().finalized->header.slot == 19);
    // Node 2 hears nothing of the block of slot 20.
    for (const std::size_t other : {0U, 1U, 3U})
        cluster.cut(2, other);
    cluster.tick_at(20);
    REQUIRE(cluster[1].view().finalized->header.slot == 20);
    REQUIRE(cluster[3].view().finalized->header.slot == 20);
    REQUIRE(cluster[2].view().finalized->header.slot == 19);
    // Node 1 is cut off, node 3 loses its disk, node 0 is played by hand.
    cluster.kill(3);
    cluster.kill(0);
    for (const std::size_t other : {0U, 2U, 3U, 4U})
        cluster.cut(1, other);
    cluster.cut(2, 4);
    cluster.tick_at(21);
    cluster[4].set_key(support::key_of(10));
    cluster[4].log().clear();
    cluster.start(4);
    REQUIRE(cluster[4].view().keys[0].lost);
    const auto evil = support::key_of(7);
    std::uint64_t number = 1'000;
    const auto shows = [&](chain::Slot slot) {
        p2p::ClockStatement made{
            .key = evil.public_key(),
            .life = 7,
            .number = ++number,
            .shown =
                cluster[0].genesis().times.time_of(slot).to_timestamp().time_since_epoch().count()};
        made.signature = evil.sign(p2p::clock_digest(made, chain_id));
        return made;
    };
    const auto say_clock = [&](const p2p::ClockStatement& statement) {
        cluster[4].step(
            node::input::FromPeers{p2p::effect::ClockArrived{Cluster::channel(0), {}, statement}});
    };
    if (is_attacked) {
        say_clock(shows(1));
        say_clock(*recorded);
    }
    // The wire to node 2, which is honest, is whole from now on.
    cluster.mend();
    for (const std::size_t other : {0U, 2U, 3U, 4U})
        cluster.cut(1, other);
    say_clock(shows(21));
    cluster[4].step(node::input::FromPeers{
        p2p::effect::PeerReady{Cluster::channel(0), {}, {evil.public_key()}}});
    cluster.heal();
    for (const std::size_t other : {0U, 2U, 3U, 4U})
        cluster.cut(1, other);
    cluster.deliver();
    say_clock(shows(22));
    cluster.tick_at(22);
    const chain::BlockPtr other = cluster[2].view().head;
    for (const chain::VoteKind kind : {chain::VoteKind::notarize, chain::VoteKind::commit}) {
        const chain::VoteData data{.kind = kind,
                                   .schedule_version = other->header.schedule_version,
                                   .slot = other->header.slot,
                                   .height = other->header.height,
                                   .block_id = other->id,
                                   .justify_slot = other->header.justify.slot};
        const chain::Vote vote{data, evil.public_key(), evil.sign(data.digest(chain_id))};
        for (const std::size_t to : {2U, 4U}) {
            cluster[to].step(
                node::input::FromPeers{p2p::effect::VoteArrived{Cluster::channel(0), {}, vote}});
        }
        cluster.deliver();
    }
    const chain::BlockPtr one = cluster[1].view().finalized;
    const chain::BlockPtr two = cluster[2].view().finalized;
    CHECK((one->header.height != two->header.height || one->id == two->id));
}

// Spec 04: where one of the two loses a synced write, that is survived on any number of machines.
TEST_CASE("rows that lose the write beside which a journal was replaced stop nothing",
          "[journal]") {
    Cluster cluster(4);
    cluster.run(1, 2);
    for (std::size_t i = 0; i < 4; ++i) {
        cluster.kill(i);
        cluster[i].journal_blocks_max = 24;
        cluster.start(i);
    }
    cluster.deliver();
    cluster.run(3, 8);
    REQUIRE(cluster[0].view().finalized->header.slot >= 7);
    for (std::size_t i = 0; i < 4; ++i)
        cluster[i].loses_rows_of_compaction = true;
    chain::Slot slot = 9;
    const auto is_cut = [&](std::size_t i) { return cluster[i].writes_left == 0; };
    while (slot < 40 && !(is_cut(0) && is_cut(1) && is_cut(2) && is_cut(3)))
        cluster.tick_at(slot++);
    for (std::size_t i = 0; i < 4; ++i) {
        REQUIRE(cluster[i].writes_left == 0);
        cluster.kill(i);
        cluster[i].writes_left.reset();
        cluster[i].journal_blocks_max = 0;
    }
    for (std::size_t i = 0; i < 4; ++i)
        cluster.start(i);
    cluster.deliver();
    for (std::size_t i = 0; i < 4; ++i)
        CHECK_FALSE(cluster[i].view().keys[0].lost);
    cluster.run(slot + 1, slot + 20);
    CHECK(cluster[0].view().finalized->header.slot >= slot + 15);
}

// Its directory is an older copy: journal and rows are whole, and the answer to hello knows more.
TEST_CASE("an amnesia is on the chain also where others told of the loss", "[core]") {
    Cluster cluster(4);
    cluster.run(1, 6);
    cluster.kill(3);
    cluster[3].accept_amnesia = true;
    cluster.start(3);
    const auto own = support::key_of(10);
    chain::VoteData data{.kind = chain::VoteKind::notarize,
                         .schedule_version = cluster[0].view().head->header.schedule_version,
                         .slot = 7,
                         .height = 7,
                         .block_id = {},
                         .justify_slot = 5};
    data.block_id.bytes[5] = std::byte{1};
    data.block_id.bytes[3] = std::byte{7};
    const base::Hash256 digest = data.digest(cluster[3].genesis().chain_id());
    cluster[3].step(node::input::FromPeers{p2p::effect::VoteArrived{
        Cluster::channel(0), {}, {data, own.public_key(), own.sign(digest)}}});
    cluster.deliver();
    cluster.run(7, 60);
    const auto goes_on = std::ranges::count_if(cluster[3].warnings(), [](const std::string& line) {
        return line.find("goes on without all") != std::string::npos;
    });
    CHECK(goes_on == 1);
    const auto name = cluster[3].genesis().schedule.entries[3].producer;
    CHECK(chain::find_amnesia(*cluster[0].view().final_state, name).has_value());
    CHECK_FALSE(cluster[3].view().keys[0].lost);
    CHECK(cluster[0].view().finalized->header.slot > 50);
}
