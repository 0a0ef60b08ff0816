#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "base/rng.hpp"
#include "node/bps/core/access.hpp"
#include "node/bps/core/codec/group_messages.hpp"
#include "node/bps/core/codec/offset_messages.hpp"
#include "node/bps/core/deadlines.hpp"
#include "node/bps/core/group.hpp"
#include "node/bps/core/group_records.hpp"
#include "node/bps/core/quotas.hpp"
#include "node/bps/core/reply.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bps {

struct GroupSettings {
    std::int32_t session_timeout_ms_min = 6'000;
    std::int32_t session_timeout_ms_max = 1'800'000;
    // The first rebalance of a group waits so long for more members, so that those that start
    // together cost one rebalance, and not one each.
    std::int32_t gather_ms = 500;
    std::size_t members_max = 1'000;
    std::size_t offset_metadata_bytes_max = 4'096;
    // That members of a group, and the groups of a tenant, may take in memory, about, whatever a
    // quota says. Who may use one group of another tenant fills no more than that.
    std::size_t group_bytes_max = std::size_t{4} << 20U;
    std::size_t tenant_bytes_max = std::size_t{32} << 20U;
    std::int64_t offsets_retention_ms =
        std::int64_t{7} * 86'400'000;  // Of a group without members.
};

// A record for `__consumer_offsets`.
struct GroupRecord {
    base::Bytes key;
    std::optional<base::Bytes> value;  // Nothing: the thing is gone.
};
// Records that go into one partition together; Groups::on_stored() says when they are durable.
struct GroupWrite {
    std::uint64_t id = 0;
    std::int32_t partition = 0;
    std::vector<GroupRecord> records;
};
[[nodiscard]] inline std::vector<GroupRecord> one(GroupRecord record) {
    std::vector<GroupRecord> records;
    records.push_back(std::move(record));
    return records;
}
struct GroupEffects {
    std::vector<Reply> replies;
    std::vector<GroupWrite> writes;  // In this order.
};

// The coordinator of the groups whose partition of `__consumer_offsets` this broker leads: Kafka's
// classic protocol with static members (KIP-345), and the offsets that groups commit (spec 08,
// "Groups"). All that outlives a restart is in that log: a restart is no rebalance.
//
// A group belongs to the tenant who uses it first. What members say to one another (metadata,
// assignments) is opaque here, so that every assignor works, cooperative ones among them.
//
// Thread: that of the broker. `access`, `quotas` and `rng` outlive it. Ids of members are drawn:
// they are no secrets.
class Groups : base::Pinned {
  public:
    Groups(const Access& access,
           const Quotas& quotas,
           const GroupSettings& settings,
           base::Rng& rng)
        : access_(access), quotas_(quotas), settings_(settings), rng_(rng) {}

    // How many partitions `__consumer_offsets` has; it decides which group is in which.
    void set_partitions(std::int32_t count) { partitions_ = count; }
    [[nodiscard]] std::int32_t partition_of(std::string_view group) const;
    // Taking over a partition: load() for each record of its log in order, then begin().
    // malformed: it is none of a group.
    base::Result<void> load(base::ByteView key, std::optional<base::ByteView> value);
    void begin(std::int64_t now, std::int32_t partition);
    // Another broker leads it: who waits is told so.
    void end(std::int32_t partition, GroupEffects& out);

    void join(std::int64_t now, const Caller&, const JoinGroupRequest&, GroupEffects& out);
    void sync(std::int64_t now, const Caller&, const SyncGroupRequest&, GroupEffects& out);
    void heartbeat(std::int64_t now, const Caller&, const HeartbeatRequest&, GroupEffects& out);
    void leave(std::int64_t now, const Caller&, const LeaveGroupRequest&, GroupEffects& out);
    void commit(std::int64_t now, const Caller&, const OffsetCommitRequest&, GroupEffects& out);
    void fetch(std::int64_t now, const Caller&, const OffsetFetchRequest&, GroupEffects& out);
    void describe(std::int64_t now, const Caller&, const DescribeGroupsRequest&, GroupEffects& out);
    void list(std::int64_t now, const Caller&, const ListGroupsRequest&, GroupEffects& out);
    void remove(std::int64_t now, const Caller&, const DeleteGroupsRequest&, GroupEffects& out);
    void remove_offsets(std::int64_t now,
                        const Caller&,
                        const OffsetDeleteRequest&,
                        GroupEffects& out);

    // A write is durable, or why it is not.
    void on_stored(std::int64_t now, std::uint64_t write, ErrorCode code, GroupEffects& out);
    void on_time(std::int64_t now, GroupEffects& out);
    // Whose requests wait on this connection are gone, unless they come back in time.
    void on_closed(std::int64_t now, std::uint64_t connection);
    void on_topic_deleted(TopicId topic, GroupEffects& out);
    // Forgets offsets that are too old; every minute or so.
    void expire(std::int64_t now, GroupEffects& out);
    [[nodiscard]] std::optional<std::int64_t> next_time() const { return timers_.first(); }

