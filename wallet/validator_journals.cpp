#include "wallet/validator_journals.hpp"

#include "chain/types/exception.hpp"
#include "node/disk/journal_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace wallet {

using base::Result;
using base::crypto::PublicKey;
using chain::Exception;
using consensus::KeySafety;
using consensus::RecordKind;
using consensus::SafetyRecord;

namespace {

constexpr std::uint64_t kBlocksMax = 1024;  // 4 MiB; then the journal is compacted.

template <class... Parts>
auto refuse(fmt::format_string<Parts...> text, Parts&&... parts) {
    return chain::fail(Exception::wallet_exception,
                       fmt::format(text, std::forward<Parts>(parts)...));
}

SafetyRecord record_of(const KeySafety& safety, const chain::VoteData& vote) {
    SafetyRecord record{.kind = RecordKind::notarize,
                        .slot = vote.slot,
                        .justify_slot = vote.justify_slot,
                        .lock_slot = safety.lock_slot,
                        .block = vote.block_id,
                        .lock = safety.lock};
    if (vote.kind == chain::VoteKind::notarize) return record;
    record.kind = RecordKind::commit;
    record.lock_slot = vote.slot;
    record.lock = vote.block_id;
    return record;
}

// Rule R1, as far as it can be told from the journal.
Result<void> check_notarize(const KeySafety& safety, const chain::VoteData& vote) {
    if (vote.slot <= safety.last_notarize.slot) {
        return refuse("the key has voted NOTARIZE in slot {} already, so not in slot {}",
                      safety.last_notarize.slot,
                      vote.slot);
    }
    if (vote.slot <= safety.lock_slot || vote.justify_slot < safety.lock_slot) {
        return refuse(
            "the key is locked on slot {}, which a NOTARIZE of slot {} on slot {} does not respect",
            safety.lock_slot,
            vote.slot,
            vote.justify_slot);
    }
    return {};
}

// Rule R2, likewise.
Result<void> check_commit(const KeySafety& safety, const chain::VoteData& vote) {
    if (vote.slot <= safety.floor) {
        return refuse(
            "what the key has promised up to slot {} is forgotten, so it votes no COMMIT "
            "of slot {}",
            safety.floor,
            vote.slot);
    }
    if (vote.slot <= safety.lock_slot) {
        return refuse("the key is locked on slot {}, so it votes no COMMIT of slot {}",
                      safety.lock_slot,
                      vote.slot);
    }
    const auto conflicts = [&](const consensus::PastVote& past) {
        return past.slot > vote.slot && past.justify_slot < vote.slot;
    };
    const auto found = std::ranges::find_if(safety.past_votes, conflicts);
    if (found == safety.past_votes.end()) return {};
    return refuse("the key's NOTARIZE of slot {} on slot {} may conflict with a COMMIT of slot {}",
                  found->slot,
                  found->justify_slot,
                  vote.slot);
}

}  // namespace

struct ValidatorJournals::Journal {
    consensus::SafetyJournal safety;
    std::unique_ptr<node::JournalFile> file;
};

ValidatorJournals::ValidatorJournals(std::string directory) : directory_(std::move(directory)) {}
ValidatorJournals::~ValidatorJournals() = default;

std::string ValidatorJournals::path_of(const PublicKey& key) const {
    return directory_ + "/" + key.to_string() + ".journal";
}

bool ValidatorJournals::has(const PublicKey& key) const {
    std::error_code ignored;
    return journals_.contains(key) || std::filesystem::exists(path_of(key), ignored);
}

Result<void> ValidatorJournals::create(const PublicKey& key) {
    consensus::SafetyJournal journal(consensus::key_tag(key));
    const std::array records{SafetyRecord{.kind = RecordKind::base}};
    auto made = node::JournalFile::create(path_of(key), journal.append(records).bytes);
    if (!made) return refuse("{}", made.error().detail);
    return {};
}

