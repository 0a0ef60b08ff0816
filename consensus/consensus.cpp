#include "consensus/consensus.hpp"

#include "base/check.hpp"
#include "chain/types/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace consensus {

using chain::is_left_out;
using chain::Rule;

namespace {

// Headers kept to find two of one producer in one slot.
constexpr std::size_t kHeadersKept = 64;
// How far ahead of its slot a block is held: a slot, or this when slots are shorter.
constexpr base::Duration kEarlyMin = std::chrono::milliseconds(100);

HeaderVerdict verdict(HeaderVerdict::Fate fate, std::string reason = {}) {
    return {.fate = fate, .reason = std::move(reason), .ready_at = {}, .certificates = {}};
}

bool has_voter(const chain::Schedule* schedule, const base::crypto::PublicKey& key) {
    return schedule != nullptr &&
           std::ranges::find(schedule->entries, key, &chain::ScheduleEntry::vote_key) !=
               schedule->entries.end();
}

}  // namespace

Consensus::Consensus(Options options, TreeBase base, Journals journals)
    : options_(std::move(options)),
      journals_(std::move(journals)),
      tree_(std::move(base), options_.reversible_max) {
    for (const base::crypto::PublicKey& key : options_.own_keys) {
        OwnKey& own = own_.emplace_back(OwnKey{.key = key, .tag = key_tag(key)});
        const auto journal =
            journals_.try_emplace(own.tag, SafetyJournal::lost(own.tag, std::nullopt)).first;
        if (!journal->second.safety().known) own.lost_until = kLostSlot;
    }
    is_acquainted_ = options_.asks_around_for <= base::Duration{} || options_.accept_amnesia;
    set_delay({});
}

void Consensus::restore_spared(const chain::BlockPtr& block) {
    const BlockNode* parent = tree_.find(block->header.previous);
    CHECK(parent != nullptr);
    tree_.insert(block, chain::with_proposal(schedules_below(*parent), block->header));
}

void Consensus::restore(const chain::BlockPtr& block) {
    restore_spared(block);
    const BlockNode& node = *tree_.find(block->id);
    if (const auto& justify = block->witness.justify) {
        if (BlockNode* certified = tree_.find(justify->data.block_id)) {
            tree_.certify(*certified, *justify);
        }
    }
    // It may say that more is final than was stored: the first step makes it so.
    if (const auto& final = block->witness.finalized) {
        auto& early = early_[index_of(chain::VoteKind::commit)];
        const BlockNode* certified = BlockTree::ancestor(node, final->data.block());
        const bool is_newer = !early || early->certificate.data.slot < final->data.slot;
        if (certified != nullptr && is_newer) {
            early = EarlyCertificate{*final, certified->schedules, options_.started};
        }
    }
}

void Consensus::restore(const chain::Certificate& certificate) {
    BlockNode* node = tree_.find(certificate.data.block_id);
    if (node == nullptr) return;
    if (certificate.data.kind == chain::VoteKind::notarize) {
        tree_.certify(*node, certificate);
        return;
    }
    std::vector<chain::BlockId> dropped;
    if (node->height() > tree_.finalized().height()) tree_.finalize(*node, dropped);
    final_certificate_ = certificate;
    durable_final_slot_ = std::max(durable_final_slot_, certificate.data.slot);
}

void Consensus::restore_final(const chain::BlockId& id) {
    BlockNode* node = tree_.find(id);
    CHECK(node != nullptr);
    std::vector<chain::BlockId> dropped;
    if (node->height() > tree_.finalized().height()) tree_.finalize(*node, dropped);
    durable_final_slot_ = std::max(durable_final_slot_, node->slot());
}

std::vector<chain::VoteData> Consensus::restore_locks() {
    std::vector<chain::VoteData> missing;
    for (const auto& [key, journal] : journals_) {
        const CertificatePtr& lock = journal.safety().lock_certificate;
        if (lock == nullptr || lock->data.slot <= finalized().slot) continue;
        BlockNode* block = tree_.find(lock->data.block_id);
        if (block != nullptr && lock->data.kind == chain::VoteKind::notarize) {
            tree_.certify(*block, *lock);
            continue;
        }
        if (block == nullptr) missing.push_back(lock->data);
        // As one that came before its block, or before the first step. The storage may have lost
        // the change to its schedules, too.
        auto& early = early_[index_of(lock->data.kind)];
        if (!early || early->certificate.data.slot < lock->data.slot) {
            early = EarlyCertificate{*lock, std::nullopt, options_.started};
        }
    }
    return missing;
}

