#include "tests/sim/consensus/cluster.hpp"
#include "tests/sim/full/fleet.hpp"
#include "tests/sim/left_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

// bor-sim: runs seeds of the deterministic simulation. Every seed is a world of its own; a
// failure prints the command that replays it.
//
//   bor-sim --profile consensus --seed N
//   bor-sim --profile consensus --seeds COUNT [--from N] [--workers W]
//   bor-mutants --profile consensus --seeds COUNT --mutant RULE --expect-failure
//
// bor-mutants is the same program, in which a rule of production can be left out.

namespace {

struct Arguments {
    std::string profile = "consensus";
    std::uint64_t from = 1;
    std::uint64_t seeds = 0;  // 0: one, twice, to compare its traces.
    unsigned workers = 2;
    std::string mutant;           // The rule that is left out.
    bool expect_failure = false;  // Stop at the first; none is an error.
};

[[noreturn]] void usage(std::string_view problem) {
    std::cerr << "bor-sim: " << problem
              << "\nusage: bor-sim --profile consensus|beyond|lives|full|restored|ahead|narrow "
                 "(--seed N | --seeds COUNT [--from N]) [--workers W] [--mutant RULE] "
                 "[--expect-failure]\nrules:";
    for (const std::string_view mutant : sim::rule_names()) {
        std::cerr << ' ' << mutant;
    }
    std::cerr << '\n';
    std::exit(2);
}

// Of a profile of whole nodes.
std::optional<sim::full::Worlds> worlds_of(std::string_view profile) {
    if (profile == "full") return sim::full::Worlds::any;
    if (profile == "restored") return sim::full::Worlds::restored;
    if (profile == "ahead") return sim::full::Worlds::ahead;
    if (profile == "narrow") return sim::full::Worlds::narrow;
    return std::nullopt;
}

Arguments parse(int count, char** values) {
    Arguments arguments;
    const auto next = [&](int& i) -> std::string {
        if (i + 1 >= count) usage(std::string(values[i]) + " needs a value");
        return values[++i];
    };
    for (int i = 1; i < count; ++i) {
        const std::string_view name = values[i];
        if (name == "--profile") {
            arguments.profile = next(i);
        } else if (name == "--seed" || name == "--from") {
            arguments.from = std::strtoull(next(i).c_str(), nullptr, 10);
        } else if (name == "--seeds") {
            arguments.seeds = std::strtoull(next(i).c_str(), nullptr, 10);
        } else if (name == "--workers") {
            arguments.workers = static_cast<unsigned>(std::atoi(next(i).c_str()));
        } else if (name == "--mutant") {
            arguments.mutant = next(i);
            if (!sim::leave_out(arguments.mutant)) {
                usage("this program cannot leave out " + arguments.mutant);
            }
        } else if (name == "--expect-failure") {
            arguments.expect_failure = true;
        } else {
            usage("unknown option " + std::string(name));
        }
    }
    constexpr std::array<std::string_view, 3> kFast = {"consensus", "beyond", "lives"};
    const bool is_fast = std::ranges::find(kFast, arguments.profile) != kFast.end();
    if (!is_fast && !worlds_of(arguments.profile)) {
        usage("unknown profile " + arguments.profile);
    }
    return arguments;
}

sim::Outcome run(const Arguments& arguments, std::uint64_t seed) {
    if (const auto worlds = worlds_of(arguments.profile)) {
        const sim::full::Outcome full = sim::full::Fleet(seed, *worlds).run();
        sim::Outcome outcome;
        outcome.failure = full.failure;
        outcome.events = full.events;
        outcome.finals = full.finals;
        outcome.changes = full.changes;
        outcome.eos_finals = full.eos_finals;
        outcome.new_disks = full.new_disks;
        outcome.faults.loads = full.loads;
        outcome.upgrades = full.upgrades;
        outcome.counts = full.counts;
        outcome.checked_liveness = true;
        outcome.trace = full.trace;
        return outcome;
    }
    sim::Plan plan;
    plan.seed = seed;
    plan.faults_beyond = arguments.profile == "beyond" ? 1 : 0;
    plan.renews_disks = arguments.profile == "lives";
    return sim::Cluster(plan).run();
}

std::string replay(const Arguments& arguments, std::uint64_t seed) {
    const std::string what = fmt::format("--profile {} --seed {}", arguments.profile, seed);
    if (arguments.mutant.empty()) return "bor-sim " + what;
    return fmt::format("bor-mutants {} --mutant {}", what, arguments.mutant);
}

// What was counted besides, as ", 3 this, 4 that".
std::string words_of(const std::map<std::string, std::uint64_t>& counts) {
    std::string words;
    for (const auto& [name, count] : counts)
        words += fmt::format(", {} {}", count, name);
    return words;
}

int run_one(const Arguments& arguments) {
    const sim::Outcome first = run(arguments, arguments.from);
    const sim::Outcome second = run(arguments, arguments.from);
    std::cout << fmt::format(
        "seed {}: {} events, {} final blocks, {} schedule changes, {} conflicts, worst gap {} "
        "slots, EOS rule {} times{}, trace {:016x}\n",
        arguments.from,
        first.events,
        first.finals,
        first.changes,
        first.conflicts,
        first.worst_gap,
        first.eos_finals,
        words_of(first.counts),
        first.trace);
    if (first.trace != second.trace) {
        std::cout << "FAILED: two runs of one seed differ\n";
        return 1;
    }
    if (first.failure.empty()) return 0;
    std::cout << "FAILED: " << first.failure << '\n';
    return 1;
}

struct Totals {
    std::uint64_t seeds = 0;
    std::uint64_t failed = 0;
    std::uint64_t finals = 0;
    std::uint64_t changes = 0;
    std::uint64_t conflicts = 0;
    std::uint64_t eos_finals = 0;
    std::uint64_t checked = 0;
    std::uint64_t worst_gap = 0;
    std::uint64_t new_disks = 0;
    std::uint64_t upgrades = 0;
    std::map<std::string, std::uint64_t> counts;
    sim::Faults faults;

