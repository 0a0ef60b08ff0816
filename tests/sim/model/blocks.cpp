#include "tests/sim/model/blocks.hpp"

#include "base/check.hpp"

namespace sim::model {

namespace {

constexpr std::size_t kMembers = 4;

Universe make_universe(const Bounds& bounds) {
    Universe universe;
    universe.period = 1'000'000;  // Nothing proposes another schedule.
    auto& entries = universe.choices.emplace_back();
    for (std::size_t i = 0; i < kMembers; ++i) {
        Member member{.name = chain::Name{i + 1},
                      .signing_key = {},
                      .vote_keys = {},
                      .byzantine = i == bounds.byzantine};
        member.signing_key.point = {std::byte{2}, static_cast<std::byte>(i + 1)};
        member.vote_keys = {member.signing_key};
        entries.push_back({member.name, member.signing_key, member.vote_keys[0]});
        universe.members.push_back(std::move(member));
    }
    chain::BlockHeader header;
    header.height = 1;
    header.producer = entries[0].producer;
    universe.genesis = chain::make_block({header, {}}, {}, {});
    return universe;
}

}  // namespace

Blocks::Blocks(const Bounds& bounds)
    : bounds_(bounds), universe_(make_universe(bounds)), oracle_(universe_) {
    Entry& genesis = entries_.emplace_back();
    genesis.block = universe_.genesis;
    genesis.branch.add(0);
    numbers_.emplace(universe_.genesis->id, 0);
    add_byzantine(0);
}

Number Blocks::number_of(const chain::BlockId& id) const {
    const auto found = numbers_.find(id);
    return found == numbers_.end() ? 0 : found->second;
}

bool Blocks::conflict(const BlockSet& blocks) const {
    if (blocks.size() < 2) return false;
    bool found = false;
    blocks.each([&](Number a) {
        blocks.each([&](Number b) { found = found || (!extends(a, b) && !extends(b, a)); });
    });
    return found;
}

Number Blocks::add(const chain::BlockHeader& header) {
    const auto block = chain::make_block({header, {}}, {}, {});
    const auto [at, added] = numbers_.try_emplace(block->id, entries_.size());
    if (!added) return at->second;
    const Number number = at->second;
    CHECK(number < BlockSet::kMax);
    CHECK(oracle_.add(block).fault.empty());
    Entry entry;
    entry.block = block;
    entry.parent = number_of(header.previous);
    entry.justify = number_of(header.justify.id);
    entry.finalized = number_of(header.finalized.id);
    entry.branch = entries_[entry.parent].branch;
    entry.branch.add(number);
    entry.byzantine = header.producer == universe_.members[bounds_.byzantine].name;
    entries_.push_back(std::move(entry));
    add_byzantine(number);
    return number;
}

// In each of its slots, with each justify that is valid.
// NOLINTNEXTLINE(misc-no-recursion): a block of a later slot each time.
void Blocks::add_byzantine(Number parent) {
    const chain::BlockHeader below = entries_[parent].block->header;
    const BlockSet branch = entries_[parent].branch;
    const Number inherited = entries_[parent].justify;
    for (chain::Slot slot = below.slot + 1; slot <= bounds_.slots; ++slot) {
        if (slot % kMembers != bounds_.byzantine) continue;
        branch.each([&](Number justify) {
            const bool is_valid = justify == inherited || this->slot(justify) > below.justify.slot;
            for (std::size_t i = 0; is_valid && i < bounds_.variants; ++i) {
                chain::BlockHeader header;
                header.slot = slot;
                header.height = below.height + 1;
                header.producer = universe_.members[bounds_.byzantine].name;
                header.previous = entries_[parent].block->id;
                header.justify = below.justify;
                if (justify != inherited) {
                    header.justify = {this->slot(justify), entries_[justify].block->id};
                }
                header.finalized = below.finalized;
                header.state_digest.bytes[0] = static_cast<std::byte>(i);
                add(header);
            }
        });
    }
}

chain::VoteData Blocks::data(Number number, chain::VoteKind kind) const {
    return oracle_.find(entries_[number].block->id)->data(kind);
}

chain::Vote Blocks::vote(Number number, chain::VoteKind kind, std::size_t member) const {
    const chain::VoteData said = data(number, kind);
    const auto& key = universe_.members[member].vote_keys[0];
    return {said, key, sign(key, said)};
}

chain::Certificate Blocks::certificate(Number number, chain::VoteKind kind) const {
    chain::Certificate made{
        .data = data(number, kind), .bitmaps = {{std::byte{0}}}, .signatures = {}};
    const std::size_t left_out = bounds_.byzantine == kMembers - 1 ? kMembers - 2 : kMembers - 1;
    for (std::size_t i = 0; i < kMembers; ++i) {
        if (i == left_out) continue;
        made.bitmaps[0][0] |= std::byte{1} << i;
        made.signatures.push_back(sign(universe_.members[i].vote_keys[0], made.data));
    }
    return made;
}

chain::BlockPtr Blocks::with_witness(Number number) const {
    const Entry& entry = entries_[number];
    const Entry& parent = entries_[entry.parent];
    chain::Block block = *entry.block;
    if (entry.justify != parent.justify) {
        block.witness.justify = certificate(entry.justify, chain::VoteKind::notarize);
    }
    if (entry.finalized != parent.finalized) {
        block.witness.finalized = certificate(entry.finalized, chain::VoteKind::commit);
    }
    return std::make_shared<const chain::Block>(std::move(block));
}

}  // namespace sim::model
