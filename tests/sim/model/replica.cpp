#include "tests/sim/model/replica.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sim::model {

namespace {

using chain::VoteKind;
constexpr std::size_t kMembers = 4;
// Later than the guard of R2 allows, and still in the slot.
constexpr base::Duration kBeforeEnd = std::chrono::milliseconds(1);

void append(std::string& text, std::uint64_t value) {
    for (int i = 0; i < 8; ++i) {
        text.push_back(static_cast<char>(value >> (8 * i) & 0xFFU));
    }
}

void append(std::string& text, const BlockSet& set) {
    append(text, set.words()[0]);
    append(text, set.words()[1]);
}

}  // namespace

std::string Input::describe() const {
    switch (kind) {
        case Kind::next_slot:
            return "next slot";
        case Kind::block:
            return fmt::format("block {}", block);
        case Kind::late_block:
            return fmt::format("late block {}", block);
        case Kind::notarize:
            return fmt::format("NOTARIZE of {}", block);
        case Kind::late_notarize:
            return fmt::format("late NOTARIZE of {}", block);
        case Kind::commit:
            return fmt::format("COMMIT of {}", block);
        case Kind::restart:
            return "restart";
    }
    return {};
}

Replica::Replica(Blocks& blocks, std::size_t member, bool may_restart)
    : blocks_(blocks), member_(member), may_restart_(may_restart) {
    const Universe& universe = blocks.universe();
    disk_.base = {universe.genesis, chain::first_schedules({0, universe.choices[0]})};
    key_ = consensus::key_tag(universe.members[member].vote_keys[0]);
    disk_.logs = test::fresh_logs({key_});
    open(test::read_journals(disk_.logs));
}

void Replica::open(consensus::Journals journals) {
    const Universe& universe = blocks_.universe();
    consensus::Consensus::Options options;
    options.times = universe.times;
    options.repetitions = universe.repetitions;
    options.schedule_period = universe.period;
    options.own_keys = {universe.members[member_].vote_keys[0]};
    options.started = universe.at(slot_);
    options.clock_bound = std::chrono::milliseconds(100);
    consensus_ =
        std::make_unique<consensus::Consensus>(std::move(options), disk_.base, std::move(journals));
    // At the start all other clocks are far behind, so that no slot is spared for their sake.
    hear_clocks(universe.at(slot_), universe.at(0) - std::chrono::minutes(1));
}

void Replica::hear_clocks(base::Timestamp now, base::Timestamp shown) {
    consensus::Effects effects;
    for (const Member& member : blocks_.universe().members) {
        const auto& key = member.vote_keys[0];
        consensus_->step(now, consensus::input::ClockHeard{key, shown}, effects);
    }
    for (const consensus::Effect& effect : effects) {
        carry_out(effect);
    }
}

// As node/core does it.
void Replica::restart() {
    early_ = {};
    open(test::read_journals(disk_.logs));
    CHECK(!consensus_->keys()[0].lost);
    for (const chain::BlockPtr& block : disk_.blocks) {
        if (block->header.height <= disk_.base.block->header.height) continue;
        if (consensus_->holds(block->header.previous)) consensus_->restore(block);
    }
    for (const VoteKind kind : {VoteKind::commit, VoteKind::notarize}) {
        if (const auto& kept = disk_.certificates[index_of(kind)]) consensus_->restore(*kept);
    }
    (void)consensus_->restore_locks();
    restarted_ = true;
    note_final(finalized());
    step(consensus::input::Tick{});
}

void Replica::give(const Input& input) {
    using Kind = Input::Kind;
    switch (input.kind) {
        case Kind::next_slot:
            ++slot_;
            late_ = false;
            return step(consensus::input::Tick{});
        case Kind::late_block:
            late_ = true;
            [[fallthrough]];
        case Kind::block:
            return give_block(input.block);
        case Kind::late_notarize:
            late_ = true;
            [[fallthrough]];
        case Kind::notarize:
            return give_votes(input.block, VoteKind::notarize);
        case Kind::commit:
            return give_votes(input.block, VoteKind::commit);
        case Kind::restart:
            return restart();
    }
}

void Replica::give_block(Number number) {
    const auto block = blocks_.with_witness(number);
    const auto verdict = consensus_->check(blocks_.universe().at(slot_), *block);
    using Fate = consensus::HeaderVerdict::Fate;
    if (verdict.fate == Fate::stale) return;
    if (verdict.fate != Fate::good) {
        failure_ = fmt::format("block {} is refused: {}", number, verdict.reason);
        return;
    }
    for (Number& early : early_) {
        if (early == number) early = 0;
    }
    step(consensus::input::BlockAdopted{block, /*own=*/false});
}

// One after the other, where the block is here to count them; else as the certificate of them.
void Replica::give_votes(Number number, VoteKind kind) {
    if (consensus_->holds(blocks_[number].block->id)) {
        for (std::size_t i = 0; i < kMembers; ++i) {
            if (i != member_) step(consensus::input::VoteReceived{blocks_.vote(number, kind, i)});
        }
        return;
    }
    Number& early = early_[index_of(kind)];
    if (early == 0 || blocks_.slot(early) < blocks_.slot(number)) early = number;
    step(consensus::input::CertificateReceived{blocks_.certificate(number, kind)});
}

// --- Effects ---
// What a step asks for may be another step, each of which asks for less.
// NOLINTBEGIN(misc-no-recursion)

