#include "consensus/safety_journal.hpp"

#include <catch2/catch.hpp>

#include <vector>

// The journal is what keeps a validator honest over a crash: every promise must be there
// after a restart, and a damaged file must never read as "nothing promised".

namespace {

using consensus::RecordKind;
using consensus::SafetyJournal;
using consensus::SafetyRecord;

base::Hash256 block(unsigned char tag) {
    base::Hash256 id;
    id.bytes[0] = std::byte{tag};
    return id;
}

SafetyRecord notarize(std::uint64_t slot) {
    return {.kind = RecordKind::notarize,
            .key = 1,
            .slot = slot,
            .justify_slot = slot - 1,
            .block = block(static_cast<unsigned char>(slot))};
}

std::vector<base::Bytes> three_pages() {
    SafetyJournal journal;
    const std::vector<SafetyRecord> first{{.kind = RecordKind::base, .key = 1}};
    const std::vector<SafetyRecord> second{{.kind = RecordKind::produced, .key = 1, .slot = 5},
                                           notarize(5)};
    const std::vector<SafetyRecord> third{{.kind = RecordKind::commit,
                                           .key = 1,
                                           .slot = 5,
                                           .lock_slot = 5,
                                           .block = block(5),
                                           .lock = block(5)}};
    return {journal.append(first), journal.append(second), journal.append(third)};
}

// The key votes in slots 1 to 100.
SafetyJournal hundred_votes() {
    SafetyJournal journal;
    const std::vector<SafetyRecord> base_record{{.kind = RecordKind::base, .key = 1}};
    (void)journal.append(base_record);
    for (std::uint64_t slot = 1; slot <= 100; ++slot) {
        const std::vector<SafetyRecord> votes{notarize(slot)};
        (void)journal.append(votes);
    }
    return journal;
}

}  // namespace

TEST_CASE("a journal reads back every promise it made", "[consensus][journal]") {
    const auto journal = SafetyJournal::read(three_pages());
    REQUIRE(journal.has_value());
    const auto* safety = journal->find(1);
    REQUIRE(safety != nullptr);
    CHECK(safety->produced_slot == 5);
    CHECK(safety->last_notarize.slot == 5);
    CHECK(safety->last_notarize.block == block(5));
    CHECK(safety->lock_slot == 5);
    CHECK(journal->last_sequence() == 4);
    CHECK(journal->find(2) == nullptr);
}

TEST_CASE("a torn last page counts as never written, at every length", "[consensus][journal]") {
    auto pages = three_pages();
    const base::Bytes whole = pages.back();
    for (std::size_t kept = 0; kept < SafetyJournal::kRecordBytes; ++kept) {
        base::Bytes torn(SafetyJournal::kPageBytes);
        std::copy_n(whole.begin(), kept, torn.begin());
        if (torn == whole) continue;  // What is torn off was zero: the page is whole.
        pages.back() = torn;
        const auto journal = SafetyJournal::read(pages);
        REQUIRE(journal.has_value());
        CHECK(journal->last_sequence() == 3);
        CHECK(journal->find(1)->lock_slot == 0);
    }
}

TEST_CASE("damage anywhere but in the last page refuses the journal", "[consensus][journal]") {
    SECTION("a flipped bit, wherever it is in a record") {
        for (std::size_t at = 0; at < 2 * SafetyJournal::kRecordBytes; ++at) {
            auto pages = three_pages();
            pages[1][at] ^= std::byte{1};
            CHECK(SafetyJournal::read(pages).error().code == base::Errc::corrupt);
        }
    }
    SECTION("a missing page") {
        auto pages = three_pages();
        pages.erase(pages.begin() + 1);
        CHECK(SafetyJournal::read(pages).error().code == base::Errc::corrupt);
    }
    SECTION("an empty page in the middle") {
        auto pages = three_pages();
        pages[1] = base::Bytes(SafetyJournal::kPageBytes);
        CHECK(SafetyJournal::read(pages).error().code == base::Errc::corrupt);
    }
}

