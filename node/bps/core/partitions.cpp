#include "node/bps/core/partitions.hpp"

#include <fmt/format.h>

namespace bps {

Verdict<Partition*> Partitions::get(const Verdict<TopicAccess>& topic, std::int32_t index) const {
    if (!topic) return refuse(topic.error());
    if (index < 0 || index >= topic->partitions) {
        return refuse(ErrorCode::unknown_topic_or_partition,
                      fmt::format("partition {}; there are {}", index, topic->partitions));
    }
    Partition* const found = find({topic->id, index});
    if (found == nullptr) {
        return refuse(ErrorCode::not_leader_or_follower, "another broker has it");
    }
    return found;
}

std::uint64_t Partitions::stored_of(chain::Name owner) const {
    const auto found = stored_.find(owner);
    return found == stored_.end() ? 0 : found->second;
}

void Partitions::count_stored() {
    // A full segment has two files and a place in memory, however few records are in it.
    constexpr std::uint64_t kFullSegmentBytes = 8'192;
    stored_.clear();
    for (const auto& [id, partition] : all) {
        const Log& log = partition->log();
        stored_[partition->owner()] +=
            log.bytes() + log.producers().bytes() + (log.segments().size() - 1) * kFullSegmentBytes;
    }
}

}  // namespace bps