const chain::Certificate* Consensus::unverified(const chain::BlockId& block) const {
    for (const std::optional<EarlyCertificate>& early : early_) {
        if (!early || early->schedules || early->certificate.data.block_id != block) continue;
        return &early->certificate;
    }
    return nullptr;
}

void Consensus::distrust(const chain::BlockId& block) {
    for (std::optional<EarlyCertificate>& early : early_) {
        if (early && !early->schedules && early->certificate.data.block_id == block) early.reset();
    }
}

void Consensus::step(base::Timestamp now, const Input& input, Effects& out) {
    if (!std::exchange(begun_, true)) {
        final_at_ = now;
        tell_lost_keys(out);
    }
    if (std::holds_alternative<input::Tick>(input)) {
        on_tick(now, out);
    } else if (const auto* block = std::get_if<input::BlockAdopted>(&input)) {
        on_block(now, *block, out);
    } else if (const auto* vote = std::get_if<input::VoteReceived>(&input)) {
        on_vote(now, vote->vote, out);
    } else if (const auto* received = std::get_if<input::CertificateReceived>(&input)) {
        on_certificate(now, received->certificate, out);
    } else if (const auto* header = std::get_if<input::HeaderSeen>(&input)) {
        on_header(header->header, out);
    } else if (const auto* seen = std::get_if<input::OwnVoteSeen>(&input)) {
        on_own_vote_seen(now, seen->vote, out);
    } else if (const auto* heard = std::get_if<input::ValidatorHeard>(&input)) {
        on_heard(now, *heard);
    } else if (const auto* clock = std::get_if<input::ClockHeard>(&input)) {
        on_clock(now, *clock, out);
    } else if (const auto* set = std::get_if<input::ClockSet>(&input)) {
        on_clock_set(now, *set, out);
    } else if (const auto* twin = std::get_if<input::TwinSeen>(&input)) {
        on_twin(twin->key, out);
    } else if (const auto* told = std::get_if<input::TwinTold>(&input)) {
        on_twin_told(*told, out);
    } else if (std::holds_alternative<input::StopSigning>(input)) {
        stop_signing(out);
    } else {
        on_final_durable(std::get<input::FinalDurable>(input).slot);
    }
}

void Consensus::on_tick(base::Timestamp now, Effects& out) {
    const chain::Slot slot = slot_shown(now + ahead_);
    // What restore() could not do without effects.
    for (std::optional<EarlyCertificate>& early : early_) {
        const BlockNode* block = early ? tree_.find(early->certificate.data.block_id) : nullptr;
        if (block != nullptr) count_early(now, early, *block, out);
    }
    follow_reset(now, out);
    look_around(now);
    look_at_clocks(now, out);
    note_certified_ahead(now);
    give_up_missing_locks(now, out);
    vote_late(now, out);
    if (!has_spared()) try_produce(now, slot, out);  // Else what it builds on is not checked.
    resend(now, slot, out);
    out.push_back(effect::WakeAt{begin_of(slot + 1)});
}

void Consensus::on_block(base::Timestamp now, const input::BlockAdopted& adopted, Effects& out) {
    const chain::Block& block = *adopted.block;
    const BlockNode* parent = tree_.find(block.header.previous);
    if (tree_.find(block.id) != nullptr) return;
    if (parent == nullptr || parent->height() < tree_.finalized().height()) {
        // Cut off while it was executed.
        out.push_back(effect::Forget{block.id});
        return;
    }
    BlockNode& inserted =
        tree_.insert(adopted.block, chain::with_proposal(schedules_below(*parent), block.header));
    inserted.is_spared = adopted.spared;
    bound_tree(inserted, out);
    BlockNode* node = tree_.find(block.id);
    if (node == nullptr) return;
    if (adopted.spared) {
        spared_to_ = std::max(spared_to_, node->height());
        return;
    }
    note_seen(block.header, adopted.own);
    on_header({block.header, block.signature}, out);
    learn_witness(now, block.witness, out);

    Promises promises;
    if (adopted.own) promise_header(block, promises);
    promise_votes(now, *node, promises);
    node->is_durable = !promises.records.empty();
    persist_promises(promises, {.pages = {}, .block = block.id, .certificate = {}}, out);
    if (adopted.own) out.push_back(effect::Announce{block.id});
    for (effect::CastVote& vote : promises.votes) {
        out.push_back(std::move(vote));
    }
    count_early(now, *node, out);
    follow_reset(now, out);
}

