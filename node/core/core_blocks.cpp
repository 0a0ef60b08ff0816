#include "base/check.hpp"
#include "chain/state/transaction_root.hpp"
#include "chain/types/rule.hpp"
#include "consensus/recent.hpp"
#include "node/core/core_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace node {

using p2p::Verdict;

bool has_its_body(const chain::Block& block) {
    return chain::transaction_root(block.transactions) == block.header.transaction_root;
}

// Whose slot it is and whether he signed it is looked at before anything else is paid for: a block
// of a stranger costs one signature, whatever it holds.
void Core::Impl::on_block(const p2p::effect::BlockArrived& arrived, Effects& out) {
    const chain::Block& block = *arrived.block;
    const auto answer_with = [&](Verdict verdict, const std::string& text) {
        judge({p2p::Item::block, block.id, arrived.channel, verdict, text}, out);
    };
    if (chain_->find_header(block.id) != nullptr || arrivals_.contains(block) ||
        block.header.slot <= consensus_.finalized().slot) {
        return answer_with(Verdict::duplicate, "");
    }
    if (const std::string* reason = arrivals_.find_refused(block.id)) {
        return answer_with(Verdict::bad, *reason);
    }
    // An id covers its producer and what it builds on, so it is wrong with any body.
    const auto refuse_id = [&](const std::string& reason) {
        arrivals_.refuse(block.id, reason);
        answer_with(Verdict::bad, reason);
    };
    if (const std::string* reason = arrivals_.find_refused(block.header.previous)) {
        return refuse_id("builds on a refused block: " + *reason);
    }
    const auto below = schedules_below(block.header);
    if (!below) return answer_with(Verdict::unsure, "its parent is not here");
    arrivals_.forget_slots_up_to(consensus_.finalized().slot);
    const bool is_below_certified =
        arrived.is_certified && !chain::is_left_out(chain::Rule::third_below_certified);
    const bool is_certified =
        is_below_certified || proved_.contains(block.id) || consensus_.is_certified(block.id);
    const bool is_third = !chain::is_left_out(chain::Rule::two_of_a_slot) && !is_certified &&
                          arrivals_.has_twins(block.header, block.id, below->is_known);
    if (auto good = check_owner(block.header, below->schedules); !good) {
        return refuse_id(good.error().detail);
    }
    if (!is_signed(block, below->schedules)) {
        return answer_with(Verdict::bad, "the producer's signature is wrong");
    }
    const bool is_wanted = is_certified || may_wait(block.id, arrived.is_sync);
    if (!is_wanted && consensus_.is_too_early(now_, block.header.slot)) {
        // Its producer's clock is wrong, or ours: whoever passed it on need not know, and pays
        // nothing. It is asked for when it is heard of again.
        return answer_with(Verdict::early, "came too early: its producer's clock or ours is wrong");
    }
    if (is_third && !arrived.is_sync) make_room_for_third(block, arrived.channel, out);
    if (!make_room(block, out)) {
        return answer_with(Verdict::unsure, "too many blocks wait to be executed");
    }
    Arrival arrival;
    arrival.block = arrived.block;
    arrival.schedules = chain::with_proposal(below->schedules, block.header);
    arrival.is_schedule_known = below->is_known;
    arrival.channel = arrived.channel;
    arrival.is_sync = arrived.is_sync;
    if (is_third) arrival.gives_up_at = now_ + kNamedWithin;
    take_in(std::move(arrival), is_certified, out);
}

// There is room for it, and its signature is good.
void Core::Impl::take_in(Arrival arrival, bool is_certified, Effects& out) {
    const chain::BlockPtr block = arrival.block;
    if (arrival.gives_up_at) {
        out.push_back(effect::WakeAt{*arrival.gives_up_at});
    } else if (!block->transactions.empty()) {
        arrival.ticket = next_ticket_++;
    }
    const Ticket ticket = arrival.ticket;
    arrivals_.let_in(block->header, block->id, arrival.is_schedule_known);
    arrivals_.add(std::move(arrival));
    if (ticket != 0) out.push_back(effect::Recover{ticket, block, nullptr});
    bool can_go_on = ticket == 0;
    if (is_certified) can_go_on |= certify(Arrivals::key_of(*block), out);
    can_go_on |= release_below(*block, out);
    can_go_on |= certify_below(block->witness, out);
    if (can_go_on) work_off(out);
}

// False: it is this block's producer whose blocks take most of it.
bool Core::Impl::make_room(const chain::Block& block, Effects& out) {
    while (!arrivals_.has_room_for(block)) {
        const auto other = arrivals_.in_the_way_of(block);
        if (!other) return false;
        conclude(*other, Verdict::unsure, "too many blocks of its producer wait", out);
    }
    return true;
}

