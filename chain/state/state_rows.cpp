#include "chain/state/state_rows.hpp"

#include "chain/state/views.hpp"

#include <compare>
#include <optional>

namespace chain {

namespace {

// Goes through the changes of all tables in the order of stored keys.
class ChangeCursor {
  public:
    explicit ChangeCursor(const ChangeSet& changes)
        : table_(changes.tables().begin()), end_(changes.tables().end()) {
        enter_table();
    }

    [[nodiscard]] bool at_end() const { return !at_; }
    [[nodiscard]] base::ByteView key() const { return key_; }
    [[nodiscard]] const Value& value() const { return (*at_)->value; }

    void next() {
        ++*at_;
        if (*at_ == table_->changes.end()) {
            ++table_;
            enter_table();
        } else {
            key_ = stored_key(table_->table, (*at_)->key);
        }
    }

  private:
    void enter_table() {
        at_.reset();
        while (table_ != end_ && table_->changes.empty())
            ++table_;
        if (table_ == end_) return;
        at_ = table_->changes.begin();
        key_ = stored_key(table_->table, (*at_)->key);
    }

    std::vector<TableChanges>::const_iterator table_;
    std::vector<TableChanges>::const_iterator end_;
    std::optional<Changes::Iterator> at_;  // Nothing: there are no more.
    base::Bytes key_;
};

}  // namespace

base::Result<void> scan_state(const base::StorageView& stored,
                              const ChangeSet& changes,
                              const base::StorageView::Visit& visit) {
    ChangeCursor changed(changes);
    bool goes_on = true;
    const auto show_change = [&] {
        if (changed.value() != nullptr) goes_on = visit(changed.key(), *changed.value());
        changed.next();
    };
    auto read = stored.scan(base::Family::state, {}, [&](base::ByteView key, base::ByteView value) {
        while (goes_on && !changed.at_end() && base::compare(changed.key(), key) < 0)
            show_change();
        if (!goes_on) return false;
        if (!changed.at_end() && base::equal(changed.key(), key)) {
            show_change();
        } else {
            goes_on = visit(key, value);
        }
        return goes_on;
    });
    if (!read) return read;
    while (goes_on && !changed.at_end())
        show_change();
    return {};
}

}  // namespace chain
