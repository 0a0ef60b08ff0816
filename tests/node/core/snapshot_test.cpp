#include "chain/state/proof_store.hpp"
#include "consensus/certificate.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/elections.hpp"
#include "tests/support/observer.hpp"
#include "tests/support/snapshots.hpp"

// Whole nodes that begin with a snapshot: they take part, and make the next snapshot, with all that
// shows that it is right, also around a change of the schedule and over a recovery.

namespace {

using support::Cluster;
using support::key_of;
using support::Snapshot;

constexpr chain::Slot kPeriod = 12;

// On to this slot, if the chain is not there yet.
void run_to(Cluster& cluster, chain::Slot slot) {
    cluster.run(cluster[0].view().head->header.slot + 1, slot);
}

// Of the block that is final at a node now. Where it is under two schedules only a block above it
// proves that: the chain goes on to slot `then`.
Snapshot take(Cluster& cluster, std::size_t node, chain::Slot then = 0) {
    const chain::Height height = cluster[node].view().finalized->header.height;
    const auto state = cluster[node].view().final_state;
    const auto before = cluster[node].storage().snapshot();
    const auto made = [&](const base::StorageView& now) {
        return support::take_snapshot(
            *before, now, *state, cluster[node].genesis().chain_id(), height);
    };
    auto taken = made(*before);
    if (!taken && taken.error().code == base::Errc::would_block) {
        run_to(cluster, then);
        taken = made(*cluster[node].storage().snapshot());
    }
    if (!taken) FAIL(taken.error().detail);
    return *std::move(taken);
}

// A node that has nothing begins with it.
void join(Cluster& cluster,
          std::size_t node,
          const Snapshot& snapshot,
          std::vector<base::Hash256> recoveries = {}) {
    cluster.kill(node);
    support::wipe(cluster[node].storage());
    genesis::Trust trust = support::trust_of(cluster[node].genesis());
    trust.recoveries = std::move(recoveries);
    const auto loaded = support::load_snapshot(snapshot, trust, cluster[node].storage());
    if (!loaded) FAIL(loaded.error().detail);
    cluster.start(node);
    cluster.deliver();
}

// The eosio key is node 0's.
void rotate(Cluster& cluster, std::size_t by) {
    const auto& entries = cluster[0].genesis().schedule.entries;
    const auto ticket =
        cluster[0].submit(cluster[0].act("eosio", "setprods", support::setprods(entries, by)));
    const auto& outcome = cluster[0].answers.at(ticket).outcome;
    if (!outcome) FAIL(outcome.error().detail);
}

std::uint32_t version(Cluster& cluster, std::size_t node) {
    return chain::load_schedule(*cluster[node].view().final_state).value().version;
}

// Final block, rows and digest of two nodes.
void check_same(Cluster& cluster, std::size_t a, std::size_t b) {
    REQUIRE(cluster[a].view().finalized->id == cluster[b].view().finalized->id);
    CHECK(support::rows_of(*cluster[a].view().final_state) ==
          support::rows_of(*cluster[b].view().final_state));
    // Under two schedules it takes another block, and no test wants that here.
    const bool is_pending =
        chain::load_schedules(*cluster[a].view().final_state)->pending() != nullptr;
    if (!is_pending) CHECK(take(cluster, a).manifest == take(cluster, b).manifest);
    CHECK(cluster.refused.empty());
}

// Of a node whose operator names these recoveries.
std::string refusal_by(Cluster& cluster,
                       const Snapshot& snapshot,
                       const std::vector<base::Hash256>& recoveries) {
    support::MemoryStorage storage;
    genesis::Trust trust = support::trust_of(cluster[0].genesis());
    trust.recoveries = recoveries;
    const auto loaded = support::load_snapshot(snapshot, trust, storage);
    REQUIRE_FALSE(loaded.has_value());
    return loaded.error().detail;
}

}  // namespace

