#include "tests/sim/full/byzantine.hpp"
#include "tests/sim/full/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// What must hold in a fleet, whatever goes wrong.

namespace sim::full {

namespace {

// How old the newest final block of each honest node may be in the end.
constexpr chain::Slot kBehindMax = 12;
constexpr chain::Slot kUselessMax = 24;     // Slots without a transaction that is final.
constexpr chain::Slot kBehindMaxHard = 40;  // A Byzantine member may cost a recovery.
constexpr std::size_t kReversibleMax = 200;
constexpr std::size_t kPoolMax = 2'000;
constexpr std::ptrdiff_t kForgedKept = 8;  // Of the blocks that say a wrong state, the last.
// Without a final block for nearly so long, blocks may be those of recovery.
constexpr base::Duration kRecoveryNear = std::chrono::seconds(5);

std::uint64_t number_of(const base::Hash256& id) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i)
        number = number << 8U | std::to_integer<std::uint64_t>(id.bytes[i + 8]);
    return number;
}

}  // namespace

// --- What is signed ---

void Fleet::signed_header(std::size_t machine, const chain::SignedHeader& header) {
    observer_.add(chain::make_block(header, {}, {}));
    if (!world_.is_honest(machine)) return byzantine_->signed_header(machine, header);
    if (byzantine_ != nullptr) byzantine_->impostor().header_signed(machine, header);
    const Machine& maker = *machines_[machine];
    const base::Timestamp slot = world_.universe.at(header.header.slot);
    const bool long_ago =
        maker.view == nullptr ||
        slot >= world_.universe.at(maker.view->finalized->header.slot) + kRecoveryNear;
    if (long_ago) observer_.recovery_block();
}

void Fleet::signed_vote(std::size_t machine, const chain::Vote& vote) {
    if (!world_.is_honest(machine)) return;
    if (byzantine_ != nullptr) byzantine_->impostor().vote_signed(machine, vote);
    const auto kind = vote.data.kind == chain::VoteKind::commit ? consensus::RecordKind::commit
                                                                : consensus::RecordKind::notarize;
    if (!machines_[machine]->promises().contain(kind, vote.key, vote.data.slot)) {
        fail(fmt::format("node {} signs a vote before its record is durable", machine));
    }
    observer_.vote_left(vote);
    if (vote.data.kind == chain::VoteKind::commit) {
        chain::Slot& newest = committed_[vote.key];
        newest = std::max(newest, vote.data.slot);
    }
}

// Headers of an honest producer leave once for each slot, after their record.
void Fleet::note_sent(std::size_t i, const p2p::effect::Send& send) {
    const auto envelope = p2p::read_envelope(*send.bytes);
    if (!envelope) return;
    const bool proves = envelope->type == p2p::MessageType::certificate;
    if (proves && world_.is_honest(i)) return note_certificate(i, *envelope, send.bytes);
    if (world_.is_honest(i)) note_passed_on(i, *envelope, send);
    if (envelope->type != p2p::MessageType::header) return;
    const auto body = p2p::read_body(*envelope, *send.bytes);
    if (!body) return fail(fmt::format("node {} sends what nobody can read", i));
    if (i == world_.joiner) return;  // It passes on what others made.
    const chain::SignedHeader& header = std::get<p2p::HeaderPush>(*body).signed_header;
    const Member& member = world_.universe.members[world_.member_of(i)];
    if (header.header.producer != member.name) return;
    const bool is_promised = std::ranges::any_of(member.vote_keys, [&](const auto& key) {
        return machines_[i]->promises().contain(
            consensus::RecordKind::produced, key, header.header.slot);
    });
    if (!is_promised) fail(fmt::format("node {} sends a header before its record is durable", i));
    observer_.header_left(*chain::make_block(header, {}, {}));
}

// One message goes to many.
void Fleet::note_certificate(std::size_t i,
                             const p2p::Envelope& envelope,
                             const p2p::SharedBytes& bytes) {
    if (std::exchange(last_certificate_, bytes) == bytes) return;
    const auto body = p2p::read_body(envelope, *bytes);
    if (!body) return fail(fmt::format("node {} sends what nobody can read", i));
    observer_.certificate_left(std::get<chain::Certificate>(*body));
}

// --- What becomes final ---

void Fleet::note_final(std::size_t i, const node::effect::Finalized& finalized) {
    const chain::Block& block = *finalized.block->block;
    const chain::Height height = block.header.height;
    trace_.note(i);
    trace_.note(number_of(block.id));
    if (!world_.is_honest(i)) return;
    note_rules(i, *finalized.block);
    note_reports(*finalized.block);
    if (finalized.certificate) observer_.certificate_left(*finalized.certificate);
    const auto [known, first] = final_.emplace(height, block.id);
    if (!first && known->second != block.id) {
        return fail(fmt::format("two blocks are final at height {}", height));
    }
    if (!first) return;
    if (byzantine_ != nullptr) byzantine_->became_final(finalized.block);
    const auto time = world_.genesis.times.time_of(block.header.slot);
    if (!block.transactions.empty()) last_useful_ = block.header.slot;
    for (const chain::TransactionTrace& trace : finalized.block->traces) {
        const auto [there, added] = included_.emplace(trace.id, height);
        if (!added) {
            return fail(fmt::format("a transaction is in blocks {} and {}", there->second, height));
        }
        const auto expires = expirations_.find(trace.id);
        if (expires != expirations_.end() && time > expires->second.to_time_point()) {
            return fail(fmt::format("an expired transaction is in block {}", height));
        }
    }
}

