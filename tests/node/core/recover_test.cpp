#include "chain/execution/schedule_rows.hpp"
#include "consensus/certificate.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/certificates.hpp"
#include "tests/support/observer.hpp"

// Half of the validators are lost for ever: a new first schedule from the block of the highest
// certificate that is left (spec 04).

namespace {

using support::Cluster;
using support::key_of;

constexpr chain::Slot kPeriod = 12;

chain::ScheduleEntry entry(const std::string& name, unsigned char tag) {
    const auto key = key_of(tag).public_key();
    return {*chain::Name::from_string(name), key, key};
}

chain::Schedule schedule_of(Cluster& cluster, std::size_t node) {
    return chain::load_schedule(*cluster[node].view().final_state).value();
}

// Two of four are gone; the others have made blocks that can never be final.
chain::ScheduleReset lose_half(Cluster& cluster) {
    cluster.run(1, 6);
    cluster.kill(2);
    cluster.kill(3);
    cluster.run(7, 14);
    REQUIRE(cluster[0].view().finalized->header.slot == 6);
    REQUIRE(cluster[0].view().head->header.slot > 8);
    chain::ScheduleReset reset;
    reset.from = cluster[0].view().finalized->id;
    reset.schedule.version = 100;
    reset.schedule.entries = {entry("bank", 21), entry("bourse", 22)};
    return reset;
}

void restart(Cluster& cluster, std::size_t node, const chain::ScheduleReset& reset) {
    cluster.kill(node);
    cluster[node].reset = reset;
    cluster[node].set_key(key_of(static_cast<unsigned char>(21 + node)));
    cluster.start(node);
}

// The two that are left go on.
chain::ScheduleReset recover(Cluster& cluster) {
    chain::ScheduleReset reset = lose_half(cluster);
    cluster.kill(0);
    cluster.kill(1);
    restart(cluster, 0, reset);
    restart(cluster, 1, reset);
    cluster.deliver();
    return reset;
}

// The ids of all blocks that a header calls final, and the path of the last.
struct Mountains {
    chain::MountainRange range;
    std::map<std::pair<std::uint8_t, std::uint64_t>, base::Hash256> nodes;

    explicit Mountains(const std::vector<chain::BlockId>& ids) {
        for (const chain::BlockId& id : ids) {
            nodes[{0, range.count()}] = chain::merkle_leaf(id);
            range.append(id, [&](std::uint8_t level, std::uint64_t position, const auto& node) {
                nodes[{level, position}] = node;
            });
        }
    }
    [[nodiscard]] chain::MerkleProof last() const {
        return chain::mountain_proof(
                   range.count() - 1,
                   range.count(),
                   [&](std::uint8_t level, std::uint64_t position) {
                       return base::Result<base::Hash256>(nodes.at({level, position}));
                   })
            .value();
    }
};

}  // namespace

TEST_CASE("a chain that lost half of its validators goes on under a new first schedule",
          "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    const chain::ScheduleReset reset = lose_half(cluster);
    cluster.kill(0);
    cluster.kill(1);
    restart(cluster, 0, reset);
    restart(cluster, 1, reset);
    // What was made above the final block is given up.
    CHECK(cluster[0].view().head->id == reset.from);
    cluster.deliver();
    cluster.run(20, 30);
    CHECK(cluster[0].view().finalized->header.slot == 30);
    CHECK(cluster[1].view().finalized->id == cluster[0].view().finalized->id);
    CHECK(schedule_of(cluster, 0) == reset.schedule);
    CHECK(cluster.refused.empty());
    SECTION("elections leave it as it is, and it survives a restart") {
        cluster.run(31, 60);
        CHECK(schedule_of(cluster, 0) == reset.schedule);
        cluster.kill(0);
        cluster.start(0);
        cluster.deliver();
        cluster.run(61, 64);
        CHECK(cluster[0].view().finalized->header.slot == 64);
    }
    SECTION("who comes back follows, if its operator says so") {
        cluster[2].reset = reset;
        cluster.start(2);
        cluster.deliver();
        cluster.run(31, 34);
        CHECK(cluster[2].view().finalized->id == cluster[0].view().finalized->id);
        CHECK(cluster.refused.empty());
    }
    SECTION("else it takes nothing from there") {
        cluster.start(3);
        cluster.deliver();
        cluster.run(31, 34);
        CHECK(cluster[3].view().finalized->id == reset.from);
        CHECK_FALSE(cluster.refused.empty());
    }
}

