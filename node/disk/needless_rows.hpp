#pragma once

#include "node/disk/rocksdb_storage.hpp"

#include <rocksdb/compaction_filter.h>

#include <memory>
#include <mutex>

namespace node {

// Leaves rows out that nobody needs where RocksDB writes tables anew. Part of
// rocksdb_internal.hpp's files. Thread: any.
class NeedlessRows final : public rocksdb::CompactionFilterFactory {
  public:
    void set(RocksDbStorage::Needless which);

    [[nodiscard]] const char* Name() const override { return "bor.NeedlessRows"; }
    std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
        const rocksdb::CompactionFilter::Context& context) override;

  private:
    std::mutex mutex_;
    std::shared_ptr<const RocksDbStorage::Needless> which_;  // Null: all are needed.
};

}  // namespace node
