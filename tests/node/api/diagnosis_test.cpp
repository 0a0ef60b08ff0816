#include "node/api/clocks.hpp"

#include <catch2/catch.hpp>

namespace node::api {
namespace {

// Four validators as bora sees them, all well.
AgreementView four() {
    AgreementView view;
    for (const char* name : {"bora", "borb", "borc", "bord"}) {
        ValidatorStatus each;
        each.entry.producer = *chain::Name::from_string(name);
        each.own = view.validators.empty();
        each.connected = !each.own;
        each.voted_final = true;
        each.last_vote = Promise{chain::VoteKind::commit, 100, 200};
        if (!each.own) {
            each.head = 100;
            each.clock_nanoseconds = 20'000;
        }
        view.validators.push_back(each);
    }
    view.quorum = 3;
    view.clocks_heard = 4;
    view.head = 100;
    view.head_slot = 200;
    view.finalized = 100;
    return view;
}

// The only finding there is.
std::string only(const AgreementView& view, Finding::Kind kind, const std::string& who) {
    const auto findings = diagnose(view);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == kind);
    CHECK(findings[0].who == who);
    return findings[0].text;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("all is well") {
    CHECK(diagnose(four()).empty());
    CHECK(why_finality_waits(four(), {}).empty());
}

TEST_CASE("a validator whose wallet is locked says so") {
    AgreementView view = four();
    view.validators[0].signing_failure = "no unlocked wallet has the key";
    CHECK(has(only(view, Finding::Kind::silent, "bora"),
              "bora signed nothing when it was asked last: no unlocked wallet has the key."));
}

TEST_CASE("a node without history says whom it waits for, and not that it is stale") {
    AgreementView view = four();
    view.joining_waits_for = "waiting for peers of two organisations";
    view.clock.microseconds = 3'600'000'000;
    CHECK(has(only(view, Finding::Kind::joining, ""), "waiting for peers of two organisations."));
}

TEST_CASE("what is final ten minutes behind the clock is stale, with the clocks of others") {
    AgreementView view = four();
    view.clock.microseconds = 600'000'000;
    CHECK(diagnose(view).empty());
    view.clock.microseconds = 601'000'000;
    const std::string text = only(view, Finding::Kind::stale, "");
    CHECK(has(text, "0 h 10 min behind this node's clock"));
    CHECK(has(text, "borb 0 ms, borc 0 ms and bord 0 ms"));
}

TEST_CASE("a validator down") {
    AgreementView view = four();
    view.validators[2].connected = false;
    // Its votes come by way of others.
    CHECK(diagnose(view).empty());
    view.validators[2].last_vote->height = 88;
    const std::string text = only(view, Finding::Kind::down, "borc");
    CHECK(has(text, "borc is down"));
    CHECK(has(text, "block 88, 12 blocks below"));
    view.lag_milliseconds = 5'000;
    CHECK(why_finality_waits(view, diagnose(view)) == text);
}

TEST_CASE("a node that was not told of a recovery says so before it calls that a partition") {
    AgreementView view = four();
    view.refusals = {
        "b:1: it said go_away other_recovery: follows no recovery, we follow recovery 1234 (block "
        "100): who lacks one needs its recovery.txt and recover-from"};
    CHECK(has(only(view, Finding::Kind::recovery, ""), "starts with --recover-from ID"));
    for (std::size_t i : {1U, 2U, 3U})
        view.validators[i].connected = false;
    CHECK(diagnose(view).front().kind == Finding::Kind::recovery);
}

TEST_CASE("a convicted validator is named, with who is left and how it comes back") {
    AgreementView view = four();
    const auto bord = view.validators[3].entry.producer;
    view.convicted.push_back({bord, "PUB_K1_bord", "two votes of one slot", 77, false});
    // It is in the schedule still.
    std::string text = only(view, Finding::Kind::convicted, "bord");
    CHECK(has(text, "convicted in block 77 of two votes of one slot: its key PUB_K1_bord counts"));
    CHECK(has(text, "3 of 4 validators are left and 3 must agree: no other may fail."));
    CHECK(has(text, "regproducer bord NEWKEY"));
    view.validators.pop_back();
    CHECK(has(only(view, Finding::Kind::convicted, "bord"), "3 of 4 validators are left and 3"));
    view.convicted[0].own = true;
    text = only(view, Finding::Kind::convicted, "bord");
    CHECK(has(text, "This node has the key."));
    CHECK(has(text, "key create --vote --journal DATA_DIR"));
    // What is down beside it is why nothing becomes final, and counts.
    view.validators[2].connected = false;
    view.lag_milliseconds = 5'000;
    const auto findings = diagnose(view);
    REQUIRE(findings.size() == 2);
    CHECK(has(why_finality_waits(view, findings), "borc is down"));
    view.quorum = 1;
    CHECK(has(diagnose(view).back().text, "1 more may fail"));
}

TEST_CASE("a clock 3 s off, of another and of this node") {
    AgreementView view = four();
    view.validators[1].clock_nanoseconds = 3'050'000'000;
    const std::string text = only(view, Finding::Kind::clock, "borb");
    CHECK(has(text, "The clock of borb is 3.0 s ahead of"));
    view.validators[1].clock_nanoseconds = -3'050'000'000;
    CHECK(has(only(view, Finding::Kind::clock, "borb"), "3.0 s behind"));
    for (std::size_t i : {1U, 2U, 3U})
        view.validators[i].clock_nanoseconds = 3'000'000'000;
    CHECK(has(only(view, Finding::Kind::clock, ""), "this node is 3.0 s behind those of 3"));
    // What half a slot allows is no finding.
    for (std::size_t i : {1U, 2U, 3U})
        view.validators[i].clock_nanoseconds = 240'000'000;
    CHECK(diagnose(view).empty());
}

TEST_CASE("a clock is not blamed for a long way or a busy machine") {
    AgreementView view = four();
    view.validators[1].clock_nanoseconds = -6'100'000'000;
    CHECK(has(only(view, Finding::Kind::clock, "borb"), "6.1 s behind"));
    view.validators[1].clock_error_nanoseconds = 6'000'000'000;
    CHECK(diagnose(view).empty());
    view.validators[1].clock_error_nanoseconds = 5'800'000'000;
    CHECK(has(only(view, Finding::Kind::clock, "borb"), "6.1 s behind"));
    for (std::size_t i : {1U, 2U, 3U}) {
        view.validators[i].clock_nanoseconds = -6'100'000'000;
        view.validators[i].clock_error_nanoseconds = 6'100'000'000;
    }
    CHECK(diagnose(view).empty());
}

TEST_CASE("a key of the schedule that this node had, and has no more, is named") {
    AgreementView view = four();
    view.validators[0].own = false;
    view.validators[0].lacks = "PUB_K1_old";
    CHECK(has(only(view, Finding::Kind::silent, "bora"),
              "bora is in the schedule with the key PUB_K1_old, which no signature-provider"));
    // A quorum is not there without it.
    view.validators[1].connected = false;
    view.lag_milliseconds = 5'000;
    const auto findings = diagnose(view);
    REQUIRE(findings.size() == 2);
    CHECK(findings[1].kind == Finding::Kind::partition);
}

TEST_CASE("too few clocks, and times ahead of a clock that is right") {
    AgreementView view = four();
    view.clocks_heard = 2;
    CHECK(has(only(view, Finding::Kind::silent, ""), "clocks of 2 of 4 validators"));
    view = four();
    view.clock = *chain::TimePoint::from_string("2026-11-23T12:00:00.000");
    view.final_time = view.clock;
    view.signs_from = *chain::TimePoint::from_string("2026-11-23T12:00:01.000");
    CHECK(diagnose(view).empty());
    view.signs_from = *chain::TimePoint::from_string("2026-11-23T15:00:00.000");
    CHECK(has(only(view, Finding::Kind::clock, ""), "up to 2026-11-23T15:00:00.000"));
    view.final_time = *chain::TimePoint::from_string("2026-11-24T12:00:00.500");
    const std::string text = only(view, Finding::Kind::clock, "");
    CHECK(has(text, "is dated 2026-11-24T12:00:00.500, 24 h 0 min ahead"));
    // Who is behind the others is to be set, whatever else is dated later.
    for (std::size_t i : {1U, 2U, 3U})
        view.validators[i].clock_nanoseconds = 86'400'500'000'000;
    CHECK(has(only(view, Finding::Kind::clock, ""), "this node is 24 h 0 min behind"));
}

TEST_CASE("a lagging validator, and this node lagging") {
    AgreementView view = four();
    view.validators[3].head = 60;
    CHECK(has(only(view, Finding::Kind::lagging, "bord"), "bord lags: its head is block 60, 40"));
    view.validators[3].head = 98;
    CHECK(diagnose(view).empty());
    view = four();
    view.head = 50;
    CHECK(has(only(view, Finding::Kind::lagging, ""), "its head is block 50, its peers are at"));
    // While it catches up with one of them, nothing is partitioned, and what is final is old.
    for (const std::size_t i : {2U, 3U})
        view.validators[i].connected = false;
    view.lag_milliseconds = 700'000;
    view.clock.microseconds = 700'000'000;
    CHECK(has(only(view, Finding::Kind::lagging, ""), "its peers are at block 100"));
}

TEST_CASE("a validator that is there and does not vote") {
    AgreementView view = four();
    view.validators[1].last_vote->height = 70;
    CHECK(has(only(view, Finding::Kind::silent, "borb"), "does not vote"));
}

TEST_CASE("a validator that does not vote while the chain stands, at one height") {
    AgreementView view = four();
    view.head_slot = 208;
    CHECK(diagnose(view).empty());
    view.head_slot = 260;
    for (std::size_t i : {1U, 2U})
        view.validators[i].last_vote->slot = 260;
    std::string text = only(view, Finding::Kind::silent, "bord");
    CHECK(has(text, "0 blocks below the head, 60 slots ago; 'bor-cli doctor' and the log there"));
    view.validators[3].last_vote.reset();
    CHECK(diagnose(view).empty());  // The node may have begun a moment ago.
    view.lag_milliseconds = 30'000;
    CHECK(has(only(view, Finding::Kind::silent, "bord"), "no vote of it was ever seen here"));
    view.validators[3].clock_nanoseconds = 9'000'000'000;
    const auto findings = diagnose(view);
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].kind == Finding::Kind::clock);
    CHECK(has(findings[1].text, "its clock is 9.0 s ahead of this node's"));
}