TEST_CASE("a recovery is refused that would give up what is final, or use a key again",
          "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    chain::ScheduleReset reset = lose_half(cluster);
    cluster.kill(0);
    const auto refusal = [&] {
        cluster[0].reset = reset;
        const auto opened = cluster[0].open();
        REQUIRE_FALSE(opened.has_value());
        return opened.error().detail;
    };
    SECTION("a key that has signed before") {
        reset.schedule.entries[1] = entry("bourse", 8);
        CHECK(refusal().find("make a new one") != std::string::npos);
    }
    SECTION("a block that is not the highest") {
        reset.from = cluster[1].finalized.at(2)->id;
        CHECK(refusal().find("is final here already") != std::string::npos);
    }
    SECTION("another block of that height") {
        reset.from.bytes[30] ^= std::byte{1};
        CHECK(refusal().find("the recovery begins at") != std::string::npos);
    }
}

TEST_CASE("validators that are left answer with what they are locked on, and sign nothing more",
          "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    cluster.run(1, 6);
    // The NOTARIZE votes of two leave, their COMMITs do not: block 7 may be final elsewhere.
    cluster[2].writes_left = cluster[3].writes_left = 1;
    cluster.tick_at(7);
    const chain::BlockId locked = cluster[0].view().head->id;
    REQUIRE(cluster[0].view().head->header.slot == 7);
    REQUIRE(cluster[0].view().finalized->header.slot == 6);
    cluster.kill(2);
    cluster.kill(3);
    genesis::Recovery recovery;
    for (const std::size_t node : {0U, 1U}) {
        REQUIRE(cluster[node].view().answer == nullptr);
        cluster[node].step(node::input::AnswerRecovery{});
        REQUIRE(cluster[node].view().answer != nullptr);
        const auto& answer = *cluster[node].view().answer;
        REQUIRE(answer.has_value());
        CHECK(answer->reset.from == locked);
        REQUIRE(answer->answers.size() == 1);
        CHECK(answer->answers[0].slot == 7);
        if (node == 0) {
            recovery = *answer;
        } else {
            recovery.answers.push_back(answer->answers[0]);
        }
    }
    CHECK(recovery.members.size() == 4);
    CHECK(recovery.replaced == std::vector{cluster[0].genesis().schedule});
    recovery.reset.schedule.version = 100;
    recovery.reset.schedule.entries = {entry("bank", 21), entry("bourse", 22)};
    const auto good = genesis::check_answers(
        recovery, [&](const chain::Certificate& certificate, const auto& schedules) {
            return consensus::verify(certificate, schedules, recovery.chain_id);
        });
    if (!good) FAIL(good.error().detail);

    SECTION("not after a restart either") {
        for (const std::size_t node : {0U, 1U})
            cluster.kill(node);
        for (const std::size_t node : {0U, 1U})
            cluster.start(node);
        cluster.run(8, 16);
        CHECK(cluster[0].view().head->header.slot == 7);
        CHECK(cluster[0].view().keys[0].stopped);
        for (const chain::Vote& vote : cluster[0].view().votes)
            CHECK(vote.data.slot <= 7);
    }
    SECTION("that block is final for those who go on from it") {
        cluster.run(8, 12);
        CHECK(cluster[0].view().head->id == locked);
        restart(cluster, 0, recovery.reset);
        CHECK(cluster[0].view().finalized->id == locked);
        CHECK_FALSE(cluster[0].view().certificate.has_value());
        // Nothing else was done: it is so after one more restart.
        cluster.kill(0);
        cluster.start(0);
        CHECK(cluster[0].view().finalized->id == locked);
        CHECK_FALSE(cluster[0].view().certificate.has_value());
        restart(cluster, 1, recovery.reset);
        cluster.deliver();
        cluster.run(20, 30);
        CHECK(cluster[0].view().finalized->header.slot == 30);
        CHECK(cluster[1].view().finalized->id == cluster[0].view().finalized->id);
        CHECK(schedule_of(cluster, 1) == recovery.reset.schedule);
        CHECK(std::ranges::count(cluster[0].finalized, locked, &chain::Block::id) == 1);
        // Who was not there follows.
        cluster[2].writes_left.reset();
        cluster[2].reset = recovery.reset;
        cluster.start(2);
        cluster.deliver();
        cluster.run(31, 34);
        CHECK(cluster[2].view().finalized->id == cluster[0].view().finalized->id);
        CHECK(std::ranges::count(cluster[2].finalized, locked, &chain::Block::id) == 1);
        CHECK(cluster.refused.empty());
    }
}

