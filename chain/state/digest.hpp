#pragma once

#include "base/bytes.hpp"
#include "chain/state/state.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace chain {

// The lattice hash over all entries of a state (spec 03, "State digest"): 1,024 lanes of 16
// bits, to which each entry adds what its hash expands to. A sum, so that it is kept up to
// date by the changed entries alone, in any order, and computed in parts on several threads.
//
// A value; any thread.
class StateLanes {
  public:
    static constexpr std::size_t kPackedBytes = 2'048;

    // An entry appeared, or is gone. About 0.7 us.
    void add(Table table, base::ByteView key, base::ByteView value);
    void subtract(Table table, base::ByteView key, base::ByteView value);

    StateLanes& operator+=(const StateLanes& other);
    friend bool operator==(const StateLanes&, const StateLanes&) = default;

    // What the header holds: SHA-256 of the packed lanes.
    [[nodiscard]] base::Hash256 digest() const;

    // The lanes in order, each little-endian.
    [[nodiscard]] base::Bytes packed() const;
    // malformed: not 2,048 bytes.
    [[nodiscard]] static base::Result<StateLanes> unpack(base::ByteView packed);

  private:
    std::array<std::uint16_t, kPackedBytes / 2> lanes_{};
};

// What a block did to one row, all in all. Null: no such row.
struct NetChange {
    Table table;
    base::ByteView key;  // Borrowed from the changes.
    Value before;
    Value after;
};

// The rows of `changes` that differ from those of `parent`, the view that they are on top of.
// Reads each row there, so it runs where `parent` may be read.
[[nodiscard]] std::vector<NetChange> net_changes(const ChangeSet& changes, const StateView& parent);

// By how much these changes move the lanes. Pure: the node computes parts of the span on
// several threads, beside execution, and adds them up. About 0.7 us an entry that appears or
// goes; a replaced one is both.
[[nodiscard]] StateLanes lanes_moved(std::span<const NetChange> changes);

}  // namespace chain
