#include "node/snapshots/snapshot_load.hpp"

#include "node/snapshots/recovery_file.hpp"
#include "node/snapshots/state_build.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <mutex>
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
    const bool is_given = !options.recovery_file.empty();
    if (options.recoveries.empty() || (!is_given && options.data_dir.empty())) return {};
    const fs::path path =
        is_given ? options.recovery_file : options.data_dir / genesis::kRecoveryFile;
    auto recovery =
        read_recovery_file(path, options.recoveries, trust.chain_id, options.disk.files);
    if (!recovery && recovery.error().code == Errc::not_found && !is_given) return {};
    if (!recovery) return fail(recovery.error());
    trust.retimes = recovery->retimes;
    if (recovery->reset.schedule.entries.empty()) std::erase(trust.recoveries, recovery->id());
    return {};
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
    // Of the checkpoint. In the folder of a liar several workers may find it.
    std::optional<base::Bytes> id;
    std::mutex mutex;
    OpenGroup look;
    if (checked->checkpoint) {
        const base::Bytes wanted = block_row_key(*checked->checkpoint);
        look = [&id, &mutex, wanted](std::size_t) -> base::Result<RowSink> {
            const auto take = [&id, &mutex, wanted](base::ByteView key,
                                                    base::ByteView value) -> base::Result<void> {
                if (!base::equal(key, wanted)) return {};
                const std::scoped_lock lock(mutex);
                id = base::to_bytes(value);
                return {};
            };
            return RowSink{take, nullptr};
        };
    }
    const auto groups =
        check_chunks(folder, options.workers, look, options.show, options.is_stopped);
    if (!groups) return fail(groups.error());
    if (checked->checkpoint) {
        const base::Bytes* const found = id ? &*id : nullptr;
        auto good =
            check_block_row(*checked->checkpoint, folder.head().height, found, "checkpoint");
        if (!good) return fail(good.error());
    }
    return good_one(folder, *checked, *file, options);
}

}  // namespace node
