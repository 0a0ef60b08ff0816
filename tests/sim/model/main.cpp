#include "tests/sim/left_out.hpp"
#include "tests/sim/model/search.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

// bor-model: all interleavings of a small network, by the production rules.
//
//   bor-model [--slots N] [--byzantine M] [--variants V] [--restarts yes] [--mutant NAME]
//   bor-model --slots 2 --variants 1 --compare yes     Reduced or not, the members say the same.
//
// Ends with 0 if all held; with --expect-failure, if each search found something that did not.

namespace {

struct Arguments {
    sim::model::Bounds bounds;
    std::size_t members_from = 0;  // Who is Byzantine: one of these in each of as many searches.
    std::size_t members_to = 4;
    std::size_t states_max = 100'000'000;
    bool expect_failure = false;
    bool compares = false;  // With a search that is not reduced at all.
};

[[noreturn]] void usage(std::string_view problem) {
    std::cerr
        << "bor-model: " << problem
        << "\nusage: bor-model [--slots N] [--byzantine 0..3] [--variants V] [--restarts yes|no]"
           " [--reduce none|silent|all] [--compare yes|no] [--states-max N] [--mutant NAME] "
           "[--expect-failure]\nmutants:";
    for (const std::string_view mutant : sim::rule_names()) {
        std::cerr << ' ' << mutant;
    }
    std::cerr << '\n';
    std::exit(2);
}

Arguments parse(int count, char** values) {
    Arguments arguments;
    for (int i = 1; i < count; ++i) {
        const std::string_view name = values[i];
        if (name == "--expect-failure") {
            arguments.expect_failure = true;
            continue;
        }
        if (i + 1 >= count) usage(std::string(name) + " needs a value");
        const std::string value = values[++i];
        const std::size_t number = std::strtoull(value.c_str(), nullptr, 10);
        if (name == "--slots") {
            arguments.bounds.slots = number;
        } else if (name == "--byzantine") {
            arguments.members_from = number;
            arguments.members_to = number + 1;
        } else if (name == "--variants") {
            arguments.bounds.variants = number;
        } else if (name == "--restarts") {
            arguments.bounds.restarts = value == "yes";
        } else if (name == "--reduce") {
            using sim::model::Reduction;
            arguments.bounds.reduction = value == "none"     ? Reduction::none
                                         : value == "silent" ? Reduction::silent_steps
                                                             : Reduction::all;
        } else if (name == "--compare") {
            arguments.compares = value == "yes";
        } else if (name == "--states-max") {
            arguments.states_max = number;
        } else if (name == "--mutant") {
            if (!sim::leave_out(value)) usage("this program cannot leave out " + value);
        } else {
            usage("unknown option " + std::string(name));
        }
    }
    if (arguments.members_to > 4) usage("there are four members");
    if (arguments.bounds.slots < 1 || arguments.bounds.slots > 3) usage("one to three slots");
    return arguments;
}

}  // namespace

namespace {

void print(const sim::model::Bounds& bounds, const sim::model::Result& result) {
    std::cout << fmt::format(
        "{} slots, member {} Byzantine{}: {} blocks, {} distinct states{} ({} by what was said), "
        "{} transitions, {} states with something final; of one member {} states, {} transitions, "
        "{} merged ones compared\n",
        bounds.slots,
        bounds.byzantine,
        bounds.restarts ? ", a restart" : "",
        result.blocks,
        result.states,
        result.is_whole ? "" : ", NOT ALL",
        result.said,
        result.transitions,
        result.finals,
        result.member_states,
        result.member_transitions,
        result.merges_checked);
    if (!result.failure.empty()) std::cout << "FAILED: " << result.failure << '\n';
}

}  // namespace

int main(int count, char** values) {
    const Arguments arguments = parse(count, values);
    const auto start = std::chrono::steady_clock::now();
    std::vector<sim::model::Bounds> runs;
    for (std::size_t i = arguments.members_from; i < arguments.members_to; ++i) {
        runs.push_back(arguments.bounds);
        runs.back().byzantine = i;
        if (!arguments.compares) continue;
        runs.push_back(runs.back());
        runs.back().reduction = sim::model::Reduction::none;
    }
    std::vector<std::future<sim::model::Result>> results;
    results.reserve(runs.size());
    for (const sim::model::Bounds& bounds : runs) {
        results.push_back(std::async(std::launch::async, [&] {
            return sim::model::Search(bounds, arguments.states_max).run();
        }));
    }
    std::size_t failed = 0;
    std::uint64_t said = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        sim::model::Result result = results[i].get();
        if (arguments.compares && i % 2 == 1 && result.said != said && result.failure.empty()) {
            result.failure = "the reduced search leaves something out";
        }
        said = result.said;
        print(runs[i], result);
        failed += result.failure.empty() && result.is_whole ? 0U : 1U;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::cout << fmt::format("{:.1f} s\n", seconds.count());
    return failed == (arguments.expect_failure ? runs.size() : 0) ? 0 : 1;
}