TEST_CASE("a node begins with a snapshot, and the next one with a snapshot of that node",
          "[snapshot]") {
    Cluster cluster(4, 2, kPeriod);
    cluster.run(1, 9);
    (void)cluster[0].submit(cluster[0].new_account("bank", "alice"));
    cluster.run(10, 20);
    join(cluster, 4, take(cluster, 0));
    CHECK(cluster[4].view().finalized->id == cluster[0].view().finalized->id);
    // The base of the agreement, whose witness nobody could check, is there and served to nobody.
    const chain::Height base = cluster[0].view().finalized->header.height - 1;
    const chain::BlockReader stored(cluster[4].storage());
    CHECK(stored.earliest().value() == base + 1);
    REQUIRE(stored.at(base).value() != nullptr);
    const auto finds = [&](p2p::effect::ReadBlocks wanted) {
        bool is_held = false;
        const auto listens = std::exchange(cluster[4].to_peers, [&](const p2p::Input& said) {
            const auto* read = std::get_if<p2p::input::BlocksRead>(&said);
            is_held = is_held || (read != nullptr && !read->blocks.empty());
        });
        cluster[4].reads.clear();
        wanted.is_for_peer = true;
        cluster[4].step(node::input::FromPeers{std::move(wanted)});
        cluster[4].to_peers = listens;
        return is_held || !cluster[4].reads.empty();
    };
    CHECK_FALSE(finds({.ticket = 1, .from = base, .to = base + 1, .ids = {}}));
    CHECK(finds({.ticket = 2, .from = base + 1, .to = base + 1, .ids = {}}));
    CHECK_FALSE(finds({.ticket = 3, .from = 0, .to = 0, .ids = {stored.at(base).value()->id}}));
    CHECK(finds({.ticket = 4, .from = 0, .to = 0, .ids = {stored.at(base + 1).value()->id}}));
    (void)cluster[0].submit(cluster[0].new_account("bank", "bob"));
    cluster.run(21, 30);
    check_same(cluster, 0, 4);
    CHECK(support::Machine::has_account("bob", *cluster[4].view().final_state));

    join(cluster, 5, take(cluster, 4));
    cluster.run(31, 40);
    check_same(cluster, 0, 5);
    // It goes on where it was, after a power cut too.
    cluster.restart_after_power_cut(5);
    cluster.deliver();
    cluster.run(41, 44);
    check_same(cluster, 0, 5);
}

TEST_CASE("snapshots around two changes of the schedule, of a second generation too",
          "[snapshot]") {
    // Proposed in slot 12, pending from 14 on, in force from 16 on; again at 24.
    const auto at = static_cast<chain::Slot>(GENERATE(range(10, 19)));
    const auto later = at + static_cast<chain::Slot>(GENERATE(1, 3, 14, 16));
    INFO("taken at slot " << at << ", and from the node that took it at " << later);
    Cluster cluster(4, 2, kPeriod);
    cluster.run(1, 9);
    rotate(cluster, 1);
    cluster.run(10, at);
    CHECK(version(cluster, 0) == (at >= 16 ? 1 : 0));
    join(cluster, 4, take(cluster, 0, at + 1));
    run_to(cluster, std::max<chain::Slot>(at + 1, 18));
    // Once more: a change on its way keeps the next one waiting.
    Cluster& all = cluster;
    const chain::Slot now = std::max<chain::Slot>(at + 1, 18);
    rotate(all, 2);
    if (later > now) {
        all.run(now + 1, later);
    }
    check_same(all, 0, 4);
    join(all, 5, take(all, 4, std::max(later, now) + 1));
    run_to(all, 40);
    CHECK(version(all, 5) == 2);
    check_same(all, 0, 5);
    // The second generation proves all links, too.
    const auto proof =
        genesis::make_proof(all[5].storage(), all[5].view().finalized->header.height);
    REQUIRE(proof.has_value());
    CHECK(support::links_to(all[5].storage(), *proof).value().size() == 2);
}

TEST_CASE("a snapshot of a height that finality jumps over", "[snapshot]") {
    Cluster cluster(4, 2, kPeriod);
    cluster.run(1, 8);
    rotate(cluster, 1);
    cluster.run(9, 10);
    cluster.kill(2);
    cluster.kill(3);
    const auto before = cluster[0].storage().snapshot();
    std::map<chain::Height, std::shared_ptr<const chain::StateView>> states;
    for (chain::Slot slot = 11; slot <= 20; ++slot) {
        cluster.tick_at(slot);
        states[cluster[0].view().head->header.height] = cluster[0].view().head_state;
    }
    const chain::Height final_before = cluster[0].view().finalized->header.height;
    REQUIRE(cluster[0].view().head->header.height >= final_before + 4);
    cluster.start(2);
    cluster.start(3);
    cluster.deliver();
    cluster.run(21, 26);
    const chain::Height final_now = cluster[0].view().finalized->header.height;
    REQUIRE(final_now > final_before + 4);
    const auto now = cluster[0].storage().snapshot();
    std::size_t taken = 0;
    for (const auto& [height, state] : states) {
        if (height <= final_before || height >= final_now) continue;
        const auto header = chain::BlockReader(*now).at(height).value()->header;
        const auto rows = support::rows_of(*state);
        chain::StateLanes lanes;
        for (const auto& [key, value] : rows) {
            lanes.add(static_cast<chain::Table>(std::to_integer<unsigned>(key[1])),
                      base::ByteView(key).subspan(2),
                      value);
        }
        if (lanes.digest() != header.state_digest) continue;  // Of a branch that lost.
        ++taken;
        INFO("height " << height);
        const auto snapshot =
            support::take_snapshot(*before, *now, *state, cluster[0].genesis().chain_id(), height);
        if (!snapshot) FAIL(snapshot.error().detail);
        join(cluster, 4, *snapshot);
        CHECK(cluster[4].view().finalized->id == cluster[0].view().finalized->id);
        check_same(cluster, 0, 4);
    }
    CHECK(taken >= 3);
    cluster.run(27, 40);
    CHECK(version(cluster, 4) == 1);
    check_same(cluster, 0, 4);
}

