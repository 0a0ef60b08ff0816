#pragma once

#include "base/storage.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rocksdb {
class Env;
}

namespace node {

// The name of a key space on disk and in /v1/db_size.
[[nodiscard]] std::string_view family_name(base::Family family);

// The layout of what is stored. Raise it with every change that an older release would misread.
inline constexpr std::uint32_t kSchemaVersion = 2;

// base::Storage over RocksDB: one column family a key space, big values of blocks and traces in
// blob files of their own, one write-ahead log for all.
//
// Thread: any. Who commits batches that depend on each other waits for the first. Snapshots may
// outlive the storage.
// Errors: unavailable: the disk is full or failing, the batch did not happen; once there is
// room again commits succeed by themselves, within some seconds. corrupt: a checksum is wrong.
class RocksDbStorage final : public base::Storage {
  public:
    struct Options {
        std::string directory;                        // Made if absent; its parent must be there.
        std::size_t cache_bytes = 128 * 1024 * 1024;  // Of blocks, filters and indexes read.
        std::size_t write_buffer_bytes = 32 * 1024 * 1024;  // Of all families together.
        int open_files_max = 512;
        // Commits are refused while less is free on the device. RocksDB 7.8 ends the process when
        // its log is written to after a write to it found the disk full (its pull request 12448),
        // so it must not come to that; and what it does in the background needs room too.
        std::uint64_t free_bytes_min = 64 * 1024 * 1024;
        int opening_threads = 16;  // Of each family, for its tables, while the database opens.
        std::shared_ptr<rocksdb::Env> env;  // Whose files it has; null: the operating system's.
    };

    // invalid: another process has the directory, or it is of another schema version, or not
    // ours; the message says what to do. corrupt, unavailable: as above.
    [[nodiscard]] static base::Result<std::unique_ptr<RocksDbStorage>> open(const Options& options);
    // What open() found to be lost of writes that were durable, or were cut short; one sentence
    // each that names the file. RocksDB goes on as of the moment before.
    [[nodiscard]] const std::vector<std::string>& losses() const;
    ~RocksDbStorage() override;

    base::Result<void> commit(const base::Batch& batch, bool sync) override;
    [[nodiscard]] std::shared_ptr<const base::StorageView> snapshot() const override;
    [[nodiscard]] base::Result<std::optional<base::Bytes>> get(base::Family family,
                                                               base::ByteView key) const override;
    [[nodiscard]] base::Result<std::optional<base::StoredRow>> at_or_after(
        base::Family family, base::ByteView key) const override;
    [[nodiscard]] base::Result<std::optional<base::StoredRow>> before(
        base::Family family, base::ByteView key) const override;
    [[nodiscard]] base::Result<void> scan(base::Family family,
                                          base::ByteView from,
                                          const Visit& visit) const override;

    // Writes what is in memory to tables, so that opening need not replay the log. When it returns
    // RocksDB does nothing more of it in the background.
    base::Result<void> flush();

    // Takes over tables that TableFile wrote on the same device, all or none, durably. Their keys
    // lie apart and are above none that is here.
    base::Result<void> ingest(base::Family family, const std::vector<std::string>& paths);

    // --- Rows that nobody needs ---
    // Says of a row whether it may vanish, at any moment and for every reader, those of snapshots
    // too. Of blocks and traces the value may be empty. Pure; any thread; does not throw.
    using Needless = std::function<bool(base::ByteView key, base::ByteView value)>;
    // In place of what was said of this family before; empty: all rows are needed.
    void set_needless(base::Family family, Needless which);
    // Removes the files whose rows all lie in [from, to), which must all be needless. Costs little.
    base::Result<void> drop_files(base::Family family, base::ByteView from, base::ByteView to);
    // Writes the files with rows in [from, to) anew, without those that are needless, and gives the
    // space of these back. Takes long: a core and the disk for each byte that stays.
    base::Result<void> rewrite(base::Family family, base::ByteView from, base::ByteView to);

    // Estimates by RocksDB, cheap enough for every scrape.
    struct FamilyStatistics {
        std::uint64_t rows = 0;
        std::uint64_t table_bytes = 0;   // On disk, without blobs.
        std::uint64_t blob_bytes = 0;    // On disk, garbage included.
        std::uint64_t memory_bytes = 0;  // Write buffers.
    };
    struct Statistics {
        std::array<FamilyStatistics, base::kFamilies> families;
        std::uint64_t cache_bytes = 0;
        std::uint64_t compaction_pending_bytes = 0;
        std::uint64_t background_errors = 0;
        std::uint64_t delayed_write_rate = 0;  // Bytes a second; 0: writes are not held back.
        bool writes_stopped = false;
        std::uint64_t disk_free_bytes = 0;
    };
    [[nodiscard]] Statistics statistics() const;

  private:
    class Database;
    class Snapshot;

    explicit RocksDbStorage(std::shared_ptr<Database> database);

    std::shared_ptr<Database> database_;
};

}  // namespace node
