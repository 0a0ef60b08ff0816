#pragma once

#include "base/pinned.hpp"
#include "base/storage.hpp"
#include "chain/state/gaps.hpp"
#include "chain/state/row_cache.hpp"
#include "chain/state/state.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace chain {

// Told of an error of the storage under a read. Views have no way to say "the disk failed":
// they answer "no such row" and tell this, so no result of that view may be let out; the node
// stops. Called on the reading thread.
using FaultSink = std::function<void(const base::Error&)>;

// The key of a row in base::Family::state: the table, big-endian, and the row's key.
[[nodiscard]] base::Bytes stored_key(Table table, base::ByteView key);

// Rows known of the final state, and at which moment.
struct FinalRows {
    explicit FinalRows(std::size_t bytes_max, std::uint64_t seed) : rows(bytes_max, seed) {}

    // Brings what is known over the changes of a block that storage now has.
    void absorb(const ChangeSet& changes);

    RowCache rows;
    TableGaps gaps;
    std::uint64_t moment = 0;  // Raised with each block absorbed.
};

// The state as storage has it at one moment.
//
// Thread: any, without a cache. With one, the cache's; views of an earlier moment pass by it.
class StoredView final : public StateView {
  public:
    StoredView(std::shared_ptr<const base::StorageView> storage,
               FaultSink on_fault,
               std::shared_ptr<FinalRows> cache = nullptr);

    [[nodiscard]] Value find(Table table, base::ByteView key) const override;
    [[nodiscard]] std::optional<Row> at_or_after(Table table, base::ByteView key) const override;
    [[nodiscard]] std::optional<Row> before(Table table, base::ByteView key) const override;

  private:
    [[nodiscard]] bool is_cached() const { return cache_ && cache_->moment == moment_; }
    [[nodiscard]] Value read(Table table, base::ByteView key) const;
    [[nodiscard]] std::optional<Row> read_up(Table table, base::ByteView key) const;
    [[nodiscard]] std::optional<Row> read_down(Table table, base::ByteView key) const;
    [[nodiscard]] std::optional<Row> row_of(
        Table table, base::Result<std::optional<base::StoredRow>> found) const;

    std::shared_ptr<const base::StorageView> storage_;
    FaultSink on_fault_;
    std::shared_ptr<FinalRows> cache_;
    std::uint64_t moment_ = 0;
};

// The changes of several blocks, the newest first, on top of a view. What lies under the
// newest change of a row is not seen.
//
// Immutable; any thread, if `below` is.
class LayeredView final : public StateView {
  public:
    using Layers = std::vector<std::shared_ptr<const ChangeSet>>;

    LayeredView(Layers layers, std::shared_ptr<const StateView> below);

    [[nodiscard]] Value find(Table table, base::ByteView key) const override;
    [[nodiscard]] std::optional<Row> at_or_after(Table table, base::ByteView key) const override;
    [[nodiscard]] std::optional<Row> before(Table table, base::ByteView key) const override;

    [[nodiscard]] const Layers& layers() const { return layers_; }

  private:
    Layers layers_;
    std::shared_ptr<const StateView> below_;
};

}  // namespace chain
