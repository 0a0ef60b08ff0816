#include "consensus/safety_journal.hpp"

#include "tests/support/journals.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

// The journal is what keeps a validator honest over a crash: every promise must be there
// after a restart, and a damaged file must never read as "nothing promised".

namespace {

using consensus::CertificatePtr;
using consensus::JournalPage;
using consensus::RecordKind;
using consensus::SafetyJournal;
using consensus::SafetyRecord;
using Standing = SafetyJournal::Standing;

constexpr consensus::KeyTag kKey = 7;

base::Hash256 block(unsigned char tag) {
    base::Hash256 id;
    id.bytes[0] = std::byte{tag};
    return id;
}

SafetyRecord notarize(std::uint64_t slot) {
    return {.kind = RecordKind::notarize,
            .slot = slot,
            .justify_slot = slot - 1,
            .block = block(static_cast<unsigned char>(slot))};
}

SafetyRecord commit(std::uint64_t slot) {
    return {.kind = RecordKind::commit,
            .slot = slot,
            .lock_slot = slot,
            .block = block(static_cast<unsigned char>(slot)),
            .lock = block(static_cast<unsigned char>(slot))};
}

// With so many signatures: the largest has those of two schedules of 125.
CertificatePtr certificate_of(std::uint64_t slot, std::size_t signatures = 3) {
    chain::Certificate made;
    made.data.kind = chain::VoteKind::notarize;
    made.data.slot = slot;
    made.data.block_id = block(static_cast<unsigned char>(slot));
    made.bitmaps = {base::Bytes(16, std::byte{0xFF})};
    made.signatures.resize(signatures);
    for (std::size_t i = 0; i < signatures; ++i) {
        made.signatures[i].compact[0] = std::byte{31};
        made.signatures[i].compact[1 + i % 60] = static_cast<std::byte>(1 + i % 200);
    }
    return std::make_shared<const chain::Certificate>(std::move(made));
}

base::Bytes joined(const std::vector<JournalPage>& pages) {
    test::Logs logs;
    for (const JournalPage& page : pages)
        test::write_page(logs, page);
    return logs.empty() ? base::Bytes{} : logs.begin()->second;
}

SafetyJournal::Mark mark_of(const JournalPage& page) {
    return {page.sequence, page.bytes, page.replaces};
}

// BASE; PRODUCED and NOTARIZE of slot 5; its COMMIT.
std::vector<JournalPage> three_pages(std::size_t signatures = 3) {
    SafetyJournal journal(kKey);
    const std::vector<SafetyRecord> first{{.kind = RecordKind::base}};
    const std::vector<SafetyRecord> second{{.kind = RecordKind::produced, .slot = 5}, notarize(5)};
    const std::vector<SafetyRecord> third{commit(5)};
    std::vector<JournalPage> pages{journal.append(first), journal.append(second)};
    pages.push_back(journal.append(third, certificate_of(5, signatures)));
    return pages;
}

SafetyJournal read_back(const std::vector<JournalPage>& pages) {
    return SafetyJournal::read(kKey, joined(pages)).value();
}

// The key votes in slots 1 to 100.
SafetyJournal hundred_votes() {
    SafetyJournal journal(kKey);
    (void)test::first_page(journal);
    for (std::uint64_t slot = 1; slot <= 100; ++slot) {
        const std::vector<SafetyRecord> votes{notarize(slot)};
        (void)journal.append(votes);
    }
    return journal;
}

}  // namespace

TEST_CASE("a journal reads back every promise it made", "[consensus][journal]") {
    const std::size_t signatures = GENERATE(1U, 60U, 250U);
    const auto pages = three_pages(signatures);
    CHECK(pages[0].replaces);
    CHECK_FALSE(pages[1].replaces);
    CHECK(pages[2].bytes.size() <= 6 * SafetyJournal::kBlockBytes);
    const SafetyJournal journal = read_back(pages);
    const auto& safety = journal.safety();
    CHECK(safety.known);
    CHECK(safety.produced_slot == 5);
    CHECK(safety.last_notarize.slot == 5);
    CHECK(safety.last_notarize.block == block(5));
    CHECK(safety.lock_slot == 5);
    REQUIRE(safety.lock_certificate != nullptr);
    CHECK(*safety.lock_certificate == *certificate_of(5, signatures));
    CHECK(journal.last_sequence() == 4);
    CHECK_FALSE(journal.torn());
}