    [[nodiscard]] const std::map<std::string, Group, std::less<>>& all() const { return groups_; }
    void check_invariants() const;

  private:
    enum class TimerKind : std::uint8_t { rebalance, gather, pending, member };
    struct Timer {
        std::string group;
        TimerKind kind = TimerKind::rebalance;
        std::string member;

        friend auto operator<=>(const Timer&, const Timer&) = default;
    };
    // What is done once a write is durable, or is not.
    struct StoredGroup {
        std::string group;
        std::uint64_t serial = 0;
    };
    struct StoredAssignment {
        StoredGroup of;
        std::int32_t generation = 0;
    };
    struct StoredOffsets {
        Caller caller;
        StoredGroup of;
        OffsetCommitResponse response;
        std::vector<std::pair<PartitionId, CommittedOffset>> offsets;
        Texts texts;
    };
    struct StoredPart {  // Of what a Gathered waits for.
        std::uint64_t gathered = 0;
    };
    using Stored =
        std::variant<std::monostate, StoredGroup, StoredAssignment, StoredOffsets, StoredPart>;
    // A reply that waits for some writes.
    struct Gathered {
        std::size_t left = 0;
        bool has_failed = false;
        Reply good;
        Reply bad;
    };
    // What was taken since the groups were counted; what was given back is seen by counting.
    struct Room {
        std::size_t bytes = 0;
        std::optional<std::int64_t> full_at;  // When counting was in vain.
    };
    struct MemberIdentity {
        std::string_view member;
        std::optional<std::string_view> instance;
        std::int32_t generation = 0;
    };

    // groups.cpp
    [[nodiscard]] ErrorCode coordinates(std::string_view group) const;
    // The group, if there is one, once the caller may use it so.
    [[nodiscard]] Verdict<Group*> allowed(std::int64_t now,
                                          const Caller& caller,
                                          std::string_view name,
                                          Right right);
    // policy_violation: the tenant has as many groups as its quota says.
    [[nodiscard]] Verdict<void> may_make(chain::Name owner) const;
    // Whether the groups of a tenant may take so much more memory, which is counted then. The
    // second asks for members of this group, null: a new one, which have a bound of their own, too.
    [[nodiscard]] bool take_room(std::int64_t now, chain::Name owner, std::size_t more);
    [[nodiscard]] bool take_member_room(std::int64_t now,
                                        const Group* group,
                                        chain::Name owner,
                                        std::size_t more);
    [[nodiscard]] Group& make(std::int64_t now, std::string_view name, chain::Name owner);
    [[nodiscard]] Verdict<Group*> find_or_make(std::int64_t now,
                                               std::string_view name,
                                               chain::Name owner);
    void drop_if_unused(Group& group);
    void forget(Group& group);
    void set_timer(std::optional<std::int64_t>& at,
                   std::optional<std::int64_t> to,
                   const Timer& timer);
    void on_timer(std::int64_t now, const Timer& timer, Group& group, GroupEffects& out);
    // From now on, unless a request of the member waits.
    void keep_alive(std::int64_t now, const Group& group, GroupMember& member);
    [[nodiscard]] static GroupRecord record_of(const Group& group);
    [[nodiscard]] static GroupRecord record_of(const Group& group,
                                               const PartitionId& id,
                                               const CommittedOffset& committed);
    [[nodiscard]] static GroupRecord gone(const Group& group);
    [[nodiscard]] static GroupRecord gone(const Group& group, const PartitionId& id);
    void write(std::int32_t partition,
               std::vector<GroupRecord> records,
               Stored then,
               GroupEffects& out);
    // The reply waits for these writes, by partition.
    void write(std::map<std::int32_t, std::vector<GroupRecord>> records,
               Reply good,
               Reply bad,
               GroupEffects& out);
    // The group of which it was; null: that one is gone.
    [[nodiscard]] Group* find(const StoredGroup& of);
    void load_group(const GroupKey& key, const GroupValue& value);