void Consensus::follow_reset(base::Timestamp now, Effects& out) {
    BlockNode* from = options_.reset ? tree_.find(options_.reset->from) : nullptr;
    if (from == nullptr || from->height() <= tree_.finalized().height()) return;
    make_final(now, *from);
    out.push_back(effect::Finalize{from->id(), std::nullopt, tree_.base()});
    regain(now, out);
}

void Consensus::learn_witness(base::Timestamp now, const chain::Witness& witness, Effects& out) {
    if (witness.justify) {
        if (BlockNode* certified = tree_.find(witness.justify->data.block_id)) {
            if (!certified->notarized) note_signers(*witness.justify, certified->schedules, out);
            tree_.certify(*certified, *witness.justify);
        }
    }
    if (witness.finalized && witness.finalized->data.slot > finalized().slot) {
        if (const BlockNode* final = tree_.find(witness.finalized->data.block_id)) {
            note_signers(*witness.finalized, final->schedules, out);
            finalize(now, *witness.finalized, out);
        }
    }
}

void Consensus::on_vote(base::Timestamp now, const chain::Vote& vote, Effects& out) {
    if (!history_.knows(vote.key) && !is_validator(vote.key)) return;
    // Nobody votes for a block before its slot: such a vote would only take the place of others.
    if (!is_left_out(Rule::vote_not_ahead) && vote.data.slot > latest_slot(now)) return;
    note_vote(vote, out);
    BlockNode* block = tree_.find(vote.data.block_id);
    if (block != nullptr) count(now, vote, *block, out);
}

void Consensus::on_certificate(base::Timestamp now,
                               const chain::Certificate& certificate,
                               Effects& out) {
    const chain::VoteData& data = certificate.data;
    BlockNode* block = tree_.find(data.block_id);
    if (block == nullptr) {
        const chain::ScheduleState* schedules = schedules_of(data);
        auto& early = early_[index_of(data.kind)];
        const bool newer = !early || early->certificate.data.slot < data.slot;
        if (schedules != nullptr && data.slot > finalized().slot && newer) {
            early = EarlyCertificate{certificate, *schedules, now};
        }
        return;
    }
    auto& early = early_[index_of(data.kind)];
    if (early && early->certificate.data.block_id == data.block_id) early.reset();
    if (!is_left_out(Rule::certificate_of_its_block) && data != block->vote_data(data.kind)) return;
    if (data.kind == chain::VoteKind::commit) {
        if (data.slot <= finalized().slot) return;
        note_signers(certificate, block->schedules, out);
        finalize(now, certificate, out);
        pass_on(certificate, *block, out);
    } else if (!block->notarized) {
        note_signers(certificate, block->schedules, out);
        apply_notarize(now, certificate, *block, out);
    }
}

// Two headers of one slot convict a key, not a producer: another schedule may have another key of
// the same producer, and who has lost its disk may use both.
void Consensus::on_header(const chain::SignedHeader& header, Effects& out) {
    const chain::BlockHeader& mine = header.header;
    const std::optional<KeyTag> key = signer_of(mine);
    if (!key) return;
    for (const SeenHeader& seen : headers_) {
        const chain::BlockHeader& other = seen.header.header;
        if (!is_left_out(Rule::evidence_headers_of_one_key) && seen.key != *key) continue;
        if (!is_left_out(Rule::evidence_headers_of_one_slot) && other.slot != mine.slot) continue;
        if (other.producer != mine.producer) continue;
        if (is_left_out(Rule::evidence_of_headers)) return;
        if (is_left_out(Rule::evidence_headers_differ) || other != mine)
            accuse(*key, chain::TwoHeaders{seen.header, header}, out);
        return;
    }
    if (headers_.size() < kHeadersKept) {
        headers_.push_back({*key, header});
    } else {
        headers_[next_header_] = {*key, header};
        next_header_ = (next_header_ + 1) % kHeadersKept;
    }
}