TEST_CASE("the journal of another key is refused", "[consensus][journal]") {
    const auto other = SafetyJournal::read(kKey + 1, joined(three_pages()));
    REQUIRE_FALSE(other.has_value());
    CHECK(other.error().detail.find("another key") != std::string::npos);
}

TEST_CASE("a torn last page counts as never written, wherever it was cut", "[consensus][journal]") {
    // Of 6 blocks.
    const auto pages = three_pages(250);
    const base::Bytes whole = joined(pages);
    const std::size_t begin = whole.size() - pages[2].bytes.size();
    for (std::size_t kept = begin + 1; kept < whole.size(); kept += 61) {
        base::Bytes torn = whole;
        std::fill(torn.begin() + static_cast<std::ptrdiff_t>(kept), torn.end(), std::byte{});
        if (torn == whole) continue;  // What is torn off was zero: the page is whole.
        const auto journal = SafetyJournal::read(kKey, torn);
        REQUIRE(journal.has_value());
        CHECK(journal->torn());
        CHECK(journal->last_sequence() == 3);
        CHECK(journal->safety().lock_slot == 0);
    }
    SECTION("or where its first blocks are missing and later ones are there") {
        for (std::size_t blocks = 1; blocks < 5; ++blocks) {
            base::Bytes torn = whole;
            const auto from = torn.begin() + static_cast<std::ptrdiff_t>(begin);
            std::fill_n(from, blocks * SafetyJournal::kBlockBytes, std::byte{});
            const auto journal = SafetyJournal::read(kKey, torn);
            REQUIRE(journal.has_value());
            CHECK(journal->torn());
            CHECK(journal->last_sequence() == 3);
        }
    }
}

TEST_CASE("damage anywhere but in the last page refuses the journal", "[consensus][journal]") {
    auto pages = three_pages();
    SECTION("a flipped bit, wherever it is in a page") {
        for (std::size_t at = 0; at < pages[1].bytes.size(); at += at < 300 ? 1 : 97) {
            auto damaged = pages;
            damaged[1].bytes[at] ^= std::byte{1};
            CHECK(SafetyJournal::read(kKey, joined(damaged)).error().code == base::Errc::corrupt);
        }
    }
    SECTION("in the certificate of a lock") {
        SafetyJournal journal = read_back(pages);
        const std::vector<SafetyRecord> more{notarize(6)};
        pages.push_back(journal.append(more));
        pages[2].bytes[SafetyJournal::kRecordBytes + 60] ^= std::byte{1};
        CHECK(SafetyJournal::read(kKey, joined(pages)).error().code == base::Errc::corrupt);
    }
    SECTION("a missing page") {
        pages.erase(pages.begin() + 1);
        CHECK(SafetyJournal::read(kKey, joined(pages)).error().code == base::Errc::corrupt);
    }
    SECTION("an empty page in the middle") {
        std::fill(pages[1].bytes.begin(), pages[1].bytes.end(), std::byte{});
        CHECK(SafetyJournal::read(kKey, joined(pages)).error().code == base::Errc::corrupt);
    }
}

TEST_CASE("compaction keeps what the rules need and forgets the rest", "[consensus][journal]") {
    SafetyJournal journal = hundred_votes();
    const std::vector<SafetyRecord> lock{commit(94)};
    (void)journal.append(lock, certificate_of(94));
    const JournalPage page = journal.compacted(95);
    CHECK(page.replaces);
    SafetyJournal again = read_back({page});
    CHECK(again.safety().known);
    CHECK(again.safety().floor == 95);
    CHECK(again.safety().past_votes.size() == 5);
    CHECK(again.safety().last_notarize.slot == 100);
    CHECK(again.safety().lock_slot == 94);
    CHECK(*again.safety().lock_certificate == *certificate_of(94));
    CHECK(again.last_sequence() == journal.last_sequence());
    // It goes on where it stopped.
    const std::vector<SafetyRecord> next{notarize(101)};
    const JournalPage more = again.append(next);
    CHECK_FALSE(more.replaces);
    CHECK(read_back({page, more}).safety().last_notarize.slot == 101);
}