    // groups_join.cpp
    [[nodiscard]] ErrorCode check_join(const JoinGroupRequest& request) const;
    [[nodiscard]] ErrorCode try_join(std::int64_t now,
                                     const Caller& caller,
                                     const JoinGroupRequest& request,
                                     std::string& member_id,
                                     GroupEffects& out);
    [[nodiscard]] ErrorCode join_new(std::int64_t now,
                                     Group& group,
                                     const Caller& caller,
                                     const JoinGroupRequest& request,
                                     GroupEffects& out);
    void replace_static(std::int64_t now,
                        Group& group,
                        const Caller& caller,
                        const JoinGroupRequest& request,
                        GroupEffects& out);
    [[nodiscard]] ErrorCode join_known(std::int64_t now,
                                       Group& group,
                                       const Caller& caller,
                                       const JoinGroupRequest& request,
                                       GroupEffects& out);
    void add_member(std::int64_t now,
                    Group& group,
                    const Caller& caller,
                    const JoinGroupRequest& request,
                    std::string id);
    void rejoin(Group& group,
                GroupMember& member,
                const Caller& caller,
                const JoinGroupRequest& request,
                GroupEffects& out);
    [[nodiscard]] std::string draw_member_id(std::string_view prefix);
    void prepare(std::int64_t now, Group& group, GroupEffects& out);
    void try_complete_join(std::int64_t now, Group& group, GroupEffects& out);
    void complete_join(std::int64_t now, Group& group, GroupEffects& out);
    static void answer_join(const Group& group,
                            const GroupMember& member,
                            const Caller& caller,
                            GroupEffects& out);
    static void refuse_join(const Caller& caller,
                            std::string_view member_id,
                            ErrorCode code,
                            GroupEffects& out);

    // groups_members.cpp
    [[nodiscard]] static Verdict<GroupMember*> find_member(Group* group,
                                                           const MemberIdentity& identity);
    [[nodiscard]] ErrorCode try_sync(std::int64_t now,
                                     const Caller& caller,
                                     const SyncGroupRequest& request,
                                     GroupEffects& out);
    void store_assignment(Group& group, const SyncGroupRequest& request, GroupEffects& out);
    void on_assignment_stored(std::int64_t now,
                              const StoredAssignment& stored,
                              ErrorCode code,
                              GroupEffects& out);
    static void answer_sync(const Group& group,
                            const GroupMember& member,
                            const Caller& caller,
                            GroupEffects& out);
    static void refuse_sync(const Caller& caller, ErrorCode code, GroupEffects& out);
    // All that wait.
    void answer_syncs(std::int64_t now, Group& group, ErrorCode code, GroupEffects& out);
    [[nodiscard]] ErrorCode leave_one(std::int64_t now,
                                      Group* group,
                                      const LeaveGroupRequest::Member& member,
                                      GroupEffects& out);
    void remove_member(
        std::int64_t now, Group& group, const std::string& id, ErrorCode code, GroupEffects& out);
    // Answers what of it waits, and forgets it; the group goes on as it is.
    void erase_member(Group& group, const std::string& id, ErrorCode code, GroupEffects& out);
    // Whose right was taken back while its request waited (spec 08).
    [[nodiscard]] bool is_forbidden(std::int64_t now,
                                    const Group& group,
                                    const Caller& caller) const;
    void expel_forbidden(std::int64_t now, Group& group, GroupEffects& out);
    // Erases the others.
    void expel(Group& group, bool (*stays)(const GroupMember&), GroupEffects& out);
    void expel_unsynced(std::int64_t now, Group& group, GroupEffects& out);

    // groups_offsets.cpp
    [[nodiscard]] ErrorCode check_commit(std::int64_t now,
                                         Group* group,
                                         const OffsetCommitRequest& request);
    // Who owns the group, or will. Offsets that find no room in the memory of that tenant's groups
    // are refused.
    [[nodiscard]] Verdict<chain::Name> owner_of(std::int64_t now,
                                                const Caller& caller,
                                                const OffsetCommitRequest& request,
                                                const Group* group);
    void store_offsets(Group& group, StoredOffsets stored, GroupEffects& out);
    [[nodiscard]] static OffsetFetchResponse::Partition offset_of(const Group* group,
                                                                  PartitionId id);
    void fetch_named(std::int64_t now,
                     const Caller& caller,
                     const OffsetFetchRequest::Topic& topic,
                     const Verdict<Group*>& group,
                     OffsetFetchResponse& response) const;
    void fetch_all(std::int64_t now,
                   const Caller& caller,
                   const Group& group,
                   OffsetFetchResponse& response,
                   Texts& texts) const;
    [[nodiscard]] static ErrorCode remove_offset(Group& group,
                                                 const Verdict<TopicAccess>& topic,
                                                 std::int32_t index,
                                                 std::vector<GroupRecord>& records);
    void on_offsets_stored(std::uint64_t write,
                           StoredOffsets& stored,
                           ErrorCode code,
                           GroupEffects& out);

    const Access& access_;
    const Quotas& quotas_;
    GroupSettings settings_;
    base::Rng& rng_;
    std::int32_t partitions_ = 0;
    std::set<std::int32_t> led_;
    std::map<std::string, Group, std::less<>> groups_;
    std::map<chain::Name, Room> rooms_;
    Deadlines<Timer> timers_;
    std::map<std::uint64_t, Stored> storing_;
    std::map<std::uint64_t, Gathered> gathered_;
    std::uint64_t last_write_ = 0;
    std::uint64_t last_gathered_ = 0;
    std::uint64_t last_serial_ = 0;
};

// What a client of a group is told when its records could not be stored.
[[nodiscard]] ErrorCode code_of_store(ErrorCode code);

}  // namespace bps