TEST_CASE("a node without a key that can answer tells what it has", "[recover]") {
    Cluster cluster(4, 1, kPeriod);
    cluster.run(1, 6);
    cluster[4].step(node::input::AnswerRecovery{});
    REQUIRE(cluster[4].view().answer != nullptr);
    const auto& answer = *cluster[4].view().answer;
    REQUIRE(answer.has_value());
    CHECK(answer->answers.empty());
    CHECK(answer->reset.from == cluster[4].view().finalized->id);
    REQUIRE(answer->certificate.has_value());
    CHECK(answer->certificate->data.slot == 6);
    // Its own key was not stopped: it may serve one day.
    CHECK_FALSE(cluster[4].view().keys[0].stopped);
}

TEST_CASE("a key is not given up for a recovery that members could not sign", "[recover]") {
    genesis::Genesis genesis = support::genesis_of(1);
    const std::uint64_t first = chain::Name::from_string("zz").value().value;
    const chain::Authority authority = genesis.members[0].authority;
    while (genesis.members.size() <= genesis::kRecoveryMembersMax) {
        const chain::Name name{first + (genesis.members.size() << 4U)};
        genesis.members.push_back({name, authority, 1});
    }
    support::Machine machine(genesis, key_of(7));
    machine.start();
    machine.step(node::input::AnswerRecovery{});
    REQUIRE(machine.view().answer != nullptr);
    REQUIRE_FALSE(machine.view().answer->has_value());
    const std::string why = machine.view().answer->error().detail;
    INFO(why);
    CHECK(why.starts_with("the recovery names 1025 members, at most 1024 are possible"));
    CHECK(why.find("its keys sign on") != std::string::npos);
    CHECK_FALSE(machine.view().keys.at(0).stopped);
}

TEST_CASE("a key whose journal is lost answers no recovery, though it has answered one",
          "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    cluster.run(1, 6);
    const auto answers = [&] {
        cluster[3].step(node::input::AnswerRecovery{});
        REQUIRE(cluster[3].view().answer != nullptr);
        REQUIRE(cluster[3].view().answer->has_value());
        return (*cluster[3].view().answer)->answers.size();
    };
    REQUIRE(answers() == 1);
    for (std::size_t i = 0; i < cluster.size(); ++i)
        cluster.kill(i);
    cluster[3].log().clear();
    cluster.start(3);
    cluster.deliver();
    REQUIRE(cluster[3].view().keys[0].stopped);
    REQUIRE(cluster[3].view().keys[0].lost);
    CHECK(answers() == 0);
}

TEST_CASE("what a recovery gives up is said to who has it", "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    chain::ScheduleReset reset = lose_half(cluster);
    cluster.kill(0);
    reset.from = cluster[1].finalized.at(2)->id;
    reset.gives_up_final = true;
    cluster[0].reset = reset;
    const auto opened = cluster[0].open();
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.error().detail.find("start with an empty data directory") != std::string::npos);
}

