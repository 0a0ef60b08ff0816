#include "p2p/mender.hpp"

#include <algorithm>
#include <set>

namespace p2p {

namespace {
constexpr std::size_t kAtOnce = 4;
constexpr base::Duration kAnswer = std::chrono::seconds(5);
constexpr base::Duration kRoundAgain = std::chrono::seconds(10);  // Of those who had no good copy.
constexpr int kLate = 10;                                         // Points.
// Tells its questions from those of others, with the height: no other has this bit alone.
constexpr std::uint64_t kMend = std::uint64_t{1} << 62U;

std::uint64_t correlation_of(const chain::BlockId& id) {
    return kMend | chain::height_of(id);
}
}  // namespace

void Mender::set_wanted(const input::MendBlocks& wanted) {
    const std::set<chain::BlockId> ids(wanted.ids.begin(), wanted.ids.end());
    std::erase_if(wanted_, [&](const auto& item) { return !ids.contains(item.first); });
    for (const chain::BlockId& id : wanted.ids)
        wanted_.try_emplace(id);
    on_time();
}

bool Mender::is_asked(const Peer& peer, const Envelope& envelope) const {
    if ((envelope.correlation & kMend) == 0) return false;
    return std::ranges::any_of(wanted_, [&](const auto& item) {
        return item.second.stage == Stage::asked && item.second.channel == peer.channel &&
               envelope.correlation == correlation_of(item.first);
    });
}

void Mender::on_blocks(Peer& peer, const Blocks& blocks) {
    for (auto& [id, want] : wanted_) {
        if (want.stage != Stage::asked || want.channel != peer.channel) continue;
        want.stage = Stage::idle;
        want.at = {};
        const auto found = std::ranges::find(
            blocks.blocks, id, [](const chain::BlockPtr& block) { return block->id; });
        // It may have pruned it, or check its own copy.
        if (found == blocks.blocks.end()) continue;
        want.stage = Stage::judging;
        peers_.emit(effect::MendArrived{peer.channel, *found});
    }
    on_time();
}

bool Mender::on_judged(const input::Judged& judged) {
    const auto at = wanted_.find(judged.id);
    if (at == wanted_.end() || at->second.stage != Stage::judging) return false;
    Want& want = at->second;
    if (want.channel != judged.channel) return false;
    // It may be gone, and another in its slot.
    Peer* peer = peers_.find(want.channel);
    want.stage = Stage::idle;
    if (judged.verdict == Verdict::good) {
        wanted_.erase(at);
    } else if (peer == nullptr) {
        return true;
    } else if (judged.verdict == Verdict::bad) {
        peers_.close(*peer, Reason::bad_block, judged.text);
    } else {
        want.tried.remove(peer->slot);  // It was not looked at.
    }
    return true;
}

void Mender::on_time() {
    std::size_t busy = 0;
    for (auto& [id, want] : wanted_) {
        Peer* asked = want.stage == Stage::asked ? peers_.find(want.channel) : nullptr;
        if (asked != nullptr && peers_.now() >= want.at + kAnswer) {
            peers_.charge(*asked, kLate, Reason::behind, "answers sync requests too late");
            asked = nullptr;
        }
        if (want.stage == Stage::asked && asked == nullptr) want.stage = Stage::idle;
        if (want.stage == Stage::idle && busy < kAtOnce) ask(id, want);
        if (want.stage != Stage::idle) ++busy;
    }
}

void Mender::ask(const chain::BlockId& id, Want& want) {
    const chain::Height height = chain::height_of(id);
    want.tried.remove(departures_.since(want.departures));
    want.departures = departures_.count();
    Peer* chosen = nullptr;
    peers_.for_each_ready([&](Peer& peer) {
        const bool has_it =
            peer.stored.earliest_height <= height && height <= peer.finalized.height;
        if (chosen == nullptr && has_it && !want.tried.has(peer.slot)) chosen = &peer;
    });
    if (chosen == nullptr) {
        if (peers_.now() >= want.at + kRoundAgain) want = {.at = peers_.now()};
        return;
    }
    want.tried.add(chosen->slot);
    want.stage = Stage::asked;
    want.channel = chosen->channel;
    want.at = peers_.now();
    peers_.send(
        *chosen, SyncRequest{.from = height, .to = height}, {.correlation = correlation_of(id)});
}

}  // namespace p2p