TEST_CASE("where the own clock is wrong no other time is judged, and it is named first") {
    AgreementView view = four();
    view.clock.microseconds = 10'800'000'000;
    for (std::size_t i : {1U, 2U, 3U})
        view.validators[i].clock_nanoseconds = -10'800'000'000'000;
    CHECK(compare_clocks(view).ours_ahead == 10'800'000);
    CHECK(has(only(view, Finding::Kind::clock, ""), "the times of others cannot be judged here"));
    view.joining_waits_for = "waiting";
    view.validators[2].connected = false;
    CHECK(diagnose(view).front().kind == Finding::Kind::clock);
    CHECK_FALSE(compare_clocks(four()).ours_ahead);
}

TEST_CASE("a clock between two wrong ones is right, and both are named") {
    AgreementView view = four();
    view.validators[2].clock_nanoseconds = -20'000'000'000;
    view.validators[3].clock_nanoseconds = 30'000'000'000;
    CHECK_FALSE(compare_clocks(view).ours_ahead);
    const auto both = diagnose(view);
    REQUIRE(both.size() == 2);
    CHECK(both[0].who == "borc");
    CHECK(has(both[0].text, "The clock of borc is 20.0 s behind this node's"));
    CHECK(has(both[1].text, "The clock of bord is 30.0 s ahead of this node's"));
    // Two of three, and those agree: the fourth may be right with ours.
    view.validators[2].clock_nanoseconds = 31'000'000'000;
    CHECK_FALSE(compare_clocks(view).ours_ahead);
    REQUIRE(diagnose(view).size() == 2);
    CHECK(has(diagnose(view)[0].text, "borc is 31.0 s ahead of this node's: as many clocks show"));
    view.validators[1].clock_nanoseconds = 31'000'000'000;
    CHECK(compare_clocks(view).ours_ahead == -31'000);
    CHECK(has(only(view, Finding::Kind::clock, ""), "31.0 s behind those of 3 of its 3 peers"));
}

TEST_CASE("who joins a chain that went through a recovery is told which") {
    AgreementView view = four();
    view.finalized = 1;
    view.peers_recovery = FollowedRecovery{"1234abcd", 100};
    const std::string text = only(view, Finding::Kind::recovery, "");
    CHECK(has(text, "Peers follow recovery 1234abcd above block 100"));
    CHECK(has(text, "--recover-from 1234abcd"));
}

TEST_CASE("who follows a recovery is told what it waits for, and nothing of what it replaces") {
    AgreementView view = four();
    view.validators.resize(3);
    view.recovery = FollowedRecovery{"1234abcd", 100, true};
    view.final_time.microseconds = 86'400'000'000;
    std::string text = only(view, Finding::Kind::recovery, "");
    CHECK(has(text, "follows recovery 1234abcd above block 100: 3 of its 3 validators are here"));
    CHECK(has(text, "It waits for its next block."));
    view.validators[1].connected = false;
    text = only(view, Finding::Kind::recovery, "");
    CHECK(has(text, "2 of its 3 validators are here and 3 must agree. It waits for borb: start"));
    view.validators[0].stopped = true;
    for (const Finding& each : diagnose(view))
        CHECK_FALSE(has(each.text, "go on with 'bor-cli recover make'"));
}

TEST_CASE("who has answered a recovery is told what suits a chain that lives, or stands") {
    AgreementView view = four();
    view.validators[0].stopped = true;
    view.final_time = view.clock;
    CHECK(has(only(view, Finding::Kind::silent, "bora"), "its validator gets a new key"));
    view.clock.microseconds += 60'000'000;
    CHECK(has(diagnose(view).front().text, "make it, once for all ('bor-cli recover make')"));
}

TEST_CASE("a key that votes without its journal is no reason why nothing becomes final") {
    AgreementView view = four();
    view.lag_milliseconds = 30'000;
    const std::vector<Finding> findings{{Finding::Kind::amnesia, "borc", "it went on"},
                                        {Finding::Kind::down, "bord", "bord is down"}};
    CHECK(why_finality_waits(view, findings) == "bord is down");
    CHECK(has(why_finality_waits(view, {findings.front()}), "though 4 validators can be reached"));
}

TEST_CASE("a fork is named, with whom, the block and what to do") {
    AgreementView view = four();
    view.forks = {{"bord (b:1)", "it said go_away forked: has another final block 70: ab, we cd"}};
    const std::string text = only(view, Finding::Kind::fork, "bord (b:1)");
    CHECK(has(text, "bord (b:1) and this node are on two final branches"));
    CHECK(has(text, "block 70"));
    CHECK(has(text, "fork-proof"));
}

TEST_CASE("more convicted validators than tolerated") {
    AgreementView view = four();
    for (std::size_t i : {2U, 3U}) {
        view.convicted.push_back(
            {view.validators[i].entry.producer, "PUB", "two votes of one slot", 77, false});
    }
    const auto findings = diagnose(view);
    REQUIRE(findings.size() == 3);
    CHECK(findings[0].kind == Finding::Kind::unsound);
    CHECK(has(findings[0].text, "2 of 4 validators were convicted (borc and bord), and 1 are"));
    CHECK(has(findings[0].text, "the agreement cannot hold"));
}

TEST_CASE("a key that went on without its journal needs a successor") {
    AgreementView view = four();
    view.validators[1].forgot = true;
    const std::string text = only(view, Finding::Kind::amnesia, "borb");
    CHECK(has(text, "can convict it"));
    CHECK(has(text, "regproducer borb NEWKEY"));
}

TEST_CASE("a revoked key, as seen by its node and by others") {
    AgreementView view = four();
    for (std::size_t i : {1U, 2U, 3U})
        view.validators[i].connected = false;
    view.refusals = {"revoked: the key is not registered any more"};
    view.lag_milliseconds = 5'000;
    const auto findings = diagnose(view);
    // Nothing is partitioned where peers refuse it.
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == Finding::Kind::revoked);
    CHECK(has(findings[0].text, "its key is revoked"));
    // It may not have the block yet that removed its key.
    view.is_registered = true;
    CHECK(diagnose(view).front().kind == Finding::Kind::revoked);

    view = four();
    view.refusals = {
        "b:1: it said go_away not_permitted: KEY is not one of the 4 registered nodes"};
    CHECK(has(only(view, Finding::Kind::revoked, ""), "at a node that peers accept"));
    view.is_registered = true;
    CHECK(has(only(view, Finding::Kind::lagging, ""), "that peer is behind, or blank"));

    view = four();
    view.validators[2].connected = false;
    view.validators[2].has_node_key = false;
    CHECK(diagnose(view).empty());  // Others pass its votes on.
    view.validators[2].last_vote.reset();
    CHECK(has(only(view, Finding::Kind::revoked, "borc"), "borc cannot connect"));
}

