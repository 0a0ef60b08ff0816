#include "node/bps/service/local_partitions.hpp"

#include "node/bps/core/log.hpp"
#include "node/bps/core/segment.hpp"
#include "node/bps/core/topic_settings.hpp"
#include "node/disk/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace bps {

namespace {

// Of a turn: other clients wait meanwhile, some 5 ms for each.
constexpr std::size_t kMadeAtOnce = 4;
// After the disk did not take the list.
constexpr std::int64_t kSaveAgainMs = 10'000;
// What could not be opened, or led: to open a log reads much of it, while all others wait.
constexpr std::int64_t kTryAgainMs = 10'000;
constexpr std::int64_t kTryAgainMsMax = 600'000;

bool has_replica(const rows::Partition& row, std::int32_t broker) {
    return std::ranges::find(row.replicas, broker, &rows::Replica::broker) != row.replicas.end();
}

PartitionId id_of(const rows::Partition& row) {
    return {row.topic, static_cast<std::int32_t>(row.partition)};
}

}  // namespace

void LocalPartitions::update(std::int64_t now, const std::set<PartitionId>& changed, Effects& out) {
    for (const PartitionId id : changed) {
        if (is_new(id)) {
            wait_to_make(id);
        } else {
            update(now, id, out);
        }
    }
}

bool LocalPartitions::make_some(std::int64_t now, Effects& out) {
    try_again(now);
    for (std::size_t i = 0; i < kMadeAtOnce && !to_make_.empty(); ++i) {
        update(now, next_to_make(), out);
    }
    for (std::size_t i = 0; i < kMadeAtOnce && !to_remove_.empty(); ++i) {
        const PartitionId id = to_remove_.extract(to_remove_.begin()).value();
        if (is_deleted(id)) remove_directory(id);
    }
    if (now >= save_at_) {
        if (auto saved = list_.save(); !saved) {
            log_.error("{}", saved.error().detail);
            save_at_ = now + kSaveAgainMs;
        }
    }
    return !to_make_.empty() || !to_remove_.empty();
}

// Where it fails, each is made durable when it is opened.
void LocalPartitions::take_over() {
    const auto on_disk = list_.on_disk();
    const auto device = DiskLogFiles::sync_device_of(list_.directory(), world_.files.calls());
    if (!on_disk || !device) return;
    left_durable_.insert(on_disk->begin(), on_disk->end());
    device_ = *device;
}

void LocalPartitions::find_deleted() {
    const auto on_disk = list_.on_disk();
    if (!on_disk) return log_.error("{}", on_disk.error().detail);
    std::ranges::copy_if(*on_disk,
                         std::inserter(to_remove_, to_remove_.end()),
                         [this](PartitionId id) { return is_deleted(id); });
}

void LocalPartitions::try_again(std::int64_t now) {
    if (unserved_.empty() || now < try_again_at_) return;
    try_again_ms_ = std::min(2 * try_again_ms_, kTryAgainMsMax);
    try_again_at_ = now + try_again_ms_;
    for (const auto& [id, trouble] : unserved_)
        wait_to_make(id);
}

// By whose they are: those of one who has many do not come before all others.
void LocalPartitions::wait_to_make(PartitionId id) {
    const rows::Topic* const topic = world_.rights.find_topic(id.topic);
    to_make_[topic == nullptr ? chain::Name() : topic->owner].insert(id);
}

PartitionId LocalPartitions::next_to_make() {
    auto at = to_make_.upper_bound(made_last_of_);
    if (at == to_make_.end()) at = to_make_.begin();
    made_last_of_ = at->first;
    const PartitionId id = at->second.extract(at->second.begin()).value();
    if (at->second.empty()) to_make_.erase(at);
    return id;
}

// A topic that the chain has not made yet may be of blocks that a recovery gave up, and a partition
// whose replicas are others' is one where this is another broker's directory: what they had stays.
bool LocalPartitions::is_deleted(PartitionId id) const {
    return world_.rows.find_partition(id) == nullptr && id.topic <= world_.rows.last_topic();
}

const rows::Partition* LocalPartitions::find_row(PartitionId id) const {
    const rows::Partition* const row = world_.rows.find_partition(id);
    const bool is_ours = row != nullptr && has_replica(*row, broker_);
    return is_ours && world_.rights.find_topic(id.topic) != nullptr ? row : nullptr;
}

bool LocalPartitions::is_new(PartitionId id) const {
    return find_row(id) != nullptr && !partitions_.contains(id);
}

void LocalPartitions::update(std::int64_t now, PartitionId id, Effects& out) {
    const rows::Partition* const row = find_row(id);
    const auto found = partitions_.find(id);
    if (row == nullptr) {
        unserved_.erase(id);
        if (found != partitions_.end()) remove(now, id, out);
        return;
    }
    const rows::Topic* const topic = world_.rights.find_topic(id.topic);
    auto settings =
        partition_settings(topic->settings, static_cast<std::int32_t>(row->replicas.size()));
    settings.owner = topic->owner;
    Local* local = nullptr;
    if (found != partitions_.end()) {
        local = &found->second;
        world_.broker.configure(id, settings);
    } else {
        const auto made = make(now, *row, settings);
        if (!made) return note(now, id, topic->name, made.error().detail);
        local = *made;
    }
    note(now, id, topic->name, follow(now, *local, *row, out));
}

