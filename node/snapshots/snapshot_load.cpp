#include "node/snapshots/snapshot_load.hpp"

#include "chain/state/empty_view.hpp"
#include "chain/state/views.hpp"
#include "node/snapshots/recovery_file.hpp"
#include "node/snapshots/state_build.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

base::Result<void> check_empty(const DataDirectory& directory, FileCalls& files) {
    if (!files.exists(directory.state().string())) return {};
    return fail(
        Errc::invalid,
        fmt::format("the data directory {} has a state already, {}; a snapshot is loaded "
                    "into one without: take another data-dir, or move that state out of this one",
                    directory.path().string(),
                    directory.state().string()));
}

// Other times are no link: only the file of their recovery has them.
base::Result<void> add_recovery(genesis::Trust& trust, const LoadOptions& options) {
    if (options.recoveries.empty()) return {};
    if (!options.recovery_files.empty() || options.data_dir.empty()) {
        return take_recovery_files(trust, options.recovery_files, options.disk.files);
    }
    const fs::path path = options.data_dir / genesis::kRecoveryFile;
    auto taken = take_recovery_files(trust, {path}, options.disk.files);
    if (!taken && taken.error().code == Errc::not_found) return {};
    return taken;
}

GoodSnapshot good_one(const SnapshotFolder& folder,
                      const CheckedSnapshot& checked,
                      const GenesisFile& file,
                      const LoadOptions& options) {
    chain::SlotTimes times = file.genesis.times;
    times.retimes = checked.agreement.retimes;
    const auto clock = std::chrono::system_clock::now().time_since_epoch();
    const base::Timestamp now = options.now.value_or(base::Timestamp(clock));
    return {folder.head(), genesis::freshness_of(checked.proof, times, now)};
}

// The few rows that tell, where no database is made: those of the schedules, and that of a
// checkpoint. Several workers read; in the folder of a liar several may find the latter.
class RowsThatTell {
  public:
    explicit RowsThatTell(const CheckedSnapshot& checked)
        : checked_(checked), table_(chain::stored_key(chain::Table::global, {})) {
        if (checked.checkpoint) wanted_ = block_row_key(*checked.checkpoint);
    }

    [[nodiscard]] OpenGroup look() {
        return [this](std::size_t) -> base::Result<RowSink> {
            const auto take = [this](base::ByteView key, base::ByteView value) {
                note(key, value);
                return base::Result<void>();
            };
            return RowSink{take, nullptr};
        };
    }
    // After all rows.
    base::Result<void> check(chain::Height height) {
        const chain::LayeredView state({global_}, std::make_shared<const chain::EmptyView>());
        auto good = genesis::check_schedules(checked_.proof.header, checked_.agreement, state);
        if (!good || !checked_.checkpoint) return good;
        return check_block_row(*checked_.checkpoint, height, id_ ? &*id_ : nullptr, "checkpoint");
    }

  private:
    void note(base::ByteView key, base::ByteView value) {
        const bool is_global =
            key.size() >= table_.size() && base::equal(key.first(table_.size()), table_);
        const bool is_id = checked_.checkpoint && base::equal(key, wanted_);
        if (!is_global && !is_id) return;
        const std::scoped_lock lock(mutex_);
        if (is_id) id_ = base::to_bytes(value);
        if (!is_global) return;
        global_->set(chain::Table::global,
                     key.subspan(table_.size()),
                     std::make_shared<const base::Bytes>(base::to_bytes(value)));
    }

    const CheckedSnapshot& checked_;
    const base::Bytes table_;
    base::Bytes wanted_;
    std::mutex mutex_;
    std::optional<base::Bytes> id_;
    std::shared_ptr<chain::ChangeSet> global_ = std::make_shared<chain::ChangeSet>();
};

}  // namespace

base::Result<SnapshotTrust> trust_of(const genesis::Genesis& genesis, const LoadOptions& options) {
    SnapshotTrust trust = trust_in(genesis);
    trust.chain.recoveries = options.recoveries;
    trust.checkpoint = options.checkpoint;
    if (auto added = add_recovery(trust.chain, options); !added) return fail(added.error());
    return trust;
}

std::string describe(const genesis::Freshness& freshness) {
    const std::int64_t seconds = freshness.behind_seconds;
    const std::int64_t far = seconds < 0 ? -seconds : seconds;
    std::string lies = fmt::format("what it proves to be final is of {}, {}:{:02}:{:02} {}",
                                   freshness.time.to_string(),
                                   far / 3'600,
                                   far / 60 % 60,
                                   far % 60,
                                   seconds < 0 ? "ahead of the clock" : "behind the clock");
    if (freshness.is_ahead()) return lies + ": this clock is wrong, or those of the chain were";
    if (freshness.is_stale()) return lies + ": stale until the node has caught up";
    return lies;
}

base::Result<void> check_loadable(const LoadOptions& options) {
    const auto directory = DataDirectory::open(options.data_dir, options.disk.files);
    if (!directory) return fail(directory.error());
    return check_empty(*directory, options.disk.files);
}

base::Result<GoodSnapshot> load_snapshot(const fs::path& path, const LoadOptions& options) {
    FileCalls& files = options.disk.files;
    const auto folder = SnapshotFolder::open(path, files);
    if (!folder) return fail(folder.error());
    const auto file = read_genesis(options.data_dir, options.genesis_json, files);
    if (!file) return fail(file.error());
    const auto trust = trust_of(file->genesis, options);
    if (!trust) return fail(trust.error());
    const auto checked = check_parts(*folder, *trust, options.is_stopped);
    if (!checked) return fail(checked.error());

    auto directory = DataDirectory::open(options.data_dir, files);
    if (!directory) return fail(directory.error());
    if (auto empty = check_empty(*directory, files); !empty) return fail(empty.error());
    if (auto removed = directory->remove_others(); !removed) return fail(removed.error());
    auto room = StateBuild::check_room(*folder, options.data_dir, files);
    if (!room) return fail(room.error());
    const auto next = directory->next_state();
    if (!next) return fail(next.error());
    StateBuild state(*next, options.disk);
    auto filled = state.fill(*folder, options.workers, options.show, options.is_stopped);
    if (!filled) return fail(filled.error());
    if (auto done = state.complete(*folder, *checked); !done) return fail(done.error());
    if (auto closed = state.close(); !closed) return fail(closed.error());
    if (auto kept = keep_genesis(options.data_dir, *file, files); !kept) return fail(kept.error());
    // It is whole: whatever comes of it now, nothing is lost. A start removes what is still being
    // made.
    state.keep();
    if (auto done = directory->switch_to(state.path()); !done) return fail(done.error());
    return good_one(*folder, *checked, *file, options);
}

base::Result<GoodSnapshot> verify_snapshot(const SnapshotFolder& folder,
                                           const LoadOptions& options) {
    const auto file = read_genesis(options.data_dir, options.genesis_json, options.disk.files);
    if (!file) return fail(file.error());
    const auto trust = trust_of(file->genesis, options);
    if (!trust) return fail(trust.error());
    const auto checked = check_parts(folder, *trust, options.is_stopped);
    if (!checked) return fail(checked.error());
    RowsThatTell rows(*checked);
    const auto groups =
        check_chunks(folder, options.workers, rows.look(), options.show, options.is_stopped);
    if (!groups) return fail(groups.error());
    if (auto good = rows.check(folder.head().height); !good) return fail(good.error());
    return good_one(folder, *checked, *file, options);
}

}  // namespace node
