#include "node/disk/rocksdb_storage.hpp"

#include "base/codec.hpp"
#include "node/disk/needless_rows.hpp"
#include "node/disk/rocksdb_internal.hpp"
#include "node/disk/rocksdb_losses.hpp"

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace node {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSchemaKey = "schema";

std::size_t number(base::Family family) {
    return static_cast<std::size_t>(family);
}

base::Error open_error(const rocksdb::Status& status, const std::string& directory) {
    const std::string said = status.ToString();
    if (status.IsIOError() && said.find("/LOCK:") != std::string::npos) {
        return {base::Errc::invalid,
                fmt::format("the data directory {} is in use by another process; stop that one, or "
                            "give this node a directory of its own ({})",
                            directory,
                            said)};
    }
    if (status.IsInvalidArgument()) {
        return {base::Errc::invalid,
                fmt::format("the directory {} holds a database that is not of this program, or of "
                            "a later release; give this node a directory of its own ({})",
                            directory,
                            said)};
    }
    return error_of(status, directory);
}

// What a batch takes in RocksDB's form, at most.
std::size_t room_for(const base::Batch& batch) {
    constexpr std::size_t kHeader = 12;  // Of the whole.
    constexpr std::size_t kAround = 16;  // Of a change: kind, family and two lengths.
    std::size_t room = kHeader;
    for (const base::Batch::Change& change : batch.changes) {
        room += kAround + change.key.size() + (change.value ? change.value->size() : 0);
    }
    return room;
}

base::Bytes schema_value() {
    base::Writer out;
    out.u32(kSchemaVersion);
    return out.take();
}

}  // namespace

// The open database; shared by the storage and its snapshots, closed with the last of them.
class RocksDbStorage::Database : base::Pinned {
  public:
    Database(Options options, std::shared_ptr<rocksdb::Cache> cache)
        : options_(std::move(options)), cache_(std::move(cache)) {}

    ~Database() {
        for (rocksdb::ColumnFamilyHandle* handle : handles_) {
            db_->DestroyColumnFamilyHandle(handle);
        }
    }

    base::Result<void> open() {
        // RocksDB 7.8 ends the process by an assertion if the disk is full while it opens.
        if (auto room = check_room(0); !room) return room;
        // For the log; what is wrong with the directory is told when the database opens in it.
        env().CreateDirIfMissing(options_.directory).PermitUncheckedError();
        rocksdb::DBOptions options = database_options(options_, cache_);
        auto missing = missing_log(env(), options_.directory);
        const auto log =
            std::make_shared<LossLog>(options_.env == nullptr ? options_.directory : "");
        options.info_log = log;
        std::vector<rocksdb::ColumnFamilyDescriptor> families;
        families.reserve(base::kFamilies + 1);
        for (std::size_t i = 0; i < base::kFamilies; ++i) {
            const auto each = static_cast<base::Family>(i);
            families.emplace_back(std::string(family_name(each)),
                                  family_options(each, options_, cache_));
            needless_.at(i) = std::make_shared<NeedlessRows>();
            families.back().options.compaction_filter_factory = needless_.at(i);
        }
        // RocksDB insists on this one. It stays empty, but the size of its buffer counts when
        // RocksDB decides whether a full disk has room again.
        rocksdb::ColumnFamilyOptions unused;
        unused.write_buffer_size = 64 * 1024;
        families.emplace_back(rocksdb::kDefaultColumnFamilyName, unused);
        rocksdb::DB* db = nullptr;
        const rocksdb::Status status =
            rocksdb::DB::Open(options, options_.directory, families, &handles_, &db);
        if (!status.ok()) return base::fail(open_error(status, options_.directory));
        db_.reset(db);
        rocksdb::Status synced = sync_logs();
        if (synced.ok()) synced = sync_names();
        if (!synced.ok()) return base::fail(error_of(synced, options_.directory));
        losses_ = log->take();
        if (missing) losses_.push_back(*std::move(missing));
        // Else the next start would read the damaged log again, and say the same of it.
        if (!losses_.empty()) {
            if (auto flushed = flush(); !flushed) return flushed;
        }
        return check_schema();
    }

