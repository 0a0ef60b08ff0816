#include "node/bps/ledger/final_rows.hpp"

#include "base/check.hpp"
#include "chain/execution/rows.hpp"

#include <algorithm>

namespace bps {

namespace {

constexpr std::size_t kKeyBytes = 32;  // code, scope, table, primary: 8 each.

bool is_of(base::ByteView prefix, base::ByteView key) {
    return key.size() >= prefix.size() && std::ranges::equal(prefix, key.first(prefix.size()));
}

RowId id_of(base::ByteView key) {
    CHECK(key.size() == kKeyBytes);
    return {.table = chain::Name{chain::key_u64(key, 16)},
            .scope = chain::Name{chain::key_u64(key, 8)},
            .key = chain::key_u64(key, 24)};
}

FinalRows::Change change_of(base::ByteView key, const chain::Value& value) {
    FinalRows::Change change{.id = id_of(key), .value = {}};
    if (value) change.value = base::to_bytes(chain::row_value(*value));
    return change;
}

std::int64_t milliseconds(chain::TimePoint time) {
    return time.microseconds / 1'000;
}

}  // namespace

FinalRows rows_of_block(const chain::ExecutedBlock& block,
                        chain::TimePoint time,
                        chain::Name contract) {
    FinalRows rows{
        .block = block.block->id, .time = milliseconds(time), .changes = {}, .executed = {}};
    const chain::RowKey prefix = chain::RowKey().name(contract);
    const chain::Changes& all = block.changes->of(chain::Table::contract_row);
    for (auto at = all.lower_bound(prefix.view()); at != all.end() && is_of(prefix.view(), at->key);
         ++at) {
        rows.changes.push_back(change_of(at->key, at->value));
    }
    for (const chain::TransactionTrace& trace : block.traces) {
        rows.executed.push_back(trace.id);
    }
    return rows;
}

FinalRows rows_of_state(const chain::StateView& state,
                        const chain::Block& block,
                        chain::TimePoint time,
                        chain::Name contract) {
    FinalRows rows{.block = block.id, .time = milliseconds(time), .changes = {}, .executed = {}};
    const chain::RowKey prefix = chain::RowKey().name(contract);
    auto row = state.at_or_after(chain::Table::contract_row, prefix.view());
    while (row && is_of(prefix.view(), row->key)) {
        rows.changes.push_back(change_of(row->key, row->value));
        row = state.at_or_after(chain::Table::contract_row, chain::key_after(row->key));
    }
    return rows;
}

}  // namespace bps