TEST_CASE("compaction keeps what the rules need and forgets the rest", "[consensus][journal]") {
    SafetyJournal journal = hundred_votes();
    const auto page = journal.compacted(95);
    REQUIRE(page.has_value());
    auto again = SafetyJournal::read(std::vector<base::Bytes>{*page});
    REQUIRE(again.has_value());
    CHECK(again->find(1)->past_votes.size() == 5);
    CHECK(again->find(1)->last_notarize.slot == 100);
    CHECK(again->last_sequence() == journal.last_sequence());
    // It goes on where it stopped.
    const std::vector<SafetyRecord> next{notarize(101)};
    const auto both = SafetyJournal::read(std::vector<base::Bytes>{*page, again->append(next)});
    REQUIRE(both.has_value());
    CHECK(both->find(1)->last_notarize.slot == 101);
}

TEST_CASE("too many votes for a page become one that forbids all they forbid",
          "[consensus][journal]") {
    SafetyJournal journal = hundred_votes();
    const auto page = journal.compacted(10);
    REQUIRE(page.has_value());
    CHECK(page->size() == SafetyJournal::kPageBytes);
    const auto again = SafetyJournal::read(std::vector<base::Bytes>{*page});
    REQUIRE(again.has_value());
    const auto& votes = again->find(1)->past_votes;
    REQUIRE(votes.size() == 29);
    CHECK(votes.front().block.is_zero());
    CHECK(votes.front().justify_slot == 10);
    CHECK(votes.front().slot == 72);
    CHECK(votes[1].slot == 73);
    CHECK(votes[1].block == block(73));
    CHECK(again->find(1)->last_notarize.slot == 100);
    CHECK(again->find(1)->last_notarize.block == block(100));
}

// --- What a power cut leaves of a write whose page and rows go side by side ---

namespace {

// A lock in slot 5, then one in slot 7 in the page after it, with a vote for slot 8.
SafetyJournal journal_of_two_locks(bool torn = false) {
    SafetyJournal journal;
    const auto commit = [](std::uint64_t slot) {
        return SafetyRecord{.kind = RecordKind::commit,
                            .key = 1,
                            .slot = slot,
                            .lock_slot = slot,
                            .block = block(static_cast<unsigned char>(slot)),
                            .lock = block(static_cast<unsigned char>(slot))};
    };
    const std::vector<SafetyRecord> first{{.kind = RecordKind::base, .key = 1}, commit(5)};
    const std::vector<SafetyRecord> last{
        commit(7), {.kind = RecordKind::notarize, .key = 1, .slot = 8, .block = block(8)}};
    std::vector<base::Bytes> pages{journal.append(first), journal.append(last)};
    if (torn) pages.emplace_back(SafetyJournal::kPageBytes, std::byte{1});
    return SafetyJournal::read(pages).value();
}

}  // namespace

TEST_CASE("a lock whose rows are not stored is taken back, and nothing else of its page",
          "[consensus][journal]") {
    SafetyJournal journal = journal_of_two_locks();
    REQUIRE(journal.last_sequence() == 4);
    CHECK(journal.settle(2, 5));
    CHECK(journal.find(1)->lock_slot == 5);
    CHECK(journal.find(1)->lock == block(5));
    CHECK(journal.find(1)->last_notarize.slot == 8);
    CHECK(journal.find(1)->past_votes.size() == 1);
    // Written anew it stays so.
    const auto again = SafetyJournal::read(std::vector<base::Bytes>{journal.compacted(0).value()});
    REQUIRE(again.has_value());
    CHECK(again->find(1)->lock_slot == 5);
    CHECK(again->find(1)->last_notarize.slot == 8);
}

TEST_CASE("a lock stays where its COMMIT may have left", "[consensus][journal]") {
    SafetyJournal journal = journal_of_two_locks();
    SECTION("its rows are stored") {
        CHECK_FALSE(journal.settle(4, 5));
    }
    SECTION("a certificate as high is here: it can be justified") {
        CHECK_FALSE(journal.settle(2, 7));
    }
    SECTION("the storage is new, or of a copy: it lacks rows of earlier pages, too") {
        CHECK_FALSE(journal.settle(0, 0));
    }
    SECTION("something was appended since") {
        (void)journal.append(std::vector<SafetyRecord>{{.key = 2}});
        CHECK_FALSE(journal.settle(2, 5));
    }
    CHECK(journal.find(1)->lock_slot == 7);
}

