#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "node/bps/core/codec/field_types.hpp"
#include "node/bps/core/partition_id.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

// What a group leaves in `__consumer_offsets`, which is compacted: the last value of each key
// holds, and a record without a value says that the thing is gone. Like Kafka's records, but that
// a group has an owner, and a topic is named by its id: one that is made again under its name
// inherits no offsets.
namespace bps {

struct GroupKey {
    static constexpr std::int16_t kKind = 2;

    std::int16_t kind = kKind;
    std::string_view group;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Kind", self.kind);
        walk("Group", self.group);
    }
};

struct OffsetKey {
    static constexpr std::int16_t kKind = 1;

    std::int16_t kind = kKind;
    std::string_view group;
    TopicId topic = 0;
    std::int32_t partition = 0;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Kind", self.kind);
        walk("Group", self.group);
        walk("Topic", self.topic);
        walk("Partition", self.partition);
    }
};

struct GroupValue {
    static constexpr std::int16_t kFormat = 0;

    struct Member {
        std::string_view id;
        std::optional<std::string_view> instance;
        std::string_view client_id;
        std::string_view client_host;
        std::int32_t rebalance_timeout_ms = 0;
        std::int32_t session_timeout_ms = 0;
        base::ByteView metadata;
        base::ByteView assignment;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("MemberId", self.id);
            walk("Instance", self.instance);
            walk("ClientId", self.client_id);
            walk("ClientHost", self.client_host);
            walk("RebalanceTimeout", self.rebalance_timeout_ms);
            walk("SessionTimeout", self.session_timeout_ms);
            walk("Metadata", self.metadata);
            walk("Assignment", self.assignment);
        }
    };

    std::int16_t format = kFormat;
    std::uint64_t owner = 0;
    std::string_view protocol_type;
    std::int32_t generation = 0;
    std::optional<std::string_view> protocol;
    std::optional<std::string_view> leader;
    std::int64_t time = 0;  // Of the last change of state, in milliseconds since 1970.
    std::vector<Member> members;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Format", self.format);
        walk("Owner", self.owner);
        walk("ProtocolType", self.protocol_type);
        walk("Generation", self.generation);
        walk("Protocol", self.protocol);
        walk("Leader", self.leader);
        walk("Time", self.time);
        walk("Members", self.members);
    }
};

struct OffsetValue {
    static constexpr std::int16_t kFormat = 0;

    std::int16_t format = kFormat;
    std::int64_t offset = 0;
    std::int32_t leader_epoch = -1;
    std::string_view metadata;
    std::int64_t time = 0;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Format", self.format);
        walk("Offset", self.offset);
        walk("LeaderEpoch", self.leader_epoch);
        walk("Metadata", self.metadata);
        walk("Time", self.time);
    }
};

using GroupRecordKey = std::variant<GroupKey, OffsetKey>;

[[nodiscard]] base::Bytes pack_group_record(const GroupKey& key);
[[nodiscard]] base::Bytes pack_group_record(const OffsetKey& key);
[[nodiscard]] base::Bytes pack_group_record(const GroupValue& value);
[[nodiscard]] base::Bytes pack_group_record(const OffsetValue& value);

// What they read borrows from the bytes. malformed: not what was packed, or of a later format.
[[nodiscard]] base::Result<GroupRecordKey> read_group_record_key(base::ByteView bytes);
[[nodiscard]] base::Result<GroupValue> read_group_value(base::ByteView bytes);
[[nodiscard]] base::Result<OffsetValue> read_offset_value(base::ByteView bytes);

}  // namespace bps
