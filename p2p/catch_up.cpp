#include "p2p/catch_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace p2p {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

// So far behind a push on its way is no explanation.
constexpr chain::Height kClearlyBehind = 8;
constexpr base::Duration kBehindPatience = milliseconds(300);
constexpr base::Duration kVerifyAgain = seconds(1);
constexpr base::Duration kSampleEvery = seconds(1);
constexpr base::Duration kProgressEvery = seconds(5);
constexpr base::Duration kWarnEvery = seconds(10);
// Without any peer for so long, keys of all of them may have changed.
constexpr base::Duration kAloneFor = seconds(30);
// Who is ahead for so long and gives nothing is not believed,
constexpr base::Duration kClaimPatience = seconds(30);
// and everybody is again, once our final block has not risen for so long.
constexpr base::Duration kStandsStill = seconds(5);
constexpr std::size_t kClaimsMax = 1'024;
constexpr int kUnsure = 10;  // Points.
constexpr int kGivesNothing = 10;
constexpr chain::Height kIdsAhead = 8'192;  // Ids of higher blocks are of no use yet.

// The lowest block that it stores.
chain::Height earliest_of(const Peer& peer) {
    return peer.stored.earliest_height;
}
}  // namespace

CatchUp::CatchUp(Peers& peers,
                 BlockGossip& blocks,
                 const Access& access,
                 const input::LedgerChanged& ledger)
    : peers_(peers),
      blocks_(blocks),
      ledger_(ledger),
      sync_(peers.options().checkpoint),
      gate_(peers, access, ledger) {}

bool CatchUp::branch_has(const BlockPoint& point) const {
    const chain::Height below = ledger_.finalized.height;
    if (point.height < below) return true;  // What is final differs from no peer's: handshake.
    if (point.height == below) return point.id == ledger_.finalized.id;
    const std::size_t at = point.height - below - 1;
    return at < ledger_.branch.size() && ledger_.branch[at] == point.id;
}

SyncMode CatchUp::mode_towards(const Peer& peer) const {
    if (!branch_has(peer.finalized)) return SyncMode::last_irr_catch_up;
    if (peer.head.height > ledger_.head.height && !blocks_.is_known(peer.head.id)) {
        return SyncMode::catch_up;
    }
    return SyncMode::normal;
}

bool CatchUp::is_believed(Peer& peer) {
    const base::Timestamp now = peers_.now();
    if (now >= risen_at_ + kStandsStill) claims_.clear();
    if (peer.mode != SyncMode::last_irr_catch_up) {
        end_claim(peer);
        return true;
    }
    if (claims_.size() >= kClaimsMax && !claims_.contains(peer.key)) return true;
    Claim& claim = claims_.try_emplace(peer.key, Claim{.since = now}).first->second;
    claim.height = std::max(claim.height, peer.finalized.height);
    if (claim.is_disbelieved) return false;
    if (!claim.was_asked) claim.since = now;
    if (now < claim.since + kClaimPatience) return true;
    claim.is_disbelieved = true;
    peers_.charge(peer,
                  kGivesNothing,
                  Reason::behind,
                  fmt::format("names final block {}, and has given no block that we lack in {} s",
                              claim.height,
                              kClaimPatience / seconds(1)));
    return false;
}

bool CatchUp::is_disbelieved(const Peer& peer) const {
    const auto at = claims_.find(peer.key);
    return at != claims_.end() && at->second.is_disbelieved;
}

// Who says less for a moment is not believed anew for it.
void CatchUp::end_claim(const Peer& peer) {
    const auto at = claims_.find(peer.key);
    if (at != claims_.end() && at->second.height <= ledger_.head.height) claims_.erase(at);
}

void CatchUp::on_ledger() {
    if (ledger_.finalized.height > risen_to_) {
        risen_to_ = ledger_.finalized.height;
        risen_at_ = peers_.now();
    }
    gate_.on_ledger();
    sync_.on_final(peers_.now(), ledger_.finalized);
    evaluate();
    pump();
}

