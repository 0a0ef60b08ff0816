#include "tests/consensus/fixture.hpp"

#include <map>
#include <set>

// The power goes at every write of the safety journal, enumerated: before the page, within it at
// every sector and around every record, and after it. Whatever left before must bind the
// validator that starts again from what the disk holds.

namespace effect = consensus::effect;
namespace input = consensus::input;
using consensus::SafetyJournal;
using test::all;
using test::kCommit;
using test::kNotarize;
using test::signing;
using test::Validator;
using test::voting;

namespace {

// One write of the journal, and what had left before it was durable.
struct JournalWrite {
    base::Bytes page;
    bool replace = false;
    std::map<chain::Slot, chain::BlockId> notarized;  // By us, and sent.
    std::set<chain::Slot> produced;
    chain::Slot lock = 0;
};

// The life of a validator: it makes blocks, votes, locks, and compacts its journal.
class Life {
  public:
    Life() {
        v_.options().journal_pages_max = 12;
        journal_ = {first_page()};
        v_.restart(SafetyJournal::read(journal_).value());
        chain::BlockPtr tip = v_.genesis();
        for (chain::Slot slot = 1; slot <= 30; ++slot) {
            const bool own = slot % 4 == 0;
            const bool certified = slot % 3 != 0;
            const chain::BlockPtr justify =
                tip->header.slot % 3 != 0 && tip != v_.genesis() ? tip : nullptr;
            note(v_.tick(slot));
            const auto block = v_.block(slot, tip, {.justify = justify});
            blocks_.push_back(block);
            note(v_.adopt(block, own));
            if (own) sent_.produced.insert(slot);
            if (certified) note(v_.certify(kNotarize, block));
            if (slot % 7 == 0) {
                note(v_.certify(kCommit, block));
                v_.step(v_.at(slot, 30), input::FinalDurable{slot});
            }
            tip = block;
        }
    }

    [[nodiscard]] base::Bytes first_page() const {
        SafetyJournal journal;
        const std::vector<consensus::SafetyRecord> records{
            {.kind = consensus::RecordKind::base, .key = consensus::key_tag(signing(1))},
            {.kind = consensus::RecordKind::base, .key = consensus::key_tag(voting(1))}};
        return journal.append(records);
    }
    [[nodiscard]] const std::vector<JournalWrite>& writes() const { return writes_; }
    [[nodiscard]] const std::vector<chain::BlockPtr>& blocks() const { return blocks_; }

  private:
    // Effects in their order: a page is written, then what it allows leaves.
    void note(const consensus::Effects& effects) {
        for (const auto& one : effects) {
            if (const auto* persist = std::get_if<effect::Persist>(&one)) {
                if (persist->journal_page.empty()) continue;
                JournalWrite write = sent_;
                write.page = persist->journal_page;
                write.replace = persist->replace_journal;
                writes_.push_back(std::move(write));
            } else if (const auto* vote = std::get_if<effect::CastVote>(&one)) {
                if (vote->data.kind == kNotarize) {
                    sent_.notarized[vote->data.slot] = vote->data.block_id;
                } else {
                    sent_.lock = vote->data.slot;
                }
            }
        }
    }

    Validator v_;
    std::vector<base::Bytes> journal_;
    std::vector<JournalWrite> writes_;
    std::vector<chain::BlockPtr> blocks_;
    JournalWrite sent_;  // Only what left.
};

// Where a write may end: sectors, and each side of each record's end.
std::vector<std::size_t> cuts() {
    std::set<std::size_t> at;
    for (std::size_t end = 0; end <= SafetyJournal::kPageBytes;
         end += SafetyJournal::kRecordBytes) {
        at.insert(end);
        if (end > 0) at.insert(end - 1);
        if (end < SafetyJournal::kPageBytes) at.insert(end + 1);
    }
    return {at.begin(), at.end()};
}

// Starts from these pages and tempts it with other blocks in every slot. Returns how many of the
// promises that had left are broken.
std::size_t broken_promises(SafetyJournal journal,
                            const JournalWrite& sent,
                            const std::vector<chain::BlockPtr>& blocks) {
    Validator v;
    v.restart(std::move(journal));
    std::size_t broken = 0;
    chain::BlockPtr tip = v.genesis();
    for (const chain::BlockPtr& block : blocks) {
        const chain::Slot slot = block->header.slot;
        if (sent.produced.contains(slot)) broken += all<effect::Produce>(v.tick(slot)).size();
        const auto other = v.block(slot, tip, {.variant = 9});
        for (const effect::CastVote& vote : all<effect::CastVote>(v.adopt(other))) {
            if (vote.data.kind != kNotarize) continue;
            if (sent.notarized.contains(vote.data.slot)) ++broken;
            if (vote.data.justify_slot < sent.lock) ++broken;
        }
        tip = other;
    }
    return broken;
}

}  // namespace

TEST_CASE("after a power cut at any write of the journal nothing is promised twice",
          "[consensus][journal][power]") {
    const Life life;
    REQUIRE(life.writes().size() > 40);
    std::vector<base::Bytes> durable{life.first_page()};
    std::size_t replaced = 0;
    std::size_t torn_pages = 0;
    std::size_t noticed = 0;  // With a page less than was durable.
    for (const JournalWrite& write : life.writes()) {
        replaced += write.replace ? 1U : 0U;
        // The conversation takes long: once for each journal that reads differently.
        std::set<std::pair<std::uint64_t, bool>> tried;
        for (const std::size_t end : cuts()) {
            std::vector<base::Bytes> pages = durable;
            base::Bytes torn(SafetyJournal::kPageBytes);
            std::copy_n(write.page.begin(), end, torn.begin());
            // A file that replaces the journal is not seen before it is whole.
            if (!write.replace && end > 0) pages.push_back(torn);
            auto read = SafetyJournal::read(pages);
            REQUIRE(read.has_value());
            torn_pages += read->torn() ? 1U : 0U;
            if (!tried.emplace(read->last_sequence(), read->torn()).second) continue;
            const std::size_t broken = broken_promises(*std::move(read), write, life.blocks());
            CHECK(broken == 0);
        }
        if (durable.size() > 1) {
            const std::vector<base::Bytes> fewer(durable.begin(), durable.end() - 1);
            noticed += broken_promises(SafetyJournal::read(fewer).value(), write, life.blocks());
        }
        if (write.replace) durable.clear();
        durable.push_back(write.page);
    }
    CHECK(replaced >= 2);
    CHECK(torn_pages > life.writes().size());
    CHECK(noticed > 0);
}
