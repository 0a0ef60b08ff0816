#pragma once

#include "base/bytes.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/codec/group_messages.hpp"
#include "node/bps/core/partition_id.hpp"
#include "node/bps/core/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bps {

// That an item of a group takes beside its texts: a member, or an id that was given out; an offset.
inline constexpr std::size_t kMemberBytes = 512;
inline constexpr std::size_t kOffsetBytes = 128;

enum class GroupState : std::uint8_t {
    empty,
    preparing_rebalance,   // Waits for the members to join.
    completing_rebalance,  // Waits for the leader's assignment.
    stable,
};
// As Kafka's tools know it.
[[nodiscard]] std::string_view to_text(GroupState state);

struct GroupMember {
    struct Protocol {
        std::string name;
        base::Bytes metadata;  // Means something to clients only.

        friend bool operator==(const Protocol&, const Protocol&) = default;
    };

    std::string id;
    std::optional<std::string> instance;  // Of a static member (KIP-345).
    std::string client_id;
    std::string client_host;
    std::int32_t session_timeout_ms = 0;
    std::int32_t rebalance_timeout_ms = 0;
    std::vector<Protocol> protocols;  // By preference.
    base::Bytes assignment;
    // Requests of it that wait. While one does, the member lives.
    std::optional<Caller> joins;
    std::optional<Caller> syncs;
    // When it is taken for dead; nothing: a request of it waits.
    std::optional<std::int64_t> expires_at;

    [[nodiscard]] bool waits() const { return joins || syncs; }
    [[nodiscard]] const Protocol* find_protocol(std::string_view name) const;
};

struct CommittedOffset {
    std::int64_t offset = 0;
    std::int32_t leader_epoch = -1;
    std::string metadata;
    std::int64_t time = 0;
};

// A group, and the rules that need nothing but it.
//
// Invariants, checked by check_invariants():
// G1. Members and their instances name each other; the leader is a member.
// G2. Empty means no members; a chosen protocol is one of every member.
// G3. A member has a time of expiry if and only if no request of it waits.
// G4. Joins wait only while the group prepares, syncs only while it completes a rebalance.
struct Group {
    std::string name;
    chain::Name owner;  // The tenant who used it first.
    GroupState state = GroupState::empty;
    std::int64_t state_since = 0;
    std::int32_t generation = 0;
    std::string protocol_type;
    std::optional<std::string> protocol;
    std::string leader;                                         // Empty: none.
    std::map<std::string, GroupMember, std::less<>> members;    // By id.
    std::map<std::string, std::string, std::less<>> instances;  // Ids of members.
    std::map<std::string, std::int64_t, std::less<>> pending;   // Ids given out, until when.
    std::optional<std::int64_t> rebalance_ends_at;              // Of either half of a rebalance.
    std::optional<std::int64_t> gathers_until;  // A first rebalance waits for more members.
    bool is_storing = false;                    // An assignment is on its way to the disk.
    std::map<PartitionId, CommittedOffset> offsets;
    // Offsets of it that are on their way to the disk, and in which write.
    std::set<std::pair<PartitionId, std::uint64_t>> committing;
    bool is_recorded = false;  // The log has a record of the group itself, durably.
    std::uint64_t serial = 0;  // Tells a group from an earlier one of its name.

    [[nodiscard]] GroupMember* find_member(std::string_view id);
    // Whether a member that has these could be one of it.
    [[nodiscard]] bool accepts(std::string_view type,
                               const std::vector<JoinGroupRequest::Protocol>& protocols,
                               std::string_view except) const;
    // What most members prefer among what all of them know; nothing: there is no such protocol.
    [[nodiscard]] std::optional<std::string> select_protocol() const;
    // That all members know but this one.
    [[nodiscard]] std::set<std::string_view> common_protocols(std::string_view except) const;
    // Whether an offset of it is on its way to the disk.
    [[nodiscard]] bool is_committing(PartitionId id) const;
    [[nodiscard]] bool have_all_joined() const;
    [[nodiscard]] std::int32_t rebalance_timeout_ms() const;  // The longest of its members'.
    // A leader that joined; false: none of them did.
    bool elect_joined_leader();
    // Topics that its members are subscribed to; nothing: one of them does not say so that it is
    // understood.
    [[nodiscard]] std::optional<std::set<std::string>> subscribed_topics() const;
    // All of which the log has, or will have, an offset.
    [[nodiscard]] std::set<PartitionId> offset_ids() const;
    // That it, and its members alone, take in memory, about.
    [[nodiscard]] std::size_t bytes() const;
    [[nodiscard]] std::size_t member_bytes() const;
    // Also of those that are on their way.
    bool erase_offset(PartitionId id);
    void check_invariants() const;
};

// Topics that the metadata of a consumer names (ConsumerProtocolSubscription of Kafka's clients).
// malformed: it is none.
[[nodiscard]] base::Result<std::set<std::string>> topics_of_subscription(base::ByteView metadata);

}  // namespace bps