TEST_CASE("who follows one recovery refuses another one from the same block", "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    const chain::ScheduleReset reset = recover(cluster);
    cluster.run(20, 30);
    REQUIRE(cluster[0].view().finalized->header.slot == 30);
    // Of the same answers, with other keys.
    chain::ScheduleReset other = reset;
    other.schedule.entries = {entry("bank", 31), entry("bourse", 32)};
    const std::vector replaced{cluster[0].genesis().schedule};
    REQUIRE(genesis::version_after(replaced, other.schedule.entries) !=
            genesis::version_after(replaced, reset.schedule.entries));
    other.schedule.version = reset.schedule.version + 1;
    cluster.kill(0);
    cluster[0].reset = other;
    const auto opened = cluster[0].open();
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.error().detail.find("is final here already") != std::string::npos);
}

TEST_CASE("who joins after a recovery checks what it took on trust under the new schedule",
          "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    const chain::ScheduleReset reset = recover(cluster);
    cluster.run(20, 60);
    const auto& source = cluster[0].view();
    REQUIRE(source.finalized->header.slot == 60);

    support::Observer observer(cluster[0].genesis());
    observer.reset = reset;
    observer.start_at(60);
    const chain::Height from = chain::height_of(reset.from);
    // No proof reaches over a recovery: one by one.
    observer.give_from(cluster[0].storage(), 2, from);
    REQUIRE(observer.view().finalized->id == reset.from);
    // From here on p2p asks for what the new schedule proves.
    const auto to = static_cast<chain::Height>(chain::ids_below(source.finalized->header));
    observer.give(
        support::Observer::range(cluster[0].storage(), from + 1, to, reset.schedule.version));
    CHECK(observer.view().finalized->header.height + 3 >= to);
    CHECK(observer.refusal() == "");
    CHECK(observer.wanted.empty());
    CHECK(observer.ledger.served_from == 1);
}

// Forged by who voted before the recovery, of whom enough are gone with their keys.
TEST_CASE("who voted before a recovery proves nothing after it", "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    const chain::ScheduleReset reset = lose_half(cluster);
    const chain::BlockReader reader(cluster[0].storage());
    const chain::Height from = chain::height_of(reset.from);
    support::Observer observer(cluster[0].genesis());
    observer.reset = reset;
    observer.start_at(60);
    const bool is_other = GENERATE(false, true);
    observer.give_from(cluster[0].storage(), 2, from - 4);
    const auto held = observer.view().head->header.height;
    p2p::effect::RangeArrived range{support::Observer::kSender, {}, {}};
    std::vector<chain::BlockId> ids;
    for (chain::Height height = 1; height <= from; ++height) {
        const auto block = reader.at(height).value();
        ids.push_back(block->id);
        if (height > held) range.blocks.push_back(block);
    }
    REQUIRE(ids.back() == reset.from);
    REQUIRE_FALSE(range.blocks.empty());
    // Blocks of the old schedule, which say nothing new.
    const auto forge = [&](const chain::BlockPtr& parent, std::uint8_t variant) {
        chain::BlockHeader header = parent->header;
        header.previous = parent->id;
        header.height = parent->header.height + 1;
        header.slot = parent->header.slot + 1;
        header.schedule_change.reset();
        header.transaction_root = {};
        header.action_root = {};
        header.state_digest.bytes[0] = std::byte{variant};
        return chain::make_block({header, {}}, {}, {});
    };
    if (is_other) {
        ids.pop_back();
        range.blocks.pop_back();
    }
    for (std::uint8_t i = 0; i < 4; ++i) {
        const auto tip = range.blocks.empty() ? reader.at(held).value() : range.blocks.back();
        range.blocks.push_back(forge(tip, i));
        ids.push_back(range.blocks.back()->id);
    }
    const Mountains mountains(ids);
    chain::BlockHeader certified = forge(range.blocks.back(), 9)->header;
    certified.height += 1;
    certified.finalized = {range.blocks.back()->header.slot, ids.back()};
    certified.justify = certified.finalized;
    certified.finality_root = mountains.range.root();
    range.proof.finality.certified = certified;
    // By three of the four that voted first.
    range.proof.finality.certificate =
        support::certificate_of(*chain::make_block({certified, {}}, {}, {}),
                                chain::VoteKind::commit,
                                cluster[0].genesis().chain_id());
    range.proof.finality.ancestor = mountains.last();
    observer.give(range);
    CHECK(observer.view().trouble.empty());
    CHECK_THAT(observer.refusal(),
               Catch::Contains(is_other ? "is not that from which the recovery begins"
                                        : "its proof goes over the recovery"));
}