TEST_CASE("a chain without members, and one whose validators may not connect") {
    AgreementView view = four();
    view.has_member = false;
    const std::string memberless = only(view, Finding::Kind::memberless, "");
    CHECK(has(memberless, "nobody can vote for validators, or sign a recovery"));
    CHECK(has(memberless, "'bor-cli member add'"));

    view = four();
    for (const std::size_t i : {1U, 2U, 3U}) {
        view.validators[i].connected = false;
        view.validators[i].has_node_key = false;
    }
    CHECK(diagnose(view).empty());  // Their votes come.
    view.lag_milliseconds = 30'000;
    const auto findings = diagnose(view);
    REQUIRE(findings.size() == 4);  // Each of the three follows; it is no partition.
    CHECK(findings[0].kind == Finding::Kind::revoked);
    CHECK(findings[0].who.empty());
    CHECK(has(findings[0].text, "Only 1 of 4 validators have a registered validator's node"));
    CHECK(has(findings[0].text, "'bor-cli member remove', which revokes all of a member"));
    CHECK(why_finality_waits(view, findings) == findings[0].text);
    CHECK(findings[3].who == "bord");
    // One may be missing.
    for (const std::size_t i : {1U, 2U})
        view.validators[i].has_node_key = true;
    CHECK(diagnose(view).front().who == "bord");
}