    void add(const sim::Outcome& outcome) {
        ++seeds;
        failed += outcome.failure.empty() ? 0U : 1U;
        finals += outcome.finals;
        changes += outcome.changes;
        conflicts += outcome.conflicts;
        eos_finals += outcome.eos_finals;
        checked += outcome.checked_liveness ? 1U : 0U;
        worst_gap = std::max<std::uint64_t>(worst_gap, outcome.worst_gap);
        new_disks += outcome.new_disks;
        upgrades += outcome.upgrades;
        for (const auto& [name, count] : outcome.counts)
            counts[name] += count;
        faults.add(outcome.faults);
    }
};

int run_many(const Arguments& arguments) {
    const auto start = std::chrono::steady_clock::now();
    std::atomic<std::uint64_t> next = arguments.from;
    std::atomic<bool> stop = false;
    std::mutex mutex;
    Totals totals;
    const auto work = [&] {
        while (!stop) {
            const std::uint64_t seed = next++;
            if (seed >= arguments.from + arguments.seeds) return;
            const sim::Outcome outcome = run(arguments, seed);
            const std::lock_guard lock(mutex);
            totals.add(outcome);
            if (outcome.failure.empty()) continue;
            std::cout << "FAILED: " << outcome.failure << "\n  replay: " << replay(arguments, seed)
                      << std::endl;
            if (arguments.expect_failure || totals.failed >= 10) stop = true;
        }
    };
    // One works here: a process without threads counts and allocates without locks.
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < arguments.workers; ++i) {
        threads.emplace_back(work);
    }
    work();
    for (std::thread& thread : threads) {
        thread.join();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::cout << fmt::format(
        "{} seeds in {:.1f} s ({:.0f} an hour): {} failed; each {:.1f} final blocks, {:.2f} "
        "schedule changes, EOS rule {:.1f} times; {} conflicts; liveness checked in {}, worst gap "
        "{} slots; {} new disks, {} upgrades; {}{}\n",
        totals.seeds,
        seconds.count(),
        static_cast<double>(totals.seeds) * 3600 / seconds.count(),
        totals.failed,
        static_cast<double>(totals.finals) / static_cast<double>(totals.seeds),
        static_cast<double>(totals.changes) / static_cast<double>(totals.seeds),
        static_cast<double>(totals.eos_finals) / static_cast<double>(totals.seeds),
        totals.conflicts,
        totals.checked,
        totals.worst_gap,
        totals.new_disks,
        totals.upgrades,
        totals.faults.describe(),
        words_of(totals.counts));
    if (arguments.expect_failure) return totals.failed > 0 ? 0 : 1;
    return totals.failed == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** values) {
    const Arguments arguments = parse(count, values);
    return arguments.seeds == 0 ? run_one(arguments) : run_many(arguments);
}
