#pragma once

#include "node/bps/core/refusal.hpp"
#include "node/bps/core/rows.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bps {

// A setting that a topic may have: what contracts/bps/settings.cpp accepts, and what holds where
// it is not set.
struct KnownSetting {
    std::string_view name;
    std::int64_t least = 0;  // Of a number.
    std::int64_t most = 0;
    std::string_view values;  // Of a text: one of these, between bars. Empty: it is a number.
    std::string_view otherwise;
    std::string_view meaning;

    // A list: its values may be joined and taken apart.
    [[nodiscard]] bool is_list() const { return values.find(',') != std::string_view::npos; }
};

[[nodiscard]] std::span<const KnownSetting> known_settings();
// Null: the broker does not carry out such a setting.
[[nodiscard]] const KnownSetting* find_known_setting(std::string_view name);

// What holds for a setting of a topic.
struct SettingInForce {
    const KnownSetting* known = nullptr;
    std::string_view value;
    bool is_set = false;  // Else it is what holds for all topics.
};
// All that are known. Borrows from `settings`.
[[nodiscard]] std::vector<SettingInForce> settings_in_force(
    const std::vector<rows::Setting>& settings);

// invalid_config: one that is not known, has a value that it may not have, or comes twice.
[[nodiscard]] Verdict<void> check_settings(const std::vector<rows::Setting>& settings);

}  // namespace bps
