#include "node/snapshots/snapshot_load.hpp"

#include "chain/execution/schedule_rows.hpp"
#include "chain/state/views.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/disk/table_file.hpp"
#include "node/snapshots/recovery_file.hpp"

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

constexpr std::uint64_t kFreeBytesMin = std::uint64_t{1} << 30U;
constexpr std::size_t kCacheBytes = std::size_t{8} << 20U;
// How far back a state knows the ids of blocks.
constexpr chain::Height kIdsKept = 65'535;

base::Result<void> check_room(const SnapshotFolder& folder,
                              const fs::path& data_dir,
                              FileCalls& files) {
    const std::int64_t free = files.free_bytes(data_dir.string());
    const std::uint64_t needed = folder.head().bytes + kFreeBytesMin;
    if (free < 0 || static_cast<std::uint64_t>(free) >= needed) return {};
    return fail(
        Errc::unavailable,
        fmt::format("{} bytes are free on the device of {}; the snapshot's {} bytes of rows "
                    "and 1 GiB are needed; free some, or take another device",
                    free,
                    data_dir.string(),
                    folder.head().bytes));
}

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

base::Result<SnapshotTrust> trust_of(const GenesisFile& file, const LoadOptions& options) {
    SnapshotTrust trust = trust_in(file.genesis);
    trust.chain.recoveries = options.recoveries;
    trust.checkpoint = options.checkpoint;
    if (auto added = add_recovery(trust.chain, options); !added) return fail(added.error());
    return trust;
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

// A state that is being made: it is removed unless it was kept.
class NewState : base::Pinned {
  public:
    NewState(fs::path path, Disk disk) : path_(std::move(path)), disk_(std::move(disk)) {}
    ~NewState() {
        storage_.reset();
        if (!kept_) (void)remove_tree(path_.string(), disk_.files);  // Else the next start does.
    }

    base::Result<void> begin() { return make_directories(tables().string(), disk_.files); }

    [[nodiscard]] fs::path table(std::size_t group) const {
        return tables() / fmt::format("{}.table", group);
    }

    // Opens a database that has the tables' rows.
    base::Result<void> open(std::size_t groups) {
        RocksDbStorage::Options options;
        options.directory = path_.string();
        options.cache_bytes = kCacheBytes;
        options.env = disk_.env;
        auto storage = RocksDbStorage::open(options);
        if (!storage) return fail(storage.error());
        storage_ = *std::move(storage);
        std::vector<std::string> paths;
        for (std::size_t i = 0; i < groups; ++i)
            paths.push_back(table(i).string());
        if (auto done = storage_->ingest(base::Family::state, paths); !done) return done;
        return remove_tree(tables().string(), disk_.files);
    }

    [[nodiscard]] RocksDbStorage& storage() { return *storage_; }

    // Closes the database; all of it is durable, names too.
    base::Result<void> close() {
        storage_.reset();
        auto synced = sync_directory_of((path_ / ".").string(), disk_.files);
        return synced ? sync_directory_of(path_.string(), disk_.files) : synced;
    }

    void keep() { kept_ = true; }
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    [[nodiscard]] fs::path tables() const { return path_ / "tables"; }

    fs::path path_;
    Disk disk_;
    std::unique_ptr<RocksDbStorage> storage_;
    bool kept_ = false;
};

base::Result<RowSink> open_table(const fs::path& path, const Disk& disk) {
    auto created = TableFile::create(path.string(), base::Family::state, disk.env);
    if (!created) return fail(created.error());
    const std::shared_ptr<TableFile> file = *std::move(created);
    return RowSink{
        [file](base::ByteView key, base::ByteView value) { return file->add(key, value); },
        [file] { return file->finish(); }};
}

// What was followed, and nothing else.
base::Result<void> store_links(const SnapshotFolder& folder,
                               const CheckedSnapshot& checked,
                               RocksDbStorage& storage) {
    for (std::size_t part = 0; part < checked.link_parts.size(); ++part) {
        const auto links = folder.followed_links(part, checked.link_parts[part]);
        if (!links) return fail(links.error());
        base::Batch batch;
        genesis::append_links(batch, *links);
        if (auto done = storage.commit(batch, false); !done) return done;
    }
    return {};
}

// Where a state has the id of a block below it.
base::Bytes checkpoint_key(const genesis::Checkpoint& checkpoint) {
    const auto row = chain::block_id_key(static_cast<std::uint16_t>(checkpoint.height));
    return chain::stored_key(chain::Table::block_id, row);
}

// `id`: what is there; null: nothing.
base::Result<void> check_checkpoint(const genesis::Checkpoint& checkpoint,
                                    chain::Height height,
                                    const base::Bytes* id) {
    const std::string name =
        fmt::format("checkpoint {}:{}", checkpoint.height, base::to_hex(checkpoint.block.view()));
    if (height - checkpoint.height > kIdsKept) {
        return fail(Errc::invalid,
                    fmt::format("{} is more than {} blocks below the snapshot's block {}, and no "
                                "file of it shows that they are of one chain; take a later one",
                                name,
                                kIdsKept,
                                height));
    }
    if (id != nullptr && base::equal(*id, checkpoint.block.view())) return {};
    return fail(Errc::invalid,
                fmt::format("{}: the snapshot's chain has block {} there",
                            name,
                            id == nullptr ? "none" : base::to_hex(*id)));
}

base::Result<void> finish(const SnapshotFolder& folder,
                          const CheckedSnapshot& checked,
                          RocksDbStorage& storage) {
    base::Result<void> fault;
    const chain::StoredView state(storage.snapshot(),
                                  [&](const base::Error& error) { fault = fail(error); });
    if (checked.checkpoint) {
        const auto id = storage.get(base::Family::state, checkpoint_key(*checked.checkpoint));
        if (!id) return fail(id.error());
        auto good =
            check_checkpoint(*checked.checkpoint, folder.head().height, *id ? &**id : nullptr);
        if (!good) return good;
    }
    auto last = genesis::make_loaded(folder.manifest(), checked.proof, checked.agreement, state);
    if (!fault) return fault;
    if (!last) return fail(last.error());
    if (auto stored = store_links(folder, checked, storage); !stored) return stored;
    return storage.commit(*last, true);
}

}  // namespace

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

