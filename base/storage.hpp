#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace base {

// The ordered key spaces of a node, each a RocksDB column family (spec 03, "State").
enum class Family : std::uint8_t { state, blocks, index, traces, reversible, pool, meta };
inline constexpr std::size_t kFamilies = 7;

// Changes that become visible and durable together, or not at all.
// Where a key is changed twice, the later change counts.
struct Batch {
    struct Change {
        Family family;
        Bytes key;
        std::optional<Bytes> value;  // Absent: the key is erased.
    };
    std::vector<Change> changes;

    void put(Family family, Bytes key, Bytes value) {
        changes.push_back({family, std::move(key), std::move(value)});
    }
    void erase(Family family, Bytes key) {
        changes.push_back({family, std::move(key), std::nullopt});
    }
};

// One entry found by an ordered search.
struct StoredRow {
    Bytes key;
    Bytes value;
};

// A consistent reading view of the storage.
//
// Thread: any, also several at once. corrupt: the disk returned what was never written.
class StorageView {
  public:
    virtual ~StorageView() = default;

    [[nodiscard]] virtual Result<std::optional<Bytes>> get(Family family, ByteView key) const = 0;
    // The first entry whose key is at or after `key`.
    [[nodiscard]] virtual Result<std::optional<StoredRow>> at_or_after(Family family,
                                                                       ByteView key) const = 0;
    // The last entry whose key is before `key`.
    [[nodiscard]] virtual Result<std::optional<StoredRow>> before(Family family,
                                                                  ByteView key) const = 0;
    // Shows each entry from `from` on to `visit`, in order, until that says false. For many
    // entries: this is one pass, where at_or_after() searches anew each time.
    using Visit = std::function<bool(ByteView key, ByteView value)>;
    [[nodiscard]] virtual Result<void> scan(Family family,
                                            ByteView from,
                                            const Visit& visit) const {
        Bytes at = to_bytes(from);
        while (true) {
            const Result<std::optional<StoredRow>> row = at_or_after(family, at);
            if (!row) return fail(row.error());
            if (!*row || !visit((*row)->key, (*row)->value)) return {};
            at = (*row)->key;
            at.push_back(std::byte{0});
        }
    }
};

// The key-value storage below a node. Implemented over RocksDB (node/disk) and in memory with
// faults (tests/support). Reads of the object itself see the latest commit.
class Storage : public StorageView, Pinned {
  public:
    // Atomic. `sync`: durable when it returns, else durable after some later sync.
    // unavailable: the disk is full or failing; nothing of the batch happened.
    virtual Result<void> commit(const Batch& batch, bool sync) = 0;

    // The state as of now, unchanged by later commits, for as long as it is held.
    [[nodiscard]] virtual std::shared_ptr<const StorageView> snapshot() const = 0;
};

// A file that is only appended to, page-wise durable: the seam below a safety journal.
//
// Thread: one at a time, beside the storage's. Implemented over a preallocated file (node) and in
// memory with faults (tests/sim).
class AppendLog : Pinned {
  public:
    virtual ~AppendLog() = default;

    // Adds a page of whole blocks of 4,096 bytes and returns once it is durable.
    // unavailable: the write or sync failed; nothing may be assumed of the page.
    virtual Result<void> append_page(ByteView page) = 0;
    // Every page in order, as bytes; the last may be torn.
    [[nodiscard]] virtual Result<Bytes> read() const = 0;
    // Replaces the contents by one page, atomically (a second file and a rename).
    virtual Result<void> compact(ByteView page) = 0;
};

}  // namespace base
