#include "p2p/votes.hpp"

#include "base/crypto/hash.hpp"
#include "chain/types/rule.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace p2p {

namespace {
using std::chrono::milliseconds;

constexpr std::size_t kVotesMax = 16'384;
constexpr std::size_t kCertificatesMax = 4'096;
constexpr std::size_t kJudgingMax = 4'096;  // Of one peer, with the ledger.
constexpr std::size_t kCertifiedMax = 64;
constexpr std::size_t kVotersMax = 4 * chain::kProducersMax;
constexpr std::size_t kRelaysMax = kVotesMax;

// An eighth of a slot: a quorum that is connected has its certificate by then.
base::Duration relay_delay(std::uint32_t interval_milliseconds) {
    return std::clamp<base::Duration>(
        milliseconds(interval_milliseconds) / 8, milliseconds(2), milliseconds(50));
}

}  // namespace

VoteGossip::VoteGossip(Peers& peers)
    : peers_(peers),
      relay_delay_(relay_delay(peers.options().times.interval_milliseconds)),
      relay_rate_(
          relayed_votes_of_key(slots_of_second(peers.options().times.interval_milliseconds))),
      votes_({kVotesMax, ~std::size_t{0}}),
      certificates_({kCertificatesMax, ~std::size_t{0}}) {}

void VoteGossip::push(const chain::Vote& vote) {
    const base::Hash256 id = base::crypto::sha256(chain::pack(vote));
    auto* entry = votes_.find(id);
    if (entry == nullptr) entry = &votes_.insert(id, {vote, true, {}});
    send_to_lacking(*entry);
    note_good(vote, id);
}

void VoteGossip::send_to_lacking(SeenTable<VoteState>::Entry& entry) {
    SharedBytes message = std::exchange(entry.value.message, {});
    peers_.for_each_ready([&](Peer& peer) {
        if (!peer.wants_votes() || entry.holders.has(peer.slot)) return;
        if (!message) message = pack_message(entry.value.vote);
        entry.holders.add(peer.slot);
        peers_.send(peer, MessageType::vote, message);
    });
}

void VoteGossip::pass(const input::PassCertificate& passed) {
    const base::Hash256 id = base::crypto::sha256(chain::pack(passed.certificate));
    auto* entry = certificates_.find(id);
    if (entry == nullptr) entry = &certificates_.insert(id, {passed.certificate.data});
    const SharedBytes message = pack_message(passed.certificate);
    if (passed.to) {
        Peer* peer = peers_.find(*passed.to);
        if (peer == nullptr || !peer->is_ready()) return;
        entry->holders.add(peer->slot);
        return peers_.send(*peer, MessageType::certificate, message);
    }
    peers_.for_each_ready([&](Peer& peer) {
        if (!passed.again && entry->holders.has(peer.slot)) return;
        entry->holders.add(peer.slot);
        peers_.send(peer, MessageType::certificate, message);
    });
}

void VoteGossip::on_vote(Peer& peer, chain::Vote vote, base::ByteView body) {
    const base::Hash256 id = base::crypto::sha256(body);
    if (auto* entry = votes_.find(id); entry != nullptr) {
        entry->holders.add(peer.slot);
        ++peers_.duplicates_dropped;
        return;
    }
    if (!wants(vote) || !peer.begin_judging(Item::vote, kJudgingMax)) return;
    votes_.insert(id, {vote, false, peers_.share(MessageType::vote, body)}).holders.add(peer.slot);
    peers_.emit(effect::VoteArrived{peer.channel, id, std::move(vote)});
}

void VoteGossip::on_certificate(Peer& peer, chain::Certificate certificate, base::ByteView body) {
    const base::Hash256 id = base::crypto::sha256(body);
    if (certificate.data.kind == chain::VoteKind::commit) {
        peer.note_final({certificate.data.height, certificate.data.block_id});
    }
    if (auto* entry = certificates_.find(id); entry != nullptr) {
        entry->holders.add(peer.slot);
        ++peers_.duplicates_dropped;
        return;
    }
    if (!peer.begin_judging(Item::certificate, kJudgingMax)) return;
    certificates_.insert(id, {certificate.data}).holders.add(peer.slot);
    peers_.emit(effect::CertificateArrived{peer.channel, id, std::move(certificate)});
}

