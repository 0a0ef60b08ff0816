#include "tests/sim/full/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>

// What an honest node passes on is charged to it, not to who made it: Byzantine members that give
// other good things to each node must not make honest ones send each other away.

namespace sim::full {

namespace {

constexpr std::size_t kEvidence = 2;
// Of one key in a slot: two kinds and two of each, and what waited from before.
constexpr std::size_t kVotesOfKeyMax = 40;

// Of others' blocks those are pushed for which there may still be votes: two seconds of slots.
constexpr chain::Slot kRecent = 8;

}  // namespace

void Fleet::note_passed_on(std::size_t i,
                           const p2p::Envelope& envelope,
                           const p2p::effect::Send& send) {
    const bool is_header = envelope.type == p2p::MessageType::header;
    const bool is_block = envelope.type == p2p::MessageType::blocks && envelope.correlation == 0;
    if (is_block) return note_pushed(i, envelope, send);
    if (!is_header && envelope.type != p2p::MessageType::vote) return;
    const auto body = p2p::read_body(envelope, *send.bytes);
    if (!body) return fail(fmt::format("node {} sends what nobody can read", i));
    if (is_header) {
        const chain::BlockHeader& header = std::get<p2p::HeaderPush>(*body).signed_header.header;
        auto& ids = headers_passed_on_[{send.channel, header.slot, header.producer}];
        ids.insert(header.id());
        if (ids.size() <= kEvidence) return;
        return fail(fmt::format(
            "node {} passes on {} headers of a producer and slot {}", i, ids.size(), header.slot));
    }
    const auto& vote = std::get<chain::Vote>(*body);
    VotesPassedOn& passed_on = votes_passed_on_[{send.channel, vote.key}];
    const base::Duration slot =
        std::chrono::milliseconds(world_.genesis.times.interval_milliseconds);
    if (now_ >= passed_on.since + slot) passed_on = {now_, 0};
    if (++passed_on.count <= kVotesOfKeyMax) return;
    fail(fmt::format("node {} passes on {} votes of a key within a slot", i, passed_on.count));
}

// Older ones have no end: of a past slot there may always be another.
void Fleet::note_pushed(std::size_t i,
                        const p2p::Envelope& envelope,
                        const p2p::effect::Send& send) {
    const auto body = p2p::read_body(envelope, *send.bytes);
    if (!body) return fail(fmt::format("node {} sends what nobody can read", i));
    chain::Slot& newest = newest_pushed_[send.channel];
    for (const chain::BlockPtr& block : std::get<p2p::Blocks>(*body).blocks) {
        const chain::Slot slot = block->header.slot;
        if (slot + kRecent < newest) {
            return fail(fmt::format(
                "node {} pushes a block of slot {} on, after one of slot {}", i, slot, newest));
        }
        newest = std::max(newest, slot);
    }
}

}  // namespace sim::full
