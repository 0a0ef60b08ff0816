#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

// What a benchmark found, and how two things are compared.

using Nanoseconds = std::chrono::nanoseconds;

// One line of the result: our figure, what it is held against, their ratio, what that should be.
struct Line {
    enum class Goal : std::uint8_t {
        at_most,
        at_least,
        none,  // For information.
    };

    std::string name;
    double ours = 0;
    double bare = 0;
    std::string unit;
    double goal = 0;
    Goal kind = Goal::at_most;
    std::string note{};

    [[nodiscard]] double ratio() const { return bare == 0 ? 0 : ours / bare; }
    [[nodiscard]] bool is_met() const {
        return kind == Goal::none || (kind == Goal::at_most ? ratio() <= goal : ratio() >= goal);
    }
};
// Takes each line as soon as it is known.
using Report = std::function<void(const Line&)>;

struct Options {
    int rounds = 20'000;
    std::size_t megabytes = 512;
    bool json = false;
};

// In microseconds.
[[nodiscard]] inline double percentile(std::vector<Nanoseconds> times, double share) {
    const auto at = static_cast<std::size_t>(share * static_cast<double>(times.size() - 1));
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(at), times.end());
    return static_cast<double>(times[at].count()) / 1'000;
}
[[nodiscard]] inline double median(const std::vector<Nanoseconds>& times) {
    return percentile(times, 0.5);
}

// Both one after the other, so that both meet the same weather (a virtual machine's processors
// are two cores at one time and two threads of a core at another), several times; the middle one
// of the ratios counts.
template <class Ours, class Bare>
Line compare(Line line, Ours ours, Bare bare) {
    constexpr int kTurns = 7;
    std::vector<Line> turns;
    for (int turn = 0; turn < kTurns; ++turn) {
        line.bare = bare();
        line.ours = ours();
        turns.push_back(line);
    }
    const auto middle = turns.begin() + kTurns / 2;
    std::nth_element(turns.begin(), middle, turns.end(), [](const Line& a, const Line& b) {
        return a.ratio() < b.ratio();
    });
    return *middle;
}