base::Result<GoodSnapshot> load_snapshot(const fs::path& path, const LoadOptions& options) {
    FileCalls& files = options.disk.files;
    const auto folder = SnapshotFolder::open(path, files);
    if (!folder) return fail(folder.error());
    const auto file = read_genesis(options.data_dir, options.genesis_json, files);
    if (!file) return fail(file.error());
    const auto trust = trust_of(*file, options);
    if (!trust) return fail(trust.error());
    const auto checked = check_parts(*folder, *trust, options.is_stopped);
    if (!checked) return fail(checked.error());

    auto directory = DataDirectory::open(options.data_dir, files);
    if (!directory) return fail(directory.error());
    if (auto empty = check_empty(*directory, files); !empty) return fail(empty.error());
    if (auto removed = directory->remove_others(); !removed) return fail(removed.error());
    if (auto room = check_room(*folder, options.data_dir, files); !room) return fail(room.error());
    const auto next = directory->next_state();
    if (!next) return fail(next.error());
    NewState state(*next, options.disk);
    if (auto begun = state.begin(); !begun) return fail(begun.error());
    const auto groups = check_chunks(
        *folder,
        options.workers,
        [&](std::size_t group) { return open_table(state.table(group), options.disk); },
        options.show,
        options.is_stopped);
    if (!groups) return fail(groups.error());
    if (auto opened = state.open(*groups); !opened) return fail(opened.error());
    if (auto done = finish(*folder, *checked, state.storage()); !done) return fail(done.error());
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
    const auto trust = trust_of(*file, options);
    if (!trust) return fail(trust.error());
    const auto checked = check_parts(folder, *trust, options.is_stopped);
    if (!checked) return fail(checked.error());
    // Of the checkpoint. In the folder of a liar several workers may find it.
    std::optional<base::Bytes> id;
    std::mutex mutex;
    OpenGroup look;
    if (checked->checkpoint) {
        const base::Bytes wanted = checkpoint_key(*checked->checkpoint);
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
        auto good = check_checkpoint(*checked->checkpoint, folder.head().height, found);
        if (!good) return fail(good.error());
    }
    return good_one(folder, *checked, *file, options);
}

base::Result<genesis::Checkpoint> checkpoint_from(const std::string& text) {
    const auto invalid = [&] {
        return fail(Errc::invalid,
                    "checkpoint = " + text +
                        ": expected HEIGHT:ID with the 64 hexadecimal digits of the id of the "
                        "block of that height");
    };
    const std::size_t colon = text.find(':');
    if (colon == 0 || colon == std::string::npos || colon > 10) return invalid();
    const std::string height = text.substr(0, colon);
    if (height.find_first_not_of("0123456789") != std::string::npos) return invalid();
    const auto bytes = base::from_hex(std::string_view(text).substr(colon + 1));
    if (!bytes) return invalid();
    const auto id = base::to_hash<32>(*bytes);
    // The id begins with the height.
    if (!id || chain::height_of(*id) != std::stoull(height)) return invalid();
    return genesis::Checkpoint{chain::height_of(*id), *id};
}

}  // namespace node