// Nobody is convicted whom its own votes do not convict.
void Fleet::note_reports(const chain::ExecutedBlock& block) {
    const chain::Name reportbad = *chain::Name::from_string("reportbad");
    for (const chain::TransactionTrace& trace : block.traces) {
        if (trace.except) continue;
        for (const chain::ActionTrace& each : trace.action_traces) {
            if (each.act.name != reportbad || !each.receipt) continue;
            base::Reader in(each.act.data);
            const auto evidence = chain::unpack<chain::Evidence>(
                in.bytes("evidence", each.act.data.size()), "evidence");
            if (!evidence) return fail("evidence that nobody can read convicts somebody");
            observer_.accused(*evidence);
        }
    }
}

void Fleet::note_view(std::size_t i) {
    if (!world_.is_honest(i)) return;
    const node::Published& view = *machines_[i]->view;
    const chain::Height height = view.finalized->header.height;
    if (height < shown_final_[i] && !starts_over_.contains(i)) {
        return fail(fmt::format("node {} showed {} as final, now {}", i, shown_final_[i], height));
    }
    if (height > shown_final_[i]) observer_.became_final(i, view.finalized->id);
    if (height >= shown_final_[i]) starts_over_.erase(i);
    shown_final_[i] = std::max(shown_final_[i], height);
    const consensus::Consensus& agreement = machines_[i]->agreement();
    const Seen* head = observer_.find(agreement.head());
    if (head == nullptr) return fail(fmt::format("node {} builds on what nobody made", i));
    const auto recent = std::min(kForgedKept, std::ssize(forged_));
    if (std::any_of(forged_.end() - recent, forged_.end(), [&](const chain::BlockId& id) {
            return agreement.holds(id);
        })) {
        return fail(fmt::format("node {} holds a block that says a wrong state", i));
    }
    const auto* schedules = agreement.schedules_of(head->data(chain::VoteKind::notarize));
    observer_.schedules_on(i, agreement.head(), *schedules);
    check_places(i, *schedules);
    check_variants(i);
    if (!view.trouble.empty()) note_trouble(i, view.trouble);
    if (view.reversible.size() > kReversibleMax) {
        fail(fmt::format("node {} holds {} reversible blocks", i, view.reversible.size()));
    }
    if (view.pool_transactions > kPoolMax) {
        fail(fmt::format("node {} holds {} transactions", i, view.pool_transactions));
    }
}

// No member votes for who is none, but for those that mean harm; and of no schedule they are more
// than f.
void Fleet::check_places(std::size_t i, const chain::ScheduleState& schedules) {
    for (const auto& schedule : {schedules.active, schedules.proposed}) {
        if (schedule == nullptr) continue;
        std::size_t faulty = 0;
        for (const chain::ScheduleEntry& entry : schedule->entries) {
            const auto& members = world_.universe.members;
            const auto member = std::ranges::find(members, entry.producer, &Member::name);
            if (member == members.end()) {
                return fail(fmt::format("node {} gives a place to {}, who is no member",
                                        i,
                                        entry.producer.to_string()));
            }
            if (member->byzantine) ++faulty;
        }
        if (faulty > schedule->faults_max()) {
            return fail(fmt::format("node {} has a schedule of {}, of which {} are Byzantine",
                                    i,
                                    schedule->entries.size(),
                                    faulty));
        }
    }
}

// A node stops for its disk, or for rules that it does not have.
void Fleet::note_trouble(std::size_t i, const std::string& trouble) {
    const Machine& machine = *machines_[i];
    if (machine.has_bad_disk()) plan_repair(i);
    if (trouble.find(kSimulated) != std::string::npos) return;
    const bool is_old = world_.upgrade_at && machine.rules_known == chain::kRulesKnown;
    if (is_old && trouble.find("install the release that has them") != std::string::npos) return;
    fail(fmt::format("node {}: {}", i, trouble));
}

// --- What nodes say of each other ---

void Fleet::note_accused(std::size_t i, const chain::Evidence& evidence) {
    observer_.accused(evidence);
    if (const auto key = chain::check(evidence, world_.genesis.chain_id()); !key) {
        fail(fmt::format("node {} accuses without proof: {}", i, key.error().detail));
    }
    if (!world_.is_honest(i)) return;
    note_culprit(evidence);
    report(i, evidence);
}