void Replica::step(const consensus::Input& input) {
    const Universe& universe = blocks_.universe();
    const base::Timestamp now = late_ ? universe.at(slot_ + 1) - kBeforeEnd : universe.at(slot_);
    hear_clocks(now, now);
    consensus::Effects effects;
    consensus_->step(now, input, effects);
    for (const consensus::Effect& effect : effects) {
        carry_out(effect);
    }
}

void Replica::carry_out(const consensus::Effect& effect) {
    namespace effects = consensus::effect;
    if (const auto* asked = std::get_if<effects::Persist>(&effect)) {
        persist(*asked);
    } else if (const auto* produce = std::get_if<effects::Produce>(&effect)) {
        make_block(*produce);
    } else if (const auto* announce = std::get_if<effects::Announce>(&effect)) {
        said_.made.add(blocks_.number_of(announce->block));
    } else if (const auto* vote = std::get_if<effects::CastVote>(&effect)) {
        const Number number = blocks_.number_of(vote->data.block_id);
        if (vote->data != blocks_.data(number, vote->data.kind)) failure_ = "a wrong vote";
        said_.votes[index_of(vote->data.kind)].add(number);
        step(consensus::input::VoteReceived{blocks_.vote(number, vote->data.kind, member_)});
    } else if (const auto* final = std::get_if<effects::Finalize>(&effect)) {
        const chain::Certificate& certificate = *final->certificate;
        keep(certificate);
        disk_.base = final->base;
        note_final(blocks_.number_of(certificate.data.block_id));
        step(consensus::input::FinalDurable{certificate.data.slot});
    }
}

void Replica::persist(const consensus::effect::Persist& persist) {
    for (const consensus::JournalPage& page : persist.pages)
        test::write_page(disk_.logs, page);
    if (persist.block) {
        disk_.blocks.push_back(blocks_.with_witness(blocks_.number_of(*persist.block)));
    }
    if (persist.certificate) keep(*persist.certificate);
}

void Replica::make_block(const consensus::effect::Produce& produce) {
    const chain::BlockHeader& parent = blocks_[blocks_.number_of(produce.parent)].block->header;
    chain::BlockHeader header;
    header.slot = produce.slot;
    header.height = parent.height + 1;
    header.producer = produce.producer.producer;
    header.previous = produce.parent;
    header.schedule_version = produce.schedule_version;
    header.justify = produce.justify ? produce.justify->data.block() : parent.justify;
    header.finalized = produce.finalized ? produce.finalized->data.block() : parent.finalized;
    const Number number = blocks_.add(header);
    step(consensus::input::BlockAdopted{blocks_.with_witness(number), /*own=*/true});
}

// NOLINTEND(misc-no-recursion)

void Replica::keep(const chain::Certificate& certificate) {
    auto& kept = disk_.certificates[index_of(certificate.data.kind)];
    if (!kept || kept->data.slot < certificate.data.slot) kept = certificate;
}

void Replica::note_final(Number number) {
    if (!blocks_.extends(number, shown_final_)) {
        failure_ = fmt::format("block {} was final, now {}", shown_final_, number);
    }
    shown_final_ = number;
    for (Number& early : early_) {
        if (blocks_.slot(early) <= blocks_.slot(number)) early = 0;
    }
}

// --- What it is in ---

BlockSet Replica::held() const {
    BlockSet held;
    for (Number i = 0; i < blocks_.size(); ++i) {
        if (consensus_->holds(blocks_[i].block->id)) held.add(i);
    }
    return held;
}

BlockSet Replica::certified() const {
    BlockSet certified;
    for (Number i = 0; i < blocks_.size(); ++i) {
        const consensus::BlockNode* node = consensus_->tree().find(blocks_[i].block->id);
        if (node != nullptr && node->notarized) certified.add(i);
    }
    return certified;
}

Number Replica::finalized() const {
    return blocks_.number_of(consensus_->finalized().id);
}

std::string Replica::key() const {
    std::string text;
    append(text, slot_ << 2U | (late_ ? 2U : 0U) | (restarted_ ? 1U : 0U));
    append(text, held());
    append(text, certified());
    append(text,
           finalized() << 32U | blocks_.number_of(consensus_->head()) << 16U | early_[0] << 8U |
               early_[1]);
    append(text, said_.votes[0]);
    append(text, said_.votes[1]);
    append(text, said_.made);
    const consensus::KeySafety& safety = consensus_->journals().at(key_).safety();
    append(text, safety.floor << 32U | safety.lock_slot << 16U | blocks_.number_of(safety.lock));
    append(text,
           safety.produced_slot << 32U | safety.last_notarize.slot << 16U |
               blocks_.number_of(safety.last_notarize.block));
    for (const consensus::PastVote& vote : safety.past_votes) {
        if (vote.slot <= consensus_->finalized().slot) continue;  // Of no use to R2.
        append(text, vote.slot << 32U | vote.justify_slot << 16U | blocks_.number_of(vote.block));
    }
    const auto silent_until = consensus_->keys().front().silent_until;
    append(text, silent_until.has_value() ? 1 : 0);
    append(text, silent_until.value_or(0));
    if (may_restart_ && !restarted_) append_disk(text);
    return text;
}

// What a restart would find beside the journal.
void Replica::append_disk(std::string& text) const {
    BlockSet stored;
    for (const chain::BlockPtr& block : disk_.blocks) {
        stored.add(blocks_.number_of(block->id));
    }
    append(text, stored);
    append(text, blocks_.number_of(disk_.base.block->id));
    for (const auto& kept : disk_.certificates) {
        append(text, kept ? blocks_.number_of(kept->data.block_id) : 0);
    }
}

}  // namespace sim::model
