#include "chain/state/state.hpp"

#include "base/check.hpp"

#include <iterator>
#include <utility>

namespace chain {

namespace {

const StateDelta::Changes kNoChanges;

// The least key that is greater than `key`.
base::Bytes successor(base::ByteView key) {
    base::Bytes next;
    next.reserve(key.size() + 1);
    next.assign(key.begin(), key.end());
    next.push_back(std::byte{0});
    return next;
}

}  // namespace

StateDelta::StateDelta(const StateView& parent) : parent_(&parent) {}

StateDelta::StateDelta(std::shared_ptr<const StateView> parent)
    : owned_parent_(std::move(parent)), parent_(owned_parent_.get()) {
    CHECK(parent_ != nullptr);
}

StateDelta::~StateDelta() = default;

void StateDelta::put(Table table, base::ByteView key, base::Bytes value) {
    tables_[table].insert_or_assign(base::to_bytes(key),
                                    std::make_shared<const base::Bytes>(std::move(value)));
}

void StateDelta::erase(Table table, base::ByteView key) {
    tables_[table].insert_or_assign(base::to_bytes(key), nullptr);
}

Value StateDelta::find(Table table, base::ByteView key) const {
    const Changes& own = changes(table);
    const auto change = own.find(key);
    return change != own.end() ? change->second : parent_->find(table, key);
}

std::optional<Row> StateDelta::at_or_after(Table table, base::ByteView key) const {
    const Changes& own = changes(table);
    std::optional<Row> row = parent_->at_or_after(table, key);
    for (auto change = own.lower_bound(key); change != own.end(); ++change) {
        const auto order =
            row ? base::compare(change->first, row->key) : std::strong_ordering::less;
        if (order > 0) break;
        if (change->second) return Row{change->first, change->second};
        if (order == 0) row = parent_->at_or_after(table, successor(change->first));
    }
    return row;
}

std::optional<Row> StateDelta::before(Table table, base::ByteView key) const {
    const Changes& own = changes(table);
    std::optional<Row> row = parent_->before(table, key);
    for (auto change = own.lower_bound(key); change != own.begin();) {
        --change;
        const auto order =
            row ? base::compare(change->first, row->key) : std::strong_ordering::greater;
        if (order < 0) break;
        if (change->second) return Row{change->first, change->second};
        if (order == 0) row = parent_->before(table, change->first);
    }
    return row;
}

void StateDelta::merge(StateDelta& child) {
    CHECK(child.parent_ == this);
    for (auto& [table, changes] : child.tables_) {
        Changes& own = tables_[table];
        if (own.empty()) {
            own.swap(changes);
            continue;
        }
        // The newer change of a key wins: what is left in `own` after the splice is older.
        changes.merge(own);
        own.swap(changes);
    }
    child.clear();
}

void StateDelta::clear() {
    tables_.clear();
}

const StateDelta::Changes& StateDelta::changes(Table table) const {
    const auto found = tables_.find(table);
    return found != tables_.end() ? found->second : kNoChanges;
}

}  // namespace chain