// Being behind for a moment is no state: what is on its way explains it.
void CatchUp::evaluate() {
    ready_peers_ = 0;
    bool is_behind = false;
    bool must_start = sync_.is_active();
    bool must_verify = false;
    bool has_their_final = true;
    target_ = ledger_.head.height;
    peers_.for_each_ready([&](Peer& peer) {
        ++ready_peers_;
        peer.mode = mode_towards(peer);
        if (!is_believed(peer)) return;
        target_ = std::max(target_, peer.finalized.height);
        has_their_final &= peer.finalized.height <= ledger_.finalized.height;
        if (peer.mode == SyncMode::normal) {
            peer.ahead_since = {};
            return;
        }
        if (peer.ahead_since == base::Timestamp{}) peer.ahead_since = peers_.now();
        const bool is_long = peers_.now() >= peer.ahead_since + kBehindPatience;
        if (peer.mode == SyncMode::last_irr_catch_up) {
            is_behind = true;
            must_start |= is_long || peer.finalized.height > ledger_.head.height + kClearlyBehind;
        } else if (is_long) {
            must_verify = true;
            if (peers_.now() >= peer.verified_at + kVerifyAgain) verify_catchup(peer);
        }
    });
    if (!is_behind) sync_.stop();
    note_joined(has_their_final);
    mode_ = ready_peers_ > 0 ? SyncMode::normal : SyncMode::none;
    if (must_verify) mode_ = SyncMode::catch_up;
    if (is_behind && must_start) return fetch_final();
    if (!is_behind && ready_peers_ > 0) gate_.look_at_beginning();
}

// The registry that we know is that of our final block, be our head ever so far above it.
void CatchUp::note_joined(bool has_their_final) {
    if (ready_peers_ > 0) {
        has_joined_ |= has_their_final;
        alone_since_.reset();
        return;
    }
    if (!alone_since_) alone_since_ = peers_.now();
    if (peers_.now() >= *alone_since_ + kAloneFor) has_joined_ = false;
}

void CatchUp::fetch_final() {
    mode_ = SyncMode::last_irr_catch_up;
    if (is_held_) return sync_.stop();
    if (!sync_.is_active() && gate_.look()) start_sync();
}

std::size_t CatchUp::block_sources() {
    const chain::Height next = ledger_.finalized.height + 1;
    std::size_t count = 0;
    peers_.for_each_ready([&](const Peer& peer) {
        if (is_disbelieved(peer)) return;
        if (earliest_of(peer) <= next && next <= peer.finalized.height) ++count;
    });
    return count;
}

void CatchUp::hold(bool is_held) {
    if (is_held == is_held_) return;
    is_held_ = is_held;
    evaluate();
}

void CatchUp::start_sync() {
    if (!sync_.is_active()) {
        sample_ = {peers_.now(), ledger_.head.height, sync_.bytes_received()};
        peers_.log().info("sync: from block {} to {}", ledger_.finalized.height + 1, target_);
    }
    if (const auto& agreed = gate_.agreed()) sync_.bind(agreed->block, agreed->at);
    sync_.start(peers_.now(), ledger_.finalized);
    pump();
}

void CatchUp::verify_catchup(Peer& peer) {
    peer.verified_at = peers_.now();
    peers_.send(peer, make_notice(peer, ledger_, false), {.flags = kFlagAnswer});
}

void CatchUp::on_notice(Peer& peer, const Envelope& envelope, const Notice& notice) {
    peer.finalized = notice.finalized;
    peer.head = notice.head;
    if ((envelope.flags & kFlagAnswer) != 0) {
        peers_.send(peer, make_notice(peer, ledger_, true));
    }
    evaluate();
    pump();
    if (peer.mode == SyncMode::last_irr_catch_up || notice.blocks.ids.empty()) return;
    if (!takes_news()) return;
    std::vector<chain::BlockId> ids;
    for (const chain::BlockId& id : notice.blocks.ids) {
        const chain::Height height = chain::height_of(id);
        if (height <= ledger_.finalized.height) continue;
        if (height <= ledger_.head.height + kIdsAhead) ids.push_back(id);
    }
    blocks_.on_known(peer, ids);
}

// --- The sync manager ---

bool CatchUp::is_asked(const Peer& peer, const Envelope& envelope) const {
    return gate_.is_asked(peer, envelope) || sync_.is_asked(peer.slot, envelope.correlation);
}