TEST_CASE("too many votes for a page become one that forbids all they forbid",
          "[consensus][journal]") {
    SafetyJournal journal = hundred_votes();
    const JournalPage page = journal.compacted(10);
    CHECK(page.bytes.size() == SafetyJournal::kBlockBytes);
    const SafetyJournal again = read_back({page});
    const auto& votes = again.safety().past_votes;
    REQUIRE(votes.size() == 13);
    CHECK(votes.front().block.is_zero());
    CHECK(votes.front().justify_slot == 10);
    CHECK(votes.front().slot == 88);
    CHECK(votes[1].slot == 89);
    CHECK(votes[1].block == block(89));
    CHECK(again.safety().last_notarize.slot == 100);
    CHECK(again.safety().last_notarize.block == block(100));
}

TEST_CASE("a key that has stopped signing stays so", "[consensus][journal]") {
    SafetyJournal journal = hundred_votes();
    const std::vector<SafetyRecord> stop{{.kind = RecordKind::stopped}};
    const JournalPage page = journal.append(stop);
    CHECK(page.bytes.size() == SafetyJournal::kBlockBytes);
    CHECK(journal.safety().stopped);
    SafetyJournal again = read_back({journal.compacted(10)});
    CHECK(again.safety().stopped);
    CHECK(again.safety().last_notarize.slot == 100);
    CHECK(again.safety().past_votes.size() == 13);
    // A key that has done nothing else is not new any more: its rows must know it.
    SafetyJournal idle(kKey);
    const std::vector<SafetyRecord> begun{{.kind = RecordKind::base}};
    const std::vector<JournalPage> pages{idle.append(begun), idle.append(stop)};
    CHECK(read_back(pages).settle(std::nullopt, false) == Standing::lost);
}

// --- What a start finds: the log, and the rows of the storage ---

TEST_CASE("nothing is taken back where the rows are a write behind", "[consensus][journal]") {
    const auto pages = three_pages();
    SafetyJournal journal = read_back(pages);
    CHECK(journal.settle(mark_of(pages[1]), false) == Standing::rows_behind);
    CHECK(journal.safety().lock_slot == 5);
    CHECK(*journal.safety().lock_certificate == *certificate_of(5));
    SECTION("or many") {
        SafetyJournal other = read_back(pages);
        CHECK(other.settle(mark_of(pages[0]), false) == Standing::rows_far_behind);
        CHECK(other.safety().lock_slot == 5);
    }
}

// Of a page that was under way there may be a part.
TEST_CASE("rows that are behind get the last page of a log, which stays as it is",
          "[consensus][journal]") {
    const auto pages = three_pages();
    base::Bytes log = joined(pages);
    const bool is_torn = GENERATE(false, true);
    if (is_torn) log.insert(log.end(), SafetyJournal::kBlockBytes, std::byte{1});
    SafetyJournal journal = SafetyJournal::read(kKey, log).value();
    REQUIRE(journal.settle(mark_of(pages[1]), false) == Standing::rows_behind);
    REQUIRE(journal.last_page() != nullptr);
    const JournalPage last = *journal.last_page();
    CHECK(last.bytes == pages[2].bytes);
    CHECK(last.sequence == pages[2].sequence);
    CHECK_FALSE(last.replaces);
    SafetyJournal mended = SafetyJournal::read(kKey, log).value();
    CHECK(mended.settle(mark_of(last), false) == (is_torn ? Standing::torn : Standing::equal));
    // What comes next is known beside it, whichever of the two is lost.
    const SafetyRecord next = notarize(50);
    const JournalPage page = is_torn ? mended.compacted(0, {&next, 1}) : mended.append({&next, 1});
    CHECK(page.replaces == is_torn);
    CHECK(mended.last_page() == nullptr);
    test::Logs logs{{kKey, log}};
    test::write_page(logs, page);
    SafetyJournal after = SafetyJournal::read(kKey, logs.at(kKey)).value();
    CHECK(after.settle(mark_of(last), false) == Standing::rows_behind);
    CHECK(after.safety().last_notarize.slot == 50);
    CHECK(after.safety().lock_slot == 5);
    SafetyJournal before = SafetyJournal::read(kKey, log).value();
    CHECK(before.settle(mark_of(page), false) == Standing::log_behind);
    CHECK(before.safety().last_notarize.slot == 50);
    CHECK(before.last_page() == nullptr);
}