// An honest node is never sent away for what it said.
void Fleet::note_expelled(std::size_t i, const p2p::effect::Close& goodbye) {
    using p2p::Reason;
    const auto end = ends_.find(goodbye.channel);
    const bool is_for_badness =
        goodbye.reason == Reason::bad_block || goodbye.reason == Reason::bad_vote ||
        goodbye.reason == Reason::bad_transaction || goodbye.reason == Reason::wrong_version ||
        goodbye.reason == Reason::flooding;
    if (end == ends_.end() || !is_for_badness) return;
    const std::size_t peer = end->second.peer;
    if (!world_.is_honest(i) || !world_.is_honest(peer)) return;
    if (i == world_.wrong_time || peer == world_.wrong_time) return;  // Too early, it seems.
    fail(fmt::format("node {} sends node {} away: {}", i, peer, goodbye.text));
}

// The certificate of a lock is durable before the COMMIT leaves: without it a restarted node
// could not show the others why it is locked (spec 04, R2). A state that was replaced may be below
// it; the journal's page has it then.
void Fleet::check_opened(std::size_t i) {
    if (!world_.is_honest(i) || i == world_.joiner) return;
    const consensus::Consensus& agreement = machines_[i]->agreement();
    const chain::Certificate* highest = agreement.highest_notarize();
    const chain::Slot certified =
        std::max(highest == nullptr ? 0 : highest->data.slot, agreement.finalized().slot);
    for (const auto& key : world_.universe.members[world_.member_of(i)].vote_keys) {
        const auto left = committed_.find(key);
        if (left == committed_.end() || left->second <= certified) continue;
        const auto journal = agreement.journals().find(consensus::key_tag(key));
        const bool is_there = journal != agreement.journals().end();
        const consensus::CertificatePtr lock =
            is_there ? journal->second.safety().lock_certificate : nullptr;
        if (lock != nullptr && lock->data.slot >= left->second) continue;
        fail(
            fmt::format("node {} has sent a COMMIT of slot {} whose certificate is gone; the "
                        "highest is of slot {}",
                        i,
                        left->second,
                        certified));
    }
}

// --- The end ---

void Fleet::check_healed() {
    const chain::Slot now = slot();
    const bool is_hard = !world_.byzantine.empty() || world_.wrong_time;
    const chain::Slot behind = is_hard ? kBehindMaxHard : kBehindMax;
    // Blocks that are made long after the last final one are empty: who stops finality again and
    // again, if only for a while, stops all that the chain is for.
    if (byzantine_ != nullptr && byzantine_->splits() && last_useful_ + kUselessMax < now) {
        return fail(fmt::format(
            "the last transaction is final in slot {}, now it is slot {}", last_useful_, now));
    }
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (!world_.is_honest(i)) continue;
        const Machine& machine = *machines_[i];
        if (!machine.runs() || machine.view == nullptr) {
            return fail(fmt::format("node {} does not run at the end", i));
        }
        const chain::BlockHeader& final = machine.view->finalized->header;
        if (final.slot + behind < now) {
            fail(fmt::format("node {}: slot {} is final, now it is slot {}; its head is of slot {}",
                             i,
                             final.slot,
                             now,
                             machine.view->head->header.slot));
        }
    }
}

void Fleet::conclude() {
    check_equivocators();
    if (outcome_.failure.empty()) check_amnesia();
    if (outcome_.failure.empty() && recovery_) check_recovered();
    std::set<std::uint32_t> versions;
    for (const Seen* block : observer_.blocks()) {
        if (block->notarizable()) versions.insert(block->header().schedule_version);
    }
    outcome_.changes = versions.empty() ? 0 : versions.size() - 1;
    outcome_.eos_finals = observer_.eos_finals();
    outcome_.finals = final_.size();
    outcome_.transactions = included_.size();
    const bool goes_on = is_upgrade_decided_ && final_.contains(*world_.upgrade_at);
    outcome_.upgrades = goes_on ? 1 : 0;
    if (byzantine_ != nullptr) outcome_.counts["conspiracies"] = byzantine_->conspiracies();
    if (byzantine_ != nullptr) outcome_.counts["floods"] = byzantine_->floods();
    if (byzantine_ != nullptr) outcome_.counts["miscopied"] = byzantine_->miscopies();
    if (byzantine_ != nullptr) outcome_.counts["claims"] = byzantine_->claims();
    if (byzantine_ != nullptr) outcome_.counts["usurpations"] = byzantine_->usurpations();
    if (byzantine_ != nullptr) outcome_.counts["dated_ahead"] = byzantine_->dated();
    if (byzantine_ != nullptr) outcome_.counts["candidates"] = byzantine_->candidates();
    if (world_.byzantine.size() > 1) outcome_.counts["colluding"] = 1;
    outcome_.trace = trace_.hash();
}

void Fleet::fail(const std::string& text) {
    if (outcome_.failure.empty()) outcome_.failure = text;
}

}  // namespace sim::full
