#include "base/check.hpp"
#include "tests/sim/full/machine.hpp"

// What happens to the disk of a machine besides power cuts.

namespace sim::full {

void Machine::lose_journal() {
    if (setup_.mutant != Mutant::journal_lost_ignored) return pages_.clear();
    auto journal = consensus::SafetyJournal::read(pages_);
    if (!journal) return;
    auto fresh = consensus::SafetyJournal::lost(journal->last_sequence());
    std::vector<consensus::SafetyRecord> records;
    for (const base::crypto::PublicKey& key : signer_.keys()) {
        records.push_back({.kind = consensus::RecordKind::base, .key = consensus::key_tag(key)});
    }
    pages_ = {fresh.append(records)};
}

void Machine::replace_disk() {
    const auto first = node::Core::first_batch(genesis_);
    CHECK(first.has_value());
    storage_.replace(*first);
    pages_.clear();
    in_flight_.clear();
    is_broken_ = false;
}

void Machine::copy_disk() {
    if (!has_bad_disk()) copy_ = Copy{storage_.rows(), pages_};
}

bool Machine::put_back_copy() {
    if (!copy_) return false;
    storage_.replace(copy_->rows);
    pages_ = copy_->pages;
    in_flight_.clear();
    is_broken_ = false;
    return true;
}

void Machine::flip_bit(Chance& chance) {
    if (pages_.empty() || chance.percent(50)) return storage_.damage(chance.below(SIZE_MAX / 2));
    base::Bytes& page = pages_[chance.below(pages_.size())];
    page[chance.below(page.size())] ^= std::byte{1} << chance.below(8);
}

void Machine::break_disk() {
    is_broken_ = true;
    storage_.fail_reads(base::Error{base::Errc::unavailable, kBrokenDisk});
}

}  // namespace sim::full