void LocalPartitions::note(std::int64_t now,
                           PartitionId id,
                           const std::string& topic,
                           const std::string& trouble) {
    if (trouble.empty()) {
        unserved_.erase(id);
        return;
    }
    std::string text =
        fmt::format("partition {} of '{}' is not served: {}", id.index, topic, trouble);
    std::string& known = unserved_[id];
    if (known == text) return;
    log_.error("{}", text);
    known = std::move(text);
    try_again_ms_ = kTryAgainMs;
    try_again_at_ = now + try_again_ms_;
}

base::Result<LocalPartitions::Local*> LocalPartitions::make(std::int64_t now,
                                                            const rows::Partition& row,
                                                            const PartitionSettings& settings) {
    const PartitionId id = id_of(row);
    // Once: what is opened again may have been written meanwhile, or put there.
    const bool is_durable = left_durable_.erase(id) > 0;
    if (auto checked = list_.check(id); !checked) return base::fail(checked.error());
    auto files = DiskLogFiles::open(path_of(id), world_.files, is_durable ? device_ : std::nullopt);
    if (!files) return base::fail(files.error());
    if (auto begun = Log::begin_at(**files, row.log_start); !begun)
        return base::fail(begun.error());
    auto opened = Log::open(**files, settings.log, now);
    if (!opened) return base::fail(opened.error());
    const Log::Findings& findings = opened->findings;
    if (findings.cut_bytes > 0) {
        log_.warn("{}: {} bytes at the end were never acknowledged and are cut: {}",
                  path_of(id),
                  findings.cut_bytes,
                  findings.cut_reason);
    }
    list_.add(id);
    Local& local = partitions_[id];
    local.files = *std::move(files);
    world_.syncer.attach(id.log(), *local.files);
    world_.broker.add(id, std::move(opened->log), settings);
    return &local;
}

void LocalPartitions::remove(std::int64_t now, PartitionId id, Effects& out) {
    world_.broker.remove(now, id, out);
    world_.syncer.detach(id.log());
    partitions_.erase(id);
    remove_directory(id);
}

void LocalPartitions::remove_directory(PartitionId id) {
    list_.remove(id);
    if (auto removed = node::remove_tree(path_of(id)); !removed) {
        log_.warn("{} stays: {}", path_of(id), removed.error().detail);
    }
}

std::string LocalPartitions::follow(std::int64_t now,
                                    Local& local,
                                    const rows::Partition& row,
                                    Effects& out) {
    const PartitionId id = id_of(row);
    if (row.log_start > local.log_start) {
        local.log_start = row.log_start;
        if (auto set = world_.broker.set_log_start(now, id, row.log_start, out); !set) {
            log_.error("{}: {}", path_of(id), set.error().detail);
        }
    }
    const bool is_elected = boot_ && row.leader == broker_ && row.leader_boot == *boot_;
    const auto insync = static_cast<std::int32_t>(std::ranges::count_if(
        row.replicas, [&](const rows::Replica& each) { return world_.rows.is_in_sync(each); }));
    // Nothing is copied to other replicas: one in sync could be elected, and would have no record
    // of those that were acknowledged.
    const bool is_alone = insync == 1;
    if (!is_elected || !is_alone) {
        if (std::exchange(local.epoch, -1) != -1) world_.broker.stop_leading(now, id, out);
        if (!is_elected) return {};
        return fmt::format(
            "it has {} replicas in sync, and records are not copied yet: make a topic with one "
            "replica",
            insync);
    }
    if (local.epoch == row.leader_epoch && local.insync == insync) return {};
    if (auto led = world_.broker.lead(now, id, row.leader_epoch, insync, out); !led) {
        // Its groups may not be read: the next try begins anew.
        local.epoch = -1;
        world_.broker.stop_leading(now, id, out);
        return fmt::format("{}: {}", path_of(id), led.error().detail);
    }
    local.epoch = row.leader_epoch;
    local.insync = insync;
    return {};
}

base::Result<std::shared_ptr<const RecordFile>> LocalPartitions::open(
    const StoredRecords& records) {
    const PartitionId id = PartitionId::of(records.log);
    const auto found = partitions_.find(id);
    if (found == partitions_.end()) {
        return base::fail(base::Errc::not_found, fmt::format("{} is gone", path_of(id)));
    }
    Segment segment;
    segment.base = static_cast<std::int64_t>(records.segment);
    auto file = found->second.files->share(segment.log_name());
    if (!file) return base::fail(file.error());
    const int descriptor = (*file)->descriptor();
    return std::make_shared<const RecordFile>(descriptor, *std::move(file));
}

}  // namespace bps
