#include "node/bps/core/known_settings.hpp"

#include "node/bps/core/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace bps {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kShownBytes = 64;  // Of a caller's text in a message.

constexpr std::array<KnownSetting, 14> kKnown = {{
    {"retention.ms", -1, kMost, {}, "604800000", "Age at which records are deleted; -1: never."},
    {"retention.bytes",
     -1,
     kMost,
     {},
     "-1",
     "Size of a partition above which its oldest records are deleted; -1: none."},
    {"cleanup.policy",
     0,
     0,
     "|delete|compact|compact,delete|delete,compact|",
     "delete",
     "Whether old records are deleted, or all but the last of each key, or both."},
    {"delete.retention.ms",
     0,
     kMost,
     {},
     "86400000",
     "Age at which compaction removes a record that says that its key is gone."},
    {"min.insync.replicas", 1, kReplicasMax, {}, "1", "Replicas in sync that acks=all needs."},
    {"compression.type",
     0,
     0,
     "|producer|uncompressed|gzip|snappy|lz4|zstd|",
     "producer",
     "How records are stored; a batch that comes in another way opens to max.message.bytes."},
    {"message.timestamp.type",
     0,
     0,
     "|CreateTime|LogAppendTime|",
     "CreateTime",
     "Whose time a record has: the producer's or the broker's."},
    {"max.message.bytes", 1, 1'048'588, {}, "1048588", "Size of the largest batch."},
    {"segment.bytes", 1024 * 1024, 1024 * 1024 * 1024, {}, "134217728", "Size of a segment file."},
    {"segment.ms", 60'000, kMost, {}, "604800000", "Age at which a segment file ends."},
    {"flush.messages",
     1,
     kMost,
     {},
     "9223372036854775807",
     "Of no effect: what is acknowledged is on disk."},
    {"flush.ms",
     0,
     kMost,
     {},
     "9223372036854775807",
     "Of no effect: what is acknowledged is on disk."},
    {"bor.acks", 0, 0, "|request|", "request", "What acknowledges: as the request says."},
    {"bor.max.stale.ms",
     -1,
     kMost,
     {},
     "60000",
     "Age of the last final block above which the topic is not served; -1: none."},
}};

// As far as a person can read it.
std::string shown(std::string_view text) {
    std::string out(text.substr(0, kShownBytes));
    for (char& letter : out) {
        if (letter < ' ' || letter > '~') letter = '?';
    }
    return out;
}

// A decimal number as it is written shortest; nothing: it is none, or does not fit.
std::optional<std::int64_t> number_of(std::string_view text) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || fmt::format("{}", value) != text) {
        return std::nullopt;
    }
    return value;
}

bool is_among(std::string_view value, std::string_view values) {
    return value.find('|') == std::string_view::npos &&
           values.find(fmt::format("|{}|", value)) != std::string_view::npos;
}

Verdict<void> check_setting(const rows::Setting& setting) {
    const KnownSetting* const known = find_known_setting(setting.name);
    if (known == nullptr) {
        return refuse(ErrorCode::invalid_config,
                      fmt::format("the setting '{}' is not one that the broker carries out: leave "
                                  "it out",
                                  shown(setting.name)));
    }
    if (setting.name == "bor.acks" && setting.value == "final") {
        return refuse(ErrorCode::invalid_config,
                      "bor.acks=final needs anchors, which this broker does not write: leave it at "
                      "request");
    }
    if (!known->values.empty()) {
        if (is_among(setting.value, known->values)) return {};
        return refuse(
            ErrorCode::invalid_config,
            fmt::format(
                "{} is one of {}, not '{}'", known->name, known->values, shown(setting.value)));
    }
    const auto value = number_of(setting.value);
    if (value && known->least <= *value && *value <= known->most) return {};
    return refuse(ErrorCode::invalid_config,
                  fmt::format("{} is a number from {} to {}, not '{}'",
                              known->name,
                              known->least,
                              known->most,
                              shown(setting.value)));
}

}  // namespace

std::span<const KnownSetting> known_settings() {
    return kKnown;
}

const KnownSetting* find_known_setting(std::string_view name) {
    const auto* const at = std::ranges::find(kKnown, name, &KnownSetting::name);
    return at == kKnown.end() ? nullptr : at;
}

std::vector<SettingInForce> settings_in_force(const std::vector<rows::Setting>& settings) {
    std::vector<SettingInForce> all;
    for (const KnownSetting& known : kKnown) {
        const auto value = rows::find_setting(settings, known.name);
        all.push_back({&known, value.value_or(known.otherwise), value.has_value()});
    }
    return all;
}

Verdict<void> check_settings(const std::vector<rows::Setting>& settings) {
    // Those that are known and come once are not more than there are.
    for (std::size_t i = 0; i < settings.size(); ++i) {
        if (auto checked = check_setting(settings[i]); !checked) return checked;
        for (std::size_t k = 0; k < i; ++k) {
            if (settings[k].name != settings[i].name) continue;
            return refuse(
                ErrorCode::invalid_config,
                fmt::format("the setting {} is given twice: give it once", settings[i].name));
        }
    }
    return {};
}

}  // namespace bps
