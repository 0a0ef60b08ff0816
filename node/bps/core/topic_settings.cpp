#include "node/bps/core/topic_settings.hpp"

#include <algorithm>
#include <string_view>

namespace bps {

namespace {

constexpr std::int64_t kWeekMs = std::int64_t{7} * 86'400'000;

using rows::find_setting;
using rows::number_setting;

std::optional<Compression> stored_as(std::string_view type) {
    if (type == "uncompressed") return Compression::none;
    if (type == "gzip") return Compression::gzip;
    if (type == "snappy") return Compression::snappy;
    if (type == "lz4") return Compression::lz4;
    if (type == "zstd") return Compression::zstd;
    return std::nullopt;
}

}  // namespace

PartitionSettings partition_settings(const std::vector<rows::Setting>& settings,
                                     std::int32_t replicas) {
    const std::string_view policy = find_setting(settings, "cleanup.policy").value_or("delete");
    const bool compacts = policy.find("compact") != std::string_view::npos;
    PartitionSettings made;
    made.deletes_records = policy.find("delete") != std::string_view::npos;
    made.batches.needs_keys = compacts;
    made.log.compacts = compacts;
    made.log.delete_retention_ms =
        number_setting(settings, "delete.retention.ms", made.log.delete_retention_ms);
    const auto bytes_max = static_cast<std::int64_t>(made.batches.bytes_max);
    made.batches.bytes_max = static_cast<std::size_t>(
        std::max<std::int64_t>(number_setting(settings, "max.message.bytes", bytes_max), 0));
    const auto segment_bytes = static_cast<std::int64_t>(made.log.segment_bytes);
    made.log.segment_bytes = static_cast<std::uint64_t>(
        std::max<std::int64_t>(number_setting(settings, "segment.bytes", segment_bytes), 1));
    made.log.segment_ms = number_setting(settings, "segment.ms", kWeekMs);
    made.stored_as = stored_as(find_setting(settings, "compression.type").value_or("producer"));
    made.log.append_time = find_setting(settings, "message.timestamp.type") == "LogAppendTime";
    // A log that is only compacted has no age.
    if (made.deletes_records) {
        made.log.retention_ms = number_setting(settings, "retention.ms", kWeekMs);
        made.log.retention_bytes = number_setting(settings, "retention.bytes", -1);
    }
    const std::int64_t wanted = number_setting(settings, "min.insync.replicas", 1);
    made.insync_min =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(wanted, 1, std::max(replicas, 1)));
    return made;
}

}  // namespace bps
