#include "node/disk/rocksdb_internal.hpp"

#include <rocksdb/filter_policy.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <array>

namespace node {

namespace {

constexpr std::array<std::string_view, base::kFamilies> kNames = {
    "state", "blocks", "index", "traces", "reversible", "pool", "meta"};

}  // namespace

std::string_view family_name(base::Family family) {
    return kNames.at(static_cast<std::size_t>(family));
}

base::Error error_of(const rocksdb::Status& status, const std::string& directory) {
    const std::string said = status.ToString();
    if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kNoSpace) {
        return {base::Errc::unavailable,
                "no space is left on the device of " + directory + "; free some: " + said};
    }
    if (status.IsCorruption()) {
        return {
            base::Errc::corrupt,
            "the database in " + directory +
                " is damaged; check the disk; then move that folder away, leave 'safety' beside "
                "it where it is, and start: the node fetches from peers what it had, or begins "
                "with --snapshot: " +
                said};
    }
    return {base::Errc::unavailable, "the database in " + directory + " failed: " + said};
}

rocksdb::DBOptions database_options(const RocksDbStorage::Options& options,
                                    const std::shared_ptr<rocksdb::Cache>& cache) {
    rocksdb::DBOptions made;
    if (options.env != nullptr) made.env = options.env.get();
    made.create_if_missing = true;
    made.create_missing_column_families = true;
    made.paranoid_checks = true;
    made.allow_concurrent_memtable_write = false;  // One thread commits.
    made.max_open_files = options.open_files_max;
    made.max_file_opening_threads = options.opening_threads;
    made.max_background_jobs = 2;
    made.write_buffer_manager =
        std::make_shared<rocksdb::WriteBufferManager>(options.write_buffer_bytes, cache);
    // What is replayed after a crash; one second to a serving API is promised.
    made.max_total_wal_size = options.write_buffer_bytes * 3 / 2;
    made.avoid_flush_during_recovery = true;
    // What comes after a damaged record is not read: the safety journals tell what is missing, and
    // peers have it. To refuse the whole storage would cost a node where a bit costs a block.
    made.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
    made.bytes_per_sync = 1024 * 1024;
    made.stats_dump_period_sec = 0;
    made.max_manifest_file_size = 16 * 1024 * 1024;
    return made;
}

rocksdb::ColumnFamilyOptions family_options(base::Family family,
                                            const RocksDbStorage::Options& options,
                                            const std::shared_ptr<rocksdb::Cache>& cache) {
    rocksdb::ColumnFamilyOptions made;
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache;
    table.cache_index_and_filter_blocks = true;
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    // In parts of some KiB: the filter of a big table is larger than a shard of the cache, which
    // would read and check all of it again for each look-up.
    table.partition_filters = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.format_version = 5;
    made.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    made.write_buffer_size = std::max<std::size_t>(options.write_buffer_bytes / 2, 64 * 1024);
    made.compression = rocksdb::kLZ4Compression;
    made.level_compaction_dynamic_level_bytes = true;
    if (family == base::Family::pool) {
        // Random keys that nobody looks for but at the start, and that are soon erased: they are
        // sorted when they are flushed, if they are still there.
        made.memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
    }
    if (family == base::Family::index) {
        // A block's ids come sorted: each is searched for from the one before.
        made.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(1));
    }
    if (family == base::Family::state) {
        // So do its rows, table by table.
        made.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(2));
        // Each transaction asks whether it was there before, which it was not.
        made.memtable_whole_key_filtering = true;
        made.memtable_prefix_bloom_size_ratio = 0.05;
    }
    if (family == base::Family::blocks || family == base::Family::traces) {
        // Big values that are never changed must not be rewritten by compaction; and what is
        // pruned gives its space back.
        made.enable_blob_files = true;
        made.min_blob_size = 512;
        made.blob_file_size = 64 * 1024 * 1024;
        made.blob_compression_type = rocksdb::kLZ4Compression;
        made.enable_blob_garbage_collection = true;
        made.blob_garbage_collection_age_cutoff = 0.5;
        // Only rewrite() forces it. RocksDB 7.8, looking by itself for what to force, ends the
        // process where no table has rows of the oldest blob file any more (`linked_ssts` is empty
        // then); so does every later process, as it looks when it opens.
        made.blob_garbage_collection_force_threshold = 1.0;
    }
    return made;
}

}  // namespace node
