#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "chain/state/changes.hpp"
#include "chain/state/gaps.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace chain {

struct Row {
    base::Bytes key;
    Value value;
};

// A consistent reading view of the state at one block (or in the middle of one).
//
// Thread: a finished view is immutable and may be read by any thread.
class StateView {
  public:
    virtual ~StateView() = default;

    // The row of this key; null when there is none.
    [[nodiscard]] virtual Value find(Table table, base::ByteView key) const = 0;
    // The first row of `table` whose key is at or after `key`.
    [[nodiscard]] virtual std::optional<Row> at_or_after(Table table, base::ByteView key) const = 0;
    // The last row of `table` whose key is before `key`.
    [[nodiscard]] virtual std::optional<Row> before(Table table, base::ByteView key) const = 0;
    // Differs from what it was when a row may have appeared since. A finished view's does not.
    [[nodiscard]] virtual std::uint64_t revision() const { return 0; }
};

// Changes on top of a parent view: of one block, one transaction, or one action.
//
// Ordered reads remember where they found no rows, so that what was erased is passed once.
// Forks are other leaves of the tree of deltas; a transaction works on a delta of its own
// that is merged into its block's or dropped. Reads see the own changes first.
// Thread: one. For others, and for as long as a block is needed, its changes are taken out.
class StateDelta final : public StateView, base::Pinned {
  public:
    // `parent` outlives this delta. From another StateDelta write StateDelta::on(parent), since
    // StateDelta(parent) would name the copy constructor, which does not exist.
    explicit StateDelta(const StateView& parent);
    // Shares the ownership of an immutable parent (a block on its parent block).
    explicit StateDelta(std::shared_ptr<const StateView> parent);
    ~StateDelta() override;
    [[nodiscard]] static StateDelta on(const StateView& parent) { return StateDelta(parent); }

    void put(Table table, base::ByteView key, base::Bytes value);
    void erase(Table table, base::ByteView key);

    [[nodiscard]] Value find(Table table, base::ByteView key) const override;
    [[nodiscard]] std::optional<Row> at_or_after(Table table, base::ByteView key) const override;
    [[nodiscard]] std::optional<Row> before(Table table, base::ByteView key) const override;
    [[nodiscard]] std::uint64_t revision() const override {
        return revision_ + parent_->revision();
    }

    // Moves every change of `child`, whose parent is this, into this. `child` is empty after.
    void merge(StateDelta& child);
    void clear();
    // Reads on through another view of the parent that shows the same rows.
    void read_through(std::shared_ptr<const StateView> parent);

    [[nodiscard]] const StateView& parent() const { return *parent_; }
    // The changes of one table, in key order; valid until the next write.
    [[nodiscard]] const Changes& changes(Table table) const { return changes_.of(table); }
    [[nodiscard]] const ChangeSet& changes() const { return changes_; }
    // All tables that have changes, in order.
    [[nodiscard]] const std::vector<TableChanges>& tables() const { return changes_.tables(); }
    // Moves the changes out; this is empty after.
    [[nodiscard]] ChangeSet take();

  private:
    [[nodiscard]] Gaps& gaps_of(Table table) const;
    [[nodiscard]] std::optional<Row> search_up(Table table, base::ByteView key) const;
    [[nodiscard]] std::optional<Row> search_down(Table table, base::ByteView key) const;
    void forget_gaps();

    std::shared_ptr<const StateView> owned_parent_;
    const StateView* parent_;
    ChangeSet changes_;
    std::uint64_t revision_ = 0;
    mutable TableGaps gaps_;  // As long as the parent has this revision.
    mutable std::uint64_t gaps_revision_ = 0;
};

}  // namespace chain
