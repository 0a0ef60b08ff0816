#include "chain/state/state.hpp"

#include "base/check.hpp"

#include <iterator>
#include <utility>

namespace chain {

namespace {

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
    changes_.set(table, key, std::make_shared<const base::Bytes>(std::move(value)));
}

void StateDelta::erase(Table table, base::ByteView key) {
    changes_.set(table, key, nullptr);
}

Value StateDelta::find(Table table, base::ByteView key) const {
    const Change* change = changes(table).find(key);
    return change != nullptr ? change->value : parent_->find(table, key);
}

std::optional<Row> StateDelta::at_or_after(Table table, base::ByteView key) const {
    const Changes& own = changes(table);
    std::optional<Row> row = parent_->at_or_after(table, key);
    for (auto change = own.lower_bound(key); change != own.end(); ++change) {
        const auto order = row ? base::compare(change->key, row->key) : std::strong_ordering::less;
        if (order > 0) break;
        if (change->value) return Row{base::to_bytes(change->key), change->value};
        if (order == 0) row = parent_->at_or_after(table, successor(change->key));
    }
    return row;
}

std::optional<Row> StateDelta::before(Table table, base::ByteView key) const {
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
    changes_.merge(std::move(child.changes_));
}

void StateDelta::clear() {
    changes_.clear();
}

}  // namespace chain