void VoteGossip::on_judged(const input::Judged& judged) {
    const bool is_vote = judged.item == Item::vote;
    Peer* peer = peers_.find(judged.channel);
    if (peer != nullptr) peer->end_judging(judged.item);
    if (judged.verdict == Verdict::unsure && !is_vote) return certificates_.erase(judged.id);
    if (judged.verdict == Verdict::bad && peer != nullptr) {
        peers_.close(*peer, Reason::bad_vote, judged.text);
    }
    if (is_vote) {
        auto* entry = votes_.find(judged.id);
        if (entry == nullptr) return;
        // Anybody can make such votes without end: they take no good one's place.
        if (judged.verdict != Verdict::good) return votes_.erase(judged.id);
        entry->value.is_good = true;
        note_good(entry->value.vote, judged.id);
        if (relays_.size() < kRelaysMax) {
            relays_.push({peers_.now() + relay_delay_, judged.id});
        }
        return;
    }
    const auto* entry = certificates_.find(judged.id);
    if (judged.verdict == Verdict::good && entry != nullptr && !is_certified(entry->value.data)) {
        certified_.push_back(entry->value.data);
        if (certified_.size() > kCertifiedMax) certified_.pop_front();
    }
}

void VoteGossip::on_time() {
    while (!relays_.empty() && relays_.front().due <= peers_.now()) {
        const base::Hash256 id = relays_.take().id;
        auto* entry = votes_.find(id);
        if (entry == nullptr) continue;
        if (is_certified(entry->value.vote.data)) {
            entry->value.message.reset();
        } else if (may_pass_on(entry->value.vote.key)) {
            send_to_lacking(*entry);
        } else {
            relays_.push({peers_.now() + relay_delay_, id});
        }
    }
}

std::optional<base::Timestamp> VoteGossip::next_time() const {
    if (relays_.empty()) return {};
    return relays_.front().due;
}

bool VoteGossip::is_certified(const chain::VoteData& data) const {
    return std::find(certified_.begin(), certified_.end(), data) != certified_.end();
}

// Who is charged for votes is who passes them on.
bool VoteGossip::may_pass_on(const PublicKey& key) {
    if (chain::is_left_out(chain::Rule::few_votes_of_key_go_on)) return true;
    const auto at = voters_.find(key);
    return at != voters_.end() && at->second.relayed.take(peers_.now(), 1);
}

bool VoteGossip::wants(const chain::Vote& vote) const {
    const auto at = voters_.find(vote.key);
    if (at == voters_.end()) return true;
    const std::span known(at->second.known.data(), at->second.count);
    const auto same_slot = [&](const Known& one) {
        return one.data.slot == vote.data.slot && one.data.kind == vote.data.kind;
    };
    if (std::ranges::find(known, vote.data, &Known::data) != known.end()) return false;
    if (std::ranges::count_if(known, same_slot) >= 2) return false;
    return known.size() < kVotesOfKey ||
           std::ranges::min(known, {}, &Known::slot).slot() <= vote.data.slot;
}

void VoteGossip::note_newest(const chain::Vote& vote) {
    if (voters_.size() >= kVotersMax && !voters_.contains(vote.key)) forget_oldest_voter();
    Voter& voter = voters_.try_emplace(vote.key, relay_rate_).first->second;
    auto& newest = voter.newest[index_of(vote.data.kind)];
    if (!newest || newest->data.slot < vote.data.slot) newest = vote;
}

// The key whose last vote is of the lowest slot: keys are rotated, and one that votes no more must
// not keep out one that does.
void VoteGossip::forget_oldest_voter() {
    const auto last_slot = [](const auto& each) {
        chain::Slot slot = 0;
        for (const auto& vote : each.second.newest) {
            if (vote) slot = std::max(slot, vote->data.slot);
        }
        return slot;
    };
    const auto oldest = std::ranges::min_element(voters_, {}, last_slot);
    for (const Known& one : std::span(oldest->second.known.data(), oldest->second.count))
        votes_.erase(one.id);
    voters_.erase(oldest);
}

void VoteGossip::note_good(const chain::Vote& vote, const base::Hash256& id) {
    note_newest(vote);
    const auto at = voters_.find(vote.key);
    if (at == voters_.end()) return;
    Voter& voter = at->second;
    const std::span known(voter.known.data(), voter.count);
    if (std::ranges::find(known, id, &Known::id) != known.end()) return;
    Known* place = &voter.known[std::min(voter.count, kVotesOfKey - 1)];
    if (voter.count < kVotesOfKey) {
        ++voter.count;
    } else {
        place = &*std::ranges::min_element(voter.known, {}, &Known::slot);
        votes_.erase(place->id);
    }
    *place = {vote.data, id};
}

void VoteGossip::newest(const PublicKey& key, std::vector<chain::Vote>& out) const {
    const auto at = voters_.find(key);
    if (at == voters_.end()) return;
    for (const auto& vote : at->second.newest) {
        if (vote) out.push_back(*vote);
    }
}

void VoteGossip::forget(PeerSlot slot) {
    votes_.forget(slot);
    certificates_.forget(slot);
}

}  // namespace p2p