// Anybody who signs many blocks of a slot may send them without end.
void Core::Impl::make_room_for_third(const chain::Block& block,
                                     transport::ChannelId from,
                                     Effects& out) {
    while (const auto other = arrivals_.third_in_the_way_of(block, from))
        conclude(*other, Verdict::unsure, "too many blocks of its slots wait", out);
}

// A certificate, which is good, names a block: what waited for that goes on, and what is below it
// has the first turn. False: nothing is to be done.
bool Core::Impl::certify(const Arrivals::Key& named, Effects& out) {
    const bool is_any_sooner = arrivals_.mark_certified(named);
    return release(named, out) || is_any_sooner;
}

// What is named, and what waits below it, goes on. False: nothing waited.
bool Core::Impl::release(const Arrivals::Key& named, Effects& out) {
    const std::vector<Arrivals::Key> waited = arrivals_.uncertified(named);
    for (const Arrivals::Key& key : waited) {
        const chain::BlockPtr& block = arrivals_.entries().at(key).block;
        const Ticket ticket = block->transactions.empty() ? 0 : next_ticket_++;
        if (ticket != 0) out.push_back(effect::Recover{ticket, block, nullptr});
        arrivals_.release(key, ticket);
    }
    return !waited.empty();
}

// Another producer builds on a block, and so has executed it: a liar gave other two of the slot to
// that one than to us. Of a producer two a slot can name others, so that what a liar makes with the
// help of another stays bounded; and not where so long nothing was final that nobody may make
// blocks with transactions any more: honest producers build on certified blocks then.
bool Core::Impl::release_below(const chain::Block& block, Effects& out) {
    const Arrivals::Key parent{block.header.height - 1, block.header.previous};
    const Arrival* below = arrivals_.find(parent);
    const Arrival& above = *arrivals_.find(Arrivals::key_of(block));
    if (below == nullptr || above.gives_up_at || !above.is_schedule_known) return false;
    if (below->block->header.producer == block.header.producer) return false;
    const chain::Slot full_within = consensus::full_within(chain_->identity().times);
    if (block.header.slot > block.header.finalized.slot + full_within) return false;
    if (chain::is_left_out(chain::Rule::third_below_another)) return false;
    return release(parent, out);
}

// The certificates that a block brings may be what blocks below it wait for.
bool Core::Impl::certify_below(const chain::Witness& witness, Effects& out) {
    bool did_any_wait = false;
    for (const std::optional<chain::Certificate>& brought : {witness.justify, witness.finalized}) {
        if (!brought) continue;
        const Arrivals::Key named{brought->data.height, brought->data.block_id};
        if (arrivals_.uncertified(named).empty()) continue;
        const chain::ScheduleState* voters = voters_of(*arrivals_.find(named));
        if (voters != nullptr && verify(*brought, *voters, out))
            did_any_wait |= certify(named, out);
    }
    return did_any_wait;
}

// Nothing: its parent is not here.
std::optional<Core::Impl::Below> Core::Impl::schedules_below(
    const chain::BlockHeader& child) const {
    if (auto executed = chain_->schedules_below(child.previous)) return Below{*executed, true};
    const Arrival* parent = arrivals_.find({child.height - 1, child.previous});
    if (parent == nullptr) return std::nullopt;
    const chain::ScheduleState& above = parent->schedules;
    Below below{chain::schedules_below(above, parent->block->header), parent->is_schedule_known};
    const bool is_as_above =
        below.schedules.active == above.active && below.schedules.pending() == above.pending();
    // A proposal of an executed block is right, and honest members of it sign only what they have
    // executed. When it comes into force such a header may say: else a third block at which it does
    // would have nothing to name it, neither a child of another nor a certificate.
    if (!is_as_above)
        below.is_known &= is_proposal_executed(above, Arrivals::key_of(*parent->block));
    return below;
}

bool Core::Impl::is_proposal_executed(const chain::ScheduleState& schedules,
                                      Arrivals::Key waiting) const {
    for (const Arrival* arrival = arrivals_.find(waiting); arrival != nullptr;
         arrival = arrivals_.find(waiting)) {
        if (schedules.proposed_at >= waiting.first) return false;
        waiting = {waiting.first - 1, arrival->block->header.previous};
    }
    return true;
}

// Whose votes make a certificate of a block that waits; null: not known yet.
const chain::ScheduleState* Core::Impl::voters_of(const Arrival& arrival) const {
    const chain::BlockHeader& header = arrival.block->header;
    const bool is_known = arrival.is_schedule_known || chain_->schedules_below(header.previous);
    return is_known ? &arrival.schedules : nullptr;
}