TEST_CASE("a key of this node that keeps still") {
    AgreementView view = four();
    view.validators[0].twin = true;
    CHECK(has(only(view, Finding::Kind::twin, "bora"), "another machine"));
    view.validators[0].twin = false;
    view.validators[0].journal_lost = true;
    CHECK(has(only(view, Finding::Kind::silent, "bora"), "safety journal"));
    CHECK(has(only(view, Finding::Kind::silent, "bora"), "start one once with --accept-amnesia"));
    view.finalized = 1;
    CHECK(has(only(view, Finding::Kind::silent, "bora"), "Look for what is left of it first"));
    // A new disk beside peers that have the chain.
    view.head = 1;
    const auto fetching = diagnose(view);
    REQUIRE_FALSE(fetching.empty());
    CHECK(has(fetching.front().text, "it waits for a final block made after its start"));
}

TEST_CASE("a partition") {
    AgreementView view = four();
    view.validators[2].connected = false;
    view.validators[3].connected = false;
    CHECK(diagnose(view).empty());
    view.lag_milliseconds = 10'000;
    const std::string text = only(view, Finding::Kind::partition, "");
    CHECK(has(text, "only 2 of 4 validators"));
    CHECK(has(text, "borc and bord are cut off"));
    CHECK(why_finality_waits(view, diagnose(view)) == text);
    view.validators[2].connected = true;
    view.validators[3].connected = true;
    CHECK(has(why_finality_waits(view, {}), "for 10.0 s, though 4 validators"));
}

}  // namespace
}  // namespace node::api