// Empty: its parent is not here any more, or its producer is not in the schedule.
std::optional<KeyTag> Consensus::signer_of(const chain::BlockHeader& header) const {
    const BlockNode* parent = tree_.find(header.previous);
    if (parent == nullptr) return std::nullopt;
    const chain::ScheduleState schedules = schedules_below(*parent);
    const auto entry = schedules.active->find_producer(header.producer);
    if (!entry) return std::nullopt;
    return key_tag(schedules.active->entries[*entry].signing_key);
}

void Consensus::on_final_durable(chain::Slot slot) {
    durable_final_slot_ = std::max(durable_final_slot_, slot);
    for (auto& [key, journal] : journals_)
        journal.forget_votes_up_to(durable_final_slot_);
}

HeaderVerdict Consensus::check(base::Timestamp now, const chain::Block& block) const {
    using Fate = HeaderVerdict::Fate;
    const chain::BlockHeader& header = block.header;
    if (holds(block.id)) return verdict(Fate::stale);
    if (header.slot <= finalized().slot) return verdict(Fate::stale);
    const BlockNode* parent = tree_.find(header.previous);
    if (parent == nullptr) return verdict(Fate::unlinkable);
    if (parent->height() < tree_.finalized().height()) return verdict(Fate::stale);

    const chain::ScheduleState below = schedules_below(*parent);
    const BlockNode* justify = BlockTree::ancestor(*parent, header.justify);
    const BlockNode* final = BlockTree::ancestor(*parent, header.finalized);
    const HeaderContext context{.parent = parent->header(),
                                .parent_id = parent->id(),
                                .schedules = below,
                                .repetitions = options_.repetitions,
                                .schedule_period = options_.schedule_period,
                                .full_within = full_within(options_.times),
                                .justify_is_ancestor = justify != nullptr,
                                .final_is_ancestor = final != nullptr};
    if (auto good = check_header(header, context); !good) {
        return verdict(Fate::invalid, good.error().detail);
    }
    if (!is_left_out(Rule::block_not_too_early) && header.slot > latest_slot(now)) {
        return verdict(Fate::too_early,
                       fmt::format("block of slot {} came too early: its producer's clock or ours "
                                   "is wrong",
                                   header.slot));
    }
    HeaderVerdict result = verdict(Fate::good);
    const auto bad = [&](std::string_view which, std::string_view why) {
        return verdict(Fate::bad_witness, fmt::format("witness of {}: {}", which, why));
    };
    const bool justify_moved = header.justify != parent->header().justify;
    const auto& witness = block.witness;
    if (auto good = check_witness(witness.justify,
                                  justify_moved ? justify : nullptr,
                                  chain::VoteKind::notarize,
                                  result.certificates);
        !good) {
        return bad("justify", good.error().detail);
    }
    const bool final_moved = header.finalized != parent->header().finalized;
    if (auto good = check_witness(witness.finalized,
                                  final_moved ? final : nullptr,
                                  chain::VoteKind::commit,
                                  result.certificates);
        !good) {
        return bad("final", good.error().detail);
    }
    const base::Timestamp start = begin_of(header.slot);
    if (!is_left_out(Rule::block_not_before_its_slot) && start > now) {
        result.fate = Fate::early;
        result.ready_at = start;
    }
    return result;
}

// The last slot of which anything may come now, as clocks differ.
chain::Slot Consensus::latest_slot(base::Timestamp now) const {
    const base::Duration interval = std::chrono::milliseconds(options_.times.interval_milliseconds);
    return slot_shown(now + ahead_ + std::max(interval, kEarlyMin));
}