Result<ValidatorJournals::Journal*> ValidatorJournals::open(const PublicKey& key) {
    if (const auto found = journals_.find(key); found != journals_.end()) {
        return found->second.get();
    }
    if (!has(key)) {
        return refuse(
            "{} has no safety journal here: 'bor-cli wallet create_key --vote' makes "
            "validators' keys",
            key.to_string());
    }
    auto file = node::JournalFile::open(path_of(key));
    if (!file) return refuse("{}", file.error().detail);
    auto bytes = (*file)->read();
    if (!bytes) return refuse("{}", bytes.error().detail);
    auto safety = consensus::SafetyJournal::read(consensus::key_tag(key), *bytes);
    if (!safety) return refuse("{}: {}", path_of(key), safety.error().detail);
    if (!safety->safety().known) return refuse("{}: nothing of it is whole", path_of(key));
    auto journal = std::make_unique<Journal>(Journal{*std::move(safety), *std::move(file)});
    if (journal->safety.torn()) {
        auto done = compact(*journal);
        if (!done) return base::fail(done.error());
    }
    return journals_.emplace(key, std::move(journal)).first->second.get();
}

Result<void> ValidatorJournals::write(const PublicKey& key, const SafetyRecord& record) {
    Journal& journal = *journals_.at(key);
    const std::array records{record};
    if (auto done = journal.file->append_page(journal.safety.append(records).bytes); !done) {
        journals_.erase(key);
        return refuse("{}", done.error().detail);
    }
    journal.safety.forget_votes_up_to(journal.safety.safety().lock_slot);
    // The record is durable, and the file has room for many more.
    if (journal.file->block_count() >= kBlocksMax && !compact(journal)) journals_.erase(key);
    return {};
}

// Votes up to the lock decide nothing any more: R2 looks at those above a block above it.
Result<void> ValidatorJournals::compact(Journal& journal) {
    const auto page = journal.safety.compacted(journal.safety.safety().lock_slot);
    if (auto done = journal.file->compact(page.bytes); !done) {
        return refuse("{}", done.error().detail);
    }
    return {};
}

Result<ValidatorJournals::Journal*> ValidatorJournals::open_to_sign(const PublicKey& key) {
    auto journal = open(key);
    if (!journal || !(*journal)->safety.safety().stopped) return journal;
    return refuse("{} has answered a recovery, so it signs no header and no vote any more",
                  key.to_string());
}

Result<void> ValidatorJournals::stop(const PublicKey& key) {
    auto journal = open(key);
    if (!journal) return base::fail(journal.error());
    if ((*journal)->safety.safety().stopped) return {};
    return write(key, {.kind = RecordKind::stopped});
}

// A lock above the last vote binds from its own slot on. Past votes decide nothing any more: no
// COMMIT of a slot at or below theirs follows.
Result<ValidatorJournals::GivenUp> ValidatorJournals::give_up_lock(const PublicKey& key) {
    auto journal = open_to_sign(key);
    if (!journal) return base::fail(journal.error());
    const KeySafety& safety = (*journal)->safety.safety();
    if (safety.lock_slot == 0) {
        return refuse(
            "{} is locked on nothing, so there is nothing to give up; why it does not vote says "
            "the log of its node",
            key.to_string());
    }
    const consensus::PastVote& last = safety.last_notarize;
    const GivenUp given_up{.lock_slot = safety.lock_slot,
                           .lock = safety.lock,
                           .up_to = std::max({last.slot, safety.lock_slot, safety.floor})};
    const SafetyRecord record{.kind = RecordKind::base,
                              .slot = given_up.up_to,
                              .justify_slot = last.justify_slot,
                              .block = given_up.up_to == last.slot ? last.block : base::Hash256{}};
    if (auto done = write(key, record); !done) return base::fail(done.error());
    return given_up;
}

Result<void> ValidatorJournals::allow_header(const PublicKey& key,
                                             const chain::BlockHeader& header) {
    auto journal = open_to_sign(key);
    if (!journal) return base::fail(journal.error());
    const KeySafety& safety = (*journal)->safety.safety();
    if (header.slot <= safety.produced_slot) {
        return refuse("the key has signed a header of slot {} already, so none of slot {}",
                      safety.produced_slot,
                      header.slot);
    }
    return write(key, {.kind = RecordKind::produced, .slot = header.slot, .block = header.id()});
}

Result<void> ValidatorJournals::allow_vote(const PublicKey& key, const chain::VoteData& vote) {
    auto journal = open_to_sign(key);
    if (!journal) return base::fail(journal.error());
    const KeySafety& safety = (*journal)->safety.safety();
    auto good = vote.kind == chain::VoteKind::notarize ? check_notarize(safety, vote)
                                                       : check_commit(safety, vote);
    if (!good) return good;
    return write(key, record_of(safety, vote));
}

}  // namespace wallet
