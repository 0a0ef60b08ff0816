#include "node/api/clocks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace node::api {

namespace {

using Kind = Finding::Kind;

constexpr std::int64_t kMillisecond = 1'000'000;      // Nanoseconds.
constexpr std::int64_t kClockToleranceMin = 100;      // Milliseconds.
constexpr std::int64_t kStaleMilliseconds = 600'000;  // Spec 05, "Who may connect".

std::int64_t ahead_of_ours(const ValidatorStatus& validator) {
    return validator.clock_nanoseconds.value_or(0) / kMillisecond;
}

// What a busy machine or a long way make of it is no fault of a clock.
bool is_off_by_more(const ValidatorStatus& validator, std::int64_t limit) {
    const std::int64_t error = validator.clock_error_nanoseconds / kMillisecond;
    return std::abs(ahead_of_ours(validator)) - error > limit;
}

std::string off_text(std::int64_t ahead) {
    return seconds_text(std::abs(ahead)) + (ahead > 0 ? " ahead of" : " behind");
}

// What is dated ahead of the clock, where the clock is right.
void find_times(const AgreementView& view, std::vector<Finding>& out) {
    const std::int64_t slack = 2 * static_cast<std::int64_t>(view.interval_milliseconds);
    const auto ahead_of_clock = [&](chain::TimePoint time) {
        return (time.microseconds - view.clock.microseconds) / 1'000;
    };
    // The recovery that sets the time back is found already.
    if (view.recovery && view.recovery->is_retime) return;
    if (const std::int64_t ahead = ahead_of_clock(view.final_time); ahead > slack) {
        out.push_back(
            {Kind::clock,
             "",
             fmt::format("The final block is dated {}, {} ahead of this node's clock: clocks were "
                         "wrong when it was made, and no block can follow it before that time, "
                         "unless members set it back ('bor-cli recover make FILE --retime').",
                         view.final_time.to_string(),
                         seconds_text(ahead))});
    } else if (view.signs_from && ahead_of_clock(*view.signs_from) > slack) {
        out.push_back({Kind::clock,
                       "",
                       fmt::format("A key of this node may have signed for slots up to {}, while a "
                                   "clock was wrong: it signs nothing before that time.",
                                   view.signs_from->to_string())});
    }
}

}  // namespace

std::string seconds_text(std::int64_t milliseconds) {
    constexpr std::int64_t kMinute = 60'000;
    if (milliseconds < 3 * kMinute) {
        return fmt::format("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100);
    }
    const std::int64_t minutes = milliseconds / kMinute;
    return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string joined(const std::vector<std::string>& names) {
    if (names.size() < 2) return names.empty() ? "" : names.front();
    const std::vector<std::string> first(names.begin(), names.end() - 1);
    return fmt::format("{} and {}", fmt::join(first, ", "), names.back());
}

std::string name_of(const ValidatorStatus& validator) {
    return validator.entry.producer.to_string();
}

Clocks compare_clocks(const AgreementView& view) {
    const std::int64_t limit =
        std::max<std::int64_t>(kClockToleranceMin, view.interval_milliseconds / 2);
    Clocks clocks;
    std::vector<std::int64_t> measured;
    measured.reserve(view.validators.size());
    for (const ValidatorStatus& each : view.validators) {
        if (each.own || !each.clock_nanoseconds) continue;
        ++clocks.measured;
        measured.push_back(ahead_of_ours(each));
        if (is_off_by_more(each, limit)) clocks.off.emplace_back(&each, ahead_of_ours(each));
    }
    // A clock that differs from most, itself among them, is wrong, unless it is between them.
    const std::size_t all = clocks.measured + 1;
    clocks.is_tie = clocks.off.size() * 2 == all;
    if (clocks.measured < 2 || clocks.off.size() * 2 <= all) return clocks;
    std::ranges::sort(measured);
    const std::int64_t lower = measured[(measured.size() - 1) / 2];
    const std::int64_t upper = measured[measured.size() / 2];
    const std::int64_t middle = lower > 0 ? lower : std::min<std::int64_t>(upper, 0);
    if (std::abs(middle) > limit) clocks.ours_ahead = -middle;
    return clocks;
}

std::string clock_off_by_more(const ValidatorStatus& validator, std::int64_t limit) {
    return is_off_by_more(validator, limit) ? off_text(ahead_of_ours(validator)) : std::string();
}

void find_own_clock(const Clocks& clocks, std::vector<Finding>& out) {
    if (!clocks.ours_ahead) return;
    const auto agree = std::ranges::count_if(clocks.off, [&](const auto& each) {
        return (each.second > 0) == (*clocks.ours_ahead < 0);
    });
    out.push_back({Kind::clock,
                   "",
                   fmt::format("The clock of this node is {} those of {} of its {} peers, so "
                               "that it signs nothing, or too late, and the times of others "
                               "cannot be judged here: set it by a time source (NTP), and keep "
                               "it set.",
                               off_text(*clocks.ours_ahead),
                               agree,
                               clocks.measured)});
}

void find_clocks(const AgreementView& view, const Clocks& clocks, std::vector<Finding>& out) {
    if (clocks.ours_ahead) return;
    find_times(view, out);
    const std::string remedy = clocks.is_tie
                                   ? "as many clocks show the one time as the other: which are "
                                     "right a time source says (NTP), by which the others are set"
                                   : "it signs nothing, or too late, until its clock is set; keep "
                                     "it set (NTP)";
    for (const auto& [validator, ahead] : clocks.off) {
        out.push_back({Kind::clock,
                       name_of(*validator),
                       fmt::format("The clock of {} is {} this node's: {}.",
                                   name_of(*validator),
                                   off_text(ahead),
                                   remedy)});
    }
}

// Who has just started hears its peers' within a second.
void find_unheard(const AgreementView& view, std::vector<Finding>& out) {
    const bool is_ours = std::ranges::any_of(view.validators, &ValidatorStatus::own);
    if (!is_ours || view.clocks_heard >= view.quorum) return;
    out.push_back({Kind::silent,
                   "",
                   fmt::format("This node has heard the clocks of {} of {} validators since its "
                               "start, its own among them: it signs nothing before it hears {}.",
                               view.clocks_heard,
                               view.validators.size(),
                               view.quorum)});
}

// A chain that stood still is joined as any other: the operator is told, and of what clocks show.
void find_stale(const AgreementView& view, const Clocks& clocks, std::vector<Finding>& out) {
    const std::int64_t behind = (view.clock.microseconds - view.final_time.microseconds) / 1'000;
    const auto is_lagging = [](const Finding& each) {
        return each.kind == Finding::Kind::lagging && each.who.empty();
    };
    const bool is_told = !view.joining_waits_for.empty() || clocks.ours_ahead ||
                         std::ranges::any_of(out, is_lagging);
    if (is_told || behind <= kStaleMilliseconds) return;
    std::vector<std::string> shown;
    for (const ValidatorStatus& each : view.validators) {
        if (each.own || !each.clock_nanoseconds) continue;
        shown.push_back(
            fmt::format("{} {} ms", name_of(each), *each.clock_nanoseconds / kMillisecond));
    }
    out.push_back(
        {Kind::stale,
         "",
         fmt::format("What is final here is stale: it is dated {}, {} behind this node's clock. "
                     "The chain stands still, or this node does not see it; clocks of others less "
                     "this node's: {}.",
                     view.final_time.to_string(),
                     seconds_text(behind),
                     shown.empty() ? "none was heard" : joined(shown))});
}

}  // namespace node::api
