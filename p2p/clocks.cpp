#include "p2p/clocks.hpp"

#include "base/crypto/hash.hpp"

#include <algorithm>
#include <utility>

namespace p2p {

namespace {

constexpr base::Duration kTryAgain = std::chrono::milliseconds(200);
constexpr std::size_t kHeardMax = 4 * chain::kProducersMax;
constexpr std::size_t kJudgingMax = 2 * chain::kProducersMax;  // Of one peer, with the ledger.

}  // namespace

PeerSet& ClockGossip::holders_of(Said& said) const {
    said.holders.remove(departures_.since(said.departures));
    said.departures = departures_.count();
    return said.holders;
}

void ClockGossip::push(const ClockStatement& statement) {
    keep({.statement = statement, .departures = departures_.count()});
}

void ClockGossip::on_clock(Peer& peer, const ClockStatement& statement, base::ByteView body) {
    const auto known = heard_.find(statement.key);
    if (known != heard_.end()) {
        Said& newest = known->second.newest;
        if (newest.statement == statement) holders_of(newest).add(peer.slot);
        if (!statement.is_newer_than(newest.statement)) return answer_older(peer, newest);
    }
    const base::Hash256 id = base::crypto::sha256(body);
    if (const auto same = judging_.find(id); same != judging_.end()) {
        return holders_of(same->second).add(peer.slot);
    }
    if (!peer.begin_judging(Item::clock, kJudgingMax)) return;
    Said& said = judging_[id];
    said.statement = statement;
    holders_of(said).add(peer.slot);
    peers_.emit(effect::ClockArrived{peer.channel, id, statement});
}

// Who was started anew and does not know what it said before begins at the first life again: what
// it says is news to nobody until this has come to it, by way of others where it must.
void ClockGossip::answer_older(Peer& peer, Said& newest) {
    PeerSet& holders = holders_of(newest);
    if (holders.has(peer.slot)) return;
    holders.add(peer.slot);
    peers_.send(peer, MessageType::clock, pack_message(newest.statement));
}

void ClockGossip::on_judged(const input::Judged& judged) {
    Peer* peer = peers_.find(judged.channel);
    if (peer != nullptr) peer->end_judging(Item::clock);
    auto found = judging_.extract(judged.id);
    if (judged.verdict == Verdict::bad && peer != nullptr) {
        peers_.close(*peer, Reason::bad_vote, judged.text);
    }
    if (found.empty() || judged.verdict != Verdict::good) return;
    const auto known = heard_.find(found.mapped().statement.key);
    const bool is_news = known == heard_.end() ||
                         found.mapped().statement.is_newer_than(known->second.newest.statement);
    if (is_news) keep(std::move(found.mapped()));
}

// Over the limit the one that was silent for longest gives way.
void ClockGossip::keep(Said said) {
    if (heard_.size() >= kHeardMax && !heard_.contains(said.statement.key)) {
        heard_.erase(
            std::ranges::min_element(heard_, {}, [](const auto& each) { return each.second.at; }));
    }
    Heard& heard = heard_[said.statement.key];
    heard.newest = std::move(said);
    heard.at = peers_.now();
    pass_on(heard);
}

void ClockGossip::pass_on(Heard& heard) {
    if (!heard.passes.take(peers_.now(), 1)) {
        heard.due = peers_.now() + kTryAgain;
        next_due_ = next_due_ ? std::min(*next_due_, *heard.due) : *heard.due;
        return;
    }
    heard.due.reset();
    const SharedBytes message = pack_message(heard.newest.statement);
    PeerSet& holders = holders_of(heard.newest);
    peers_.for_each_ready([&](Peer& peer) {
        if (!peer.wants_votes() || holders.has(peer.slot)) return;
        holders.add(peer.slot);
        peers_.send(peer, MessageType::clock, message);
    });
}

void ClockGossip::on_time() {
    if (!next_due_ || peers_.now() < *next_due_) return;
    next_due_.reset();
    for (auto& [key, heard] : heard_) {
        if (heard.due && *heard.due <= peers_.now()) {
            pass_on(heard);
        } else if (heard.due) {
            next_due_ = next_due_ ? std::min(*next_due_, *heard.due) : *heard.due;
        }
    }
}

void ClockGossip::on_ready(Peer& peer) {
    const auto tell = [&](const PublicKey& key) {
        const auto known = heard_.find(key);
        if (known == heard_.end()) return;
        holders_of(known->second.newest).add(peer.slot);
        peers_.send(peer, MessageType::clock, pack_message(known->second.newest.statement));
    };
    for (const VoteKeyStatement& its_own : peer.hello.vote_keys)
        tell(its_own.key);
    if (!peer.wants_votes()) return;
    for (const PublicKey& ours : peers_.options().vote_keys)
        tell(ours);
}

}  // namespace p2p