    // What a process wrote that was killed is in its logs, but perhaps in the kernel's memory only.
    // RocksDB goes on with another log and syncs just that: after a power cut there would be later
    // commits without these.
    [[nodiscard]] rocksdb::Status sync_logs() const {
        std::vector<std::string> names;
        rocksdb::Status done = env().GetChildren(options_.directory, &names);
        for (const std::string& name : names) {
            if (!done.ok()) break;
            if (!name.ends_with(".log")) continue;
            std::unique_ptr<rocksdb::WritableFile> log;
            const std::string path = options_.directory + "/" + name;
            done = env().ReopenWritableFile(path, &log, rocksdb::EnvOptions());
            if (done.ok()) done = log->Sync();
        }
        return done;
    }

    // RocksDB syncs the names in its directory, but not that of the directory itself.
    [[nodiscard]] rocksdb::Status sync_names() const {
        const std::string parent = fs::path(options_.directory).parent_path().string();
        rocksdb::Status done = sync_directory(options_.directory);
        if (done.ok()) done = sync_directory(parent.empty() ? "." : parent);
        return done;
    }

    [[nodiscard]] rocksdb::Status sync_directory(const std::string& path) const {
        std::unique_ptr<rocksdb::Directory> opened;
        const rocksdb::Status done = env().NewDirectory(path, &opened);
        return done.ok() ? opened->Fsync() : done;
    }

    [[nodiscard]] rocksdb::Env& env() const {
        return options_.env == nullptr ? *rocksdb::Env::Default() : *options_.env;
    }

    // For a commit of this size. A log that could not be written must not come: RocksDB 7.8 ends
    // the process at the next write to it, where it had nothing in memory to save.
    base::Result<void> check_room(std::size_t bytes) const {
        const std::optional<std::uint64_t> free = free_bytes();
        const std::uint64_t needed = options_.free_bytes_min + bytes;
        if (!free || *free >= needed) return {};
        return base::fail(base::Errc::unavailable,
                          fmt::format("no space is left on the device of {}: {} bytes are free, {} "
                                      "are needed to go on; free some",
                                      options_.directory,
                                      *free,
                                      needed));
    }

    base::Result<void> commit(const base::Batch& batch, bool sync) {
        const std::size_t size = room_for(batch);
        if (!batch.changes.empty()) {
            if (auto room = check_room(size); !room) return room;
        }
        rocksdb::WriteBatch writes(size);
        for (const base::Batch::Change& change : batch.changes) {
            const rocksdb::Status added =
                change.value
                    ? writes.Put(family(change.family), slice(change.key), slice(*change.value))
                    : writes.Delete(family(change.family), slice(change.key));
            if (!added.ok()) return base::fail(error_of(added, options_.directory));
        }
        rocksdb::WriteOptions how;
        how.sync = sync;
        rocksdb::Status written = db_->Write(how, &writes);
        // After an error RocksDB refuses all writes until it is told to try again. When the disk
        // was full it tries by itself every five seconds, and until then is busy doing so.
        if (!written.ok() && db_->Resume().ok()) written = db_->Write(how, &writes);
        if (!written.ok()) return base::fail(error_of(written, options_.directory));
        return {};
    }

    base::Result<std::optional<base::Bytes>> get(base::Family from,
                                                 base::ByteView key,
                                                 const rocksdb::Snapshot* at) const {
        rocksdb::ReadOptions how;
        how.snapshot = at;
        rocksdb::PinnableSlice value;
        const rocksdb::Status status = db_->Get(how, family(from), slice(key), &value);
        if (status.IsNotFound()) return std::nullopt;
        if (!status.ok()) return base::fail(error_of(status, options_.directory));
        return base::to_bytes(view(value));
    }

