#pragma once

#include "base/bytes.hpp"
#include "base/crypto/keys.hpp"
#include "base/result.hpp"
#include "chain/types/vote.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace consensus {

// What a record says (spec 04, "Safety journal"); the value is the byte on disk.
enum class RecordKind : std::uint8_t {
    notarize = 1,
    commit = 2,
    produced = 3,
    base = 4,
    stopped = 5
};

// The first 8 bytes of SHA-256 of a binary public key: names a key in its journal.
using KeyTag = std::uint64_t;
[[nodiscard]] KeyTag key_tag(const base::crypto::PublicKey& key);

inline constexpr std::uint64_t kLostSlot = ~std::uint64_t{0};

using CertificatePtr = std::shared_ptr<const chain::Certificate>;

// One promise of one key, durable before the message it allows leaves.
//
// notarize: voted NOTARIZE for `block` in `slot`, whose justify has `justify_slot`.
// commit: locked on `lock` in `lock_slot`, whose certificate is in the same page.
// produced: signed the header `block` of `slot`.
// base: the key exists and has promised nothing yet, or just what the other fields say, above
// `slot`; a slot of kLostSlot says that its promises are not known any more.
// stopped: the key has answered a recovery and signs nothing more.
struct SafetyRecord {
    RecordKind kind = RecordKind::base;
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
    // Of the lock: NOTARIZE, or COMMIT after a loss. Null: locked on nothing, or on the genesis
    // block, or where no certificate was at hand (a wallet).
    CertificatePtr lock_certificate;
    std::uint64_t produced_slot = 0;
    std::vector<PastVote> past_votes;  // Ascending slots; above the last final block.
    bool stopped = false;              // It signs nothing more.
};

// What makes promises durable: to be appended to the log of its key, or to replace it.
struct JournalPage {
    KeyTag key = 0;
    base::Bytes bytes;           // Whole blocks.
    std::uint64_t sequence = 0;  // Of its last record.
    bool replaces = false;       // It is the whole journal from now on.
};

// The safety journal of one key (spec 04): pages of whole blocks, each written once. A page has
// at most 16 records of 128 bytes, then the certificate of the lock that they set. Each record
// says how many follow it in its page and whether the certificate does, so that no part of a page
// reads as a whole one.
//
// Pure: it makes pages and understands them; the caller writes them to a base::AppendLog, and
// each also among the rows of the storage, side by side.
// Thread: core only. A promise counts from append() on, but only a durable page makes it safe
// to act on it: act after the page's write returned.
// Invariants: (1) sequences are contiguous; (2) each record carries the checksum of the one
// before; (3) slots of one kind never decrease.
class SafetyJournal {
  public:
    static constexpr std::size_t kRecordBytes = 128;
    static constexpr std::size_t kBlockBytes = 4096;
    static constexpr std::size_t kPageBlocksMax = 6;
    static constexpr std::size_t kRecordsPerPage = 16;

    // The empty journal of a key, for its creation.
    explicit SafetyJournal(KeyTag key) : key_(key) {}

    // Reads the bytes of a log. A torn last page counts as never written. corrupt: a hole, a bad
    // checksum, a sequence gap anywhere else, or the journal of another key; it must not vote then.
    [[nodiscard]] static base::Result<SafetyJournal> read(KeyTag key, base::ByteView log);