const chain::ScheduleEntry& Core::Impl::owner_of(chain::Slot slot,
                                                 const chain::ScheduleState& below) const {
    return below.active->producer_of(
        slot, static_cast<std::uint32_t>(options_.genesis.parameters.repetitions));
}

// Why a block is under another schedule than its parent implies; empty: not known.
std::string Core::Impl::hint_at_recovery(const chain::BlockHeader& header,
                                         const chain::ScheduleState& below) const {
    // Without a recovery the next version is one more.
    if (header.schedule_version <= below.active->version + 1) return "";
    const auto& reset = chain_->identity().reset;
    const bool is_below_known = reset && header.height <= chain::height_of(reset->from);
    return fmt::format(
        ": it is of a recovery that this node does not know{}",
        is_below_known ? ", below the one that it does; begin with a snapshot ('bor-cli snapshot "
                         "load'), and name each recovery with recover-from"
                       : "; if the members confirm one, set recover-from");
}

base::Result<void> Core::Impl::check_owner(const chain::BlockHeader& header,
                                           const chain::ScheduleState& below) const {
    if (header.schedule_version != below.active->version) {
        return base::fail(base::Errc::invalid,
                          fmt::format("schedule version {}, the parent implies {}{}",
                                      header.schedule_version,
                                      below.active->version,
                                      hint_at_recovery(header, below)));
    }
    const chain::Name owner = owner_of(header.slot, below).producer;
    if (owner == header.producer) return {};
    return base::fail(base::Errc::invalid,
                      fmt::format("slot {} belongs to {}, not to {}",
                                  header.slot,
                                  owner.to_string(),
                                  header.producer.to_string()));
}

bool Core::Impl::is_signed(const chain::Block& block, const chain::ScheduleState& below) const {
    if (chain::is_left_out(chain::Rule::block_signature)) return true;
    return base::crypto::verify(owner_of(block.header.slot, below).signing_key,
                                block.signature,
                                block.header.signing_digest(chain_->identity().chain_id));
}

void Core::Impl::work_off(Effects& out) {
    share_.blocks = 0;
    share_.cost = {};
    // What one block does may take others with it, and lets its children in.
    while (work_off_some(out)) {
    }
}

// False: nothing was executed, or not now any more.
bool Core::Impl::work_off_some(Effects& out) {
    const chain::Slot recent = recent_from();
    // Who is behind has no slot to miss.
    const bool is_behind = consensus_.tree().head().slot() < recent;
    const int blocks_before = share_.blocks;
    bool is_any_put_off = false;
    for (const auto& [rank, key] : arrivals_.in_turn(recent)) {
        const Arrival* arrival = arrivals_.find(key);
        if (arrival == nullptr) continue;
        if (!trouble_.empty() || queue_.size() >= kQueueMax) return false;
        if (share_.blocks >= kBlocksAStep || share_.cost >= kCostAStep) {
            // Slots and votes come first; then it goes on.
            out.push_back(effect::WakeAt{now_});
            return false;
        }
        const bool is_paced = rank == Arrivals::Rank::old && !is_behind;
        if (is_paced && share_.old_until > now_ + kOldBurst) {
            is_any_put_off = true;
            continue;
        }
        const chain::Height height_before = chain_->finalized()->header.height;
        base::Duration cost = Arrivals::cost_of(*arrival->block);
        if (!try_adopt(key, out)) continue;
        CHECK(chain_->finalized()->header.height >= height_before);
        if (!consensus_.holds(key.second)) cost = kRefusedCost;
        ++share_.blocks;
        share_.cost += cost;
        if (is_paced) share_.old_until = std::max(share_.old_until, now_) + kOldShare * cost;
    }
    if (is_any_put_off) out.push_back(effect::WakeAt{share_.old_until - kOldBurst});
    return share_.blocks > blocks_before;
}

chain::Slot Core::Impl::recent_from() const {
    const chain::SlotTimes& times = chain_->identity().times;
    return consensus::recent_from(times, times.slot_at(clock()));
}

