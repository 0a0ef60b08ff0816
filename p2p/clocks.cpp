#include "p2p/clocks.hpp"

#include "base/crypto/hash.hpp"

#include <algorithm>
#include <utility>

namespace p2p {

namespace {

constexpr base::Duration kNewsEvery = std::chrono::milliseconds(200);  // Of a key.
constexpr std::size_t kHeardMax = 4 * chain::kProducersMax;
constexpr std::size_t kJudgingMax = 2 * chain::kProducersMax;  // Of one peer, with the ledger.

}  // namespace

void ClockGossip::push(const ClockStatement& statement) {
    keep({.statement = statement, .holders = {}, .at = peers_.now()});
}

void ClockGossip::on_clock(Peer& peer, const ClockStatement& statement, base::ByteView body) {
    const auto known = heard_.find(statement.key);
    if (known != heard_.end()) {
        Heard& heard = known->second;
        if (heard.statement == statement) heard.holders.add(peer.slot);
        const bool is_news =
            statement.is_newer_than(heard.statement) && peers_.now() >= heard.at + kNewsEvery;
        if (!is_news) return;
    }
    const base::Hash256 id = base::crypto::sha256(body);
    if (const auto same = judging_.find(id); same != judging_.end()) {
        return same->second.holders.add(peer.slot);
    }
    if (!peer.begin_judging(Item::clock, kJudgingMax)) return;
    Heard& heard = judging_[id];
    heard = {.statement = statement, .holders = {}, .at = peers_.now()};
    heard.holders.add(peer.slot);
    peers_.emit(effect::ClockArrived{peer.channel, id, statement});
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
    const bool is_news =
        known == heard_.end() || found.mapped().statement.is_newer_than(known->second.statement);
    if (is_news) keep(std::move(found.mapped()));
}

// Over the limit the one that was silent for longest gives way.
void ClockGossip::keep(Heard heard) {
    if (heard_.size() >= kHeardMax && !heard_.contains(heard.statement.key)) {
        heard_.erase(
            std::ranges::min_element(heard_, {}, [](const auto& each) { return each.second.at; }));
    }
    const SharedBytes message = pack_message(heard.statement);
    peers_.for_each_ready([&](Peer& peer) {
        if (!peer.wants_votes() || heard.holders.has(peer.slot)) return;
        heard.holders.add(peer.slot);
        peers_.send(peer, MessageType::clock, message);
    });
    const PublicKey key = heard.statement.key;
    heard_[key] = std::move(heard);
}

void ClockGossip::on_ready(Peer& peer) {
    for (const VoteKeyStatement& own : peer.hello.vote_keys) {
        const auto known = heard_.find(own.key);
        if (known == heard_.end()) continue;
        peers_.send(peer, MessageType::clock, pack_message(known->second.statement));
    }
}

void ClockGossip::forget(PeerSlot slot) {
    for (auto& [key, heard] : heard_)
        heard.holders.remove(slot);
    for (auto& [id, heard] : judging_)
        heard.holders.remove(slot);
}

}  // namespace p2p