TEST_CASE("a new key's rows get its first page", "[consensus][journal]") {
    SafetyJournal made(kKey);
    const JournalPage first = test::first_page(made);
    SafetyJournal start = read_back({first});
    REQUIRE(start.settle(std::nullopt, false) == Standing::fresh);
    REQUIRE(start.last_page() != nullptr);
    CHECK(start.last_page()->replaces);
    CHECK(read_back({first}).settle(mark_of(*start.last_page()), true) == Standing::equal);
}

TEST_CASE("a page that only the rows have counts as written", "[consensus][journal]") {
    auto pages = three_pages(GENERATE(3U, 250U));
    const JournalPage last = pages.back();
    pages.pop_back();
    base::Bytes log = joined(pages);
    // Torn by a power cut, or missing since an older log was put back.
    const bool is_torn = GENERATE(false, true);
    if (is_torn) log.insert(log.end(), SafetyJournal::kBlockBytes, std::byte{1});
    SafetyJournal journal = SafetyJournal::read(kKey, log).value();
    CHECK(journal.torn() == is_torn);
    // Stored without the zeros at its end.
    SafetyJournal::Mark mark = mark_of(last);
    while (mark.page.back() == std::byte{})
        mark.page = mark.page.first(mark.page.size() - 1);
    CHECK(journal.settle(mark, false) == Standing::log_behind);
    CHECK(journal.safety().lock_slot == 5);
    CHECK(journal.safety().lock_certificate != nullptr);
    CHECK(journal.last_sequence() == 4);
    // Written anew both say the same.
    const JournalPage mended = journal.compacted(0);
    CHECK(mended.replaces);
    SafetyJournal again = read_back({mended});
    CHECK(again.settle(mark_of(mended), false) == Standing::equal);
    CHECK(again.safety().lock_slot == 5);
    CHECK(again.safety().produced_slot == 5);
    CHECK(again.safety().last_notarize.slot == 5);
}

TEST_CASE("a page that was cut short, and of which the rows know nothing, never was",
          "[consensus][journal]") {
    const auto pages = three_pages();
    base::Bytes log = joined(pages);
    log[log.size() - SafetyJournal::kBlockBytes + 40] ^= std::byte{1};
    SafetyJournal journal = SafetyJournal::read(kKey, log).value();
    CHECK(journal.settle(mark_of(pages[1]), false) == Standing::torn);
    CHECK(journal.safety().lock_slot == 0);
    CHECK(journal.safety().last_notarize.slot == 5);
}

TEST_CASE("a log that lacks more than the page of the rows is lost", "[consensus][journal]") {
    const auto pages = three_pages();
    SafetyJournal whole = read_back(pages);
    CHECK(whole.settle(mark_of(pages[2]), false) == Standing::equal);
    const auto check_lost = [&](SafetyJournal journal, const JournalPage& page) {
        CHECK(journal.settle(mark_of(page), false) == Standing::lost);
        CHECK_FALSE(journal.safety().known);
        CHECK(journal.last_sequence() == page.sequence);
        // What is promised next takes its place.
        const std::vector<SafetyRecord> next{{.kind = RecordKind::produced, .slot = 9}};
        CHECK(journal.append(next).replaces);
    };
    check_lost(read_back({pages[0]}), pages[2]);
    check_lost(SafetyJournal::read(kKey, {}).value(), pages[2]);
    SECTION("as long, of other records") {
        SafetyJournal other(kKey);
        const std::vector<SafetyRecord> records(3, notarize(3));
        const JournalPage page = other.append(records);
        check_lost(read_back({page}), pages[2]);
    }
    SECTION("the page of the rows is damaged") {
        JournalPage page = pages[2];
        page.bytes[40] ^= std::byte{1};
        check_lost(read_back({pages[0], pages[1]}), page);
    }
}

