#include "tests/sim/consensus/adversary.hpp"

#include <algorithm>

namespace sim {

namespace {

constexpr std::array<chain::VoteKind, 2> kKinds{chain::VoteKind::notarize, chain::VoteKind::commit};
constexpr std::size_t kRecent = 8;
constexpr chain::Slot kFlood = 12;
constexpr int kManyPercent = 5;

}  // namespace

Adversary::Adversary(Cluster& cluster)
    : cluster_(cluster), chance_(cluster.chance()), forger_(cluster) {
    const auto& members = cluster.universe().members;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (!members[i].byzantine) honest_.push_back(i);
    }
    const auto liking = [&] { return static_cast<int>(chance_.below(5)) * 25; };
    produces_ = std::max(25, liking());
    equivocates_ = liking();
    forks_ = liking();
    votes_ = liking();
    splits_ = liking();
    releases_ = liking() / 4;
    floods_ = liking();
    lies_ = liking() / 4;
    answers_ = chance_.percent(25);
}

base::Timestamp Adversary::later(base::Duration latest) {
    return cluster_.now() + chance_.between(base::Duration(0), latest);
}

// To each honest node with this chance, at a time of its own.
void Adversary::tell(const Message& message, int share, base::Duration latest) {
    for (const std::size_t node : honest_) {
        if (chance_.percent(share)) cluster_.deliver_at(later(latest), node, message);
    }
}

Seen& Adversary::recent(std::size_t depth) {
    auto& blocks = cluster_.observer().blocks();
    return *blocks[blocks.size() - 1 - chance_.below(std::min(depth, blocks.size()))];
}

void Adversary::act(bool starts_slot) {
    if (starts_slot) {
        make_blocks();
        forger_.act();
    }
    cast_votes();
    if (chance_.percent(floods_)) {
        flood_votes(recent(2), kKinds[chance_.below(2)], chance_.percent(50));
    }
    release_certificates();
    lie_of_clocks();
}

// Its COMMIT comes before the others', and the flood before the quorum.
void Adversary::on_vote(const chain::Vote& vote) {
    const bool is_first =
        vote.data.kind == chain::VoteKind::commit && vote.data.block_id != answered_;
    if (!answers_ || !is_first) return;
    answered_ = vote.data.block_id;
    const Seen* seen = cluster_.observer().find(answered_);
    if (seen != nullptr) flood_votes(*seen, chain::VoteKind::commit, true);
}

void Adversary::make_blocks() {
    if (!chance_.percent(produces_)) return;
    const bool makes_many = chance_.percent(kManyPercent);
    const std::size_t more = makes_many ? 2 + chance_.below(18) : 1;
    const std::size_t count = 1 + (chance_.percent(equivocates_) ? more : 0);
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0 && chance_.percent(50) && make_under_other_key()) continue;
        for (int attempt = 0; attempt < 4; ++attempt) {
            Seen& parent = recent(chance_.percent(forks_) ? 3 * kRecent : 2);
            const chain::Slot slot = cluster_.slot();
            if (parent.header().slot >= slot) continue;
            make_block(parent, slot);
            break;
        }
    }
}

// A block on another branch, under whose schedule its producer has another key than under the
// newest one's. False: there is none.
bool Adversary::make_under_other_key() {
    const Universe& universe = cluster_.universe();
    const chain::Slot slot = cluster_.slot();
    const auto turn = [&](const Seen& parent) {
        const auto below = chain::schedules_below(parent.schedules, parent.header());
        return below.active->producer_of(slot, universe.repetitions);
    };
    auto& blocks = cluster_.observer().blocks();
    const chain::ScheduleEntry newest = turn(*blocks.back());
    for (std::size_t i = 1; i < std::min(kRecent, blocks.size()); ++i) {
        Seen& parent = *blocks[blocks.size() - 1 - i];
        if (parent.header().slot >= slot) continue;
        const chain::ScheduleEntry entry = turn(parent);
        if (entry.producer != newest.producer || entry.signing_key == newest.signing_key) continue;
        make_block(parent, slot);
        return true;
    }
    return false;
}

chain::Witness Adversary::choose_progress(const Seen& parent, chain::BlockHeader& header) {
    chain::Witness witness;
    const chain::Slot oldest = parent.header().justify.slot;
    for (const Seen* at = &parent; at != nullptr && !witness.justify; at = at->parent) {
        if (at->header().slot <= oldest || !chance_.percent(80)) continue;
        witness.justify = cluster_.observer().certificate(*at, chain::VoteKind::notarize);
        if (witness.justify) header.justify = {at->header().slot, at->block->id};
    }
    const chain::Slot oldest_final = parent.header().finalized.slot;
    for (const Seen* at = &parent; at != nullptr && !witness.finalized; at = at->parent) {
        if (at->header().slot <= oldest_final) break;
        if (at->header().slot > header.justify.slot || !at->notarizable()) continue;
        if (!chance_.percent(60)) continue;
        witness.finalized = cluster_.observer().certificate(*at, chain::VoteKind::commit);
        if (witness.finalized) header.finalized = {at->header().slot, at->block->id};
    }
    return witness;
}