void CatchUp::on_blocks(Peer& peer, const Envelope& envelope, const Blocks& blocks) {
    if (gate_.is_asked(peer, envelope)) {
        gate_.on_answer(peer, blocks);
        return evaluate();
    }
    if (auto fault = sync_.on_blocks(peers_.now(), peer.slot, envelope, blocks)) {
        // Who has pruned since it was asked pays nothing: it says so before the blocks go.
        const bool has_pruned = fault->lacks != 0 && fault->lacks < earliest_of(peer);
        if (!has_pruned) apply(*fault);
    }
    pump();
}

void CatchUp::on_proof(Peer& peer, const Envelope& envelope, RangeProof proof) {
    if (gate_.is_asked(peer, envelope)) {
        return peers_.close(peer, Reason::wrong_version, "proves a block that was asked for alone");
    }
    if (auto fault = sync_.on_proof(peer.slot, envelope, std::move(proof))) apply(*fault);
}

void CatchUp::apply(const SyncManager::Fault& fault) {
    Peer* peer = peers_.at(fault.slot);
    if (peer == nullptr) return;
    if (fault.points > 0) return peers_.charge(*peer, fault.points, fault.reason, fault.text);
    peers_.close(*peer, fault.reason, fault.text);
}

void CatchUp::pump() {
    if (!sync_.is_active()) return;
    hand_over();
    if (peers_.options().trusts_certified) sync_.trust(ledger_.schedule_version);
    std::vector<SyncManager::Source> sources;
    peers_.for_each_ready([&](Peer& peer) {
        if (is_disbelieved(peer)) return;
        sources.push_back({.slot = peer.slot,
                           .first = earliest_of(peer),
                           .last = peer.finalized.height,
                           .round_trip = peer.round_trip_or(milliseconds(50))});
    });
    for (const SyncManager::Ask& ask : sync_.plan(peers_.now(), sources, target_)) {
        if (Peer* peer = peers_.at(ask.slot)) {
            if (const auto at = claims_.find(peer->key); at != claims_.end()) {
                at->second.was_asked = true;
            }
            const std::uint8_t flags = ask.request.trusted ? kFlagCertified : std::uint8_t{0};
            peers_.send(*peer, ask.request, {.correlation = ask.correlation, .flags = flags});
        }
    }
}

void CatchUp::hand_over() {
    SyncManager::Taken taken = sync_.take();
    for (SyncManager::Delivery& delivery : taken.deliveries) {
        const chain::BlockPtr block = delivery.blocks.back();
        const Peer* peer = peers_.at(delivery.slot);
        if (blocks_.is_judging(block->id)) {
            sync_.note_other_copy(block->id);
            continue;
        }
        if (blocks_.is_known(block->id)) {
            sync_.on_judged(block->id);
            continue;
        }
        blocks_.note_delivered(block->id);
        const ChannelId channel = peer == nullptr ? ChannelId{} : peer->channel;
        if (delivery.proof) {
            peers_.emit(effect::RangeArrived{
                channel, std::move(delivery.blocks), *std::move(delivery.proof)});
        } else {
            peers_.emit(effect::BlockArrived{channel, block, true});
        }
    }
    if (taken.fault) apply(*taken.fault);
    if (taken.must_restart) sync_.start(peers_.now(), ledger_.finalized);
}

bool CatchUp::on_judged(const input::Judged& judged) {
    if (judged.item != Item::block || !sync_.is_judging(judged.id)) return false;
    const SyncManager::Answered answered = sync_.on_judged(judged.id);
    const bool is_taken = judged.verdict == Verdict::good || judged.verdict == Verdict::duplicate;
    if (!answered.is_other_copy && is_taken) blocks_.note_good(judged.id);
    if (!answered.is_other_copy && !is_taken) blocks_.take_back(judged.id);
    if (!answered.is_other_copy && judged.verdict == Verdict::good) {
        if (const Peer* giver = peers_.find(judged.channel)) claims_.erase(giver->key);
    }
    if (!is_taken && answered.is_of_round) {
        // Who sent another copy answers to the gossip of blocks.
        refuse(judged, answered.is_other_copy ? nullptr : peers_.find(judged.channel));
    }
    pump();
    return !answered.is_other_copy;
}