base::Result<void> Consensus::check_witness(const std::optional<chain::Certificate>& certificate,
                                            const BlockNode* block,
                                            chain::VoteKind kind,
                                            std::vector<ToVerify>& to_verify) const {
    using base::Errc;
    if (block == nullptr) {
        if (!certificate || is_left_out(Rule::witness_only_where_needed)) return {};
        return base::fail(Errc::invalid, "a certificate where the parent's stays");
    }
    if (!certificate && is_left_out(Rule::witness_where_needed)) return {};
    if (!certificate) return base::fail(Errc::invalid, "no certificate");
    const bool is_its = certificate->data == block->vote_data(kind);
    if (!is_left_out(Rule::witness_of_the_named_block) && !is_its) {
        return base::fail(Errc::invalid, "a certificate of another block");
    }
    if (auto good = check_form(*certificate, voters(*block));
        !is_left_out(Rule::witness_form) && !good) {
        return good;
    }
    const bool known = kind == chain::VoteKind::notarize ? block->notarized == certificate
                                                         : final_certificate_ == certificate;
    if (!known) to_verify.push_back({*certificate, voters(*block)});
    return {};
}

bool Consensus::is_certified(const chain::BlockId& block) const {
    return std::ranges::any_of(early_, [&](const std::optional<EarlyCertificate>& early) {
        return early && early->certificate.data.block_id == block;
    });
}

const chain::ScheduleState* Consensus::schedules_of(const chain::VoteData& data) const {
    if (const BlockNode* block = tree_.find(data.block_id)) return &voters(*block);
    const chain::ScheduleState& head = tree_.head().schedules;
    return head.active->version == data.schedule_version ? &head : nullptr;
}

const chain::Certificate* Consensus::highest_notarize() const {
    const BlockNode* block = tree_.highest_notarized();
    return block == nullptr ? nullptr : &*block->notarized;
}

const chain::Certificate* Consensus::highest_certificate() const {
    const chain::Certificate* highest = nullptr;
    const auto note = [&](const chain::Certificate* each) {
        if (each == nullptr) return;
        if (highest == nullptr || each->data.slot > highest->data.slot) highest = each;
    };
    note(highest_notarize());
    note(final_certificate());
    for (const std::optional<EarlyCertificate>& early : early_)
        note(early ? &early->certificate : nullptr);
    for (const auto& [key, journal] : journals_)
        note(journal.safety().lock_certificate.get());
    return highest;
}

const chain::Certificate* Consensus::final_certificate() const {
    return final_certificate_ ? &*final_certificate_ : nullptr;
}

chain::ScheduleEntry Consensus::producer_at(chain::Slot slot) const {
    return next_schedules().active->producer_of(slot, options_.repetitions);
}

chain::ScheduleState Consensus::next_schedules() const {
    return schedules_below(tree_.head());
}

chain::ScheduleState Consensus::schedules_below(const BlockNode& parent) const {
    if (const auto* reset = chain::reset_below(options_.reset, parent.id())) {
        return chain::first_schedules(reset->schedule);
    }
    if (is_left_out(Rule::change_by_headers)) {
        chain::BlockHeader header = parent.header();
        header.finalized = finalized();
        return chain::schedules_below(parent.schedules, header);
    }
    return chain::schedules_below(parent.schedules, parent.header());
}

const chain::ScheduleState& Consensus::voters(const BlockNode& block) const {
    if (is_left_out(Rule::voters_of_the_block)) return tree_.head().schedules;
    return block.schedules;
}

bool Consensus::serves(const base::crypto::PublicKey& key) const {
    for (const BlockNode* block : {&tree_.head(), &tree_.finalized()}) {
        const auto& [active, proposed, proposed_at, pending_since] = block->schedules;
        if (active->has_key(key) || (proposed != nullptr && proposed->has_key(key))) return true;
    }
    return is_validator(key);
}

bool Consensus::is_validator(const base::crypto::PublicKey& key) const {
    for (const BlockNode* block : {&tree_.head(), &tree_.finalized()}) {
        if (has_voter(block->schedules.active.get(), key)) return true;
        if (has_voter(block->schedules.proposed.get(), key)) return true;
    }
    return options_.reset && has_voter(&options_.reset->schedule, key);
}

void Consensus::bound_tree(BlockNode& newest, Effects& out) {
    const bool is_certified = std::ranges::any_of(early_, [&](const auto& early) {
        return early && early->certificate.data.slot >= newest.slot();
    });
    std::vector<chain::BlockId> dropped;
    tree_.bound(newest, is_certified, dropped);
    for (const chain::BlockId& id : dropped) {
        out.push_back(effect::Forget{id});
    }
}

}  // namespace consensus
