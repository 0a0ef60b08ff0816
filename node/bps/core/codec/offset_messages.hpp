#pragma once

#include "base/bytes.hpp"
#include "node/bps/core/codec/api.hpp"
#include "node/bps/core/codec/error_code.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Offsets that consumer groups keep.
namespace bps {

struct OffsetCommitRequest {
    static constexpr Api kApi{8, "OffsetCommit", 2, 8, 8};

    struct Partition {
        std::int32_t partition_index = 0;
        std::int64_t committed_offset = 0;
        std::int32_t committed_leader_epoch = -1;
        std::optional<std::string_view> committed_metadata;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("CommittedOffset", self.committed_offset);
            walk("CommittedLeaderEpoch", self.committed_leader_epoch, {.since = 6});
            walk("CommittedMetadata", self.committed_metadata);
        }
    };

    struct Topic {
        std::string_view name;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Partitions", self.partitions);
        }
    };

    std::string_view group_id;
    std::int32_t generation_id_or_member_epoch = -1;
    std::string_view member_id;
    std::optional<std::string_view> group_instance_id;
    std::int64_t retention_time_ms = -1;
    std::vector<Topic> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("GroupId", self.group_id);
        walk("GenerationIdOrMemberEpoch", self.generation_id_or_member_epoch);
        walk("MemberId", self.member_id);
        walk("GroupInstanceId", self.group_instance_id, {.since = 7});
        walk("RetentionTimeMs", self.retention_time_ms, {.until = 4});
        walk("Topics", self.topics);
    }
};

struct OffsetCommitResponse {
    static constexpr Api kApi = OffsetCommitRequest::kApi;

    struct Partition {
        std::int32_t partition_index = 0;
        ErrorCode error_code = ErrorCode::none;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("ErrorCode", self.error_code);
        }
    };

    struct Topic {
        std::string_view name;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Partitions", self.partitions);
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Topic> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 3});
        walk("Topics", self.topics);
    }
};

struct OffsetFetchRequest {
    static constexpr Api kApi{9, "OffsetFetch", 1, 7, 6};

    struct Topic {
        std::string_view name;
        std::vector<std::int32_t> partition_indexes;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("PartitionIndexes", self.partition_indexes);
        }
    };

    std::string_view group_id;
    std::optional<std::vector<Topic>> topics;
    bool require_stable = false;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("GroupId", self.group_id);
        walk("Topics", self.topics, {.null_since = 2});
        walk("RequireStable", self.require_stable, {.since = 7});
    }
};

struct OffsetFetchResponse {
    static constexpr Api kApi = OffsetFetchRequest::kApi;

    struct Partition {
        std::int32_t partition_index = 0;
        std::int64_t committed_offset = 0;
        std::int32_t committed_leader_epoch = -1;
        std::optional<std::string_view> metadata;
        ErrorCode error_code = ErrorCode::none;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("CommittedOffset", self.committed_offset);
            walk("CommittedLeaderEpoch", self.committed_leader_epoch, {.since = 5});
            walk("Metadata", self.metadata);
            walk("ErrorCode", self.error_code);
        }
    };

    struct Topic {
        std::string_view name;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Partitions", self.partitions);
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Topic> topics;
    ErrorCode error_code = ErrorCode::none;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms, {.since = 3});
        walk("Topics", self.topics);
        walk("ErrorCode", self.error_code, {.since = 2});
    }
};

struct OffsetDeleteRequest {
    static constexpr Api kApi{47, "OffsetDelete", 0, 0, kNeverFlexible};

    struct Partition {
        std::int32_t partition_index = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
        }
    };

    struct Topic {
        std::string_view name;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Partitions", self.partitions);
        }
    };

    std::string_view group_id;
    std::vector<Topic> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("GroupId", self.group_id);
        walk("Topics", self.topics);
    }
};

struct OffsetDeleteResponse {
    static constexpr Api kApi = OffsetDeleteRequest::kApi;

    struct Partition {
        std::int32_t partition_index = 0;
        ErrorCode error_code = ErrorCode::none;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("PartitionIndex", self.partition_index);
            walk("ErrorCode", self.error_code);
        }
    };

    struct Topic {
        std::string_view name;
        std::vector<Partition> partitions;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Partitions", self.partitions);
        }
    };

    ErrorCode error_code = ErrorCode::none;
    std::int32_t throttle_time_ms = 0;
    std::vector<Topic> topics;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ErrorCode", self.error_code);
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("Topics", self.topics);
    }
};

}  // namespace bps
