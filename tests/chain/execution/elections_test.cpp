// Elections: what is counted, who enters, who leaves, and when; against a naive model.
#include "chain/execution/elections.hpp"

#include "chain_fixture.hpp"
#include "election_network.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <random>
#include <set>

using namespace chain;
using namespace chain::test;

namespace {

// Keys without a point behind them: elections only compare them.
PublicKey made_up_key(std::uint64_t number) {
    PublicKey key;
    for (std::size_t i = 0; i < 8; ++i) {
        key.point[32 - i] = static_cast<std::byte>(number >> (8 * i));
    }
    return key;
}

Name numbered(std::uint64_t number) {
    return Name{(number + 1) << 40U};
}

ScheduleEntry entry(std::uint64_t number) {
    return {numbered(number), made_up_key(2 * number), made_up_key(2 * number + 1)};
}

std::uint64_t number_of(Name name) {
    return (name.value >> 40U) - 1;
}

// Nothing else speaks against this member of the schedule.
bool only_missed(const Candidate& member, const ElectionRules& rules) {
    const bool is_wanted = member.registered && !member.convicted && member.votes > 0;
    return is_wanted && member.missed >= rules.max_missed;
}

Candidate candidate(std::uint64_t number, std::uint64_t votes) {
    return {.entry = entry(number),
            .votes = votes,
            .missed = 0,
            .registered = true,
            .ready = true,
            .convicted = false};
}

using Numbers = std::set<std::uint64_t>;

std::vector<ScheduleEntry> entries_of(const Numbers& numbers) {
    std::vector<ScheduleEntry> entries;
    entries.reserve(numbers.size());
    for (const std::uint64_t number : numbers) {
        entries.push_back(entry(number));
    }
    return entries;
}

Numbers elected(const Numbers& present,
                const std::vector<Candidate>& candidates,
                const ElectionRules& rules = {}) {
    Numbers numbers;
    for (const Name name : producers_of(elect(entries_of(present), candidates, rules))) {
        numbers.insert(number_of(name));
    }
    return numbers;
}

// The same rules written down again without any cleverness: it takes the present members, and
// takes out and puts in one at a time.
class Naive {
  public:
    Naive(const Numbers& present,
          const std::vector<Candidate>& candidates,
          const ElectionRules& rules)
        : present_(present), rules_(rules) {
        for (const Candidate& each : candidates) {
            all_[number_of(each.entry.producer)] = &each;
        }
        find_winners();
    }

    [[nodiscard]] Numbers elected() const {
        std::size_t least = 0;
        for (const std::uint64_t number : present_) {
            if (winners_.contains(number) || is_absent(number)) ++least;
        }
        for (std::size_t out = (present_.size() - 1) / 3;; --out) {
            Numbers result = present_;
            for (std::size_t i = 0; i < out; ++i) {
                take_out_one(result);
            }
            put_in(result);
            const bool has_enough = result.size() >= least && result.size() >= rules_.min_producers;
            if (has_enough || out == 0) return result;
        }
    }

