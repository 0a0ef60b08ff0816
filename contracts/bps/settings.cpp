// The settings of a topic: those that the broker carries out, under Kafka's names.
#include "bps.hpp"

#include <array>
#include <optional>

namespace bps {

namespace {

constexpr std::string_view kMinInsync = "min.insync.replicas";

struct Known {
    std::string_view name;
    int64_t least = 0;  // Of a number.
    int64_t most = 0;
    std::string_view values;  // Of a text: one of these, between bars. Empty: it is a number.
};

constexpr std::array<Known, 14> kKnown = {{
    {"retention.ms", -1, INT64_MAX, {}},
    {"retention.bytes", -1, INT64_MAX, {}},
    {"cleanup.policy", 0, 0, "|delete|compact|compact,delete|delete,compact|"},
    {"delete.retention.ms", 0, INT64_MAX, {}},
    {kMinInsync, 1, int64_t{kReplicasMax}, {}},
    {"compression.type", 0, 0, "|producer|uncompressed|gzip|snappy|lz4|zstd|"},
    {"message.timestamp.type", 0, 0, "|CreateTime|LogAppendTime|"},
    {"max.message.bytes", 1, 1'048'588, {}},
    {"segment.bytes", 1024 * 1024, 1024 * 1024 * 1024, {}},
    {"segment.ms", 60'000, INT64_MAX, {}},
    {"flush.messages", 1, INT64_MAX, {}},
    {"flush.ms", 0, INT64_MAX, {}},
    {"bor.acks", 0, 0, "|request|"},
    {"bor.max.stale.ms", -1, INT64_MAX, {}},
}};

// A decimal number as it is written shortest; nothing: it is none, or does not fit.
std::optional<int64_t> number_of(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (text.empty() || text.size() > 19 || (text[0] == '0' && (text.size() > 1 || negative))) {
        return std::nullopt;
    }
    uint64_t value = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9') return std::nullopt;
        value = value * 10 + static_cast<uint64_t>(digit - '0');
    }
    if (value > uint64_t{INT64_MAX}) return std::nullopt;
    return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

bool is_among(std::string_view value, std::string_view values) {
    if (value.find('|') != std::string_view::npos) return false;
    const std::string barred = '|' + std::string(value) + '|';
    return values.find(barred) != std::string_view::npos;
}

void check_setting(const Setting& setting) {
    const Known* known = nullptr;
    for (const Known& each : kKnown) {
        if (each.name == setting.name) known = &each;
    }
    require(known != nullptr,
            "the setting '{}' is not one that the broker carries out: leave it out",
            shown(setting.name));
    if (!known->values.empty()) {
        require(is_among(setting.value, known->values),
                "{} is one of {}, not '{}'",
                known->name,
                known->values,
                shown(setting.value));
        return;
    }
    const auto value = number_of(setting.value);
    require(value && known->least <= *value && *value <= known->most,
            "{} is a number from {} to {}, not '{}'",
            known->name,
            known->least,
            known->most,
            shown(setting.value));
}

}  // namespace

void check_settings(const std::vector<Setting>& settings) {
    require(settings.size() <= kKnown.size(),
            "a topic has at most {} settings, not {}",
            kKnown.size(),
            settings.size());
    for (std::size_t i = 0; i < settings.size(); ++i) {
        check_setting(settings[i]);
        for (std::size_t k = 0; k < i; ++k) {
            require(settings[k].name != settings[i].name,
                    "the setting {} is given twice: give it once",
                    settings[i].name);
        }
    }
}

uint32_t min_insync_of(const std::vector<Setting>& settings) {
    for (const Setting& setting : settings) {
        if (setting.name != kMinInsync) continue;
        return static_cast<uint32_t>(number_of(setting.value).value_or(1));
    }
    return 1;
}

}  // namespace bps
