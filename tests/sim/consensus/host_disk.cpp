#include "tests/sim/consensus/cluster.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

// What happens to the disk of a machine. One of its two parts, the rows and the journals, may lose
// anything on any number of machines; where both go back the machine counts as Byzantine (spec 04,
// "Safety journal").

namespace sim {

namespace {

constexpr std::size_t kDamagedBytes = 1'024;  // Where records and certificates lie in a block.

bool is_same(const consensus::PastVote& a, const consensus::PastVote& b) {
    return a.slot == b.slot && a.justify_slot == b.justify_slot && a.block == b.block;
}

bool knows_the_same(const consensus::KeySafety& a, const consensus::KeySafety& b) {
    const bool has_lock =
        (a.lock_certificate == nullptr) == (b.lock_certificate == nullptr) &&
        (a.lock_certificate == nullptr || *a.lock_certificate == *b.lock_certificate);
    return has_lock && a.known == b.known && a.floor == b.floor && a.lock_slot == b.lock_slot &&
           a.lock == b.lock && a.produced_slot == b.produced_slot &&
           is_same(a.last_notarize, b.last_notarize) &&
           std::ranges::equal(a.past_votes, b.past_votes, is_same);
}

bool has_one_page_each(const std::vector<consensus::JournalPage>& pages) {
    std::set<consensus::KeyTag> keys;
    return std::ranges::all_of(pages,
                               [&](const auto& page) { return keys.insert(page.key).second; });
}

}  // namespace

// --- The end of a process ---

void Host::kill() {
    end();
    disk_.kill();
}

void Host::cut_power(bool loses_synced) {
    end();
    std::vector<consensus::KeyTag> to_mend;
    for (const auto& [key, journal] : read_journals(to_mend))
        done_.try_emplace(key, journal.last_sequence());
    bool has_begun = false;  // A write of which something is there.
    disk_.cut_power(cluster_.chance(), [&](Stored& state, const Write& write) {
        if (write.pages.empty()) return;
        // Its pages, parts of them, and its rows are written side by side; a page that replaces
        // its journal comes after its rows.
        const bool has_rows = cluster_.chance().percent(40);
        if (has_rows) apply_rows(state, write);
        has_begun = has_rows;
        for (const consensus::JournalPage& page : write.pages) {
            consensus::JournalPage torn = page;
            torn.bytes = torn_page(page.bytes, cluster_.chance());
            if (page.replaces || torn.bytes == page.bytes) continue;
            if (cluster_.chance().percent(30)) {
                test::write_page(state.logs, torn);
                has_begun = true;
            } else if (cluster_.chance().percent(30)) {
                apply_page(state, page);
                has_begun = true;
            }
        }
    });
    if (loses_synced && rows_before_) {
        lost_nothing_ = false;
        const auto is_known = [](const auto& each) { return each.second.safety().known; };
        const bool knows_all = std::ranges::all_of(read_journals(to_mend), is_known);
        // Such a page is there after its rows were: they lose two writes then.
        const bool is_replaced =
            std::ranges::any_of(unsynced_pages_, &consensus::JournalPage::replaces);
        Stored& state = disk_.state();
        const bool loses_rows = cluster_.chance().percent(50) && !loses_only_copy(*rows_before_);
        // A journal that lacks a page, and has a part of the next, or rows that know of it, has
        // lost more.
        lost_one_write_ = may_lose_part() && knows_all && !is_replaced &&
                          (loses_rows || !has_begun) && has_one_page_each(synced_pages_);
        if (loses_rows) {
            static_cast<Rows&>(state) = *rows_before_;
        } else {
            for (const consensus::JournalPage& page : synced_pages_)
                test::lose_page(state.logs, page);
        }
    }
    forget_last_sync();
}

// Its rows are others now.
void Host::forget_last_sync() {
    rows_before_.reset();
    synced_pages_.clear();
    unsynced_pages_.clear();
}

void Host::end() {
    knew_all_ = !lost();
    consensus_.reset();
    ++epoch_;
}

// --- While it is down: one of its two parts ---

// Two losses one after another, of which the first was not mended yet, are of both parts.
bool Host::may_lose_part() const {
    return is_mended_ && knew_all_;
}

// Of a lock's block: without it the chain waits for a recovery, or for an operator who accepts
// amnesia (spec 04, "Safety journal"). A schedule of one validator may have it nowhere else; of
// others all may lose their rows in one cut, beside the page of a COMMIT that never left.
bool Host::loses_only_copy(const Rows& left) const {
    const bool is_alone = std::ranges::any_of(cluster_.universe().choices,
                                              [](const auto& all) { return all.size() == 1; });
    if (is_alone) return true;
    const auto& hosts = cluster_.hosts();
    for (const auto& each : disk_.state().blocks) {
        const chain::BlockId& id = each.first;
        const auto holds = [&](const auto& host) {
            return host != nullptr && host.get() != this && host->disk_.state().blocks.contains(id);
        };
        const auto locks = [&](const auto& host) {
            return host != nullptr && host->has_lock_on(id);
        };
        if (left.blocks.contains(id) || std::ranges::any_of(hosts, holds)) continue;
        if (std::ranges::any_of(hosts, locks)) return true;
    }
    return false;
}

bool Host::has_lock_on(const chain::BlockId& block) const {
    std::vector<consensus::KeyTag> to_mend;
    return std::ranges::any_of(read_journals(to_mend), [&](const auto& each) {
        const consensus::KeySafety& safety = each.second.safety();
        return safety.lock_slot > 0 && safety.lock == block;
    });
}

// What the keys knew before something is lost.
void Host::remember_journals() {
    lost_nothing_ = lost_one_write_ = false;
    std::vector<consensus::KeyTag> to_mend;
    if (!known_before_) known_before_ = read_journals(to_mend);
}

// A key whose journal or rows have lost something is lost, or knows all that it knew, or what it
// can have acted on.
void Host::check_journals(const consensus::Journals& opened) {
    const auto done = std::exchange(done_, {});
    const auto knew = std::exchange(knew_, {});
    for (const auto& [key, journal] : opened) {
        if (journal.safety().known) {
            knew_.insert(key);
        } else if (lost_nothing_ && knew_all_ && knew.contains(key)) {
            cluster_.observer().fail("a key is lost whose disk has lost nothing");
        }
    }
    lost_nothing_ = true;
    if (std::exchange(lost_one_write_, false)) {
        // Whichever of the two it was, the other has it (spec 04).
        for (const base::crypto::PublicKey& own : keys()) {
            if (may_have_signed(own) && !opened.at(consensus::key_tag(own)).safety().known) {
                cluster_.observer().fail("a key is lost with one write of its journal or its rows");
            }
        }
    }
    if (!known_before_) return;
    const consensus::Journals known = *std::exchange(known_before_, std::nullopt);
    for (const base::crypto::PublicKey& own : keys()) {
        // What a key signed that is in force no more is of slots below the final block.
        if (!may_have_signed(own)) continue;
        const consensus::KeyTag key = consensus::key_tag(own);
        const consensus::SafetyJournal& before = known.at(key);
        const consensus::KeySafety& now = opened.at(key).safety();
        const bool was_lost = !before.safety().known;
        if (was_lost || !now.known || knows_the_same(now, before.safety())) continue;
        const std::uint64_t last = opened.at(key).last_sequence();
        const auto page = done.find(key);
        const bool is_done_known = page != done.end() && last >= page->second;
        if (is_done_known && last < before.last_sequence()) continue;
        cluster_.observer().fail("a journal is believed that does not know what its key signed");
    }
}

// An old journal beside rows that went back, too, is an old copy of the machine.
void Host::lose_journal(bool old) {
    if (!is_mended_ || (old && !knew_all_)) return;
    remember_journals();
    if (old) {
        disk_.state().logs = early_logs_;
    } else {
        disk_.state().logs.clear();
    }
}

// The last pages of it.
bool Host::lose_tail() {
    if (!may_lose_part()) return false;
    remember_journals();
    constexpr std::size_t kBlock = consensus::SafetyJournal::kBlockBytes;
    const std::size_t lost = 1 + cluster_.chance().below(4);
    for (auto& [key, log] : disk_.state().logs) {
        const std::size_t blocks = log.size() / kBlock;
        if (blocks > lost) log.resize((blocks - lost) * kBlock);
    }
    return true;
}

// A bit of it flips, or a block of it is gone.
bool Host::damage_journal() {
    test::Logs& logs = disk_.state().logs;
    if (!may_lose_part() || logs.empty()) return false;
    remember_journals();
    Chance& chance = cluster_.chance();
    constexpr std::size_t kBlock = consensus::SafetyJournal::kBlockBytes;
    const auto at = static_cast<std::ptrdiff_t>(chance.below(logs.size()));
    base::Bytes& log = std::next(logs.begin(), at)->second;
    if (log.empty()) return false;
    const std::size_t blocks = log.size() / kBlock;
    const std::size_t back = chance.below(chance.percent(50) ? blocks : std::min(blocks, 3UL));
    const std::size_t block = (blocks - 1 - back) * kBlock;
    if (chance.percent(20)) {
        std::fill_n(log.begin() + static_cast<std::ptrdiff_t>(block), kBlock, std::byte{0});
    } else {
        log[block + chance.below(kDamagedBytes)] ^= std::byte{1} << chance.below(8);
    }
    return true;
}

bool Host::put_back_rows() {
    if (!may_lose_part() || !copy_ || loses_only_copy(*copy_)) return false;
    remember_journals();
    static_cast<Rows&>(disk_.state()) = static_cast<const Rows&>(*copy_);
    forget_last_sync();
    shown_final_ = 0;
    cluster_.observer().starts_over(index_);
    return true;
}

// --- While it is down: both ---

void Host::forget_all() {
    lost_nothing_ = false;
    for (const base::crypto::PublicKey& key : keys())
        cluster_.observer().forgets_answer(key);
    forget_last_sync();
    cluster_.observer().starts_over(index_);
    shown_final_ = 0;
}

void Host::replace_disk(bool keeps_journal) {
    lost_one_write_ = false;
    known_before_.reset();
    if (keeps_journal) remember_journals();
    disk_ = {};
    // With a journal that says that its key is new it would be an old copy of the whole machine,
    // which counts as Byzantine (spec 04).
    for (const auto& [key, journal] : test::read_journals(early_logs_)) {
        const consensus::KeySafety& early = journal.safety();
        const bool is_new = early.floor == 0 && early.last_notarize.slot == 0 &&
                            early.lock_slot == 0 && early.produced_slot == 0;
        if (keeps_journal && !is_new) disk_.state().logs[key] = early_logs_.at(key);
    }
    const Universe& universe = cluster_.universe();
    disk_.state().base = {universe.genesis, chain::first_schedules({0, universe.choices[0]})};
    early_logs_.clear();
    forget_all();
}

bool Host::load_snapshot(const Host& from) {
    const Rows& there = from.disk_.state();
    if (!there.commit || there.commit->data.slot <= there.base.block->header.slot) return false;
    remember_journals();
    Rows rows{
        .blocks = {}, .notarize = {}, .commit = there.commit, .base = there.base, .marks = {}};
    chain::BlockId id = there.commit->data.block_id;
    while (id != there.base.block->id) {
        const chain::BlockPtr& block = there.blocks.at(id);
        rows.blocks.emplace(id, block);
        id = block->header.previous;
    }
    const chain::Slot final = rows.commit->data.slot;
    Chance& chance = cluster_.chance();
    test::Logs logs = disk_.state().logs;
    if (chance.percent(50)) {
        logs = test::fresh_logs(tags());
    } else if (chance.percent(50)) {
        logs = early_logs_;
    }
    disk_ = {};
    static_cast<Rows&>(disk_.state()) = std::move(rows);
    disk_.state().logs = early_logs_ = std::move(logs);
    forget_all();
    shown_final_ = final;
    return true;
}

void Host::copy_disk() {
    copy_ = disk_.state();
}

bool Host::put_back_copy() {
    if (!copy_) return false;
    lost_one_write_ = false;
    known_before_.reset();
    disk_.state() = *copy_;
    early_logs_ = copy_->logs;
    is_old_copy_ = true;
    forget_all();
    return true;
}

// --- An old copy of the whole machine ---

// What it signs then may contradict what it has signed and forgotten, where none of those whom it
// has to ask knows of that: a quorum with itself.
void Host::signs_as_old_copy(const base::crypto::PublicKey& key) {
    if (!is_old_copy_ || known_lost_.contains(key)) return;
    const bool has_asked = std::ranges::any_of(cluster_.universe().choices, [&](const auto& all) {
        const auto heard = std::ranges::count_if(all, [&](const chain::ScheduleEntry& entry) {
            const Member* member = cluster_.universe().owner(entry.signing_key);
            return answered_.contains(
                static_cast<std::size_t>(member - cluster_.universe().members.data()));
        });
        return static_cast<std::size_t>(heard) >= 2 * all.size() / 3 + 1;
    });
    if (has_asked) cluster_.observer().excuse(key);
}

// Somebody says what it has seen of our votes. A key that was lost, and votes again, has given up
// the votes up to its floor: it knows no less without them.
void Host::is_told(std::size_t from, const VotesSeen& seen) {
    answered_.insert(from);
    for (const chain::Vote& vote : seen.votes) {
        const auto& safety = consensus_->journals().at(consensus::key_tag(vote.key)).safety();
        if (safety.known && vote.data.slot <= safety.floor) continue;
        const auto kind = vote.data.kind == chain::VoteKind::commit
                              ? consensus::RecordKind::commit
                              : consensus::RecordKind::notarize;
        if (!disk_.state().promises.contain(kind, vote.key, vote.data.slot)) {
            known_lost_.insert(vote.key);
        }
    }
}

}  // namespace sim
