#include "node/bps/core/topic_settings.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace bps {

namespace {

constexpr std::int64_t kWeekMs = std::int64_t{7} * 86'400'000;

std::optional<std::string_view> find(const std::vector<rows::Setting>& settings,
                                     std::string_view name) {
    const auto at = std::ranges::find(settings, name, &rows::Setting::name);
    return at == settings.end() ? std::nullopt : std::optional<std::string_view>(at->value);
}

std::int64_t number(const std::vector<rows::Setting>& settings,
                    std::string_view name,
                    std::int64_t otherwise) {
    const auto text = find(settings, name);
    if (!text) return otherwise;
    std::int64_t value = 0;
    const char* const end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, value);
    return read.ec == std::errc() && read.ptr == end ? value : otherwise;
}

}  // namespace

PartitionSettings partition_settings(const std::vector<rows::Setting>& settings,
                                     std::int32_t replicas) {
    const std::string_view policy = find(settings, "cleanup.policy").value_or("delete");
    const bool compacts = policy.find("compact") != std::string_view::npos;
    PartitionSettings made;
    made.deletes_records = policy.find("delete") != std::string_view::npos;
    made.batches.needs_keys = compacts;
    const auto bytes_max = static_cast<std::int64_t>(made.batches.bytes_max);
    made.batches.bytes_max = static_cast<std::size_t>(
        std::max<std::int64_t>(number(settings, "max.message.bytes", bytes_max), 0));
    const auto segment_bytes = static_cast<std::int64_t>(made.log.segment_bytes);
    made.log.segment_bytes = static_cast<std::uint64_t>(
        std::max<std::int64_t>(number(settings, "segment.bytes", segment_bytes), 1));
    made.log.append_time = find(settings, "message.timestamp.type") == "LogAppendTime";
    // A log that is only compacted has no age.
    if (made.deletes_records) {
        made.log.retention_ms = number(settings, "retention.ms", kWeekMs);
        made.log.retention_bytes = number(settings, "retention.bytes", -1);
    }
    const std::int64_t wanted = number(settings, "min.insync.replicas", 1);
    made.insync_min =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(wanted, 1, std::max(replicas, 1)));
    return made;
}

}  // namespace bps
