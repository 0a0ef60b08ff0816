#include "consensus/safety_journal.hpp"

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/crc32c.hpp"
#include "base/crypto/hash.hpp"
#include "chain/types/codec.hpp"
#include "chain/types/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace consensus {

namespace {

using base::Errc;
using base::fail;
using chain::is_left_out;
using chain::Rule;

constexpr std::uint32_t kMagic = 0x324A5342;  // "BSJ2"
constexpr std::size_t kChecksumEnd = 8;       // The checksum covers what follows it.
// After a certificate: without it the last block of a page might be blank, as room for more is.
constexpr std::uint8_t kEndMark = 1;
constexpr std::size_t kPageBytesMax = SafetyJournal::kPageBlocksMax * SafetyJournal::kBlockBytes;

struct Chained {
    SafetyRecord record;
    KeyTag key = 0;
    std::uint8_t left = 0;         // Records after it in its page.
    bool has_certificate = false;  // After the last of them.
    std::uint64_t sequence = 0;
    std::uint32_t previous_checksum = 0;
    std::uint32_t checksum = 0;
};

base::Bytes encode(const Chained& chained) {
    const SafetyRecord& record = chained.record;
    base::Writer body;
    body.u32(chained.previous_checksum);
    body.u8(static_cast<std::uint8_t>(record.kind));
    body.u8(chained.left);
    body.u8(chained.has_certificate ? 1 : 0);
    body.u8(0);
    body.u64(chained.sequence);
    body.u64(chained.key);
    body.u64(record.slot);
    body.u64(record.justify_slot);
    body.u64(record.lock_slot);
    body.hash(record.block);
    body.hash(record.lock);
    body.raw(base::Bytes(8));
    CHECK(body.view().size() + kChecksumEnd == SafetyJournal::kRecordBytes);
    base::Writer out;
    out.u32(kMagic);
    out.u32(base::crc32c(body.view()));
    out.raw(body.view());
    return out.take();
}

// Nothing when these bytes are not a whole, intact record.
std::optional<Chained> decode(base::ByteView bytes) {
    base::Reader in(bytes);
    Chained chained;
    const std::uint32_t magic = in.u32("magic");
    chained.checksum = in.u32("checksum");
    chained.previous_checksum = in.u32("previous checksum");
    const std::uint8_t kind = in.u8("kind");
    chained.left = in.u8("left");
    chained.has_certificate = in.boolean("has certificate");
    (void)in.u8("padding");
    chained.sequence = in.u64("sequence");
    chained.key = in.u64("key");
    SafetyRecord& record = chained.record;
    record.slot = in.u64("slot");
    record.justify_slot = in.u64("justify slot");
    record.lock_slot = in.u64("lock slot");
    record.block = in.hash<32>("block");
    record.lock = in.hash<32>("lock");
    (void)in.raw(8, "padding");
    if (!in.finish().has_value() || magic != kMagic) return std::nullopt;
    if (kind < 1 || kind > static_cast<std::uint8_t>(RecordKind::stopped)) return std::nullopt;
    const bool is_whole = chained.checksum == base::crc32c(bytes.subspan(kChecksumEnd));
    if (!is_left_out(Rule::journal_record_checksum) && !is_whole) return std::nullopt;
    record.kind = static_cast<RecordKind>(kind);
    return chained;
}

bool is_zero(base::ByteView bytes) {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

std::size_t whole_blocks(std::size_t bytes) {
    const std::size_t block = SafetyJournal::kBlockBytes;
    return (bytes + block - 1) / block * block;
}

// A whole record begins a page here, or begins another block of its own.
bool begins_page(base::ByteView bytes) {
    return bytes.size() >= SafetyJournal::kRecordBytes &&
           decode(bytes.first(SafetyJournal::kRecordBytes)).has_value();
}

// Records besides votes: BASE, with the lock, PRODUCED and STOPPED.
constexpr std::size_t kVotesMax = SafetyJournal::kRecordsPerPage - 3;

// At most kVotesMax votes that forbid at least what these do. The oldest become one of a block
// that nobody has: R2 then refuses whatever any of them may forbid. The newest stays as it is.
std::vector<PastVote> merged(std::vector<PastVote> votes) {
    if (votes.size() <= kVotesMax) return votes;
    const auto rest = votes.end() - static_cast<std::ptrdiff_t>(kVotesMax - 1);
    PastVote one = *(rest - 1);
    one.block = {};
    for (auto vote = votes.begin(); vote != rest; ++vote) {
        one.justify_slot = std::min(one.justify_slot, vote->justify_slot);
    }
    std::vector<PastVote> kept{one};
    kept.insert(kept.end(), rest, votes.end());
    return kept;
}

bool sets_lock(const SafetyRecord& record) {
    return record.kind == RecordKind::commit || record.kind == RecordKind::base;
}

// The certificate after the records of a page. False: damaged.
bool decode_certificate(base::Reader& in, CertificatePtr& out) {
    const std::uint32_t length = in.u32("length");
    const std::uint32_t checksum = in.u32("checksum");
    const base::ByteView bytes = in.raw(length, "certificate");
    if (!in.ok()) return false;
    const bool is_whole = checksum == base::crc32c(bytes);
    if (!is_left_out(Rule::journal_certificate_checksum) && !is_whole) return false;
    if (in.u8("end mark") != kEndMark || !in.ok()) return false;
    auto certificate = chain::unpack<chain::Certificate>(bytes, "certificate");
    if (!certificate) return false;
    out = std::make_shared<const chain::Certificate>(*std::move(certificate));
    return true;
}

// These promises tell of nothing that was signed for a slot above this one.
std::uint64_t signed_up_to(const KeySafety& safety) {
    return std::max(
        {safety.floor, safety.last_notarize.slot, safety.lock_slot, safety.produced_slot});
}

}  // namespace

KeyTag key_tag(const base::crypto::PublicKey& key) {
    base::Writer out;
    base::crypto::encode(out, key);
    const base::Hash256 digest = base::crypto::sha256(out.view());
    base::Reader in(digest.bytes);
    return in.u64("tag");
}

struct SafetyJournal::Page {
    std::vector<Chained> records;
    CertificatePtr lock;
    std::size_t blocks = 0;
};

// The page at the beginning of these bytes; nothing when it is not as one append() wrote it.
std::optional<SafetyJournal::Page> SafetyJournal::decode_page(base::ByteView log) {
    const base::ByteView room = log.first(std::min(log.size(), kPageBytesMax));
    Page page;
    std::size_t at = 0;
    do {
        if (room.size() - at < kRecordBytes) return std::nullopt;
        const auto chained = decode(room.subspan(at, kRecordBytes));
        if (!chained) return std::nullopt;
        page.records.push_back(*chained);
        at += kRecordBytes;
    } while (page.records.back().left > 0 && page.records.size() < kRecordsPerPage);
    if (page.records.back().left > 0) return std::nullopt;
    if (page.records.back().has_certificate) {
        base::Reader in(room.subspan(at));
        if (!decode_certificate(in, page.lock)) return std::nullopt;
        at += in.offset();
    }
    const std::size_t end = whole_blocks(at);
    if (end > room.size() || !is_zero(room.subspan(at, end - at))) return std::nullopt;
    page.blocks = end / kBlockBytes;
    return page;
}

// Nothing where it is damaged.
std::optional<SafetyJournal::Page> SafetyJournal::rows_page(const Mark& mark) {
    base::Bytes bytes = base::to_bytes(mark.page);
    bytes.resize(kPageBytesMax);
    return decode_page(bytes);
}

// Nothing where it is of another key, or not the page that the rows say, either.
std::optional<SafetyJournal::Page> SafetyJournal::page_of(const Mark& mark, KeyTag key) {
    auto page = rows_page(mark);
    const bool is_good =
        page && page->records.back().sequence == mark.sequence && page->records.front().key == key;
    if (!is_good) page.reset();
    return page;
}

SafetyJournal SafetyJournal::lost(KeyTag key, const std::optional<Mark>& rows) {
    SafetyJournal journal(key);
    if (!rows) return journal;
    journal.last_sequence_ = rows->sequence;
    journal.safety_.stopped = tells_stop(*rows);
    // The first page after a loss follows theirs: rows that lose that page, too, have this one.
    if (const auto page = page_of(*rows, key))
        journal.last_checksum_ = page->records.back().checksum;
    return journal;
}

// Whether no page begins after the damaged one here: only the page that was being written when the
// power went may be damaged.
bool SafetyJournal::is_last_page(base::ByteView log) {
    if (log.size() > kPageBytesMax) return false;
    for (std::size_t next = kBlockBytes; next < log.size(); next += kBlockBytes) {
        if (begins_page(log.subspan(next))) return false;
    }
    return true;
}

base::Result<void> SafetyJournal::check(const Page& page) const {
    // The first record may follow a compaction and so start anywhere.
    if (last_sequence_ != 0 && !follows(page)) {
        return fail(Errc::corrupt,
                    fmt::format("safety journal: record {} follows record {}: there is a hole "
                                "before block {}",
                                page.records.front().sequence,
                                last_sequence_,
                                blocks_));
    }
    for (std::size_t i = 0; i < page.records.size(); ++i) {
        const Chained& record = page.records[i];
        if (record.key != key_) return fail(Errc::corrupt, "safety journal: it is of another key");
        if (i == 0) continue;
        const Chained& before = page.records[i - 1];
        if (record.sequence == before.sequence + 1 && record.previous_checksum == before.checksum) {
            continue;
        }
        return fail(Errc::corrupt,
                    fmt::format("safety journal: the records of block {} are not one after another",
                                blocks_));
    }
    return {};
}

base::Result<SafetyJournal> SafetyJournal::read(KeyTag key, base::ByteView log) {
    SafetyJournal journal(key);
    std::size_t last = 0;
    std::size_t at = 0;
    while (at < log.size()) {
        const auto page = decode_page(log.subspan(at));
        if (!page && is_last_page(log.subspan(at))) {
            journal.torn_ = true;
            break;
        }
        if (!page) {
            return fail(Errc::corrupt,
                        fmt::format("safety journal: block {} is damaged, and more follows it",
                                    journal.blocks_));
        }
        if (auto good = journal.check(*page); !good) return base::fail(std::move(good).error());
        // What it takes the place of, the rows may still have.
        const Chained& first = page->records.front();
        if (at == 0) journal.ends_.emplace(first.sequence - 1, first.previous_checksum);
        journal.apply(*page);
        journal.ends_.emplace(journal.last_sequence_, journal.last_checksum_);
        last = at;
        at += page->blocks * kBlockBytes;
        journal.blocks_ = at / kBlockBytes;
    }
    if (journal.blocks_ > 0) {
        journal.last_page_ = {.key = key,
                              .bytes = base::to_bytes(log.subspan(last, at - last)),
                              .sequence = journal.last_sequence_,
                              .replaces = last == 0};
    }
    return journal;
}

bool SafetyJournal::follows(const Page& page) const {
    const Chained& first = page.records.front();
    return last_sequence_ != 0 && first.sequence == last_sequence_ + 1 &&
           first.previous_checksum == last_checksum_;
}

void SafetyJournal::apply(const Page& page) {
    for (const Chained& chained : page.records)
        apply(chained.record, page.lock);
    last_sequence_ = page.records.back().sequence;
    last_checksum_ = page.records.back().checksum;
}

// The key was made, and has not signed anything since.
bool SafetyJournal::is_fresh() const {
    return safety_.known && safety_.floor == 0 && safety_.last_notarize.slot == 0 &&
           safety_.lock_slot == 0 && safety_.produced_slot == 0 && !safety_.stopped;
}

bool SafetyJournal::tells_stop(const Mark& mark) {
    const auto page = rows_page(mark);
    if (is_left_out(Rule::journal_keeps_answer)) return false;
    return page && std::ranges::any_of(page->records, [](const Chained& chained) {
               return chained.record.kind == RecordKind::stopped;
           });
}

bool SafetyJournal::is_to_mend(Standing standing) {
    return standing != Standing::equal && standing != Standing::torn && standing != Standing::lost;
}

SafetyJournal::Standing SafetyJournal::settle(const std::optional<Mark>& mark,
                                              bool may_have_signed) {
    const auto ends = std::exchange(ends_, {});
    const auto lose = [&] {
        SafetyJournal journal = lost(key_, mark);
        journal.safety_.stopped = journal.safety_.stopped || safety_.stopped;
        if (last_sequence_ > journal.last_sequence_) {
            journal.last_sequence_ = last_sequence_;
            journal.last_checksum_ = 0;
        }
        *this = std::move(journal);
        return Standing::lost;
    };
    if (is_left_out(Rule::journal_settled)) return Standing::equal;
    const bool is_new =
        is_left_out(Rule::journal_beside_its_rows) ||
        (is_fresh() && (!may_have_signed || is_left_out(Rule::journal_beside_a_snapshot)));
    if (!mark) return is_new ? Standing::fresh : lose();
    const auto page = page_of(*mark, key_);
    if (!page) return lose();
    if (mark->sequence > last_sequence_) {
        return catch_up(*mark, *page) ? Standing::log_behind : lose();
    }
    // The rows' page is one of the log's, or they are of another disk.
    const auto end = ends.find(mark->sequence);
    if (end == ends.end() || end->second != page->records.back().checksum) {
        return lose();
    }
    const auto behind = std::distance(end, ends.end()) - 1;
    if (behind == 0) return torn_ ? Standing::torn : Standing::equal;
    return behind == 1 ? Standing::rows_behind : Standing::rows_far_behind;
}

bool SafetyJournal::catch_up(const Mark& mark, const Page& page) {
    if (mark.replaces) {
        SafetyJournal replaced(key_);
        replaced.apply(page);
        // What replaced a journal knows all that it knew, and a lost one begins above all that it
        // can have signed: else the rows are of an earlier life of the key, which came further.
        const bool is_older = signed_up_to(replaced.safety_) < signed_up_to(safety_);
        if (!is_left_out(Rule::journal_of_this_life) && is_older) return false;
        *this = std::move(replaced);
        return true;
    }
    if (!is_left_out(Rule::journal_without_hole) && !follows(page)) {
        return false;
    }
    apply(page);
    last_page_.reset();
    return true;
}

JournalPage SafetyJournal::append(std::span<const SafetyRecord> records,
                                  const CertificatePtr& lock) {
    // Each page repeats an answer to a recovery: of the rows only the last page is kept, and it has
    // to say so where the log is lost.
    std::vector<SafetyRecord> with_answer;
    const bool is_said =
        std::ranges::find(records, RecordKind::stopped, &SafetyRecord::kind) != records.end();
    if (safety_.stopped && !is_said) {
        with_answer.assign(records.begin(), records.end());
        with_answer.push_back({.kind = RecordKind::stopped});
        records = with_answer;
    }
    CHECK(!records.empty() && records.size() <= kRecordsPerPage);
    last_page_.reset();
    JournalPage page{.key = key_, .bytes = {}, .replaces = blocks_ == 0};
    page.bytes.reserve(kBlockBytes);
    const bool has_certificate = !is_left_out(Rule::lock_with_certificate) && lock != nullptr &&
                                 std::ranges::any_of(records, sets_lock);
    auto left = static_cast<std::uint8_t>(records.size());
    for (const SafetyRecord& record : records) {
        const base::Bytes bytes = encode({.record = record,
                                          .key = key_,
                                          .left = --left,
                                          .has_certificate = has_certificate,
                                          .sequence = last_sequence_ + 1,
                                          .previous_checksum = last_checksum_});
        last_sequence_ += 1;
        last_checksum_ = base::crc32c(base::ByteView(bytes).subspan(kChecksumEnd));
        page.bytes.insert(page.bytes.end(), bytes.begin(), bytes.end());
        apply(record, lock);
    }
    if (has_certificate) {
        const base::Bytes packed = chain::pack(*lock);
        base::Writer out;
        out.u32(static_cast<std::uint32_t>(packed.size()));
        out.u32(base::crc32c(packed));
        out.raw(packed);
        out.u8(kEndMark);
        page.bytes.insert(page.bytes.end(), out.view().begin(), out.view().end());
    }
    page.bytes.resize(whole_blocks(page.bytes.size()));
    CHECK(page.bytes.size() <= kPageBytesMax);
    blocks_ += page.bytes.size() / kBlockBytes;
    page.sequence = last_sequence_;
    return page;
}

JournalPage SafetyJournal::compacted(std::uint64_t final_slot,
                                     std::span<const SafetyRecord> more,
                                     const CertificatePtr& lock) {
    if (is_left_out(Rule::journal_follows_written) && !more.empty()) (void)append(more, lock);
    for (const SafetyRecord& record : more)
        apply(record, lock);
    forget_votes_up_to(final_slot);
    const bool has_floor = !is_left_out(Rule::journal_floor);
    const std::uint64_t floor = has_floor ? std::max(safety_.floor, final_slot) : safety_.floor;
    std::vector<SafetyRecord> records{{.kind = RecordKind::base,
                                       .slot = safety_.known ? floor : kLostSlot,
                                       .lock_slot = safety_.lock_slot,
                                       .lock = safety_.lock}};
    if (safety_.produced_slot != 0) {
        records.push_back({.kind = RecordKind::produced, .slot = safety_.produced_slot});
    }
    if (safety_.stopped) records.push_back({.kind = RecordKind::stopped});
    std::vector<PastVote> votes = merged(safety_.past_votes);
    if (is_left_out(Rule::journal_keeps_votes)) votes.clear();
    if (votes.empty() && safety_.last_notarize.slot > floor) votes = {safety_.last_notarize};
    for (const PastVote& vote : votes) {
        records.push_back({.kind = RecordKind::notarize,
                           .slot = vote.slot,
                           .justify_slot = vote.justify_slot,
                           .lock_slot = safety_.lock_slot,
                           .block = vote.block,
                           .lock = safety_.lock});
    }
    blocks_ = 0;
    torn_ = false;
    return append(records, CertificatePtr(safety_.lock_certificate));
}

void SafetyJournal::forget_votes_up_to(std::uint64_t final_slot) {
    std::erase_if(safety_.past_votes,
                  [&](const PastVote& vote) { return vote.slot <= final_slot; });
}

void SafetyJournal::apply(const SafetyRecord& record, const CertificatePtr& lock) {
    KeySafety& safety = safety_;
    switch (record.kind) {
        case RecordKind::base:
            safety.known = record.slot != kLostSlot;
            if (safety.known) safety.floor = std::max(safety.floor, record.slot);
            safety.past_votes.clear();
            safety.last_notarize = {};
            if (safety.known)
                safety.last_notarize = {record.slot, record.justify_slot, record.block};
            safety.lock_slot = record.lock_slot;
            safety.lock = record.lock;
            safety.lock_certificate = record.lock_slot == 0 ? nullptr : lock;
            break;
        case RecordKind::produced:
            safety.produced_slot = std::max(safety.produced_slot, record.slot);
            break;
        case RecordKind::stopped:
            safety.stopped = true;
            break;
        case RecordKind::commit:
            if (record.lock_slot >= safety.lock_slot) {
                safety.lock_slot = record.lock_slot;
                safety.lock = record.lock;
                safety.lock_certificate = lock;
            }
            break;
        case RecordKind::notarize: {
            const PastVote vote{record.slot, record.justify_slot, record.block};
            if (vote.slot < safety.last_notarize.slot) break;
            safety.last_notarize = vote;
            safety.past_votes.push_back(vote);
            break;
        }
    }
}

}  // namespace consensus
