#pragma once

#include "chain/types/block.hpp"
#include "tests/sim/consensus/oracle.hpp"
#include "tests/sim/consensus/universe.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <vector>

namespace sim::model {

// A block by its number; 0 is genesis.
using Number = std::size_t;

class BlockSet {
  public:
    static constexpr Number kMax = 128;

    [[nodiscard]] bool has(Number number) const {
        return (words_[number / 64] >> (number % 64) & 1U) != 0;
    }
    void add(Number number) { words_[number / 64] |= std::uint64_t{1} << (number % 64); }
    [[nodiscard]] int size() const { return std::popcount(words_[0]) + std::popcount(words_[1]); }
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            for (std::uint64_t left = words_[i]; left != 0; left &= left - 1) {
                visit(64 * i + static_cast<Number>(std::countr_zero(left)));
            }
        }
    }
    friend BlockSet operator|(BlockSet a, const BlockSet& b) {
        a.words_[0] |= b.words_[0];
        a.words_[1] |= b.words_[1];
        return a;
    }
    friend BlockSet operator&(BlockSet a, const BlockSet& b) {
        a.words_[0] &= b.words_[0];
        a.words_[1] &= b.words_[1];
        return a;
    }
    friend auto operator<=>(const BlockSet&, const BlockSet&) = default;
    [[nodiscard]] const std::array<std::uint64_t, 2>& words() const { return words_; }

  private:
    std::array<std::uint64_t, 2> words_{};
};

// How much the order of what happens is reduced; see Search. Less is for comparison: what the
// members come to have said must be the same.
enum class Reduction : std::uint8_t { none, silent_steps, all };

// What a run of the model checker is about.
struct Bounds {
    chain::Slot slots = 3;      // Blocks are made in slots 1 to this.
    std::size_t byzantine = 2;  // Of the four members; member s % 4 makes the block of slot s.
    std::size_t variants = 2;   // Blocks that it makes which differ in their contents alone.
    bool restarts = false;      // The first honest member may restart once, at any time.
    Reduction reduction = Reduction::all;
};

// Every block that anybody can make within the bounds, numbered as they come up: those of honest
// members are what production makes, those of the Byzantine one are all that are valid.
class Blocks {
  public:
    struct Entry {
        chain::BlockPtr block;  // Without its witness; see with_witness().
        Number parent = 0;
        Number justify = 0;  // The same as its parent's, or one that needs a certificate.
        Number finalized = 0;
        BlockSet branch;  // It and its ancestors.
        bool byzantine = false;
    };

    explicit Blocks(const Bounds& bounds);

    [[nodiscard]] const Bounds& bounds() const { return bounds_; }
    [[nodiscard]] const Universe& universe() const { return universe_; }
    [[nodiscard]] const Oracle& oracle() const { return oracle_; }
    [[nodiscard]] Number size() const { return entries_.size(); }
    [[nodiscard]] const Entry& operator[](Number number) const { return entries_[number]; }
    [[nodiscard]] chain::Slot slot(Number number) const {
        return entries_[number].block->header.slot;
    }
    [[nodiscard]] Number number_of(const chain::BlockId& id) const;
    [[nodiscard]] bool extends(Number block, Number ancestor) const {
        return entries_[block].branch.has(ancestor);
    }
    // Two of them are on different branches.
    [[nodiscard]] bool conflict(const BlockSet& blocks) const;

    // Numbers a block and, behind it, what the Byzantine member may build on it.
    Number add(const chain::BlockHeader& header);
    [[nodiscard]] chain::VoteData data(Number number, chain::VoteKind kind) const;
    [[nodiscard]] chain::Vote vote(Number number, chain::VoteKind kind, std::size_t member) const;
    // Of the Byzantine member and the first two others.
    [[nodiscard]] chain::Certificate certificate(Number number, chain::VoteKind kind) const;
    [[nodiscard]] chain::BlockPtr with_witness(Number number) const;

  private:
    void add_byzantine(Number parent);

    Bounds bounds_;
    Universe universe_;
    Oracle oracle_;
    std::vector<Entry> entries_;
    std::map<chain::BlockId, Number> numbers_;
};

}  // namespace sim::model