namespace {

// Two of four are lost for ever; the others go on from what they hold, as the members say.
genesis::Recovery recover(Cluster& cluster, unsigned char first = 21) {
    cluster.kill(2);
    cluster.kill(3);
    genesis::Recovery recovery;
    for (const std::size_t node : {0U, 1U}) {
        cluster[node].step(node::input::AnswerRecovery{});
        const auto& answer = *cluster[node].view().answer;
        REQUIRE(answer.has_value());
        if (node == 0) {
            recovery = *answer;
        } else {
            recovery.answers.push_back(answer->answers.at(0));
        }
    }
    const std::vector<std::string> names{"bank", "bourse"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto key = key_of(static_cast<unsigned char>(first + i)).public_key();
        recovery.reset.schedule.entries.push_back({*chain::Name::from_string(names[i]), key, key});
    }
    recovery.reset.schedule.version =
        genesis::version_after(recovery.replaced, recovery.reset.schedule.entries);
    for (unsigned char tag = 7; tag < 13; ++tag)
        recovery.signatures.push_back(key_of(tag).sign(recovery.id()));
    for (const std::size_t node : {0U, 1U}) {
        cluster.kill(node);
        cluster[node].reset = genesis::reset_of(recovery);
        cluster[node].set_key(key_of(static_cast<unsigned char>(first + node)));
    }
    for (const std::size_t node : {0U, 1U})
        cluster.start(node);
    cluster.deliver();
    return recovery;
}

}  // namespace