bool Core::Impl::try_adopt(const Arrivals::Key& key, Effects& out) {
    const Arrival& arrival = arrivals_.entries().at(key);
    const chain::Block& block = *arrival.block;
    if (const std::string* reason = arrivals_.find_refused(block.header.previous)) {
        refuse(key, "builds on a refused block: " + *reason, out);
        return false;
    }
    if (arrival.gives_up_at) {
        if (*arrival.gives_up_at > now_) return false;
        conclude(key, Verdict::unsure, "nothing names it, a third of its slot", out);
        return false;
    }
    if (arrival.ticket != 0 || arrival.not_before > now_) return false;
    const consensus::HeaderVerdict verdict = consensus_.check(now_, block);
    switch (verdict.fate) {
        case Fate::good:
            break;
        case Fate::early:
            if (arrival.not_before == base::Timestamp{} && !arrivals_.hold(key, verdict.ready_at)) {
                conclude(key, Verdict::early, "came before its slot", out);
            } else {
                arrivals_.entries().at(key).not_before = verdict.ready_at;
                out.push_back(effect::WakeAt{verdict.ready_at});
            }
            return false;
        case Fate::unlinkable: {
            const Arrivals::Key parent{key.first - 1, block.header.previous};
            if (arrivals_.entries().contains(parent)) return false;
            conclude(key, Verdict::unsure, "its parent is not here", out);
            return false;
        }
        case Fate::stale:
            conclude(key, Verdict::duplicate, verdict.reason, out);
            return false;
        case Fate::too_early:
            if (arrival.is_certified || may_wait(key.second, arrival.is_sync)) {
                wait_for_clock(key, out);
            } else {
                conclude(key, Verdict::early, verdict.reason, out);
            }
            return false;
        case Fate::bad_witness:
            conclude(key, Verdict::bad, verdict.reason, out);
            return false;
        case Fate::invalid:
            refuse(key, verdict.reason, out);
            return false;
    }
    if (auto proved = verify_all(verdict.certificates, out); !proved) {
        // Its id does not cover the witness: another copy of it may be good.
        conclude(key, Verdict::bad, proved.error().detail, out);
        return false;
    }
    adopt(arrivals_.take(key), out);
    return true;
}

// Of a block that is dated ahead. A quorum has signed it: it is good, but for our clock. On what
// one member alone has signed nobody waits, whoever calls it final.
bool Core::Impl::may_wait(const chain::BlockId& id, bool is_sync) const {
    const bool is_believed = chain::is_left_out(chain::Rule::sync_block_not_too_early) && is_sync;
    return is_believed || consensus_.is_certified(id);
}

void Core::Impl::wait_for_clock(const Arrivals::Key& key, Effects& out) {
    Arrival& arrival = arrivals_.entries().at(key);
    const base::Timestamp begin = begin_of(arrival.block->header.slot);
    arrival.not_before = std::min(begin, now_ + kLookAgainAfter);
    out.push_back(effect::WakeAt{arrival.not_before});
}

void Core::Impl::adopt(const Arrival& arrival, Effects& out) {
    const chain::Block& block = *arrival.block;
    p2p::input::Judged judged{p2p::Item::block, block.id, arrival.channel, Verdict::good, ""};
    auto executed = chain_->execute(arrival.block, arrival.transactions);
    if (!executed) {
        const base::Error& error = executed.error();
        if (proved_.contains(block.id) && has_its_body(block)) {
            judged.verdict = Verdict::unsure;
            judge(std::move(judged), out);
            const std::string why = chain_->explain_digest(block.header.previous);
            return stop_at(block.header, error.detail + "; " + why, out);
        }
        if (error.code == base::Errc::unavailable || error.code == base::Errc::corrupt) {
            // Not the block's fault: this node cannot follow.
            trouble_ = error.detail;
            environment_.log.error("stopped at block {}: {}", block.header.height, trouble_);
            judged.verdict = Verdict::unsure;
            judge(std::move(judged), out);
            publish(out);
            return;
        }
        environment_.log.warn("block {} height {} of {} is refused: {}",
                              base::to_hex(block.id.bytes),
                              block.header.height,
                              block.header.producer.to_string(),
                              error.detail);
        if (has_its_body(block)) arrivals_.refuse(block.id, error.detail);
        judged.verdict = Verdict::bad;
        judged.text = error.detail;
        judge(std::move(judged), out);
        feed(consensus::input::HeaderSeen{{block.header, block.signature}}, out);
        return;
    }
    bodies_.emplace(block.id, arrival.transactions);
    judge(std::move(judged), out);
    accept(*executed, /*own=*/false, out);
}

void Core::Impl::conclude(const Arrivals::Key& key,
                          Verdict verdict,
                          const std::string& text,
                          Effects& out) {
    const Arrival arrival = arrivals_.take(key);
    judge({p2p::Item::block, arrival.block->id, arrival.channel, verdict, text}, out);
}

void Core::Impl::refuse(const Arrivals::Key& key, const std::string& reason, Effects& out) {
    if (has_its_body(*arrivals_.entries().at(key).block)) arrivals_.refuse(key.second, reason);
    environment_.log.warn(
        "block {} height {} is refused: {}", base::to_hex(key.second.bytes), key.first, reason);
    conclude(key, Verdict::bad, reason, out);
}

}  // namespace node
