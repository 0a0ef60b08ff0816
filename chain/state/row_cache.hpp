#pragma once

#include "base/pinned.hpp"
#include "chain/state/changes.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace chain {

// The rows of the final state that were used lately, also those known not to exist; bounded
// by bytes. Rows that were not asked for since the hand last passed go first.
//
// Where a row lies follows from a mix of its key, never what a reader is told: a row that is
// not here is read from storage, with the same result. Thread: one.
class RowCache : base::Pinned {
  public:
    // `seed` spreads the keys, so that nobody can choose keys that fall together.
    RowCache(std::size_t bytes_max, std::uint64_t seed);

    // Null: nothing is known. Else the value, which is null where there is no such row. Valid
    // until the next put().
    [[nodiscard]] const Value* find(Table table, base::ByteView key) const;
    void put(Table table, base::ByteView key, Value value);
    // put() of all changes of a table, so that the waiting for memory overlaps.
    void put_all(Table table, const Changes& changes);
    void clear();

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    static constexpr std::size_t kWays = 8;

    struct Entry {
        Table table;
        mutable bool used;
        StoredKey key;
        Value value;
    };
    struct Slot {
        std::uint64_t mix = 0;
        std::unique_ptr<Entry> entry;
    };

    [[nodiscard]] std::uint64_t mix(Table table, base::ByteView key) const;
    [[nodiscard]] Slot* set_of(std::uint64_t mix);
    [[nodiscard]] const Slot* set_of(std::uint64_t mix) const;
    [[nodiscard]] static std::size_t cost(const Entry& entry);
    void put(Table table, base::ByteView key, std::uint64_t mixed, Value value);
    void put_group(Table table, std::span<const Change* const> group);
    void drop(Slot& slot);
    void shrink();

    std::size_t bytes_max_;
    std::uint64_t seed_;
    std::size_t bytes_ = 0;
    std::size_t hand_ = 0;     // The next slot that shrink() looks at.
    std::vector<Slot> slots_;  // Sets of kWays; a power of two of them.
};

}  // namespace chain
