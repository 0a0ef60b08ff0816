#include "tests/sim/full/divider.hpp"

#include <algorithm>
#include <chrono>
#include <variant>

namespace sim::full {

namespace {

constexpr std::uint64_t kDividerSalt = 0x94D049BB133111EB;
constexpr int kSeedsPercent = 40;  // Of those with one Byzantine member that has no twin.
constexpr std::size_t kMade = 8;   // Of which some serve.
constexpr chain::Slot kEarliest = 20;
constexpr chain::Slot kLatest = 85;
constexpr base::Duration kFast = std::chrono::microseconds(1);

}  // namespace

Divider::Divider(Fleet& fleet, std::uint64_t seed)
    : fleet_(fleet), from_(kEarliest + Chance(seed ^ ~kDividerSalt).below(kLatest - kEarliest)) {}

bool Divider::is_in(const World& world, std::uint64_t seed) {
    const bool is_alone = world.byzantine.size() == 1 && world.twins.empty();
    return is_alone && !world.is_large() && Chance(seed ^ kDividerSalt).percent(kSeedsPercent);
}

bool Divider::divide(std::size_t machine, const chain::BlockPtr& block, Variants& variants) {
    if (has_divided() || block->header.slot < from_) return false;
    const auto view = fleet_.view_of(machine);
    const auto victim = choose_victim(*block);
    if (view == nullptr || !victim || !reaches_all(machine, *block)) return false;
    auto made = variants.make(*block, fleet_.world().member_of(machine), *view, kMade);
    // Of two in a slot the one with the lower id is built on: for the rest it is this one.
    const auto higher =
        std::ranges::find_if(made, [&](const auto& each) { return block->id < each->id; });
    if (made.size() < kMade || higher == made.end()) return false;
    const chain::BlockPtr second = *higher;
    made.erase(higher);
    made.resize(2);
    divided_at_ = fleet_.now();
    slot_ = block->header.slot;
    victim_ = *victim;
    for (const chain::BlockPtr& each : made)
        give(machine, each, [this](std::size_t peer) { return peer == victim_; });
    for (const chain::BlockPtr& each : {block, second})
        give(machine, each, [this](std::size_t peer) { return peer != victim_; });
    made.push_back(block);
    made.push_back(second);
    fleet_.note_variants(made);
    fleet_.note_division();
    return true;
}

// By a line that is faster than those of others.
template <class Pick>
void Divider::give(std::size_t machine, const chain::BlockPtr& block, const Pick& pick) {
    const auto bytes = p2p::pack_blocks({base::ByteView(chain::encode_block(*block))}, {});
    for (const auto& [id, end] : fleet_.ends()) {
        const auto there = fleet_.ends().find(end.other);
        if (end.node != machine || !pick(end.peer) || there == fleet_.ends().end()) continue;
        fleet_.at(kFast, [this, to = end.other, life = there->second.life, bytes] {
            fleet_.give(to, life, bytes);
        });
    }
}

bool Divider::reaches_all(std::size_t machine, const chain::Block& block) {
    const Seen* parent = fleet_.observer().find(block.header.previous);
    if (parent == nullptr) return false;
    return std::ranges::all_of(parent->schedules.active->entries, [&](const auto& entry) {
        if (entry.producer == block.header.producer) return true;
        const auto peer = machine_of(entry.producer);
        return peer && fleet_.view_of(*peer) != nullptr && wire_to(machine, *peer) != nullptr;
    });
}

// Whose turn is the last before this producer's next: the others build on before that. Nothing:
// the next slot is this producer's, too.
std::optional<std::size_t> Divider::choose_victim(const chain::Block& block) const {
    const Seen* parent = fleet_.observer().find(block.header.previous);
    if (parent == nullptr) return std::nullopt;
    const auto repetitions = fleet_.world().universe.repetitions;
    const chain::Schedule& schedule = *parent->schedules.active;
    const auto next = schedule.producer_of(block.header.slot + 1, repetitions).producer;
    const auto last = schedule.producer_of(block.header.slot - repetitions, repetitions).producer;
    if (next == block.header.producer || last == next) return std::nullopt;
    return machine_of(last);
}

std::optional<std::size_t> Divider::machine_of(chain::Name producer) const {
    const World& world = fleet_.world();
    for (std::size_t i = 0; i < world.members; ++i) {
        if (world.universe.members[i].name == producer && world.is_honest(i)) return i;
    }
    return std::nullopt;
}

Fleet::End* Divider::wire_to(std::size_t machine, std::size_t peer) {
    for (auto& [id, end] : fleet_.ends()) {
        const bool is_open = !end.is_dead && fleet_.has_greeted(end);
        if (end.node == machine && end.peer == peer && is_open) return &end;
    }
    return nullptr;
}

std::optional<Divider::Fate> Divider::fate(std::size_t peer,
                                           const p2p::Envelope& envelope,
                                           const p2p::SharedBytes& bytes) {
    using p2p::MessageType;
    if (!has_divided()) return std::nullopt;
    if (silent_at_ != base::Timestamp{} && fleet_.now() > silent_at_) return Fate{};
    if (envelope.type == MessageType::certificate) return Fate{};
    if (envelope.type == MessageType::blocks && peer == victim_) return Fate{};
    if (envelope.type == MessageType::blocks) return Fate{base::Duration(0)};
    if (envelope.type != MessageType::vote) return std::nullopt;
    const auto body = p2p::read_body(envelope, *bytes);
    if (!body) return std::nullopt;
    return fate_of(std::get<chain::Vote>(*body));
}

// What others voted it passes on; of its own votes none but that for the child.
Divider::Fate Divider::fate_of(const chain::Vote& vote) {
    const std::size_t member = fleet_.world().byzantine.front();
    const bool is_own = vote.key == signing_key(member).public_key() ||
                        vote.key == signing_key(member, 1).public_key();
    if (!is_own) return {base::Duration(0)};
    if (vote.data.slot <= slot_ || vote.data.kind != chain::VoteKind::notarize) return {};
    silent_at_ = fleet_.now();
    return {base::Duration(0)};
}

}  // namespace sim::full