TEST_CASE("what was taken on trust after a recovery is checked by who follows a later one",
          "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    const chain::ScheduleReset reset = recover(cluster);
    cluster.run(20, 60);
    support::Observer observer(cluster[0].genesis());
    observer.reset = reset;
    observer.holds_checks = true;
    observer.start_at(60);
    // What begins at the recovery cannot be followed without it, and is checked at once.
    const bool is_next = GENERATE(true, false);
    const chain::Height from = chain::height_of(reset.from) + (is_next ? 0 : 12);
    observer.give_from(cluster[0].storage(), 2, from);
    const auto& source = cluster[0].view();
    const auto to = static_cast<chain::Height>(chain::ids_below(source.finalized->header));
    observer.give(
        support::Observer::range(cluster[0].storage(), from + 1, to, reset.schedule.version));
    REQUIRE(observer.view().finalized->header.height + 3 >= to);
    REQUIRE((observer.view().unchecked_blocks == 0) == is_next);

    chain::ScheduleReset later;
    later.from = source.finalized->id;
    later.schedule.version = 300;
    later.schedule.entries = {entry("bank", 31), entry("bourse", 32)};
    observer.stop();
    observer.reset = later;
    observer.holds_checks = false;
    observer.start();
    for (int i = 0; i < 10; ++i)
        observer.step(node::input::Tick{});
    CHECK(observer.view().unchecked_blocks == 0);
    CHECK(observer.view().wrong_blocks == 0);
    CHECK(observer.wanted.empty());
}

TEST_CASE("who joins by blocks after two recoveries is told that only a snapshot leads over both",
          "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    const chain::ScheduleReset first = recover(cluster);
    cluster.run(20, 30);
    chain::ScheduleReset second;
    second.from = cluster[0].view().finalized->id;
    second.schedule.version = 300;
    second.schedule.entries = {entry("bank", 31), entry("bourse", 32)};
    for (const std::size_t node : {0U, 1U}) {
        cluster.kill(node);
        cluster[node].reset = second;
        cluster[node].set_key(key_of(static_cast<unsigned char>(31 + node)));
    }
    cluster.start(0);
    cluster.start(1);
    cluster.deliver();
    cluster.run(40, 50);
    REQUIRE(cluster[0].view().finalized->header.slot == 50);
    support::Observer observer(cluster[0].genesis());
    observer.reset = second;
    observer.start_at(50);
    for (chain::Height height = 2; observer.refusal().empty(); ++height) {
        REQUIRE(height <= cluster[0].view().finalized->header.height);
        observer.give_from(cluster[0].storage(), height, height);
    }
    CHECK(observer.view().head->id == first.from);
    CHECK_THAT(observer.refusal(),
               Catch::Contains("a recovery that this node does not know, below the one"));
    CHECK_THAT(observer.refusal(), Catch::Contains("begin with a snapshot"));
}

TEST_CASE("a node of a recovered chain may be killed in its first write", "[recover]") {
    Cluster cluster(4, 0, kPeriod);
    const chain::ScheduleReset reset = lose_half(cluster);
    cluster.kill(0);
    cluster.kill(1);
    // The page of the fresh journal is there, the rows beside it are not: kill -9, a power cut, or
    // a full disk and a restart.
    cluster[0].writes_left = 0;
    cluster[0].left = support::Machine::Left::page;
    restart(cluster, 0, reset);
    cluster.kill(0);
    cluster[0].storage().cut_power();
    cluster[0].writes_left.reset();
    cluster.start(0);
    restart(cluster, 1, reset);
    cluster.deliver();
    CHECK_FALSE(cluster[0].view().keys[0].lost);
    CHECK_FALSE(cluster[1].view().keys[0].lost);
    cluster.run(20, 200);
    CHECK(cluster[0].view().finalized->header.slot == 200);
}
