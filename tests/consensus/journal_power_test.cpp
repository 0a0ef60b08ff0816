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
    consensus::JournalPage page;
    std::map<chain::Slot, chain::BlockId> notarized;  // By us, and sent.
    std::set<chain::Slot> produced;
    chain::Slot lock = 0;
};

// The life of a validator: it makes blocks, votes, locks, and compacts its journal.
class Life {
  public:
    Life() {
        v_.options().journal_blocks_max = 12;
        v_.restart(test::read_journals(first_logs()));
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

    [[nodiscard]] static test::Logs first_logs() {
        return test::fresh_logs({consensus::key_tag(signing(1)), consensus::key_tag(voting(1))});
    }
    [[nodiscard]] const std::vector<JournalWrite>& writes() const { return writes_; }
    [[nodiscard]] const std::vector<chain::BlockPtr>& blocks() const { return blocks_; }

  private:
    // Effects in their order: a page is written, then what it allows leaves.
    void note(const consensus::Effects& effects) {
        for (const auto& one : effects) {
            if (const auto* persist = std::get_if<effect::Persist>(&one)) {
                for (const consensus::JournalPage& page : persist->pages) {
                    JournalWrite write = sent_;
                    write.page = page;
                    writes_.push_back(std::move(write));
                }
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
    std::vector<JournalWrite> writes_;
    std::vector<chain::BlockPtr> blocks_;
    JournalWrite sent_;  // Only what left.
};

// Where a write of so many bytes may end: sectors, and each side of each record's end.
std::vector<std::size_t> cuts(std::size_t size) {
    std::set<std::size_t> at;
    for (std::size_t end = 0; end <= size; end += SafetyJournal::kRecordBytes) {
        at.insert(end);
        if (end > 0) at.insert(end - 1);
        if (end < size) at.insert(end + 1);
    }
    return {at.begin(), at.end()};
}

// Starts from these logs and tempts it with other blocks in every slot. Returns how many of the
// promises that had left are broken.
std::size_t broken_promises(consensus::Journals journals,
                            const JournalWrite& sent,
                            const std::vector<chain::BlockPtr>& blocks) {
    Validator v;
    v.restart(std::move(journals));
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
    test::Logs durable = Life::first_logs();
    test::Logs before = durable;
    std::size_t replaced = 0;
    std::size_t torn_pages = 0;
    std::size_t noticed = 0;  // With a page less than was durable.
    for (const JournalWrite& write : life.writes()) {
        const base::Bytes& page = write.page.bytes;
        replaced += write.page.replaces ? 1U : 0U;
        // The conversation takes long: once for each journal that reads differently.
        std::set<std::pair<std::uint64_t, bool>> tried;
        for (const std::size_t end : cuts(page.size())) {
            test::Logs logs = durable;
            base::Bytes torn(page.size());
            std::copy_n(page.begin(), end, torn.begin());
            base::Bytes& log = logs.at(write.page.key);
            // A file that replaces the journal is not seen before it is whole.
            if (!write.page.replaces && end > 0) log.insert(log.end(), torn.begin(), torn.end());
            auto read = SafetyJournal::read(write.page.key, log);
            REQUIRE(read.has_value());
            torn_pages += read->torn() ? 1U : 0U;
            if (!tried.emplace(read->last_sequence(), read->torn()).second) continue;
            const std::size_t broken =
                broken_promises(test::read_journals(logs), write, life.blocks());
            CHECK(broken == 0);
        }
        noticed += broken_promises(test::read_journals(before), write, life.blocks());
        before = durable;
        test::write_page(durable, write.page);
    }
    CHECK(replaced >= 2);
    CHECK(torn_pages > life.writes().size());
    CHECK(noticed > 0);
}
