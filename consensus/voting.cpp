#include "base/check.hpp"
#include "chain/types/rule.hpp"
#include "consensus/consensus.hpp"
#include "consensus/recent.hpp"

#include <algorithm>
#include <utility>

// What we vote for, and what votes make final (spec 04, R1 to R5).

namespace consensus {

using chain::is_left_out;
using chain::Rule;

namespace {

// How long a vote waits for the block of a certificate that its head's slot is past.
constexpr base::Duration kMissingFor = std::chrono::seconds(4);
// A COMMIT must be able to arrive before its slot ends: at least this much earlier (R2, G).
constexpr base::Duration kGuardMin = std::chrono::milliseconds(2);
constexpr int kGuardDelays = 4;
constexpr int kGuardShare = 4;

}  // namespace

// --- Counting ---

void Consensus::count(base::Timestamp now,
                      const chain::Vote& vote,
                      BlockNode& block,
                      Effects& out) {
    const chain::VoteKind kind = vote.data.kind;
    const bool decided = kind == chain::VoteKind::commit ? block.slot() <= finalized().slot
                                                         : block.notarized.has_value();
    if (decided) return;
    if (!is_left_out(Rule::vote_of_its_block) && vote.data != block.vote_data(kind)) return;
    const chain::ScheduleState& schedules = voters(block);
    Tally& tally = block.tally(kind);
    if (!tally.add(vote.key, vote.signature, schedules)) return;
    auto certificate = tally.certificate(vote.data, schedules);
    if (!certificate) return;
    if (kind == chain::VoteKind::commit) {
        finalize(now, *certificate, out);
        pass_on(*certificate, block, out);
    } else {
        apply_notarize(now, *certificate, block, out);
    }
}

// Votes and certificates that came before their block.
void Consensus::count_early(base::Timestamp now, BlockNode& block, Effects& out) {
    for (const chain::VoteKind kind : {chain::VoteKind::notarize, chain::VoteKind::commit}) {
        const chain::VoteData data = block.vote_data(kind);
        for (const chain::Schedule* schedule :
             {block.schedules.active.get(), block.schedules.pending()}) {
            if (schedule == nullptr) continue;
            for (const chain::ScheduleEntry& entry : schedule->entries) {
                const chain::Vote* vote = history_.find(entry.vote_key, data);
                if (vote != nullptr) count(now, chain::Vote(*vote), block, out);
            }
        }
        std::optional<EarlyCertificate>& early = early_[index_of(kind)];
        if (early && early->certificate.data.block_id == block.id()) {
            count_early(now, early, block, out);
        }
    }
}

// One that was verified under other schedules than its block's may lack the quorum of one of them
// (R5): it has to come again.
void Consensus::count_early(base::Timestamp now,
                            std::optional<EarlyCertificate>& early,
                            const BlockNode& block,
                            Effects& out) {
    const EarlyCertificate came = *std::exchange(early, std::nullopt);
    const bool counts = is_left_out(Rule::certificate_schedules) || !came.schedules ||
                        *came.schedules == block.schedules;
    if (counts) on_certificate(now, came.certificate, out);
}

void Consensus::apply_notarize(base::Timestamp now,
                               const chain::Certificate& certificate,
                               BlockNode& block,
                               Effects& out) {
    tree_.certify(block, certificate);
    Promises promises;
    const bool is_checked = is_left_out(Rule::unchecked_below) || !has_spared();
    for (const OwnKey& own : own_) {
        const KeySafety* safety = voting_safety(own);
        if (safety == nullptr || !is_member(block, own)) continue;
        if (is_checked && in_time(now, block.slot()) &&
            is_time(now, block.slot(), *block.schedules.active) && may_commit(block, *safety)) {
            promise_commit(block, own, promises);
        }
    }
    // The order is the point: lock and certificate are durable before anybody can see either.
    effect::Persist persist{.pages = {}, .block = {}, .certificate = certificate};
    if (is_left_out(Rule::lock_with_certificate)) persist.certificate.reset();
    persist_promises(promises, std::move(persist), out);
    out.push_back(effect::PassOn{certificate});
    for (effect::CastVote& vote : promises.votes) {
        out.push_back(std::move(vote));
    }
}

void Consensus::finalize(base::Timestamp now, const chain::Certificate& certificate, Effects& out) {
    BlockNode* block = tree_.find(certificate.data.block_id);
    CHECK(block != nullptr);
    // A restart would believe the witnesses from its `final` on. The end of its range comes soon.
    if (block->is_spared) return;
    make_final(now, *block);
    final_certificate_ = certificate;
    out.push_back(effect::Finalize{block->id(), certificate, tree_.base()});
    regain(now, out);
}

// One of them, whichever votes are in it: a block that was spared is not final with it, and there
// are as many certificates of it as there are quorums.
void Consensus::pass_on(const chain::Certificate& commit, BlockNode& block, Effects& out) {
    if (!std::exchange(block.is_passed_on, true)) out.push_back(effect::PassOn{commit});
}

void Consensus::make_final(base::Timestamp now, BlockNode& block) {
    const auto before = tree_.finalized().schedules.active;
    std::vector<chain::BlockId> dropped;  // The ledger drops the same.
    tree_.finalize(block, dropped);
    final_at_ = now;
    counted_.clear();
    for (std::optional<EarlyCertificate>& early : early_) {
        if (early && early->certificate.data.slot <= block.slot()) early.reset();
    }
    if (block.schedules.active != before) {
        history_.forget_others([&](const auto& key) { return is_validator(key); });
        clocks_.forget_others([&](const auto& key) { return is_validator(key); });
    }
}

// --- Evidence ---

void Consensus::note_vote(const chain::Vote& vote, Effects& out) {
    std::optional<chain::Evidence> found;
    history_.each(vote.key, [&](const chain::Vote& seen) {
        if (found || is_left_out(Rule::evidence_of_votes)) return;
        found = find_evidence(seen, vote);
        if (found && !complete(*found)) found.reset();
    });
    if (found) accuse(key_tag(vote.key), *std::move(found), out);
    history_.add(vote);
}

void Consensus::note_signers(const chain::Certificate& certificate,
                             const chain::ScheduleState& schedules,
                             Effects& out) {
    const auto keys = signers(certificate, schedules);
    for (std::size_t i = 0; i < keys.size() && i < certificate.signatures.size(); ++i) {
        note_vote({certificate.data, keys[i], certificate.signatures[i]}, out);
    }
}

// Adds the headers that show that the block of the NOTARIZE does not extend the COMMIT's.
// False: it does, or the headers are not here.
bool Consensus::complete(chain::Evidence& evidence) const {
    auto* pair = std::get_if<chain::ForbiddenCommit>(&evidence);
    if (pair == nullptr) return true;
    const chain::VoteData& commit = pair->commit.data;
    const chain::VoteData& notarize = pair->notarize.data;
    if (notarize.height <= commit.height) return true;
    const BlockNode* above = tree_.find(notarize.block_id);
    const BlockNode* node = above;
    while (node != nullptr && node->height() > commit.height) {
        node = node->parent;
    }
    // The usual cases: its headers are not here, or it extends the block that was committed.
    if (node == nullptr) return false;
    if (!is_left_out(Rule::evidence_not_extending) && node->id() == commit.block_id) return false;
    for (node = above; node != nullptr && node->height() > commit.height; node = node->parent) {
        pair->headers.push_back(node->header());
    }
    return pair->headers.size() <= chain::kEvidenceHeadersMax &&
           chain::check_form(evidence).has_value();
}

// One proof of a key is enough.
void Consensus::accuse(KeyTag key, chain::Evidence evidence, Effects& out) {
    if (accused_.insert(key).second) out.push_back(effect::Accuse{std::move(evidence)});
}

// --- The rules ---

void Consensus::promise_votes(base::Timestamp now, BlockNode& block, Promises& promises) {
    if (!is_left_out(Rule::notarize_recent) && !is_recent(now, block.slot())) return;
    if (!is_left_out(Rule::notarize_not_syncing) && is_syncing(now)) return;
    // Its ancestors are not durable.
    if (!is_left_out(Rule::unchecked_below) && has_spared()) return;
    if (!is_time(now, block.slot(), *block.schedules.active)) {
        is_late_ = true;
        return;
    }
    // A COMMIT that missed its slot may still go out together with a NOTARIZE of the block that
    // carries its certificate (R2).
    const BlockNode* ancestor = BlockTree::ancestor(block, block.header().justify);
    BlockNode* justify = ancestor == nullptr ? nullptr : tree_.find(ancestor->id());
    for (const OwnKey& own : own_) {
        const KeySafety* found = voting_safety(own);
        if (found == nullptr || !is_member(block, own) || !may_notarize(block, *found)) continue;
        KeySafety safety = *found;
        if (justify != nullptr && justify->notarized && is_member(*justify, own) &&
            may_commit(*justify, safety)) {
            promise_commit(*justify, own, promises);
            safety.lock_slot = justify->slot();
            safety.lock = justify->id();
        }
        promise_notarize(block, own, safety, promises);
    }
}

bool Consensus::may_notarize(const BlockNode& block, const KeySafety& safety) const {
    return is_above_floor(block.slot()) &&
           (is_left_out(Rule::notarize_once) || block.slot() > safety.last_notarize.slot) &&
           (is_left_out(Rule::notarize_above_lock) || block.slot() > safety.lock_slot) &&
           (is_left_out(Rule::notarize_justify_at_lock) ||
            block.header().justify.slot >= safety.lock_slot);
}

bool Consensus::may_commit(const BlockNode& block, const KeySafety& safety) const {
    return is_above_floor(block.slot()) &&
           (is_left_out(Rule::commit_above_lock) || block.slot() > safety.lock_slot) &&
           (is_left_out(Rule::commit_above_floor) || block.slot() > safety.floor) &&
           (is_left_out(Rule::commit_above_final) || block.slot() > finalized().slot) &&
           (is_left_out(Rule::past_votes) || past_votes_allow(block, safety));
}

bool Consensus::past_votes_allow(const BlockNode& block, const KeySafety& safety) const {
    return std::ranges::none_of(safety.past_votes, [&](const PastVote& vote) {
        if (vote.slot <= block.slot() || vote.justify_slot >= block.slot()) return false;
        const BlockNode* voted = tree_.find(vote.block);
        // A block that is not here any more cannot be shown to extend this one: refuse.
        if (voted == nullptr) return !is_left_out(Rule::past_vote_of_unknown_block);
        return !BlockTree::extends(*voted, block);
    });
}

bool Consensus::in_time(base::Timestamp now, chain::Slot slot) const {
    if (is_left_out(Rule::commit_in_time)) return true;
    const base::Timestamp end = begin_of(slot + 1);
    const base::Duration interval = std::chrono::milliseconds(options_.times.interval_milliseconds);
    return now < end - std::min(guard_, interval / kGuardShare);
}

bool Consensus::is_recent(base::Timestamp now, chain::Slot slot) const {
    return slot >= recent_from(options_.times, slot_shown(now + ahead_));
}

bool Consensus::is_syncing(base::Timestamp now) const {
    return std::ranges::any_of(early_, [&](const std::optional<EarlyCertificate>& early) {
        if (!early || tree_.find(early->certificate.data.block_id) != nullptr) return false;
        const bool is_above = early->certificate.data.slot > tree_.head().slot();
        return is_above || now < early->since + kMissingFor;
    });
}

bool Consensus::is_member(const BlockNode& block, const OwnKey& own) {
    if (is_left_out(Rule::vote_as_member)) return true;
    const auto has = [&](const chain::Schedule* schedule) {
        return schedule != nullptr &&
               std::ranges::find(schedule->entries, own.key, &chain::ScheduleEntry::vote_key) !=
                   schedule->entries.end();
    };
    return has(block.schedules.active.get()) || has(block.schedules.pending());
}

void Consensus::promise_notarize(const BlockNode& block,
                                 const OwnKey& own,
                                 const KeySafety& safety,
                                 Promises& promises) {
    promises.records.push_back({.key = own.tag,
                                .record = {.kind = RecordKind::notarize,
                                           .slot = block.slot(),
                                           .justify_slot = block.header().justify.slot,
                                           .lock_slot = safety.lock_slot,
                                           .block = block.id(),
                                           .lock = safety.lock}});
    promises.votes.push_back({block.vote_data(chain::VoteKind::notarize), own.key});
}

void Consensus::promise_commit(BlockNode& block, const OwnKey& own, Promises& promises) {
    promises.records.push_back({.key = own.tag,
                                .record = {.kind = RecordKind::commit,
                                           .slot = block.slot(),
                                           .justify_slot = block.header().justify.slot,
                                           .lock_slot = block.slot(),
                                           .block = block.id(),
                                           .lock = block.id()}});
    promises.lock = &block;
    promises.votes.push_back({block.vote_data(chain::VoteKind::commit), own.key});
}

void Consensus::set_delay(base::Duration delay_p99) {
    guard_ = std::max(kGuardMin, kGuardDelays * delay_p99 + options_.clock_bound);
}

}  // namespace consensus