    std::unique_ptr<rocksdb::Iterator> iterator(base::Family from,
                                                const rocksdb::Snapshot* at) const {
        rocksdb::ReadOptions how;
        how.snapshot = at;
        return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(how, family(from)));
    }

    // For a pass over many rows: it takes no other reader's place in the cache.
    std::unique_ptr<rocksdb::Iterator> passing_iterator(base::Family from,
                                                        const rocksdb::Snapshot* at) const {
        rocksdb::ReadOptions how;
        how.snapshot = at;
        how.fill_cache = false;
        return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(how, family(from)));
    }

    // The entry that the iterator is at, if it is at one.
    base::Result<std::optional<base::StoredRow>> entry(const rocksdb::Iterator& at) const {
        if (at.Valid()) {
            return base::StoredRow{base::to_bytes(view(at.key())),
                                   base::to_bytes(view(at.value()))};
        }
        if (!at.status().ok()) return base::fail(error_of(at.status(), options_.directory));
        return std::nullopt;
    }

    base::Result<std::optional<base::StoredRow>> at_or_after(rocksdb::Iterator& at,
                                                             base::ByteView key) const {
        at.Seek(slice(key));
        return entry(at);
    }

    base::Result<std::optional<base::StoredRow>> before(rocksdb::Iterator& at,
                                                        base::ByteView key) const {
        at.SeekForPrev(slice(key));
        if (at.Valid() && base::equal(view(at.key()), key)) at.Prev();
        return entry(at);
    }

    base::Result<void> scan(rocksdb::Iterator& at, base::ByteView from, const Visit& visit) const {
        for (at.Seek(slice(from)); at.Valid(); at.Next()) {
            if (!visit(view(at.key()), view(at.value()))) return {};
        }
        if (!at.status().ok()) return base::fail(error_of(at.status(), options_.directory));
        return {};
    }

    base::Result<void> flush() {
        for (std::size_t i = 0; i < base::kFamilies; ++i) {
            const rocksdb::Status status = db_->Flush(rocksdb::FlushOptions(), handles_[i]);
            if (!status.ok()) return base::fail(error_of(status, options_.directory));
        }
        // Logs that are not needed any more go after the flush.
        rocksdb::Status idle = db_->PauseBackgroundWork();
        if (idle.ok()) idle = db_->ContinueBackgroundWork();
        if (!idle.ok()) return base::fail(error_of(idle, options_.directory));
        return {};
    }

    base::Result<void> ingest(base::Family into, const std::vector<std::string>& paths) {
        rocksdb::IngestExternalFileOptions how;
        how.move_files = true;
        const rocksdb::Status done = db_->IngestExternalFile(family(into), paths, how);
        if (!done.ok()) return base::fail(error_of(done, options_.directory));
        return {};
    }

    void set_needless(base::Family family, Needless which) {
        needless_.at(number(family))->set(std::move(which));
    }

    base::Result<void> drop_files(base::Family of, base::ByteView from, base::ByteView to) {
        const rocksdb::Slice first = slice(from);
        const rocksdb::Slice end = slice(to);
        const rocksdb::Status done =
            rocksdb::DeleteFilesInRange(db_.get(), family(of), &first, &end, /*include_end=*/false);
        if (!done.ok()) return base::fail(error_of(done, options_.directory));
        return {};
    }

    base::Result<void> rewrite(base::Family of, base::ByteView from, base::ByteView to) {
        rocksdb::CompactRangeOptions how;
        how.exclusive_manual_compaction = false;
        how.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
        how.blob_garbage_collection_policy = rocksdb::BlobGarbageCollectionPolicy::kForce;
        how.blob_garbage_collection_age_cutoff = 1.0;
        const rocksdb::Slice first = slice(from);
        const rocksdb::Slice end = slice(to);
        const rocksdb::Status done = db_->CompactRange(how, family(of), &first, &end);
        if (!done.ok()) return base::fail(error_of(done, options_.directory));
        return {};
    }

    [[nodiscard]] Statistics statistics() const;

    [[nodiscard]] const std::string& directory() const { return options_.directory; }
    [[nodiscard]] const std::vector<std::string>& losses() const { return losses_; }
    rocksdb::DB& db() { return *db_; }

  private:
    [[nodiscard]] rocksdb::ColumnFamilyHandle* family(base::Family family) const {
        return handles_[number(family)];
    }

    // Of the device, if that can be told.
    [[nodiscard]] std::optional<std::uint64_t> free_bytes() const {
        if (options_.env != nullptr) {
            std::uint64_t free = 0;
            if (!options_.env->GetFreeSpace(options_.directory, &free).ok()) return std::nullopt;
            return free;
        }
        std::error_code failed;
        const fs::space_info space = fs::space(options_.directory, failed);
        if (failed) return std::nullopt;
        return space.available;
    }

    [[nodiscard]] bool is_empty() const {
        return std::none_of(handles_.begin(), handles_.end(), [&](auto* handle) {
            const std::unique_ptr<rocksdb::Iterator> at(
                db_->NewIterator(rocksdb::ReadOptions(), handle));
            at->SeekToFirst();
            return at->Valid();
        });
    }

    base::Result<void> check_schema() {
        const base::ByteView key = base::as_bytes(kSchemaKey);
        base::Result<std::optional<base::Bytes>> found = get(base::Family::meta, key, nullptr);
        if (!found) return base::fail(found.error());
        if (*found) {
            base::Reader in(**found);
            const std::uint32_t version = in.u32("schema");
            if (!in.finish()) {
                return base::fail(base::Errc::corrupt,
                                  "the schema version in " + options_.directory + " is damaged");
            }
            if (version == kSchemaVersion) return {};
            return base::fail(
                base::Errc::invalid,
                fmt::format("the data in {} has schema version {}, this release reads version {}; "
                            "start the release that wrote it, or move the directory away and "
                            "start from a snapshot",
                            options_.directory,
                            version,
                            kSchemaVersion));
        }
        if (!is_empty()) {
            return base::fail(base::Errc::invalid,
                              "the directory " + options_.directory +
                                  " holds a database without a schema version, so it is not of "
                                  "this program; give this node a directory of its own");
        }
        base::Batch batch;
        batch.put(base::Family::meta, base::to_bytes(key), schema_value());
        return commit(batch, true);
    }

    Options options_;
    std::shared_ptr<rocksdb::Cache> cache_;
    std::array<std::shared_ptr<NeedlessRows>, base::kFamilies> needless_;
    std::unique_ptr<rocksdb::DB> db_;
    std::vector<rocksdb::ColumnFamilyHandle*> handles_;  // In the order of base::Family.
    std::vector<std::string> losses_;
};

