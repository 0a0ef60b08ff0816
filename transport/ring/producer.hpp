#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/ring/record.hpp"
#include "transport/ring/seal.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace transport::ring {

// The memory of a peer, which can be written and never read: the other half of a shared mapping,
// a PCIe window with write combining, or a simulated one.
template <class S>
concept Store = requires(S& store, std::size_t offset, base::ByteView bytes, std::uint64_t word) {
    // Stores bytes, which become visible in any order.
    { store.put(offset, bytes) } -> std::same_as<void>;
    // Stores one aligned word, which becomes visible in one piece.
    { store.put_word(offset, word) } -> std::same_as<void>;
    // What was stored before becomes visible before what is stored after.
    { store.fence() } -> std::same_as<void>;
};

// A record as it is stored: places count from the ring's begin.
struct StoredRecord {
    std::size_t at = 0;
    std::uint64_t word = 0;
    base::ByteView body{};  // Behind the word; until the next record. Empty: it lies there.
    std::size_t body_bytes = 0;
    std::size_t behind = 0;  // Where a zero word goes.
    RecordKind kind = RecordKind::frame;
};

// Where the records of a ring go, and how much room there is. Allocates nothing.
//
// Thread: one.
class RecordPlacer : base::Pinned {
  public:
    // `seal`: null leaves the records open; outlives this. `laps_max`: as many laps it has.
    RecordPlacer(std::size_t ring_bytes, Seal* seal, std::uint64_t laps_max = kLapsMax);

    // Where records can be sealed straight into the ring, or what is sent of it, which saves a
    // copy: all of it. Only the peer reaches it: it may change what lies there while it is sealed,
    // when GCM reads the output again for the tag, but knows the key, and so deceives only itself.
    void seal_in_place(std::span<std::byte> ring) { ring_ = ring; }

    // The next record to store for a payload of 1..kPayloadBytesMax bytes: the payload's, or a
    // skip before it. Empty: there is no room. Whether a lap is left, fits() asks.
    [[nodiscard]] std::optional<StoredRecord> place(base::ByteView payload);

    // Whether place() would find room for a payload of this length, and a lap is left.
    [[nodiscard]] bool fits(std::size_t length) const;

    // The peer says how far it has read. invalid: it can't have.
    [[nodiscard]] base::Result<void> take_credit(std::uint64_t consumed);

    // Everything written was read, as far as the peer has said.
    [[nodiscard]] bool is_drained() const { return consumed_ == produced_; }
    [[nodiscard]] std::uint64_t consumed() const { return consumed_; }
    [[nodiscard]] std::uint64_t produced() const { return produced_; }
    // No lap is left: time for a new generation.
    [[nodiscard]] bool is_worn_out() const { return lap_ > laps_max_; }

  private:
    [[nodiscard]] bool has_room(std::size_t size) const;
    [[nodiscard]] bool asks_for_credit(std::size_t size);
    StoredRecord make(RecordKind kind, base::ByteView payload, std::size_t size);
    void advance(std::size_t bytes);
    void seal(StoredRecord& record, base::ByteView payload);

    std::size_t ring_bytes_;
    Seal* seal_;
    std::uint64_t laps_max_;
    std::span<std::byte> ring_;
    std::uint64_t produced_ = 0;
    std::size_t at_ = 0;     // produced_ in the ring,
    std::uint32_t lap_ = 1;  // and how often it was there: without a division each record.
    std::uint64_t consumed_ = 0;
    std::uint64_t asked_at_ = 0;  // Behind the last record with a request.
    std::array<std::byte, kPayloadBytesMax + kTagBytes> sealed_{};
};

// The writing end of a ring.
//
// Thread: one.
template <Store S>
class Producer : base::Pinned {
  public:
    // The ring begins at `offset` of the peer's memory, where its first word is zero.
    Producer(S& store,
             std::size_t offset,
             std::size_t ring_bytes,
             Seal* seal,
             std::uint64_t laps_max = kLapsMax)
        : store_(store), offset_(offset), placer_(ring_bytes, seal, laps_max) {
        if constexpr (requires { store.in_place(offset, ring_bytes); })
            placer_.seal_in_place(store.in_place(offset, ring_bytes));
    }

    // Writes a record of 1..kPayloadBytesMax bytes. False: there is no room until the peer
    // returns its position, or no lap is left; nothing of the payload was written.
    [[nodiscard]] bool push(base::ByteView payload) {
        if (placer_.is_worn_out()) return false;
        while (const auto record = placer_.place(payload)) {
            write(*record);
            if (record->kind == RecordKind::frame) return true;
        }
        return false;
    }

    [[nodiscard]] base::Result<void> take_credit(std::uint64_t consumed) {
        return placer_.take_credit(consumed);
    }
    [[nodiscard]] const RecordPlacer& placer() const { return placer_; }

  private:
    // The word last: whoever sees it sees the record, and nothing old behind it.
    void write(const StoredRecord& record) {
        if (!record.body.empty()) store_.put(offset_ + record.at + kWordBytes, record.body);
        store_.put_word(offset_ + record.behind, 0);
        store_.fence();
        store_.put_word(offset_ + record.at, record.word);
        store_.fence();
    }

    S& store_;
    std::size_t offset_;
    RecordPlacer placer_;
};

}  // namespace transport::ring