TEST_CASE("beside the rows of another disk a journal is lost", "[consensus][journal]") {
    // Made for the same key elsewhere.
    SafetyJournal elsewhere(kKey);
    std::vector<JournalPage> others{test::first_page(elsewhere)};
    const std::vector<SafetyRecord> second{{.kind = RecordKind::produced, .slot = 5}, notarize(6)};
    others.push_back(elsewhere.append(second));
    SafetyJournal behind = read_back(three_pages());
    CHECK(behind.settle(mark_of(others[1]), false) == Standing::lost);
    CHECK_FALSE(behind.safety().known);
    const std::vector<SafetyRecord> third{notarize(7)};
    others.push_back(elsewhere.append(third));
    SafetyJournal as_long = read_back(three_pages());
    CHECK(as_long.settle(mark_of(others[2]), false) == Standing::lost);
    CHECK(as_long.last_sequence() == 4);
}

TEST_CASE("beside rows that know nothing of it a journal is lost, or new", "[consensus][journal]") {
    const auto pages = three_pages();
    SafetyJournal used = read_back(pages);
    CHECK(used.settle(std::nullopt, false) == Standing::lost);
    CHECK_FALSE(used.safety().known);
    SafetyJournal old = read_back({pages[0]});
    CHECK(old.settle(std::nullopt, true) == Standing::lost);
    CHECK_FALSE(old.safety().known);
    SafetyJournal fresh = read_back({pages[0]});
    CHECK(fresh.settle(std::nullopt, false) == Standing::fresh);
    CHECK(fresh.safety().known);
}

TEST_CASE("a whole journal among the rows takes the place of any older log",
          "[consensus][journal]") {
    const auto pages = three_pages();
    SafetyJournal before = read_back(pages);
    const JournalPage page = before.compacted(0);
    base::Bytes log = GENERATE_COPY(base::Bytes{}, joined({pages[0]}), joined(pages));
    SafetyJournal journal = SafetyJournal::read(kKey, log).value();
    REQUIRE(journal.settle(mark_of(page), false) == Standing::log_behind);
    CHECK(journal.last_sequence() == page.sequence);
    CHECK(journal.safety().lock_slot == 5);
    CHECK(journal.safety().lock_certificate != nullptr);
    CHECK(journal.safety().last_notarize.slot == 5);
}

// A new disk, on which the key is lost until it begins anew; then the rows of the old disk are put
// back, whose journal had come to higher numbers and was replaced last.
TEST_CASE("a whole journal of an earlier life among the rows takes the place of none",
          "[consensus][journal]") {
    SafetyJournal earlier = read_back(three_pages());
    const JournalPage page = earlier.compacted(0);
    REQUIRE(page.replaces);
    SafetyJournal again = SafetyJournal::lost(kKey, std::nullopt);
    const std::vector<SafetyRecord> base{
        {.kind = RecordKind::base, .slot = 90, .justify_slot = 90, .lock_slot = 90}};
    SafetyJournal journal = read_back({again.append(base)});
    REQUIRE(journal.safety().floor == 90);
    REQUIRE(journal.last_sequence() < page.sequence);
    CHECK(journal.settle(mark_of(page), false) == Standing::lost);
    CHECK_FALSE(journal.safety().known);
}

