#include "chain/state/state.hpp"

#include "base/check.hpp"

namespace chain {

StateDelta::StateDelta(const StateView& parent) : parent_(&parent) {}

StateDelta::StateDelta(std::shared_ptr<const StateView> parent)
    : owned_parent_(std::move(parent)), parent_(owned_parent_.get()) {
    CHECK(parent_ != nullptr);
}

StateDelta::~StateDelta() = default;

void StateDelta::put(Table table, base::ByteView key, base::Bytes value) {
    changes_.set(table, key, std::make_shared<const base::Bytes>(std::move(value)));
    gaps_.cut(table, key);
    ++revision_;
}

void StateDelta::erase(Table table, base::ByteView key) {
    changes_.set(table, key, nullptr);
}

Value StateDelta::find(Table table, base::ByteView key) const {
    const Change* change = changes(table).find(key);
    return change != nullptr ? change->value : parent_->find(table, key);
}

Gaps& StateDelta::gaps_of(Table table) const {
    if (const std::uint64_t now = parent_->revision(); now != gaps_revision_) {
        gaps_.clear();
        gaps_revision_ = now;
    }
    return gaps_.of(table);
}

std::optional<Row> StateDelta::at_or_after(Table table, base::ByteView key) const {
    Gaps& gaps = gaps_of(table);
    std::optional<Row> row;
    const std::optional<Gaps::Gap> gap = gaps.around(key);
    if (gap && !gap->to) return std::nullopt;
    row = search_up(table, gap ? *gap->to : key);
    if (!row) {
        gaps.add(key, std::nullopt);
    } else if (!base::equal(row->key, gap ? *gap->to : key)) {
        gaps.add(key, base::ByteView(row->key));
    }
    return row;
}

std::optional<Row> StateDelta::before(Table table, base::ByteView key) const {
    Gaps& gaps = gaps_of(table);
    const std::optional<Gaps::Gap> gap = gaps.ahead_of(key);
    std::optional<Row> row = search_down(table, gap ? gap->from : key);
    gaps.add(row ? key_after(row->key) : base::Bytes(), key);
    return row;
}

std::optional<Row> StateDelta::search_up(Table table, base::ByteView key) const {
    const Changes& own = changes(table);
    auto change = own.lower_bound(key);
    if (change != own.end() && change->value && base::equal(change->key, key)) {
        return Row{base::to_bytes(key), change->value};
    }
    std::optional<Row> row = parent_->at_or_after(table, key);
    for (; change != own.end(); ++change) {
        const auto order = row ? base::compare(change->key, row->key) : std::strong_ordering::less;
        if (order > 0) break;
        if (change->value) return Row{base::to_bytes(change->key), change->value};
        if (order == 0) row = parent_->at_or_after(table, key_after(change->key));
    }
    return row;
}

std::optional<Row> StateDelta::search_down(Table table, base::ByteView key) const {
    const Changes& own = changes(table);
    std::optional<Row> row = parent_->before(table, key);
    for (auto change = own.lower_bound(key); change != own.begin();) {
        --change;
        const auto order =
            row ? base::compare(change->key, row->key) : std::strong_ordering::greater;
        if (order < 0) break;
        if (change->value) return Row{base::to_bytes(change->key), change->value};
        if (order == 0) row = parent_->before(table, change->key);
    }
    return row;
}

void StateDelta::merge(StateDelta& child) {
    CHECK(child.parent_ == this);
    const bool current = child.gaps_revision_ == revision();
    gaps_.cut(child.changes_);
    // The child's view is ours from now on, so what it has found out holds here.
    if (current && gaps_revision_ == parent_->revision()) gaps_.add_all(child.gaps_);
    changes_.merge(std::move(child.changes_));
    ++revision_;
    child.forget_gaps();
}

void StateDelta::clear() {
    changes_.clear();
    forget_gaps();
}

void StateDelta::read_through(std::shared_ptr<const StateView> parent) {
    CHECK(parent != nullptr && parent->revision() == parent_->revision());
    owned_parent_ = std::move(parent);
    parent_ = owned_parent_.get();
}

ChangeSet StateDelta::take() {
    forget_gaps();
    return std::exchange(changes_, {});
}

void StateDelta::forget_gaps() {
    gaps_.clear();
    ++revision_;
}

}  // namespace chain
