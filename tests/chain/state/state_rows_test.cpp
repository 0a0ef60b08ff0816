#include "chain/state/state_rows.hpp"

#include "base/rng.hpp"
#include "chain/state/state_manager.hpp"
#include "chain/state/views.hpp"
#include "tests/support/memory_storage.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <utility>
#include <vector>

// scan_state() against a map: rows that are stored, with rows above them that are new, replaced or
// erased, also before the first, behind the last and in tables that the storage has nothing of.

namespace {

using base::Bytes;
using chain::Table;
using Rows = std::vector<std::pair<Bytes, Bytes>>;

Bytes one_byte(std::uint64_t number) {
    return {static_cast<std::byte>(number)};
}

Rows scanned(const base::StorageView& stored,
             const chain::ChangeSet& changes,
             std::size_t most = SIZE_MAX) {
    Rows rows;
    const auto read = chain::scan_state(stored, changes, [&](auto key, auto value) {
        rows.emplace_back(base::to_bytes(key), base::to_bytes(value));
        return rows.size() < most;
    });
    REQUIRE(read);
    return rows;
}

}  // namespace

TEST_CASE("the rows of a state are those stored with the changes on top, in order") {
    base::Rng rng(7);
    constexpr std::array kTables{
        Table::global, Table::account, Table::contract_row, Table::node_key};
    for (int round = 0; round < 300; ++round) {
        support::MemoryStorage storage;
        std::map<Bytes, Bytes> model;
        base::Batch batch;
        chain::ChangeSet changes;
        for (std::uint64_t count = rng.below(30); count > 0; --count) {
            const Table table = kTables.at(rng.below(kTables.size()));
            const Bytes key = one_byte(rng.below(12));
            chain::append_state_row(batch, table, key, one_byte(rng.below(200)));
            model[chain::stored_key(table, key)] = *batch.changes.back().value;
        }
        REQUIRE(storage.commit(batch, true));
        for (std::uint64_t count = rng.below(30); count > 0; --count) {
            const Table table = kTables.at(rng.below(kTables.size()));
            const Bytes key = one_byte(rng.below(12));
            if (rng.below(3) == 0) {
                changes.set(table, key, nullptr);
                model.erase(chain::stored_key(table, key));
            } else {
                auto value = std::make_shared<const Bytes>(one_byte(rng.below(200)));
                changes.set(table, key, value);
                model[chain::stored_key(table, key)] = *value;
            }
        }
        const Rows expected(model.begin(), model.end());
        CHECK(scanned(storage, changes) == expected);
        const std::size_t some = expected.size() / 2;
        if (some == 0) continue;
        CHECK(scanned(storage, changes, some) ==
              Rows(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(some)));
    }
}