TEST_CASE("a recovery is a link: who confirms it joins, others are told its name", "[snapshot]") {
    Cluster cluster(4, 2, kPeriod);
    cluster.run(1, 9);
    rotate(cluster, 1);
    // Also with a change pending at the block from which the recovery begins.
    cluster.run(10, static_cast<chain::Slot>(GENERATE(10, 14, 20)));
    const std::uint32_t replaced = version(cluster, 0);
    cluster.kill(4);
    cluster.kill(5);
    const genesis::Recovery recovery = recover(cluster);
    cluster.run(30, 34);
    REQUIRE(cluster[0].view().finalized->header.slot == 34);
    const auto at = static_cast<chain::Slot>(GENERATE(34, 40, 60));
    cluster.run(35, at);
    const Snapshot snapshot = take(cluster, 0);
    const auto refusal = [&](const std::vector<base::Hash256>& recoveries) {
        return refusal_by(cluster, snapshot, recoveries);
    };
    const std::string name = base::to_hex(recovery.id().view());
    using Catch::Matchers::Contains;
    CHECK_THAT(refusal({}), Contains("set recover-from = " + name));
    const base::Hash256 other = recovery.reset.from;
    CHECK_THAT(refusal({recovery.id(), other}),
               Contains("recovery " + base::to_hex(other.view()) + ", which recover-from names"));

    // The id does not cover signatures and answers: these are checked, too.
    const auto refusal_of = [&](const auto& change) {
        Snapshot bad = snapshot;
        auto links = genesis::unpack_links(bad.links.at(0)).value();
        for (chain::Link& link : links) {
            if (auto* step = std::get_if<chain::RecoveryLink>(&link)) change(*step);
        }
        bad.links = genesis::pack_links(links);
        support::MemoryStorage storage;
        genesis::Trust trust = support::trust_of(cluster[0].genesis());
        trust.recoveries = {recovery.id()};
        const auto loaded = support::load_snapshot(bad, trust, storage);
        REQUIRE_FALSE(loaded.has_value());
        return loaded.error().detail;
    };
    const auto refusal_with = [&](const genesis::Recovery& record) {
        REQUIRE(record.id() == recovery.id());
        return refusal_of([&](chain::RecoveryLink& link) {
            link.reset.record = genesis::reset_of(record)->record;
        });
    };
    genesis::Recovery forged = recovery;
    forged.signatures.resize(2);
    CHECK_THAT(refusal_with(forged), Contains("2 of 6 members have signed"));
    forged = recovery;
    forged.answers.pop_back();
    CHECK_THAT(refusal_with(forged), Contains("validators of schedule"));
    CHECK_THAT(refusal_of([](chain::RecoveryLink& link) {
                   link.reset.schedule.entries[0].vote_key = key_of(66).public_key();
               }),
               Contains("it is not what its members have signed"));
    CHECK_THAT(refusal_of([](chain::RecoveryLink& link) { link.from.slot += 1; }),
               Contains("it is not what its members have signed"));

    cluster[4].reset = genesis::reset_of(recovery);
    join(cluster, 4, snapshot, {recovery.id()});
    cluster.run(at + 1, at + 4);
    check_same(cluster, 0, 4);
    CHECK(version(cluster, 4) > replaced + 1);
    cluster[5].reset = genesis::reset_of(recovery);
    join(cluster, 5, take(cluster, 4, at + 5), {recovery.id()});
    run_to(cluster, at + 8);
    check_same(cluster, 0, 5);
    // A stranger follows the same links, in parts, then asks for a proof under the last schedule.
    const chain::ProofMaker maker(cluster[0].storage());
    genesis::LinkWalk walk({recovery.chain_id, cluster[0].genesis().schedule, {recovery.id()}});
    while (walk.last().version < version(cluster, 0)) {
        const auto part = maker.next_links(walk.last().version);
        if (!part) FAIL(part.error().detail);
        REQUIRE_FALSE(part->empty());
        for (const chain::Link& link : *part) {
            const auto taken = walk.take(link);
            if (!taken) FAIL(taken.error().detail);
        }
    }
    CHECK(walk.check_complete().has_value());
    const auto height =
        static_cast<chain::Height>(chain::ids_below(cluster[0].view().finalized->header));
    CHECK_THAT(maker.of_block(height, 0).error().detail,
               Contains("does not reach over a recovery"));
    const chain::Schedule& begun = walk.last();
    const auto proof = maker.of_block(height, begun.version);
    REQUIRE(proof.has_value());
    const auto verified =
        chain::verify(*proof, begun, [&](const chain::Certificate& each, const auto& schedules) {
            return consensus::verify(each, schedules, recovery.chain_id);
        });
    CHECK(verified.has_value());

    // A restart finds the recovery's block gone, and its link.
    cluster.kill(5);
    cluster.start(5);
    cluster.kill(5);
    cluster[5].reset->schedule.version += 1;
    const auto opened = cluster[5].open();
    REQUIRE_FALSE(opened.has_value());
    CHECK_THAT(opened.error().detail, Contains("recover-from"));
}

TEST_CASE("blocks that become final at once, a change and a recovery in them, leave both links",
          "[snapshot]") {
    Cluster cluster(4, 2, kPeriod);
    cluster.run(1, 9);
    rotate(cluster, 1);
    cluster.run(10, 11);
    cluster.kill(4);
    cluster.kill(5);
    cluster.run(12, 20);
    const chain::Height next = cluster[4].finalized.back()->header.height + 1;
    const auto proposing = chain::BlockReader(cluster[0].storage()).at(next).value();
    REQUIRE(proposing->header.schedule_change);
    const std::uint32_t changed = proposing->header.schedule_change->version;
    REQUIRE(cluster[0].view().finalized->header.schedule_version == changed);
    const genesis::Recovery recovery = recover(cluster);
    cluster.run(30, 34);

    // The block that proposes the change becomes final alone. While the disk writes this, all the
    // others do.
    std::vector<chain::Height> ends;
    cluster[4].on_finalized = [&](const node::effect::Finalized& finalized) {
        if (finalized.certificate) ends.push_back(finalized.block->block->header.height);
    };
    cluster[4].reset = genesis::reset_of(recovery);
    for (const std::size_t node : {0U, 1U})
        cluster.cut(node, 4);
    cluster.start(4);
    cluster.mend();
    cluster[4].is_disk_slow = true;
    cluster.send_chain(0, 4);
    cluster.deliver();
    cluster[4].finish_writes();
    REQUIRE(ends.size() == 2);
    REQUIRE(ends[0] == next);
    REQUIRE(ends[1] > chain::height_of(recovery.reset.from));
    cluster.heal();
    cluster.deliver();
    cluster.run(35, 44);  // Beyond a change that is proposed in slot 36.
    check_same(cluster, 0, 4);
    CHECK(take(cluster, 4).links == take(cluster, 0).links);
}

