#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/bps/core/broker.hpp"
#include "node/bps/core/directory.hpp"
#include "node/bps/core/partition_id.hpp"
#include "node/bps/core/rights.hpp"
#include "node/bps/disk/disk_log_files.hpp"
#include "node/bps/disk/log_syncer.hpp"
#include "node/bps/disk/open_files.hpp"
#include "node/bps/server/record_files.hpp"
#include "node/bps/service/partition_list.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace bps {

// The partitions of which this broker has a replica: their directories, and what they are for the
// broker, as the last final rows say (spec 08, "Final only").
//
// A partition whose directory cannot be opened is not led: clients are told that nobody leads it,
// the log names the reason once, and its directory is tried again after 10, 20, 40 s, up to ten
// minutes.
//
// Thread: that of the broker.
class LocalPartitions final : public RecordFiles {
  public:
    // All of it outlives this.
    struct World {
        Broker& broker;
        const Rights& rights;
        const Directory& rows;
        OpenFiles& files;
        LogSyncer& syncer;
    };
    LocalPartitions(std::int32_t broker, PartitionList list, const World& world, base::Log log)
        : broker_(broker), list_(std::move(list)), world_(world), log_(log) {}

    // What a process before this one left: one wait for the disk, not one for each partition.
    void take_over();
    // The final row of this broker has its start: it may lead what is elected in this boot.
    // Nothing: it has another one.
    void set_boot(std::optional<std::uint32_t> boot) { boot_ = boot; }
    // Rows of these have changed, or of their topics. Those that are new here wait for make_some().
    void update(std::int64_t now, const std::set<PartitionId>& changed, Effects& out);
    // The rows are those of now: directories of topics that were deleted while this broker did not
    // run wait for make_some(), which removes them.
    void find_deleted();
    // Makes, opens or removes a few, each of which waits for the disk some times. False: none is
    // left. Before anything of a new one is acknowledged it is listed, if the disk takes that.
    bool make_some(std::int64_t now, Effects& out);

    // Those that this broker should serve and does not, each with the reason as the log says it.
    [[nodiscard]] const std::map<PartitionId, std::string>& unserved() const { return unserved_; }

    [[nodiscard]] base::Result<std::shared_ptr<const RecordFile>> open(
        const StoredRecords& records) override;

  private:
    struct Local {
        std::unique_ptr<DiskLogFiles> files;
        std::int32_t epoch = -1;     // In which it is led; -1: it is not.
        std::int32_t insync = 0;     // With so many members in sync.
        std::int64_t log_start = 0;  // As its row had it last.
    };

    // Null: this broker has no replica of it.
    [[nodiscard]] const rows::Partition* find_row(PartitionId id) const;
    [[nodiscard]] bool is_new(PartitionId id) const;
    void try_again(std::int64_t now);
    void update(std::int64_t now, PartitionId id, Effects& out);
    void wait_to_make(PartitionId id);
    [[nodiscard]] PartitionId next_to_make();
    [[nodiscard]] base::Result<Local*> make(std::int64_t now,
                                            const rows::Partition& row,
                                            const PartitionSettings& settings);
    void remove(std::int64_t now, PartitionId id, Effects& out);
    // Why it is not served though it should be; empty: it is, or another broker leads it.
    [[nodiscard]] std::string follow(std::int64_t now,
                                     Local& local,
                                     const rows::Partition& row,
                                     Effects& out);
    void note(std::int64_t now,
              PartitionId id,
              const std::string& topic,
              const std::string& trouble);
    [[nodiscard]] bool is_deleted(PartitionId id) const;
    void remove_directory(PartitionId id);
    [[nodiscard]] std::string path_of(PartitionId id) const { return list_.path_of(id); }

    const std::int32_t broker_;
    PartitionList list_;
    const World world_;
    base::Log log_;
    std::optional<std::uint32_t> boot_;
    std::map<PartitionId, Local> partitions_;
    std::map<PartitionId, std::string> unserved_;
    std::map<chain::Name, std::set<PartitionId>> to_make_;  // By their owners.
    chain::Name made_last_of_;
    std::set<PartitionId> to_remove_;
    std::set<PartitionId> left_durable_;  // By an earlier process, on this device.
    std::optional<dev_t> device_;
    std::int64_t save_at_ = 0;
    std::int64_t try_again_at_ = 0;  // Partitions that are not served.
    std::int64_t try_again_ms_ = 0;  // From the last try to that.
};

}  // namespace bps