TEST_CASE("the page that replaces a journal comes after its rows: its locks stay",
          "[consensus][journal]") {
    SafetyJournal before = journal_of_two_locks();
    auto journal =
        SafetyJournal::read(std::vector<base::Bytes>{before.compacted(0).value()}).value();
    CHECK_FALSE(journal.settle(4, 0));
    CHECK(journal.find(1)->lock_slot == 7);
}

TEST_CASE("a page that only the rows have counts as written", "[consensus][journal]") {
    // Torn by a power cut, or missing since an older log was put back.
    const bool torn = GENERATE(false, true);
    SafetyJournal before = journal_of_two_locks();
    const base::Bytes third = before.append(std::vector<SafetyRecord>{
        {.kind = RecordKind::notarize, .key = 1, .slot = 9, .block = block(9)},
        {.kind = RecordKind::produced, .key = 1, .slot = 12, .block = block(12)}});
    SafetyJournal journal = journal_of_two_locks(torn);
    CHECK(journal.torn() == torn);
    REQUIRE(journal.catch_up({6, base::ByteView(third).first(256)}));
    CHECK(journal.find(1)->last_notarize.slot == 9);
    CHECK(journal.find(1)->produced_slot == 12);
    CHECK(journal.find(1)->lock_slot == 7);
    // The log lacks it, so it is written anew.
    CHECK(journal.settle(6, 7));
    const auto again =
        SafetyJournal::read(std::vector<base::Bytes>{journal.compacted(0).value()}).value();
    CHECK_FALSE(journal.settle(6, 7));
    CHECK(again.last_sequence() > 6);
    CHECK(again.find(1)->last_notarize.slot == 9);
    CHECK(again.find(1)->produced_slot == 12);
}

TEST_CASE("a log that lacks more than the page among the rows is lost", "[consensus][journal]") {
    SafetyJournal before = journal_of_two_locks();
    const std::vector<SafetyRecord> vote{
        {.kind = RecordKind::notarize, .key = 1, .slot = 9, .block = block(9)}};
    const base::Bytes third = before.append(vote);
    const base::Bytes fourth = before.append(vote);
    SafetyJournal journal = journal_of_two_locks();
    CHECK(journal.catch_up({4, {}}));  // It lacks nothing,
    CHECK(journal.catch_up({2, {}}));  // or is ahead.
    CHECK_FALSE(journal.catch_up({5, {}}));
    CHECK_FALSE(journal.catch_up({6, fourth}));
    CHECK_FALSE(journal.catch_up({6, third}));
    SafetyJournal other;  // As long, of other records.
    (void)other.append(std::vector<SafetyRecord>(4, vote[0]));
    CHECK_FALSE(other.catch_up({5, third}));
    SafetyJournal none;
    CHECK_FALSE(none.catch_up({5, third}));
    CHECK(journal.last_sequence() == 4);
    CHECK(journal.catch_up({5, third}));
}

TEST_CASE("a whole journal among the rows takes the place of any older log",
          "[consensus][journal]") {
    SafetyJournal before = journal_of_two_locks();
    const std::uint64_t last = before.last_sequence();
    const base::Bytes page = before.compacted(0).value();
    SafetyJournal journal = GENERATE(SafetyJournal(), journal_of_two_locks(/*torn=*/true));
    CHECK_FALSE(SafetyJournal().catch_up({before.last_sequence(), page, /*replaces=*/false}));
    REQUIRE(journal.catch_up({before.last_sequence(), page, /*replaces=*/true}));
    CHECK(journal.last_sequence() > last);
    CHECK(journal.find(1)->lock_slot == 7);
    CHECK(journal.find(1)->last_notarize.slot == 8);
    CHECK(journal.settle(before.last_sequence(), 0));
    CHECK(journal.find(1)->lock_slot == 7);
}
