// The broker's rules on a simulated disk, killed at a thousand random points; and each thing that
// keeps what was acknowledged left out once, which must be seen.
#include "tests/node/bps/kills/killed_broker.hpp"
#include "tests/node/bps/kills/left_out.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using bps::Rule;
using kills::KilledBroker;

constexpr std::size_t kKillsOfASeed = 25;

std::size_t kills_wanted() {
    const char* const text = std::getenv("BOR_BPS_KILLS");
    return text == nullptr ? 1'000 : static_cast<std::size_t>(std::stoul(text));
}

// What is seen within so many kills, and after how many.
std::pair<std::size_t, std::string> first_seen(std::size_t kills_max) {
    std::size_t kills = 0;
    for (std::uint64_t seed = 1; kills < kills_max; ++seed) {
        std::size_t of_seed = 0;
        try {
            KilledBroker broker(seed);
            while (of_seed < kKillsOfASeed) {
                ++of_seed;
                broker.kill();
            }
        } catch (const kills::Lost& lost) {
            return {kills + of_seed, lost.what()};
        }
        kills += of_seed;
    }
    return {kills, {}};
}

}  // namespace

TEST_CASE("a thousand kills lose, double and move nothing", "[bps][kills]") {
    kills::leave_out(Rule::none);
    const std::size_t wanted = kills_wanted();
    KilledBroker::Counts total;
    std::uint64_t seed = 0;
    while (total.kills < wanted) {
        ++seed;
        INFO("seed " << seed);
        KilledBroker broker(seed);
        try {
            for (std::size_t i = 0; i < kKillsOfASeed; ++i)
                broker.kill();
        } catch (const kills::Lost& lost) {
            FAIL("kill " << broker.counts().kills << ": " << lost.what());
        }
        const KilledBroker::Counts& of = broker.counts();
        total.kills += of.kills;
        total.power_cuts += of.power_cuts;
        total.starts_cut += of.starts_cut;
        total.acknowledged += of.acknowledged;
        total.duplicates += of.duplicates;
        total.cut_records += of.cut_records;
        total.truncations += of.truncations;
        total.commits += of.commits;
        total.generations += of.generations;
        total.compaction_steps += of.compaction_steps;
    }
    fmt::print(
        "kills {} (power cuts {}, at a start {}), seeds 1..{}: {} batches acknowledged, {} "
        "sent again, {} torn tails, {} truncations, {} commits, {} generations, {} steps of "
        "compaction\n",
        total.kills,
        total.power_cuts,
        total.starts_cut,
        seed,
        total.acknowledged,
        total.duplicates,
        total.cut_records,
        total.truncations,
        total.commits,
        total.generations,
        total.compaction_steps);
    // Else a part of it was not tried.
    CHECK(total.power_cuts > wanted / 3);
    CHECK(total.starts_cut > wanted / 20);
    CHECK(total.acknowledged > 2 * wanted);
    CHECK(total.duplicates > wanted);
    CHECK(total.cut_records > wanted / 20);
    CHECK(total.truncations > wanted / 20);
    CHECK(total.commits > wanted / 4);
    CHECK(total.generations > wanted / 10);
    CHECK(total.compaction_steps > wanted / 4);
}

TEST_CASE("without what keeps it, something is lost", "[bps][kills]") {
    struct Mutant {
        Rule rule;
        std::string_view name;
    };
    for (const auto& [rule, name] : {Mutant{Rule::answer_after_sync, "ack before sync"},
                                     {Rule::duplicate_waits, "duplicate answered at once"},
                                     {Rule::index_goes_with_cut, "index trusted after a cut"},
                                     {Rule::producers_rebuilt, "producer state not rebuilt"},
                                     {Rule::tail_cut_at_damage, "tail cut one batch short"},
                                     {Rule::rewrite_synced, "segment replaced before sync"}}) {
        kills::leave_out(rule);
        const auto [kills, seen] = first_seen(1'000);
        kills::leave_out(Rule::none);
        fmt::print("{}: kill {}, {}\n", name, kills, seen.empty() ? "NOT SEEN" : seen);
        INFO(name);
        CHECK_FALSE(seen.empty());
    }
}
