#pragma once

#include <bor/multi_index.hpp>

#include <utility>

namespace bor {

// A table of one row, whose primary key is the table's name.
template <Name TableName, class Value>
class Singleton {
    struct Row {
        Value value{};
        [[nodiscard]] uint64_t primary_key() const { return TableName.value; }
        BOR_FIELDS(value)
    };

  public:
    Singleton(Name code, uint64_t scope) : table_(code, scope) {}

    [[nodiscard]] bool exists() const { return table_.contains(TableName.value); }
    [[nodiscard]] Value get() const {
        return table_.get(TableName.value, "singleton does not exist")->value;
    }
    [[nodiscard]] Value get_or(const Value& otherwise) const {
        const auto at = table_.find(TableName.value);
        return table_.found(at) ? at->value : otherwise;
    }
    void set(const Value& value, Name payer) {
        const auto at = table_.find(TableName.value);
        if (table_.found(at)) {
            table_.modify(at, payer, [&](Row& row) { row.value = value; });
        } else {
            table_.emplace(payer, [&](Row& row) { row.value = value; });
        }
    }
    void remove() {
        const auto at = table_.find(TableName.value);
        if (table_.found(at)) table_.erase(at);
    }

  private:
    MultiIndex<TableName, Row> table_;
};

}  // namespace bor