// With any certificates that exist, or could: justify and final as new or as old as it likes.
void Adversary::make_block(Seen& parent, chain::Slot slot) {
    const Universe& universe = cluster_.universe();
    const auto below = chain::schedules_below(parent.schedules, parent.header());
    const auto& entry = below.active->producer_of(slot, universe.repetitions);
    if (!universe.owner(entry.signing_key)->byzantine) return;
    chain::BlockHeader header;
    header.slot = slot;
    header.height = parent.header().height + 1;
    header.producer = entry.producer;
    header.previous = parent.block->id;
    header.schedule_version = below.active->version;
    header.justify = parent.header().justify;
    header.finalized = parent.header().finalized;
    const chain::Witness witness = choose_progress(parent, header);
    if (chain::may_propose(below, parent.header().slot, slot, universe.period)) {
        header.schedule_change = universe.proposal(parent.block->id, *below.active);
    }
    const std::size_t contents = chance_.below(1U << 30U);
    auto& digest = contents % 2 == 0 ? header.state_digest : header.transaction_root;
    for (std::size_t i = 0; i < 4; ++i) {
        digest.bytes[i] = static_cast<std::byte>(contents >> (8 * i) & 0xFFU);
    }
    const auto block = chain::make_block({header, {}}, {}, witness);
    cluster_.observer().add(block);
    const int share = chance_.percent(splits_) ? 50 : 100;
    const bool late = chance_.percent(15);
    tell(block, share, std::chrono::milliseconds(late ? 900 : 60));
}

void Adversary::cast_votes() {
    if (!chance_.percent(votes_)) return;
    Seen& block = recent(4);
    for (const chain::VoteKind kind : kKinds) {
        for (const Member& member : cluster_.universe().members) {
            if (!member.byzantine || !chance_.percent(70)) continue;
            const chain::VoteData data = block.data(kind);
            for (const auto& key : member.vote_keys) {
                const auto vote =
                    std::make_shared<const chain::Vote>(chain::Vote{data, key, sign(key, data)});
                tell(vote, chance_.percent(splits_) ? 40 : 100, std::chrono::milliseconds(40));
            }
        }
    }
}

// The true votes for a block, and behind them votes for blocks that nobody has, one a slot, from
// the past to far ahead: what a table with a place for each vote would keep instead of the true
// ones.
void Adversary::flood_votes(const Seen& block, chain::VoteKind kind, bool is_ahead) {
    const auto cast = [&](const base::crypto::PublicKey& key, const chain::VoteData& data) {
        tell(std::make_shared<const chain::Vote>(chain::Vote{data, key, sign(key, data)}),
             100,
             std::chrono::milliseconds(1));
    };
    for (const Member& member : cluster_.universe().members) {
        if (!member.byzantine) continue;
        for (const auto& key : member.vote_keys) {
            chain::VoteData data = block.data(kind);
            cast(key, data);
            for (chain::Slot i = 1; i <= kFlood; ++i) {
                const chain::Slot slot = cluster_.slot() + 1;
                data.slot = is_ahead ? slot + i : slot - std::min(slot, i);
                data.block_id.bytes[0] = static_cast<std::byte>(chance_.below(256));
                cast(key, data);
            }
        }
    }
}

void Adversary::release_certificates() {
    if (!chance_.percent(releases_)) return;
    const Seen& block = recent(kRecent);
    const chain::VoteKind kind = kKinds[chance_.below(2)];
    if (kind == chain::VoteKind::commit && !block.notarizable()) return;
    auto made = cluster_.observer().certificate(block, kind);
    if (!made) return;
    const Message message = std::make_shared<const chain::Certificate>(*std::move(made));
    if (chance_.percent(60)) {
        // To one, perhaps at the edge of the slot.
        const base::Timestamp end = cluster_.universe().at(cluster_.slot() + 1);
        const base::Timestamp edge =
            end - chance_.between(base::Duration(0), std::chrono::milliseconds(120));
        const base::Timestamp at =
            chance_.percent(50) ? std::max(edge, cluster_.now()) : cluster_.now();
        cluster_.deliver_at(at, chance_.pick(honest_), message);
    } else {
        tell(message, 60, std::chrono::milliseconds(200));
    }
}

// Its clock shows to each what it likes.
void Adversary::lie_of_clocks() {
    if (!chance_.percent(lies_)) return;
    const auto range = chance_.percent(50) ? std::chrono::hours(3) : std::chrono::hours(0);
    const base::Duration far = std::max<base::Duration>(range, std::chrono::seconds(2));
    const auto& members = cluster_.universe().members;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (!members[i].byzantine) continue;
        tell(ClockSaid{i, cluster_.now() + chance_.between(-far, far)},
             50,
             std::chrono::milliseconds(50));
    }
}

}  // namespace sim