  private:
    [[nodiscard]] bool is_good(std::uint64_t number) const {
        const Candidate& each = *all_.at(number);
        if (!each.registered || each.convicted || each.votes == 0) return false;
        if (present_.contains(number)) return each.missed < rules_.max_missed;
        return each.ready && 3 * each.votes > rules_.cast;
    }
    [[nodiscard]] bool is_absent(std::uint64_t number) const {
        return only_missed(*all_.at(number), rules_);
    }
    void find_winners() {
        while (winners_.size() < rules_.max_producers) {
            std::optional<std::uint64_t> best;
            for (const auto& [number, each] : all_) {
                if (winners_.contains(number) || !is_good(number)) continue;
                if (!best || each->votes > all_.at(*best)->votes) best = number;
            }
            if (!best) return;
            winners_.insert(*best);
        }
    }
    [[nodiscard]] bool is_worse(std::uint64_t a, std::uint64_t b) const {
        const Candidate& left = *all_.at(a);
        const Candidate& right = *all_.at(b);
        if (left.convicted != right.convicted) return left.convicted;
        if (is_absent(a) != is_absent(b)) return is_absent(b);
        const auto missed = [&](const Candidate& each) {
            return each.missed < rules_.max_missed ? 0 : each.missed;
        };
        if (missed(left) != missed(right)) return missed(left) > missed(right);
        const auto weight = [](const Candidate& each) { return each.registered ? each.votes : 0; };
        if (weight(left) != weight(right)) return weight(left) < weight(right);
        return a > b;
    }
    void take_out_one(Numbers& result) const {
        std::optional<std::uint64_t> worst;
        for (const std::uint64_t number : result) {
            if (winners_.contains(number)) continue;
            if (!worst || is_worse(number, *worst)) worst = number;
        }
        if (worst) result.erase(*worst);
    }
    void put_in(Numbers& result) const {
        std::vector<std::uint64_t> new_ones;
        for (const std::uint64_t number : winners_) {
            if (!present_.contains(number)) new_ones.push_back(number);
        }
        std::ranges::stable_sort(new_ones, [&](std::uint64_t a, std::uint64_t b) {
            return all_.at(a)->votes > all_.at(b)->votes;
        });
        std::size_t entered = 0;
        for (const std::uint64_t number : new_ones) {
            if (result.size() >= rules_.max_producers) return;
            if (entered > 0 && 3 * (entered + 1) > result.size()) return;
            result.insert(number);
            ++entered;
        }
    }

    const Numbers& present_;
    const ElectionRules& rules_;
    std::map<std::uint64_t, const Candidate*> all_;
    Numbers winners_;
};

}  // namespace

TEST_CASE("10,000 random elections agree with a naive model, and with themselves") {
    std::mt19937_64 random(4);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    for (int round = 0; round < 10'000; ++round) {
        const std::uint64_t all = 1 + below(40);
        ElectionRules rules;
        rules.max_producers = 1 + below(21);
        rules.min_producers = 1 + below(rules.max_producers);
        rules.max_missed = 3;
        rules.cast = below(18);
        Numbers present;
        for (std::uint64_t i = 0; i < 1 + below(22); ++i) {
            present.insert(below(all));
        }
        std::vector<Candidate> candidates;
        for (std::uint64_t number = 0; number < all; ++number) {
            if (!present.contains(number) && below(4) == 0) continue;
            Candidate& each = candidates.emplace_back(candidate(number, below(6)));
            each.registered = below(8) != 0;
            each.ready = below(3) != 0;
            each.convicted = below(10) == 0;
            if (present.contains(number)) each.missed = static_cast<std::uint32_t>(below(6));
        }
        const Numbers result = elected(present, candidates, rules);
        REQUIRE(result == Naive(present, candidates, rules).elected());
        // What must hold whatever the rules are.
        std::size_t gone = 0;
        for (const std::uint64_t number : present) {
            if (!result.contains(number)) ++gone;
        }
        REQUIRE(gone <= (present.size() - 1) / 3);
        const std::size_t entered = result.size() - (present.size() - gone);
        REQUIRE((entered <= 1 || entered <= (result.size() - 1) / 3));
        const auto replaced = std::ranges::count_if(candidates, [&](const Candidate& each) {
            const std::uint64_t number = number_of(each.entry.producer);
            const bool is_gone = present.contains(number) && !result.contains(number);
            return is_gone && only_missed(each, rules);
        });
        REQUIRE(static_cast<std::size_t>(replaced) <= entered);
        REQUIRE(result.size() >= std::min(present.size(), rules.min_producers));
        REQUIRE(result.size() <= std::max(present.size(), rules.max_producers));
        std::vector<Candidate> reversed(candidates.rbegin(), candidates.rend());
        REQUIRE(elected(present, reversed, rules) == result);
    }
}