    // What the rows of the storage say of the journal.
    struct Mark {
        std::uint64_t sequence = 0;  // Of the last record when the rows were written.
        base::ByteView page{};       // That was written beside them; zeros at its end may lack.
        bool replaces = false;       // That page is the whole journal.
    };
    // In place of a journal that is absent, damaged or behind what the rows have seen: it knows
    // nothing, goes on after what they have seen, and signs nothing at all if they say so.
    [[nodiscard]] static SafetyJournal lost(KeyTag key, const std::optional<Mark>& rows);
    // Whether that page says that the key has answered a recovery.
    [[nodiscard]] static bool tells_stop(const Mark& mark);
    // How the log of a start stands to the rows.
    enum class Standing : std::uint8_t {
        equal,
        fresh,            // The key was made and has done nothing; the rows know nothing of it.
        torn,             // A page was cut short; nothing was done on the strength of it.
        log_behind,       // The page of the rows was not in the log: it is taken from there.
        rows_behind,      // The rows lack the last page.
        rows_far_behind,  // They lack more: the storage has lost writes that were durable.
        lost,             // The log lacks more, or has no page as the rows have it.
    };
    // After read(), once. Nothing that either of the two says is taken back, since nobody knows
    // whether the messages that it allows have left. Before anything is signed, rows that are
    // behind are to get last_page(), and a log that is behind, with them, compacted(); a journal
    // that is lost becomes lost(). `may_have_signed`: the rows have a schedule with this key, and
    // blocks above genesis. Where they have no page of the key then, they are of another disk or a
    // snapshot's, and a journal in which nothing is signed may be a copy from the day when the key
    // was made.
    [[nodiscard]] Standing settle(const std::optional<Mark>& mark, bool may_have_signed);
    // Whether the rows, or the log with them, are to be written anew.
    [[nodiscard]] static bool is_to_mend(Standing standing);

    // Takes the records' promises into account and returns the page to make durable. `lock`: the
    // certificate of the lock that they set, if one is at hand. At most kRecordsPerPage records.
    [[nodiscard]] JournalPage append(std::span<const SafetyRecord> records,
                                     const CertificatePtr& lock = nullptr);

    // One page that says what the whole journal says, and these records as append() takes them, and
    // replaces it. It follows the last page that was made, which must have been written: rows that
    // are one write behind have that one. Past votes at or below `final_slot` are dropped; where
    // the others are too many, the oldest become one that forbids more.
    [[nodiscard]] JournalPage compacted(std::uint64_t final_slot,
                                        std::span<const SafetyRecord> records = {},
                                        const CertificatePtr& lock = nullptr);

    // The last whole page that read() found, as rows have it that are not behind. Null: there is
    // none, or the journal has gone on since.
    [[nodiscard]] const JournalPage* last_page() const {
        return last_page_ ? &*last_page_ : nullptr;
    }
    [[nodiscard]] KeyTag key() const { return key_; }
    [[nodiscard]] const KeySafety& safety() const { return safety_; }
    [[nodiscard]] std::uint64_t last_sequence() const { return last_sequence_; }
    // In the log, since it was replaced.
    [[nodiscard]] std::size_t blocks() const { return blocks_; }
    // Its end is damaged: the next page must replace it.
    [[nodiscard]] bool torn() const { return torn_; }

    // Forgets past votes that R2 cannot need any more.
    void forget_votes_up_to(std::uint64_t final_slot);

  private:
    struct Page;

    void apply(const SafetyRecord& record, const CertificatePtr& lock);
    void apply(const Page& page);
    [[nodiscard]] static bool is_last_page(base::ByteView log);
    // corrupt: it does not follow what was read, or its records don't follow each other.
    [[nodiscard]] base::Result<void> check(const Page& page) const;
    [[nodiscard]] bool follows(const Page& page) const;
    [[nodiscard]] bool is_fresh() const;
    [[nodiscard]] bool catch_up(const Mark& mark, const Page& page);
    [[nodiscard]] static std::optional<Page> decode_page(base::ByteView log);
    [[nodiscard]] static std::optional<Page> rows_page(const Mark& mark);
    [[nodiscard]] static std::optional<Page> page_of(const Mark& mark, KeyTag key);

    KeyTag key_;
    KeySafety safety_;
    // Last records of the pages that read() found, and of the one before them.
    std::map<std::uint64_t, std::uint32_t> ends_;
    std::optional<JournalPage> last_page_;
    std::uint64_t last_sequence_ = 0;
    std::uint32_t last_checksum_ = 0;
    std::size_t blocks_ = 0;
    bool torn_ = false;
};

// Those of all keys of a node.
using Journals = std::map<KeyTag, SafetyJournal>;

}  // namespace consensus
