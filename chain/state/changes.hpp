#pragma once

#include "base/bytes.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace chain {

// The ordered key spaces of the ledger's state. Part of every entry's hash (spec 03, "State
// digest") and of the snapshot order: never renumber.
enum class Table : std::uint16_t {
    global = 1,           // Parameters, counters, schedules, peaks: one row a name.
    account = 2,          // name -> account, resources and sequence counters in one row.
    permission = 3,       // account, permission name -> permission.
    permission_link = 4,  // account, code, action -> permission name.
    code = 5,             // code hash -> code and its number of users.
    abi = 6,              // account -> ABI bytes.
    contract_table = 7,   // code, scope, table -> payer, row count.
    contract_row = 8,     // code, scope, table, primary key -> payer, value.
    index64 = 9,          // Secondary rows, by key: code, scope, table, secondary, primary.
    index128 = 10,
    index256 = 11,
    index_double = 12,
    index_long_double = 13,
    index64_primary = 14,  // The same, by primary key: code, scope, table, primary.
    index128_primary = 15,
    index256_primary = 16,
    index_double_primary = 17,
    index_long_double_primary = 18,
    transaction_id = 19,  // expiration, id: recent transactions, against duplicates.
    block_id = 20,        // height modulo 65,536 -> id (TAPOS).
    allowed = 21,         // name -> what genesis-restricted rights the account holds.
    producer = 22,        // name -> registration, votes, misses.
    member = 23,
    node = 24,
    authorizer = 25,  // Key or permission, permission: in whose authority it is.
    node_key = 26,    // SHA-256 of a node's key -> the node's name.
};

inline constexpr std::uint16_t kTables = 26;  // The highest number.

// A row's bytes: immutable, shared between the deltas, the cache and reading threads.
using Value = std::shared_ptr<const base::Bytes>;

// The bytes of a row's key. Short ones, which is nearly all, lie in the object itself.
class StoredKey {
  public:
    static constexpr std::size_t kInline = 40;

    explicit StoredKey(base::ByteView bytes);

    operator base::ByteView() const {  // NOLINT(google-explicit-constructor): it is those bytes.
        return {size_ <= kInline ? inline_.data() : heap_.get(), size_};
    }

  private:
    std::uint32_t size_;
    std::array<std::byte, kInline> inline_;  // Its first size_ bytes count, if they fit.
    std::unique_ptr<std::byte[]> heap_;
};

// One changed row. An absent value is a row erased here that may exist below.
struct Change {
    StoredKey key;
    Value value;
};

// The changes of one table in key order, each key once.
//
// A search compares eight bytes of the keys, those after their common beginning, as one
// integer: the keys of a table begin with the same contract, and comparing them whole was
// most of a transfer's time in the state. Entries lie in chunks of at most kChunk, sorted.
// Of more than one chunk there is a filter, since most keys that are looked for in a block's
// changes are not there.
// Thread: one writer; immutable once its block is finished.
class Changes {
  public:
    class Iterator {
      public:
        Iterator(const Changes* owner, std::size_t chunk, std::size_t slot)
            : owner_(owner), chunk_(chunk), slot_(slot) {}

        const Change& operator*() const { return *owner_->chunks_[chunk_][slot_].change; }
        const Change* operator->() const { return owner_->chunks_[chunk_][slot_].change.get(); }
        Iterator& operator++();
        Iterator& operator--();
        friend bool operator==(const Iterator&, const Iterator&) = default;

      private:
        const Changes* owner_;
        std::size_t chunk_;
        std::size_t slot_;
    };

    [[nodiscard]] Iterator begin() const { return {this, 0, 0}; }
    [[nodiscard]] Iterator end() const { return {this, chunks_.size(), 0}; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }

    // The change of this key; null when there is none. `mix` is key_mix(0, key), for who asks
    // for the same key more than once.
    [[nodiscard]] const Change* find(base::ByteView key) const;
    [[nodiscard]] const Change* find(base::ByteView key, std::uint64_t mix) const;
    // The first change whose key is at or after `key`.
    [[nodiscard]] Iterator lower_bound(base::ByteView key) const;

    void set(base::ByteView key, Value value);
    // Takes over every change of `newer`, which wins where both have one.
    void merge(Changes&& newer);

  private:
    static constexpr std::size_t kChunk = 64;

    struct Slot {  // NOLINT(cppcoreguidelines-pro-type-member-init): made whole.
        std::uint64_t head;
        std::unique_ptr<Change> change;
    };
    using Chunk = std::vector<Slot>;
    struct Place {
        std::size_t chunk;
        std::size_t slot;
        bool found;
    };

    [[nodiscard]] std::uint64_t head_of(base::ByteView key) const;
    [[nodiscard]] base::ByteView first_key() const { return chunks_[0][0].change->key; }
    [[nodiscard]] std::size_t chunk_for(std::uint64_t head, base::ByteView key) const;
    [[nodiscard]] Place locate(base::ByteView key) const;
    void make_room_for(base::ByteView key);
    Place split(Place place);
    void insert(Place place, std::unique_ptr<Change> change);
    void set(std::unique_ptr<Change> change);
    void add_to_filter(base::ByteView key);

    std::size_t size_ = 0;
    std::size_t common_ = 0;            // All keys are equal in this many first bytes.
    std::vector<std::uint64_t> heads_;  // That of the first slot of each chunk.
    std::vector<Chunk> chunks_;         // None is empty.
    // Two bits a key, both in the word that its mix chooses; a power of two of words.
    std::vector<std::uint64_t> filter_;
};

struct TableChanges {
    Table table{};
    Changes changes;
};

// The changes of all tables: what one block, transaction or action did.
class ChangeSet {
  public:
    // The changes of one table; valid until the next write.
    [[nodiscard]] const Changes& of(Table table) const;
    // The tables that have changes, in order.
    [[nodiscard]] const std::vector<TableChanges>& tables() const { return tables_; }
    [[nodiscard]] std::size_t size() const;

    void set(Table table, base::ByteView key, Value value) { at(table).set(key, std::move(value)); }
    // Takes over every change of `newer`, which wins where both have one.
    void merge(ChangeSet&& newer);
    // The same, and leaves `newer` as it is.
    void merge(const ChangeSet& newer);
    void clear() { tables_.clear(); }

  private:
    Changes& at(Table table);

    std::vector<TableChanges> tables_;  // Few: a linear search is the fastest.
};

}  // namespace chain