TEST_CASE("the heaviest are elected, ties go to the lower name") {
    std::vector<Candidate> candidates;
    candidates.reserve(5);
    for (std::uint64_t number = 0; number < 5; ++number) {
        candidates.push_back(candidate(number, number < 2 ? 7 : 9));
    }
    CHECK(elected({0, 1, 2, 3}, candidates, {.max_producers = 4}) == Numbers{0, 2, 3, 4});
    candidates[4].votes = 7;
    CHECK(elected({0, 1, 2, 3}, candidates, {.max_producers = 4}) == Numbers{0, 1, 2, 3});
}

TEST_CASE("one enters at once, or as many as the quorum can do without") {
    const auto grows_to = [](const Numbers& present) {
        std::vector<Candidate> candidates;
        for (std::uint64_t number = 0; number < 21; ++number)
            candidates.push_back(candidate(number, 1));
        return elected(present, candidates).size();
    };
    CHECK(grows_to({0}) == 2);
    CHECK(grows_to({0, 1, 2, 3}) == 5);
    CHECK(grows_to({0, 1, 2, 3, 4}) == 7);
    CHECK(grows_to({0, 1, 2, 3, 4, 5, 6}) == 10);
}

TEST_CASE("who did not say that it is ready does not enter") {
    std::vector<Candidate> candidates{candidate(0, 1), candidate(1, 9)};
    candidates[1].ready = false;
    CHECK(elected({0}, candidates) == Numbers{0});
    candidates[1].ready = true;
    CHECK(elected({0}, candidates) == Numbers{0, 1});
    // Who is in need not say so again.
    candidates[0].ready = false;
    CHECK(elected({0, 1}, candidates) == Numbers{0, 1});
}

TEST_CASE("a newcomer needs more than a third of the weight that is cast") {
    const auto enters = [](std::uint64_t votes, std::uint64_t cast) {
        const std::vector<Candidate> candidates{candidate(0, 1), candidate(1, votes)};
        return elected({0}, candidates, {.cast = cast}) == Numbers{0, 1};
    };
    CHECK_FALSE(enters(0, 0));
    CHECK(enters(1, 1));  // The one member's.
    CHECK(enters(1, 2));
    CHECK_FALSE(enters(1, 3));
    CHECK_FALSE(enters(1, 4));
    CHECK(enters(2, 4));
    CHECK(enters(2, 5));
    CHECK_FALSE(enters(2, 6));
    CHECK(enters(3, 6));
    // All that 10,000 members of the greatest weight can cast, and what no sum may wrap around.
    CHECK_FALSE(enters(10'000 * kWeightMax / 3, 10'000 * kWeightMax));
    CHECK(enters(10'000 * kWeightMax / 3 + 1, 10'000 * kWeightMax));
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    CHECK_FALSE(enters(kMost / 3, kMost));
    CHECK(enters(kMost / 3 + 1, kMost));
    CHECK(enters(kMost, kMost));
}

