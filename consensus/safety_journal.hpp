#pragma once

#include "base/bytes.hpp"
#include "base/crypto/keys.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace consensus {

// What a record says (spec 04, "Safety journal"); the value is the byte on disk.
enum class RecordKind : std::uint8_t { notarize = 1, commit = 2, produced = 3, base = 4 };

// The first 8 bytes of SHA-256 of a binary public key: names a key in the journal.
using KeyTag = std::uint64_t;
[[nodiscard]] KeyTag key_tag(const base::crypto::PublicKey& key);

inline constexpr std::uint64_t kLostSlot = ~std::uint64_t{0};

// One promise of one key, durable before the message it allows leaves.
//
// notarize: voted NOTARIZE for `block` in `slot`, whose justify has `justify_slot`.
// commit: locked on `lock` in `lock_slot`, whose certificate is stored beside.
// produced: signed the header `block` of `slot`.
// base: the key exists and has promised nothing yet, or just what the other fields say, above
// `slot`; a slot of kLostSlot says that its promises are not known any more.
struct SafetyRecord {
    RecordKind kind = RecordKind::base;
    KeyTag key = 0;
    std::uint64_t slot = 0;
    std::uint64_t justify_slot = 0;
    std::uint64_t lock_slot = 0;
    base::Hash256 block{};
    base::Hash256 lock{};

    friend bool operator==(const SafetyRecord&, const SafetyRecord&) = default;
};

// A NOTARIZE vote of ours that rule R2 still needs.
struct PastVote {
    std::uint64_t slot = 0;
    std::uint64_t justify_slot = 0;
    base::Hash256 block{};
};

// Everything one key has promised: what R1, R2 and the watermark are checked against.
struct KeySafety {
    // Its BASE record is there. Else the journal is lost: the key must not vote.
    bool known = false;
    // What was promised up to this slot may be forgotten: nothing more is promised there, and a
    // vote of ours that others have seen there is no news.
    std::uint64_t floor = 0;
    PastVote last_notarize;
    std::uint64_t lock_slot = 0;
    base::Hash256 lock{};
    std::uint64_t produced_slot = 0;
    std::vector<PastVote> past_votes;  // Ascending slots; above the last final block.
};

// The safety journal of all keys of a node: 128-byte records, at most 32 to a page of 4,096
// bytes, each page written once (spec 04).
//
// Pure: it makes pages and understands them; the caller writes them to a base::AppendLog.
// Thread: core only. A promise counts from apply() on, but only a durable page makes it safe
// to act on it: act after the page's write returned.
// Invariants: (1) sequences are contiguous; (2) each record carries the checksum of the one
// before; (3) slots of one kind of one key never decrease.
class SafetyJournal {
  public:
    static constexpr std::size_t kRecordBytes = 128;
    static constexpr std::size_t kPageBytes = 4096;
    static constexpr std::size_t kRecordsPerPage = kPageBytes / kRecordBytes;

    // An empty journal, for the creation of keys.
    SafetyJournal() = default;

    // In place of one that is absent, damaged or behind `last_sequence`, which the storage has
    // seen: it knows no key and goes on after that.
    [[nodiscard]] static SafetyJournal lost(std::uint64_t last_sequence);

    // Reads every page of a log. A torn last page counts as never written. corrupt: a hole,
    // a bad checksum or a sequence gap anywhere else; the key must not vote then.
    [[nodiscard]] static base::Result<SafetyJournal> read(std::span<const base::Bytes> pages);

    // What the rows of the storage say of the journal; each page is also among the rows that are
    // made durable beside it.
    struct Mark {
        std::uint64_t sequence = 0;  // Of the last record when the rows were written.
        base::ByteView page{};       // Written beside them; zeros at its end may be left out.
        bool replaces = false;       // That page is the whole journal.
    };

    // After read(), before settle(): takes the page that the rows have and the log has not, since a
    // power cut left rows without their page, or since an older log was put back. Whether anything
    // that the page allows has left is not known then, and all of it counts.
    // False: the log lacks more than that; it is lost.
    [[nodiscard]] bool catch_up(const Mark& mark);

    // After read(), before append(): what a power cut left of the last write, whose page and rows
    // (block and certificate) were made durable side by side. `stored` is the sequence of the last
    // page whose rows the storage has, `certified` the slot of the highest block with a NOTARIZE
    // certificate there. Nothing that the page allows left before both were durable, so of a page
    // without its rows the locks above `certified` are taken back, for their COMMIT never left and
    // nobody could justify a block above them. The rest of the page stays a promise.
    // The page before it must be one whose rows are there: of a storage that was put back from a
    // copy, or is new, nothing is concluded.
    // True: the journal must be compacted before anything is appended; so if it is torn, too, or
    // catch_up() took a page.
    [[nodiscard]] bool settle(std::uint64_t stored, std::uint64_t certified);

    // Takes the records' promises into account and returns the page to make durable.
    // At most kRecordsPerPage records.
    [[nodiscard]] base::Bytes append(std::span<const SafetyRecord> records);

    // One page that says what the whole journal says, for AppendLog::compact. Past votes at or
    // below `final_slot` are dropped; where the others are too many, the oldest become one that
    // forbids more. would_block: nothing to say, or too many keys for a page (more than six).
    [[nodiscard]] base::Result<base::Bytes> compacted(std::uint64_t final_slot);

    // Null when the journal has no record of this key.
    [[nodiscard]] const KeySafety* find(KeyTag key) const;
    [[nodiscard]] std::uint64_t last_sequence() const { return last_sequence_; }
    [[nodiscard]] std::size_t pages() const { return pages_; }
    // read() found a torn last page: compact the log before anything is appended after it.
    [[nodiscard]] bool torn() const { return torn_; }

    // Forgets past votes that R2 cannot need any more.
    void forget_votes_up_to(std::uint64_t final_slot);

  private:
    struct Lock {
        std::uint64_t slot = 0;
        base::Hash256 block{};
    };

    void apply(const SafetyRecord& record);

    std::map<KeyTag, KeySafety> keys_;
    std::map<KeyTag, Lock> locks_before_;  // Those that the last page of read() raised.
    std::uint64_t sequence_before_ = 0;    // Of the last record before that page.
    std::uint64_t last_sequence_ = 0;
    std::uint32_t last_checksum_ = 0;
    std::size_t pages_ = 0;
    bool torn_ = false;
    bool is_ahead_ = false;  // Of the log, by a page that was among the rows.
};

}  // namespace consensus
