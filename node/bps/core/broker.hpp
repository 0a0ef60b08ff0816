#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "base/rng.hpp"
#include "node/bps/core/admin.hpp"
#include "node/bps/core/codec/requests.hpp"
#include "node/bps/core/directory.hpp"
#include "node/bps/core/duties.hpp"
#include "node/bps/core/fetches.hpp"
#include "node/bps/core/groups.hpp"
#include "node/bps/core/lookups.hpp"
#include "node/bps/core/partitions.hpp"
#include "node/bps/core/produces.hpp"
#include "node/bps/core/quotas.hpp"
#include "node/bps/core/reply.hpp"
#include "node/bps/core/rights.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bps {

// What one broker does (spec 08): requests, final rows, time and what the disk said go in; replies,
// syncs and actions for the chain come out.
//
// Thread: one. Times are milliseconds since 1970, and never fall.
class Broker : base::Pinned {
  public:
    // All of it outlives the broker.
    struct World {
        const Rights& rights;
        const Directory& directory;
        Quotas& quotas;
        const Decompressor& opener;
        base::Rng& rng;
    };
    // `cluster_id` is what clients know the cluster by: the chain's id, as a text.
    Broker(const World& world, const GroupSettings& groups, std::string cluster_id);

    // The final rows, after Rights and Directory have them. The partition is there, but for add().
    void add(PartitionId id, std::unique_ptr<Log> log, const PartitionSettings& settings);
    void configure(PartitionId id, const PartitionSettings& settings);
    // unavailable: the disk. malformed: what a partition of `__consumer_offsets` has is not of
    // groups; it is led, but no group of it is coordinated.
    base::Result<void> lead(
        std::int64_t now, PartitionId id, std::int32_t epoch, std::int32_t insync, Effects& out);
    void stop_leading(std::int64_t now, PartitionId id, Effects& out);
    base::Result<void> set_log_start(std::int64_t now,
                                     PartitionId id,
                                     std::int64_t offset,
                                     Effects& out);
    // The partition is not this broker's any more. Its files can go afterwards.
    void remove(std::int64_t now, PartitionId id, Effects& out);
    // Nothing of it comes back with another topic of its name.
    void on_topic_deleted(std::int64_t now, TopicId topic, Effects& out);
    // Which topic `__consumer_offsets` is: before a partition of it is led.
    void set_offsets_topic(TopicId topic, std::int32_t partitions);

    // A request with its frame, in which its records lie. False: it is one of SASL, which has no
    // principal yet. What is not listed, answer_unlisted() answers.
    [[nodiscard]] bool on_request(std::int64_t now,
                                  const Caller& caller,
                                  const Request& request,
                                  std::span<std::byte> frame,
                                  Effects& out);
    void on_closed(std::int64_t now, std::uint64_t connection);
    // The sync that was asked for is done, but for these logs.
    void on_synced(std::int64_t now, const std::vector<LogId>& failed, Effects& out);
    // All rows of a final block were fed, and the row of this broker has its present start.
    void on_final(std::int64_t now, Effects& out) { duties_.on_final(now, out); }
    // What became of a call: it is in a final block, whose rows were fed; or why it is not, with
    // policy_violation and the contract's text where that has refused it. Once for each call.
    void on_called(std::uint64_t ticket, const Verdict<void>& outcome, Effects& out);
    // To be called at next_time() or soon after.
    void on_time(std::int64_t now, Effects& out);
    [[nodiscard]] std::optional<std::int64_t> next_time() const;
    // Retention, every minute or so: of groups at once, of partitions by steps.
    void begin_expiring(std::int64_t now, Effects& out);
    // A step while is_expiring(), of at most one partition that has something to write, since that
    // may take the disk long: what failed.
    [[nodiscard]] std::vector<base::Error> expire(std::int64_t now, Effects& out);
    [[nodiscard]] bool is_expiring() const {
        return expire_next_.has_value() || !to_retain_.empty();
    }
    // A step of compacting a log, which expire() has found to want it. Replies that were made
    // before are sent: the records that they name may lie elsewhere afterwards. True: there is more
    // to do. An error gives it up until the next expire().
    [[nodiscard]] base::Result<bool> compact(std::int64_t now, Effects& out);
    void set_disk_low(bool is_low) { partitions_.is_disk_low = is_low; }
    // After the inputs of a turn: what waits for the disk shares one sync, unless one runs.
    void begin_sync(std::int64_t now, Effects& out);

    [[nodiscard]] const Partitions& partitions() const { return partitions_; }
    [[nodiscard]] const Groups& groups() const { return groups_; }
    [[nodiscard]] const Admin& admin() const { return admin_; }
    void check_invariants() const;

  private:
    [[nodiscard]] Partition& get(PartitionId id) const;
    [[nodiscard]] base::Result<void> load_groups(std::int64_t now, const Partition& partition);
    [[nodiscard]] bool on_data_request(std::int64_t now,
                                       const Caller& caller,
                                       const Request& request,
                                       std::span<std::byte> frame,
                                       Effects& out);
    [[nodiscard]] bool on_group_request(std::int64_t now,
                                        const Caller& caller,
                                        const Request& request,
                                        GroupEffects& out);
    void find_coordinator(std::int64_t now,
                          const Caller& caller,
                          const FindCoordinatorRequest& request,
                          Effects& out);
    // What is stored for a request counts as bytes of who asks: it may be far more than it has.
    void charge(std::int64_t now, const Caller& caller, const GroupEffects& effects);
    // Appends what groups want stored.
    void carry_out(std::int64_t now, GroupEffects effects, Effects& out);
    [[nodiscard]] ErrorCode store(std::int64_t now, const GroupWrite& write);
    void on_answer(std::int64_t now, const GroupCommit::Answer& answer, Effects& out);
    // Answers what can be answered.
    void settle(std::int64_t now, Effects& out);
    [[nodiscard]] base::Result<Log::Retained> expire(std::int64_t now, Partition& partition);
    [[nodiscard]] base::Result<Log::Retained> expire_and_queue(std::int64_t now,
                                                               Partition& partition);
    // A step of the minute's sweep of all partitions; a step for one that has more to drop.
    void sweep(std::int64_t now, std::vector<base::Error>& errors);
    void retain_next(std::int64_t now, std::vector<base::Error>& errors);

    // Logs that want compaction; the first is under way, so that one at a time has its keys in
    // memory.
    std::vector<PartitionId> to_compact_;
    std::optional<PartitionId> expire_next_;  // Where expire() goes on; nothing: all had a step.
    // Those that have more to drop than a step drops, by whose they are, in turn.
    std::map<chain::Name, std::deque<PartitionId>> to_retain_;
    chain::Name retained_last_;
    bool has_swept_ = false;  // The last step was one of the sweep.

    const Directory& directory_;
    Quotas& quotas_;
    const Decompressor& opener_;
    Partitions partitions_;
    Produces produces_;
    Fetches fetches_;
    Lookups lookups_;
    Groups groups_;
    Admin admin_;
    Duties duties_;
    TopicId offsets_topic_ = 0;  // 0: there is none.
    std::int32_t offsets_partitions_ = 0;
};

}  // namespace bps