// The rows lose the one synced write that came with a whole journal; the log has it.
TEST_CASE("a journal replaced together with a promise is good beside rows one write behind",
          "[journal]") {
    const auto pages = three_pages();
    SafetyJournal before = read_back(pages);
    const SafetyRecord next = notarize(50);
    const JournalPage page = before.compacted(0, {&next, 1});
    REQUIRE(page.replaces);
    SafetyJournal journal = read_back({page});
    CHECK(journal.safety().last_notarize.slot == 50);
    CHECK(journal.settle(mark_of(pages.back()), false) == Standing::rows_behind);
    CHECK(journal.safety().known);
}

TEST_CASE("a compacted journal is good beside rows that are one write behind", "[journal]") {
    const auto pages = three_pages();
    SafetyJournal before = read_back(pages);
    const JournalPage page = before.compacted(0);
    REQUIRE(page.replaces);
    SafetyJournal journal = read_back({page});
    REQUIRE(journal.safety().lock_slot == 5);
    CHECK(journal.settle(mark_of(pages.back()), false) == Standing::rows_behind);
    CHECK(journal.safety().known);
    CHECK(journal.safety().lock_slot == 5);
}

TEST_CASE("a key that has answered a recovery signs nothing more, though its journal is lost",
          "[journal]") {
    auto pages = three_pages();
    SafetyJournal journal = read_back(pages);
    const std::vector<SafetyRecord> stop{{.kind = RecordKind::stopped}};
    const JournalPage stopped = journal.append(stop);
    SECTION("the log is lost, the rows say it") {
        SafetyJournal other = SafetyJournal::read(kKey, {}).value();
        (void)other.settle(mark_of(stopped), false);
        CHECK(other.safety().stopped);
    }
    SECTION("the log is lost, the rows have a later page") {
        const std::vector<SafetyRecord> later{
            {.kind = RecordKind::base, .slot = consensus::kLostSlot}};
        const JournalPage last = journal.append(later);
        CHECK(SafetyJournal::tells_stop(mark_of(last)));
        SafetyJournal other = SafetyJournal::read(kKey, {}).value();
        (void)other.settle(mark_of(last), false);
        CHECK(other.safety().stopped);
    }
    SECTION("the log says it, the rows are of elsewhere") {
        pages.push_back(stopped);
        SafetyJournal other = read_back(pages);
        REQUIRE(other.safety().stopped);
        (void)other.settle(std::nullopt, false);
        CHECK(other.safety().stopped);
    }
}

TEST_CASE("rows that lose the first page after a loss have the one before it",
          "[consensus][journal]") {
    const auto pages = three_pages();
    SafetyJournal lost = SafetyJournal::lost(kKey, mark_of(pages[2]));
    const SafetyRecord base{.kind = RecordKind::base, .slot = 50};
    const JournalPage first = lost.append({&base, 1});
    CHECK(first.replaces);
    SafetyJournal read = read_back({first});
    CHECK(read.settle(mark_of(pages[2]), true) == Standing::rows_behind);
    CHECK(read.safety().floor == 50);
    // Not another.
    SafetyJournal other = read_back({first});
    CHECK(other.settle(mark_of(pages[1]), true) == Standing::lost);
    CHECK_FALSE(other.safety().known);
}

// A file's end is its last block that is not blank.
TEST_CASE("no block of a page is blank, whatever its certificate ends with", "[journal]") {
    for (const std::size_t more : {0U, 1U, 2U, 3U}) {
        for (std::size_t signatures = 1; signatures <= 250; ++signatures) {
            chain::Certificate made = *certificate_of(5, signatures);
            made.signatures.back().compact.back() = std::byte{0};
            SafetyJournal journal(kKey);
            std::vector<SafetyRecord> promises{commit(5)};
            for (std::size_t i = 1; i <= more; ++i)
                promises.push_back(notarize(5 + i));
            const JournalPage page =
                journal.append(promises, std::make_shared<const chain::Certificate>(made));
            const auto last = base::ByteView(page.bytes).last(SafetyJournal::kBlockBytes);
            const bool is_blank =
                std::ranges::all_of(last, [](std::byte byte) { return byte == std::byte{0}; });
            if (is_blank) FAIL("of " << signatures << " signatures, records " << 1 + more);
        }
    }
}
