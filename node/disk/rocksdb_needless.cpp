#include "node/disk/needless_rows.hpp"
#include "node/disk/rocksdb_internal.hpp"

#include <utility>

namespace node {

namespace {

// For one compaction.
class Filter final : public rocksdb::CompactionFilter {
  public:
    explicit Filter(std::shared_ptr<const RocksDbStorage::Needless> which)
        : which_(std::move(which)) {}

    [[nodiscard]] const char* Name() const override { return "bor.NeedlessRows"; }
    // NOLINTNEXTLINE(readability-function-size): the form is RocksDB's.
    [[nodiscard]] Decision FilterV2(int /*level*/,
                                    const rocksdb::Slice& key,
                                    ValueType type,
                                    const rocksdb::Slice& value,
                                    std::string* /*new_value*/,
                                    std::string* /*skip_until*/) const override {
        const bool is_needless = type == ValueType::kValue && (*which_)(view(key), view(value));
        return is_needless ? Decision::kRemove : Decision::kKeep;
    }
    // The value lies in a blob file, which is not read for this.
    [[nodiscard]] Decision FilterBlobByKey(int /*level*/,
                                           const rocksdb::Slice& key,
                                           std::string* /*new_value*/,
                                           std::string* /*skip_until*/) const override {
        return (*which_)(view(key), {}) ? Decision::kRemove : Decision::kKeep;
    }

  private:
    std::shared_ptr<const RocksDbStorage::Needless> which_;
};

}  // namespace

void NeedlessRows::set(RocksDbStorage::Needless which) {
    auto made =
        which ? std::make_shared<const RocksDbStorage::Needless>(std::move(which)) : nullptr;
    const std::scoped_lock lock(mutex_);
    which_ = std::move(made);
}

std::unique_ptr<rocksdb::CompactionFilter> NeedlessRows::CreateCompactionFilter(
    const rocksdb::CompactionFilter::Context& /*context*/) {
    const std::scoped_lock lock(mutex_);
    return which_ == nullptr ? nullptr : std::make_unique<Filter>(which_);
}

}  // namespace node