// Charges who sent it, but nobody who came to its slot since.
void CatchUp::refuse(const input::Judged& judged, Peer* sender) {
    if (judged.verdict == Verdict::early) {
        warn(fmt::format("block {} of {} is not taken yet: {}",
                         chain::height_of(judged.id),
                         sender == nullptr ? "another peer" : sender->address,
                         judged.text));
        if (sender != nullptr) {
            return sync_.on_early(peers_.now(), sender->slot, ledger_.finalized);
        }
    } else {
        peers_.log().warn(
            "sync: block {} is not taken: {}", chain::height_of(judged.id), judged.text);
        if (sender != nullptr && judged.verdict == Verdict::unsure) {
            peers_.charge(*sender, kUnsure, Reason::bad_block, judged.text);
        } else if (sender != nullptr) {
            peers_.close_for(*sender, judged);
        }
    }
    sync_.start(peers_.now(), ledger_.finalized);
}

void CatchUp::on_time() {
    gate_.on_time();
    for (const SyncManager::Fault& fault : sync_.on_time(peers_.now()))
        apply(fault);
    if (sync_.is_astray(peers_.now())) {
        peers_.log().warn(
            "sync: nothing above block {} is final by what one peer says; others "
            "are asked",
            ledger_.finalized.height);
        sync_.start(peers_.now(), ledger_.finalized);
    }
    evaluate();
    pump();
    if (peers_.now() >= sample_.at + kSampleEvery) measure();
}

void CatchUp::warn(const std::string& text) {
    if (warned_at_ != base::Timestamp{} && peers_.now() < warned_at_ + kWarnEvery) return;
    warned_at_ = peers_.now();
    peers_.log().warn("sync: {}", text);
}

void CatchUp::forget(PeerSlot slot) {
    sync_.forget(slot);
    gate_.forget(slot);
}

// --- Progress ---

void CatchUp::measure() {
    const auto elapsed = static_cast<std::uint64_t>((peers_.now() - sample_.at) / milliseconds(1));
    const chain::Height risen = ledger_.head.height - std::min(ledger_.head.height, sample_.height);
    blocks_per_second_ = static_cast<std::uint32_t>(std::uint64_t{risen} * 1000 / elapsed);
    bytes_per_second_ = (sync_.bytes_received() - sample_.bytes) * 1000 / elapsed;
    sample_ = {peers_.now(), ledger_.head.height, sync_.bytes_received()};
    if (mode_ == SyncMode::last_irr_catch_up) log_progress();
}

void CatchUp::log_progress() {
    if (peers_.now() < logged_at_ + kProgressEvery) return;
    logged_at_ = peers_.now();
    const SyncStatus now = status();
    const std::string eta =
        now.eta ? fmt::format(", {} s left", *now.eta / seconds(1)) : std::string();
    peers_.log().info("sync: block {} of {}, {} blocks/s, {} KiB/s, {} ranges, {} peers{}{}{}",
                      now.height,
                      now.target,
                      now.blocks_per_second,
                      now.bytes_per_second / 1024,
                      now.ranges_in_flight,
                      now.peers,
                      eta,
                      now.waiting_for.empty() ? "" : ", ",
                      now.waiting_for);
}

SyncStatus CatchUp::status() const {
    SyncStatus status{.mode = mode_,
                      .peers = ready_peers_,
                      .height = ledger_.head.height,
                      .target = target_,
                      .blocks_per_second = blocks_per_second_,
                      .bytes_per_second = bytes_per_second_,
                      .ranges_in_flight = sync_.ranges_in_flight(),
                      .bytes_waiting = sync_.bytes_waiting(),
                      .waiting_for = {}};
    if (mode_ == SyncMode::none) status.waiting_for = "no peer is connected";
    if (mode_ != SyncMode::none && !gate_.is_open()) {
        status.waiting_for = status.gate_waits_for = gate_.trouble();
    }
    if (mode_ != SyncMode::last_irr_catch_up) return status;
    if (blocks_per_second_ > 0 && target_ > ledger_.head.height) {
        status.eta = seconds((target_ - ledger_.head.height) / blocks_per_second_);
    }
    return status;
}

}  // namespace p2p