TEST_CASE("a chain with two recoveries is joined with a snapshot by who confirms both",
          "[snapshot]") {
    Cluster cluster(4, 2, kPeriod);
    cluster.run(1, 9);
    cluster.kill(4);
    cluster.kill(5);
    const genesis::Recovery first = recover(cluster);
    cluster.run(30, 40);
    REQUIRE(cluster[0].view().finalized->header.slot == 40);
    const genesis::Recovery second = recover(cluster, 31);
    const auto at = static_cast<chain::Slot>(GENERATE(51, 52, 64));
    cluster.run(50, at);
    REQUIRE(cluster[0].view().finalized->header.slot == at);
    const Snapshot snapshot = take(cluster, 0, at + 1);
    const auto refusal = [&](const std::vector<base::Hash256>& recoveries) {
        return refusal_by(cluster, snapshot, recoveries);
    };
    using Catch::Matchers::Contains;
    CHECK_THAT(refusal({second.id()}),
               Contains("set recover-from = " + base::to_hex(first.id().view())));
    CHECK_THAT(refusal({first.id()}),
               Contains("set recover-from = " + base::to_hex(second.id().view())));
    // The node has the file of the last.
    for (const std::size_t node : {4U, 5U}) {
        cluster[node].reset = genesis::reset_of(second);
        join(cluster, node, take(cluster, node == 4 ? 0 : 4, at + 3), {first.id(), second.id()});
        run_to(cluster, at + node);
        check_same(cluster, 0, node);
    }
    cluster.kill(5);
    cluster.start(5);
    cluster.deliver();
    run_to(cluster, at + 20);
    check_same(cluster, 0, 5);
}

TEST_CASE("a range after a recovery is taken, also where a change was on its way below it",
          "[snapshot]") {
    Cluster cluster(4, 2, kPeriod);
    cluster.run(1, 9);
    rotate(cluster, 1);
    cluster.run(10, static_cast<chain::Slot>(GENERATE(10, 12, 13, 14, 15, 20)));
    cluster.kill(4);
    cluster.kill(5);
    const genesis::Recovery recovery = recover(cluster);
    cluster.run(30, 60);
    const auto& source = cluster[0].view();
    REQUIRE(source.finalized->header.slot == 60);
    support::Observer observer(cluster[0].genesis());
    observer.reset = genesis::reset_of(recovery);
    observer.holds_checks = true;  // Only what is looked at before.
    observer.start_at(60);
    const chain::Height from = chain::height_of(recovery.reset.from);
    observer.give_from(cluster[0].storage(), 2, from);
    REQUIRE(observer.view().finalized->id == recovery.reset.from);
    const auto to = static_cast<chain::Height>(chain::ids_below(source.finalized->header));
    observer.give(support::Observer::range(
        cluster[0].storage(), from + 1, to, recovery.reset.schedule.version));
    CHECK(observer.refusal() == "");
    CHECK(observer.view().finalized->header.height + 3 >= to);
}

TEST_CASE("validators that all begin with a snapshot go on by their operators' word",
          "[snapshot]") {
    const auto count = static_cast<std::size_t>(GENERATE(1, 4));
    Cluster cluster(count, 0, kPeriod);
    cluster.run(1, 9);
    const Snapshot snapshot = take(cluster, 0);
    for (std::size_t i = 0; i < count; ++i)
        cluster.kill(i);
    for (std::size_t i = 0; i < count; ++i) {
        support::wipe(cluster[i].storage());
        const auto loaded = support::load_snapshot(
            snapshot, support::trust_of(cluster[i].genesis()), cluster[i].storage());
        REQUIRE(loaded.has_value());
        cluster[i].accept_amnesia = true;
    }
    const auto start_all = [&] {
        for (std::size_t i = 0; i < count; ++i) {
            cluster.start(i);
            cluster[i].accept_amnesia = false;
        }
        cluster.deliver();
    };
    start_all();
    SECTION("at once") {}
    SECTION("and start again before anything is final") {
        cluster.run(10, 30);
        for (std::size_t i = 0; i < count; ++i)
            cluster.kill(i);
        start_all();
    }
    cluster.run(cluster[0].view().head->header.slot + 1, 90);
    for (std::size_t i = 0; i < count; ++i)
        CHECK(cluster[i].view().finalized->header.slot >= 88);
}
