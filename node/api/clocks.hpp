#pragma once

#include "node/api/diagnosis.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What clocks make of the agreement, as one node sees it: a part of diagnose().
namespace node::api {

// The clocks of other validators beside ours. Times are in milliseconds.
struct Clocks {
    // Those that differ from ours by more than the limit, each with by how much it is ahead.
    std::vector<std::pair<const ValidatorStatus*, std::int64_t>> off;
    std::size_t measured = 0;
    bool is_tie = false;  // As many clocks differ from ours as do not, ours among them.
    // By how much ours is ahead of those of most others, where that is over the limit: then no
    // other time can be judged by it.
    std::optional<std::int64_t> ours_ahead;
};
// The view outlives it.
[[nodiscard]] Clocks compare_clocks(const AgreementView& view);

void find_own_clock(const Clocks& clocks, std::vector<Finding>& out);
void find_clocks(const AgreementView& view, const Clocks& clocks, std::vector<Finding>& out);
void find_unheard(const AgreementView& view, std::vector<Finding>& out);
void find_stale(const AgreementView& view, const Clocks& clocks, std::vector<Finding>& out);

// "1.2 s ahead of", where its clock differs from ours by more than so many milliseconds; empty: it
// does not, as far as it was measured.
[[nodiscard]] std::string clock_off_by_more(const ValidatorStatus& validator, std::int64_t limit);

// "12.3 s", "3 h 4 min".
[[nodiscard]] std::string seconds_text(std::int64_t milliseconds);
// "bora", "bora and borb", "bora, borb and borc".
[[nodiscard]] std::string joined(const std::vector<std::string>& names);
[[nodiscard]] std::string name_of(const ValidatorStatus& validator);

}  // namespace node::api