RocksDbStorage::Statistics RocksDbStorage::Database::statistics() const {
    const auto property = [&](std::size_t i, const rocksdb::Slice& name) {
        std::uint64_t value = 0;
        return db_->GetIntProperty(handles_[i], name, &value) ? value : 0;
    };
    Statistics made;
    for (std::size_t i = 0; i < base::kFamilies; ++i) {
        made.families[i] = {
            .rows = property(i, rocksdb::DB::Properties::kEstimateNumKeys),
            .table_bytes = property(i, rocksdb::DB::Properties::kLiveSstFilesSize),
            .blob_bytes = property(i, rocksdb::DB::Properties::kTotalBlobFileSize),
            .memory_bytes = property(i, rocksdb::DB::Properties::kCurSizeAllMemTables)};
        made.compaction_pending_bytes +=
            property(i, rocksdb::DB::Properties::kEstimatePendingCompactionBytes);
    }
    made.cache_bytes = cache_->GetUsage();
    made.background_errors = property(0, rocksdb::DB::Properties::kBackgroundErrors);
    made.delayed_write_rate = property(0, rocksdb::DB::Properties::kActualDelayedWriteRate);
    made.writes_stopped = property(0, rocksdb::DB::Properties::kIsWriteStopped) != 0;
    made.disk_free_bytes = free_bytes().value_or(0);
    return made;
}

// One moment of the database. Searches of the state, which contracts do all the time, reuse
// iterators: making one costs more than the search.
class RocksDbStorage::Snapshot final : public base::StorageView, base::Pinned {
  public:
    explicit Snapshot(std::shared_ptr<Database> database)
        : database_(std::move(database)), at_(database_->db().GetSnapshot()) {}
    ~Snapshot() override {
        idle_.clear();
        database_->db().ReleaseSnapshot(at_);
    }

    [[nodiscard]] base::Result<std::optional<base::Bytes>> get(base::Family family,
                                                               base::ByteView key) const override {
        return guarded(database_->directory(), [&] { return database_->get(family, key, at_); });
    }
    [[nodiscard]] base::Result<std::optional<base::StoredRow>> at_or_after(
        base::Family family, base::ByteView key) const override {
        return search(family,
                      [&](rocksdb::Iterator& at) { return database_->at_or_after(at, key); });
    }
    [[nodiscard]] base::Result<std::optional<base::StoredRow>> before(
        base::Family family, base::ByteView key) const override {
        return search(family, [&](rocksdb::Iterator& at) { return database_->before(at, key); });
    }
    [[nodiscard]] base::Result<void> scan(base::Family family,
                                          base::ByteView from,
                                          const Visit& visit) const override {
        const std::unique_ptr<rocksdb::Iterator> at = database_->passing_iterator(family, at_);
        return database_->scan(*at, from, visit);
    }

  private:
    static constexpr std::size_t kIdleMax = 8;