TEST_CASE("who is in the schedule stays with any vote, and needs more than a third to come back") {
    std::vector<Candidate> candidates;
    candidates.reserve(5);
    for (std::uint64_t number = 0; number < 5; ++number) {
        candidates.push_back(candidate(number, 1));
    }
    const ElectionRules rules{.cast = 1'000};
    CHECK(elected({0, 1, 2, 3}, candidates, rules) == Numbers{0, 1, 2, 3});
    candidates[2].votes = 0;
    CHECK(elected({0, 1, 2, 3}, candidates, rules) == Numbers{0, 1, 3});
    candidates[2].votes = 333;
    CHECK(elected({0, 1, 3}, candidates, rules) == Numbers{0, 1, 3});
    candidates[2].votes = 334;
    CHECK(elected({0, 1, 3}, candidates, rules) == Numbers{0, 1, 2, 3});
}

TEST_CASE("at most f leave at once, the convicted first, then who missed most") {
    std::vector<Candidate> candidates;
    candidates.reserve(8);
    for (std::uint64_t number = 0; number < 8; ++number) {
        candidates.push_back(candidate(number, 10 + number));
    }
    const ElectionRules rules{.min_producers = 1, .max_producers = 7, .max_missed = 5};
    const Numbers present{0, 1, 2, 3, 4, 5, 6};
    candidates[2].missed = 5;
    candidates[3].missed = 9;
    candidates[6].convicted = true;
    // f is 2: 6 and 3 go, 7 enters; at the next election it is the turn of 2.
    const Numbers next = elected(present, candidates, rules);
    CHECK(next == Numbers{0, 1, 2, 4, 5, 7});
    CHECK(elected(next, candidates, rules) == Numbers{0, 1, 3, 4, 5, 7});
    candidates[3].ready = false;
    CHECK(elected(next, candidates, rules) == next);
    candidates[3].missed = 4;
    CHECK(elected(present, candidates, rules) == Numbers{0, 1, 3, 4, 5, 7});
    candidates[3].missed = 9;
    // Of three validators none can be spared.
    CHECK(elected({2, 3, 6}, candidates, rules).size() >= 3);
}

TEST_CASE("who only missed slots leaves where another takes its place") {
    std::vector<Candidate> candidates;
    for (std::uint64_t number = 0; number < 7; ++number)
        candidates.push_back(candidate(number, 10));
    candidates[5].missed = 1000;
    candidates[6].missed = 2000;
    const Numbers present{0, 1, 2, 3, 4, 5, 6};
    CHECK(elected(present, candidates) == present);
    candidates.push_back(candidate(7, 10));
    CHECK(elected(present, candidates) == Numbers{0, 1, 2, 3, 4, 5, 7});
    // It is not wanted any more, and keeps no place from the others.
    candidates[5].registered = false;
    CHECK(elected(present, candidates) == Numbers{0, 1, 2, 3, 4, 7});
    candidates.pop_back();
    CHECK(elected(present, candidates) == Numbers{0, 1, 2, 3, 4, 6});
}

TEST_CASE("fewer than min_producers are never left") {
    std::vector<Candidate> candidates;
    candidates.reserve(4);
    for (std::uint64_t number = 0; number < 4; ++number) {
        candidates.push_back(candidate(number, 1));
    }
    candidates[1].registered = false;
    CHECK(elected({0, 1, 2, 3}, candidates, {.min_producers = 4}) == Numbers{0, 1, 2, 3});
    CHECK(elected({0, 1, 2, 3}, candidates, {.min_producers = 3}) == Numbers{0, 2, 3});
    candidates.push_back(candidate(4, 1));
    CHECK(elected({0, 1, 2, 3}, candidates, {.min_producers = 4}) == Numbers{0, 2, 3, 4});
}

TEST_CASE("no key is in the schedule twice, whoever registers it") {
    const std::vector<ScheduleEntry> present = entries_of({0, 1});
    std::vector<Candidate> candidates{candidate(0, 5), candidate(1, 5), candidate(2, 9)};
    SECTION("a newcomer with another's vote key stays out") {
        candidates[2].entry.signing_key = entry(0).vote_key;
        CHECK(elect(present, candidates, {}) == present);
    }
    SECTION("a member that registers another's key keeps its own") {
        candidates[1].entry.vote_key = entry(0).signing_key;
        CHECK(elect(present, candidates, {}) == entries_of({0, 1, 2}));
    }
    SECTION("a member's new key takes effect, in its place") {
        candidates[0].entry.vote_key = made_up_key(77);
        const auto next = elect(present, {candidates[0], candidates[1]}, {});
        CHECK(next[0].vote_key == made_up_key(77));
        CHECK(next[1] == present[1]);
    }
}

TEST_CASE("turns keep their order where the validators stay the same") {
    const std::vector<ScheduleEntry> present{entry(3), entry(1), entry(2)};
    std::vector<Candidate> candidates{candidate(1, 1), candidate(2, 2), candidate(3, 3)};
    CHECK(elect(present, candidates, {}) == present);
    candidates.push_back(candidate(0, 1));
    CHECK(elect(present, candidates, {}) == entries_of({0, 1, 2, 3}));
}

TEST_CASE("missed slots are counted once for each gap and end with a block") {
    const Schedule schedule{.version = 0, .entries = entries_of({0, 1, 2, 3})};
    BlockContext block;
    block.parent_slot = 8;
    block.slot = 9;
    block.producer = numbered(1);
    CHECK(count_misses({}, schedule, block, 1).empty());
    block.slot = 11;  // Slots 9 and 10 are of 1 and 2.
    block.producer = numbered(3);
    const std::vector<Misses> once{{numbered(1), 1}, {numbered(2), 1}};
    CHECK(count_misses({}, schedule, block, 1) == once);
    block.slot = 1'000'003;
    const std::vector<Misses> all{{numbered(0), 1}, {numbered(1), 2}, {numbered(2), 2}};
    CHECK(count_misses(once, schedule, block, 1) == all);
    block.producer = numbered(1);
    CHECK(count_misses(once, schedule, block, 1) ==
          std::vector<Misses>{{numbered(0), 1}, {numbered(2), 2}, {numbered(3), 1}});
    // With repetitions a turn that was begun counts; slots 9 to 11 are of producer 2, 12 of 3.
    block = {};
    block.parent_slot = 8;
    block.slot = 12;
    block.producer = numbered(0);
    CHECK(count_misses({}, schedule, block, 4) == std::vector<Misses>{{numbered(2), 1}});
}

TEST_CASE("at the first election everybody has the votes of all, and nothing changes") {
    Network network;
    const VoteCount count = count_votes(network.chain().state()).value();
    CHECK(count.votes.size() == 4);
    CHECK(count.votes.at(name("v3")) == 5);  // Four validators and `member`.
    CHECK(count.cast == 5);
    CHECK(network.election().empty());
    CHECK(network.election().empty());
}

TEST_CASE("votes weigh what their members weigh, through proxies too") {
    Network network;
    REQUIRE(network.chain().create("proxy").succeeded());
    const auto weight_of = [&](std::string_view producer) {
        return count_votes(network.chain().state()).value().votes[name(producer)];
    };
    const auto cast = [&] { return count_votes(network.chain().state()).value().cast; };
    CHECK(network.vote("member", "proxy", {}).text == "invalid proxy specified");
    REQUIRE(network.act("proxy", "regproxy", data(name("proxy"), std::uint8_t{1})).code == 0);
    CHECK(network.vote("member", "member", {}).text == "cannot proxy to self");
    CHECK(network.vote("member", "proxy", {"v1"}).text ==
          "cannot vote for producers and proxy at same time");
    REQUIRE(network.vote("member", "proxy", {}).code == 0);
    CHECK(weight_of("v1") == 4);
    CHECK(cast() == 4);  // The proxy names nobody.
    REQUIRE(network.vote("proxy", "", {"v1", "v2"}).code == 0);
    CHECK(weight_of("v1") == 5);
    CHECK(weight_of("v3") == 4);
    CHECK(cast() == 5);  // Once, however many it names.
    const auto set_weight = [&](std::uint64_t weight) {
        base::Writer out;
        encode(out, name("member"));
        out.u64(weight);
        return network.act("eosio", "setweight", out.take());
    };
    CHECK(set_weight(kWeightMax + 1).text.find("at most 1000000000000") != std::string::npos);
    REQUIRE(set_weight(100).code == 0);
    CHECK(weight_of("v2") == 104);
    CHECK(cast() == 104);
    REQUIRE(network.act("proxy", "regproxy", data(name("proxy"), std::uint8_t{0})).code == 0);
    CHECK(weight_of("v2") == 4);
    CHECK(cast() == 4);
    // Who is no member has no weight, and may but take back what it voted.
    CHECK(network.vote("proxy", "", {"v1"})
              .text.find("proxy is no member and no proxy, so its vote would count for nothing") !=
          std::string::npos);
    REQUIRE(network.vote("proxy", "", {}).code == 0);
    CHECK(weight_of("v1") == 4);
    CHECK(cast() == 4);
    // Who votes for nobody casts nothing.
    REQUIRE(network.vote("v3", "", {}).code == 0);
    CHECK(weight_of("v1") == 3);
    CHECK(cast() == 3);
    REQUIRE(network.act("v4", "unregprod", data(name("v4"))).code == 0);
    CHECK(network.vote("member", "", {"v4"}).text == "producer v4 is not currently registered");
}

TEST_CASE("a candidate with votes enters once it is ready, for one period") {
    Network network;
    REQUIRE(network.chain().create("late").succeeded());
    CHECK(network.act("late", "ready", data(name("late"))).text ==
          "late is neither registered as a producer nor named by setprods");
    CHECK(network.act("v1", "ready", data(name("v2"))).code != 0);
    REQUIRE(network.registers("late", "late").code == 0);
    REQUIRE(network.vote("member", "", {"late"}).code == 0);
    REQUIRE(network.vote("v1", "", {"late", "v1", "v2", "v3", "v4"}).code == 0);
    CHECK(network.election().empty());
    REQUIRE(network.act("late", "ready", data(name("late"))).code == 0);
    CHECK(network.election() == Network::names({"v1", "v2", "v3", "v4", "late"}));
    // While a change is on its way there is no other; afterwards the schedule is as elected.
    CHECK(network.election().empty());
    CHECK(load_schedule(network.chain().state()).value().entries.size() == 5);
    // Elected, it needs no third any more.
    REQUIRE(network.vote("v1", "", {"v1", "v2", "v3", "v4"}).code == 0);
    CHECK(network.election().empty());
    REQUIRE(network.vote("member", "", {}).code == 0);
    CHECK(network.election() == Network::names({"v1", "v2", "v3", "v4"}));
}

TEST_CASE("who is wanted by a third of the votes or less does not enter") {
    Network network;
    network.add_candidate("late");
    const std::vector<std::string> all{"late", "v1", "v2", "v3", "v4"};
    const auto is_next = [&] {
        REQUIRE(network.act("late", "ready", data(name("late"))).code == 0);
        return network.election().contains(name("late"));
    };
    REQUIRE(network.vote("v1", "", all).code == 0);
    CHECK_FALSE(is_next());  // One of five.
    // One of three: who votes for nobody does not count.
    REQUIRE(network.vote("v3", "", {}).code == 0);
    REQUIRE(network.vote("v4", "", {}).code == 0);
    CHECK_FALSE(is_next());
    SECTION("another member votes for it") {
        REQUIRE(network.vote("v2", "", all).code == 0);
        CHECK(is_next());
    }
    SECTION("another member names a proxy that votes for it") {
        REQUIRE(network.chain().create("proxy").succeeded());
        REQUIRE(network.act("proxy", "regproxy", data(name("proxy"), std::uint8_t{1})).code == 0);
        REQUIRE(network.vote("proxy", "", all).code == 0);
        CHECK_FALSE(is_next());
        REQUIRE(network.vote("v2", "proxy", {}).code == 0);
        CHECK(is_next());
    }
    SECTION("another member votes for nobody any more") {
        REQUIRE(network.vote("member", "", {}).code == 0);
        CHECK(is_next());
    }
}

TEST_CASE(
    "a validator's node speaks in its name with the key that signs blocks, and says no more") {
    Network network;
    TestChain& chain = network.chain();
    REQUIRE(chain.create("late").succeeded());
    const auto says = [&](std::string_view what, const std::string& actor, const std::string& key) {
        return failure_of(
            chain.push(TestChain::action("eosio", what, actor, data(name(actor))), {key}));
    };
    // Before it is a producer no key counts but those of its permissions.
    CHECK(says("ready", "late", "node").code != 0);
    REQUIRE(network.registers("late", "node").code == 0);
    CHECK(says("ready", "late", "node").code == 0);
    CHECK(says("amnesia", "late", "node").code == 0);
    CHECK(find_ready(chain.state(), name("late")) ==
          Ready{chain.block().slot, public_key("node"), public_key("node")});
    CHECK(find_amnesia(chain.state(), name("late")) ==
          Amnesia{chain.block().slot, public_key("node")});
    CHECK_FALSE(find_amnesia(chain.state(), name("v1")).has_value());
    CHECK(says("amnesia", "member", "member").text == "member is no validator");
    // Not for another, not with another key, the account's neither, and nothing else.
    CHECK(says("ready", "late", "late")
              .text.find(public_key("node").to_string() + " has not signed") != std::string::npos);
    CHECK(says("ready", "v1", "node").code != 0);
    CHECK(says("ready", "late", "v1").code != 0);
    CHECK(says("unregprod", "late", "node").code != 0);
    const auto mixed =
        chain.push({TestChain::action("eosio", "ready", "late", data(name("late"))),
                    TestChain::action("eosio", "unregprod", "late", data(name("late")))},
                   {"node"});
    CHECK(failure_of(mixed).code != 0);
    // A signature that is not needed is refused here as everywhere.
    CHECK(failure_of(chain.push(TestChain::action("eosio", "ready", "late", data(name("late"))),
                                {"late", "v1"}))
              .code != 0);
}

TEST_CASE("a producer that misses max_missed slots makes way for a standby") {
    Network network;
    network.add_candidate("standby");
    REQUIRE(network.vote("member", "", {"standby"}).code == 0);
    REQUIRE(network.vote("v3", "", {"standby"}).code == 0);
    network.chain().state();  // The standby is ready now and enters; v3 falls silent.
    CHECK(network.election({"v3"}) == Network::names({"v1", "v2", "v4", "standby"}));
    const auto misses = load_misses(network.chain().state()).value();
    REQUIRE(misses.size() == 1);
    CHECK(misses[0].producer == name("v3"));
    CHECK(misses[0].slots >= 10);
    CHECK(network.election({"v3"}).empty());
    CHECK(load_misses(network.chain().state()).value().empty());
}

TEST_CASE("setprods stops elections until it is called with nothing") {
    Network network;
    CHECK(network.fixes({{"v1", "same"}, {"v2", "same"}}).text.find("have the same key") !=
          std::string::npos);
    REQUIRE(network.fixes({{"v2", "v2"}, {"v1", "v1"}}).code == 0);
    CHECK(network.election() == Network::names({"v1", "v2"}));
    CHECK(network.election().empty());
    CHECK(load_schedule(network.chain().state()).value().entries[0].producer == name("v2"));
    REQUIRE(network.vote("member", "", {"v3"}).code == 0);
    CHECK(network.election().empty());
    REQUIRE(network.fixes({}).code == 0);
    CHECK(network.fixes({}).text.starts_with("setprods without producers has no effect"));
    // The others must be ready to come back.
    CHECK(network.election().empty());
    REQUIRE(network.act("v3", "ready", data(name("v3"))).code == 0);
    CHECK(network.election() == Network::names({"v1", "v2", "v3"}));
}

TEST_CASE("a change waits for the finality of its block, and of the one that saw it") {
    Network network;
    network.chain().final_height = 1;
    REQUIRE(network.registers("v1", "newkey").code == 0);
    REQUIRE(network.says_ready("v1", {"newkey"}).code == 0);
    CHECK(network.election().size() == 4);
    const Height proposed = network.chain().block().height;
    CHECK(network.election().empty());
    const auto schedules = [&] { return load_schedules(network.chain().state()).value(); };
    CHECK(schedules().proposed_at == proposed);
    CHECK(schedules().pending() == nullptr);
    network.chain().final_height = proposed;
    CHECK(network.chain().next_block().version == 0);
    const Height pending = network.chain().block().height;
    CHECK(schedules().pending_since == pending);
    CHECK(network.chain().next_block().version == 0);
    network.chain().final_height = pending;
    CHECK(network.chain().next_block().version == 1);
    CHECK(schedules().proposed == nullptr);
    CHECK(schedules().active->entries[0].signing_key == public_key("newkey"));
    CHECK(find_served(network.chain().state(), public_key("newkey")) == name("v1"));
}
