#pragma once

#include "base/pinned.hpp"
#include "node/bps/core/access.hpp"
#include "node/bps/core/group_commit.hpp"
#include "node/bps/core/partition.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

namespace bps {

// Of records, since the start.
struct DataCounts {
    std::uint64_t batches = 0;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
};

// The partitions of which this broker has a log, and their one way to the disk.
struct Partitions : base::Pinned {
    [[nodiscard]] Partition* find(PartitionId id) const {
        const auto at = all.find(id);
        return at == all.end() ? nullptr : at->second.get();
    }
    // The partition of a topic that the caller may use so.
    // unknown_topic_or_partition: the topic has no such partition. not_leader_or_follower: this
    // broker has not got it. Else as Access.
    [[nodiscard]] Verdict<Partition*> get(const Verdict<TopicAccess>& topic,
                                          std::int32_t index) const;

    // Bytes of the records of a tenant's topics, and of what is known of their producers: what was
    // there at the last count_stored(), and what was added since.
    [[nodiscard]] std::uint64_t stored_of(chain::Name owner) const;
    void add_stored(chain::Name owner, std::uint64_t bytes) { stored_[owner] += bytes; }
    void count_stored();

    std::map<PartitionId, std::unique_ptr<Partition>> all;
    GroupCommit commit;
    DataCounts taken;          // From producers, duplicates left out.
    bool is_disk_low = false;  // Less than 5 % free: nothing is written.

  private:
    std::map<chain::Name, std::uint64_t> stored_;
};

}  // namespace bps