    template <class Search>
    base::Result<std::optional<base::StoredRow>> search(base::Family family, Search&& with) const {
        return guarded(database_->directory(), [&] {
            if (family != base::Family::state) {
                const std::unique_ptr<rocksdb::Iterator> at = database_->iterator(family, at_);
                return with(*at);
            }
            std::unique_ptr<rocksdb::Iterator> at = take_idle();
            if (!at) at = database_->iterator(family, at_);
            auto found = with(*at);
            give_back(std::move(at));
            return found;
        });
    }

    std::unique_ptr<rocksdb::Iterator> take_idle() const {
        const std::scoped_lock lock(mutex_);
        if (idle_.empty()) return nullptr;
        std::unique_ptr<rocksdb::Iterator> at = std::move(idle_.back());
        idle_.pop_back();
        return at;
    }

    void give_back(std::unique_ptr<rocksdb::Iterator> at) const {
        const std::scoped_lock lock(mutex_);
        if (idle_.size() < kIdleMax) idle_.push_back(std::move(at));
    }

    std::shared_ptr<Database> database_;
    const rocksdb::Snapshot* at_;
    mutable std::mutex mutex_;
    mutable std::vector<std::unique_ptr<rocksdb::Iterator>> idle_;  // Of the state.
};

RocksDbStorage::RocksDbStorage(std::shared_ptr<Database> database)
    : database_(std::move(database)) {}

RocksDbStorage::~RocksDbStorage() = default;

base::Result<std::unique_ptr<RocksDbStorage>> RocksDbStorage::open(const Options& options) {
    using Opened = base::Result<std::unique_ptr<RocksDbStorage>>;
    return guarded(options.directory, [&]() -> Opened {
        auto cache = rocksdb::NewLRUCache(options.cache_bytes);
        auto database = std::make_shared<Database>(options, std::move(cache));
        if (const base::Result<void> opened = database->open(); !opened) {
            return base::fail(opened.error());
        }
        return std::unique_ptr<RocksDbStorage>(new RocksDbStorage(std::move(database)));
    });
}

const std::vector<std::string>& RocksDbStorage::losses() const {
    return database_->losses();
}

base::Result<void> RocksDbStorage::commit(const base::Batch& batch, bool sync) {
    return guarded(database_->directory(), [&] { return database_->commit(batch, sync); });
}

std::shared_ptr<const base::StorageView> RocksDbStorage::snapshot() const {
    return std::make_shared<const Snapshot>(database_);
}

base::Result<std::optional<base::Bytes>> RocksDbStorage::get(base::Family family,
                                                             base::ByteView key) const {
    return guarded(database_->directory(), [&] { return database_->get(family, key, nullptr); });
}

base::Result<std::optional<base::StoredRow>> RocksDbStorage::at_or_after(base::Family family,
                                                                         base::ByteView key) const {
    return guarded(database_->directory(), [&] {
        return database_->at_or_after(*database_->iterator(family, nullptr), key);
    });
}

base::Result<std::optional<base::StoredRow>> RocksDbStorage::before(base::Family family,
                                                                    base::ByteView key) const {
    return guarded(database_->directory(),
                   [&] { return database_->before(*database_->iterator(family, nullptr), key); });
}

base::Result<void> RocksDbStorage::scan(base::Family family,
                                        base::ByteView from,
                                        const Visit& visit) const {
    const std::unique_ptr<rocksdb::Iterator> at = database_->passing_iterator(family, nullptr);
    return database_->scan(*at, from, visit);
}

base::Result<void> RocksDbStorage::flush() {
    return guarded(database_->directory(), [&] { return database_->flush(); });
}

base::Result<void> RocksDbStorage::ingest(base::Family family,
                                          const std::vector<std::string>& paths) {
    return guarded(database_->directory(), [&] { return database_->ingest(family, paths); });
}

void RocksDbStorage::set_needless(base::Family family, Needless which) {
    database_->set_needless(family, std::move(which));
}

base::Result<void> RocksDbStorage::drop_files(base::Family family,
                                              base::ByteView from,
                                              base::ByteView to) {
    return guarded(database_->directory(), [&] { return database_->drop_files(family, from, to); });
}

base::Result<void> RocksDbStorage::rewrite(base::Family family,
                                           base::ByteView from,
                                           base::ByteView to) {
    return guarded(database_->directory(), [&] { return database_->rewrite(family, from, to); });
}

RocksDbStorage::Statistics RocksDbStorage::statistics() const {
    return database_->statistics();
}

}  // namespace node
