#include "consensus/safety_journal.hpp"

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/crc32c.hpp"
#include "base/crypto/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace consensus {

namespace {

using base::Errc;
using base::fail;

constexpr std::uint32_t kMagic = 0x314A5342;  // "BSJ1"
constexpr std::size_t kChecksumEnd = 8;       // The checksum covers what follows it.

struct Chained {
    SafetyRecord record;
    std::uint64_t sequence = 0;
    std::uint32_t previous_checksum = 0;
    std::uint32_t checksum = 0;
};

base::Bytes encode(const Chained& chained) {
    const SafetyRecord& record = chained.record;
    base::Writer body;
    body.u32(chained.previous_checksum);
    body.u8(static_cast<std::uint8_t>(record.kind));
    body.raw(base::Bytes(3));
    body.u64(chained.sequence);
    body.u64(record.key);
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
    (void)in.raw(3, "padding");
    chained.sequence = in.u64("sequence");
    SafetyRecord& record = chained.record;
    record.key = in.u64("key");
    record.slot = in.u64("slot");
    record.justify_slot = in.u64("justify slot");
    record.lock_slot = in.u64("lock slot");
    record.block = in.hash<32>("block");
    record.lock = in.hash<32>("lock");
    (void)in.raw(8, "padding");
    if (!in.finish().has_value() || magic != kMagic) return std::nullopt;
    if (kind < 1 || kind > static_cast<std::uint8_t>(RecordKind::base)) return std::nullopt;
    if (chained.checksum != base::crc32c(bytes.subspan(kChecksumEnd))) return std::nullopt;
    record.kind = static_cast<RecordKind>(kind);
    return chained;
}

bool is_zero(base::ByteView bytes) {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

// Records of a key besides its votes: BASE, PRODUCED and COMMIT.
constexpr std::size_t kOtherRecords = 3;

// At most `votes_max` votes that forbid at least what these do. The oldest become one of a block
// that nobody has: R2 then refuses whatever any of them may forbid. The newest stays as it is.
std::vector<PastVote> merged(std::vector<PastVote> votes, std::size_t votes_max) {
    if (votes.size() <= votes_max || votes_max < 2) return votes;
    const auto rest = votes.end() - static_cast<std::ptrdiff_t>(votes_max - 1);
    PastVote one = *(rest - 1);
    one.block = {};
    for (auto vote = votes.begin(); vote != rest; ++vote) {
        one.justify_slot = std::min(one.justify_slot, vote->justify_slot);
    }
    std::vector<PastVote> kept{one};
    kept.insert(kept.end(), rest, votes.end());
    return kept;
}

// The records of a page in order; nothing when the page is not as one append() wrote it.
std::optional<std::vector<Chained>> decode_page(base::ByteView page) {
    if (page.size() != SafetyJournal::kPageBytes) return std::nullopt;
    std::vector<Chained> records;
    for (std::size_t at = 0; at < page.size(); at += SafetyJournal::kRecordBytes) {
        const base::ByteView bytes = page.subspan(at, SafetyJournal::kRecordBytes);
        if (is_zero(bytes)) {
            if (records.empty() || !is_zero(page.subspan(at))) return std::nullopt;
            return records;
        }
        const auto chained = decode(bytes);
        if (!chained) return std::nullopt;
        records.push_back(*chained);
    }
    return records;
}

}  // namespace

KeyTag key_tag(const base::crypto::PublicKey& key) {
    base::Writer out;
    base::crypto::encode(out, key);
    const base::Hash256 digest = base::crypto::sha256(out.view());
    base::Reader in(digest.bytes);
    return in.u64("tag");
}

SafetyJournal SafetyJournal::lost(std::uint64_t last_sequence) {
    SafetyJournal journal;
    journal.last_sequence_ = last_sequence;
    return journal;
}

base::Result<SafetyJournal> SafetyJournal::read(std::span<const base::Bytes> pages) {
    SafetyJournal journal;
    for (std::size_t i = 0; i < pages.size(); ++i) {
        const auto records = decode_page(pages[i]);
        if (!records) {
            // Only the page that was being written when the power went may be damaged, and
            // nothing was done yet on the strength of it.
            if (i + 1 == pages.size()) {
                journal.torn_ = true;
                break;
            }
            return fail(Errc::corrupt,
                        fmt::format("safety journal: page {} of {} is damaged", i, pages.size()));
        }
        journal.locks_before_.clear();
        journal.sequence_before_ = journal.last_sequence_;
        for (const Chained& chained : *records) {
            // The first record may follow a compaction and so start anywhere.
            const bool first = journal.last_sequence_ == 0;
            const bool follows = chained.sequence == journal.last_sequence_ + 1 &&
                                 chained.previous_checksum == journal.last_checksum_;
            if (!first && !follows) {
                return fail(Errc::corrupt,
                            fmt::format("safety journal: record {} follows record {}: there is "
                                        "a hole in page {}",
                                        chained.sequence,
                                        journal.last_sequence_,
                                        i));
            }
            if (chained.record.kind == RecordKind::commit) {
                const KeySafety& safety = journal.keys_[chained.record.key];
                journal.locks_before_.try_emplace(chained.record.key,
                                                  Lock{safety.lock_slot, safety.lock});
            }
            journal.apply(chained.record);
            journal.last_sequence_ = chained.sequence;
            journal.last_checksum_ = chained.checksum;
        }
        journal.pages_ = i + 1;
    }
    return journal;
}

bool SafetyJournal::catch_up(const Mark& mark) {
    if (last_sequence_ >= mark.sequence) return true;
    base::Bytes page = base::to_bytes(mark.page);
    page.resize(kPageBytes);
    const auto records = decode_page(page);
    if (!records || records->back().sequence != mark.sequence) return false;
    const Chained& first = records->front();
    const bool follows = last_sequence_ != 0 && first.sequence == last_sequence_ + 1 &&
                         first.previous_checksum == last_checksum_;
    if (mark.replaces) {
        *this = {};
    } else if (!follows) {
        return false;
    }
    for (const Chained& chained : *records)
        apply(chained.record);
    last_sequence_ = mark.sequence;
    last_checksum_ = records->back().checksum;
    locks_before_.clear();
    pages_ = std::max<std::size_t>(pages_, 1);
    is_ahead_ = true;
    return true;
}

bool SafetyJournal::settle(std::uint64_t stored, std::uint64_t certified) {
    bool changed = torn_ || is_ahead_;
    const bool has_rows = stored >= last_sequence_;
    // The first page may be a whole journal: it is written after its rows.
    const bool is_next = pages_ > 1 && stored >= sequence_before_;
    for (const auto& [key, lock] : locks_before_) {
        KeySafety& safety = keys_[key];
        if (has_rows || !is_next || safety.lock_slot <= certified) continue;
        safety.lock_slot = lock.slot;
        safety.lock = lock.block;
        changed = true;
    }
    return changed;
}

base::Bytes SafetyJournal::append(std::span<const SafetyRecord> records) {
    CHECK(!records.empty() && records.size() <= kRecordsPerPage);
    locks_before_.clear();
    base::Bytes page;
    page.reserve(kPageBytes);
    for (const SafetyRecord& record : records) {
        const base::Bytes bytes =
            encode({record, last_sequence_ + 1, last_checksum_, /*checksum=*/0});
        last_sequence_ += 1;
        last_checksum_ = base::crc32c(base::ByteView(bytes).subspan(kChecksumEnd));
        page.insert(page.end(), bytes.begin(), bytes.end());
        apply(record);
    }
    page.resize(kPageBytes);
    pages_ += 1;
    return page;
}

base::Result<base::Bytes> SafetyJournal::compacted(std::uint64_t final_slot) {
    forget_votes_up_to(final_slot);
    std::vector<SafetyRecord> records;
    const std::size_t share = kRecordsPerPage / std::max<std::size_t>(keys_.size(), 1);
    const std::size_t votes_max = share > kOtherRecords ? share - kOtherRecords : 1;
    for (const auto& [key, safety] : keys_) {
        const std::uint64_t floor = std::max(safety.floor, final_slot);
        if (safety.known) {
            records.push_back({.kind = RecordKind::base, .key = key, .slot = floor});
        }
        if (safety.produced_slot != 0) {
            records.push_back(
                {.kind = RecordKind::produced, .key = key, .slot = safety.produced_slot});
        }
        if (safety.lock_slot != 0) {
            records.push_back({.kind = RecordKind::commit,
                               .key = key,
                               .slot = safety.lock_slot,
                               .lock_slot = safety.lock_slot,
                               .block = safety.lock,
                               .lock = safety.lock});
        }
        std::vector<PastVote> votes = merged(safety.past_votes, votes_max);
        if (votes.empty() && safety.last_notarize.slot > floor) votes = {safety.last_notarize};
        for (const PastVote& vote : votes) {
            records.push_back({.kind = RecordKind::notarize,
                               .key = key,
                               .slot = vote.slot,
                               .justify_slot = vote.justify_slot,
                               .lock_slot = safety.lock_slot,
                               .block = vote.block,
                               .lock = safety.lock});
        }
    }
    if (records.empty() || records.size() > kRecordsPerPage) {
        return fail(Errc::would_block,
                    fmt::format("safety journal: {} records of {} keys do not fit in a page of {}",
                                records.size(),
                                keys_.size(),
                                kRecordsPerPage));
    }
    pages_ = 0;
    torn_ = is_ahead_ = false;
    return append(records);
}

const KeySafety* SafetyJournal::find(KeyTag key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? nullptr : &found->second;
}

void SafetyJournal::forget_votes_up_to(std::uint64_t final_slot) {
    for (auto& [key, safety] : keys_) {
        std::erase_if(safety.past_votes,
                      [&](const PastVote& vote) { return vote.slot <= final_slot; });
    }
}

void SafetyJournal::apply(const SafetyRecord& record) {
    KeySafety& safety = keys_[record.key];
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
            break;
        case RecordKind::produced:
            safety.produced_slot = std::max(safety.produced_slot, record.slot);
            break;
        case RecordKind::commit:
            if (record.lock_slot >= safety.lock_slot) {
                safety.lock_slot = record.lock_slot;
                safety.lock = record.lock;
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
