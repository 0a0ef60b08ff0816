#include "tests/sim/full/world.hpp"

#include "base/check.hpp"
#include "chain/state/block_store.hpp"
#include "node/core/core.hpp"
#include "tests/sim/full/candidates.hpp"
#include "tests/sim/full/machine.hpp"
#include "tests/support/memory_storage.hpp"

#include <algorithm>
#include <string>

namespace sim::full {

namespace {

constexpr std::uint64_t kWorldSalt = 0x5851F42D4C957F2D;
constexpr std::uint64_t kPrunerSalt = 0x9E3779B97F4A7C15;
constexpr std::uint64_t kRestoreSalt = 0xBF58476D1CE4E5B9;
constexpr std::uint64_t kRoomSalt = 0x8CB92BA72F3D8DD7;
constexpr std::uint64_t kKeysSalt = 0xD6E8FEB86659FD93;
constexpr std::uint64_t kJournalSalt = 0xC2B2AE3D27D4EB4F;
constexpr int kLittleRoomPercent = 40;
constexpr int kAmnesiaPercent = 10;  // Of those that may have it.
constexpr int kAheadPercent = 10;
constexpr int kHalfPercent = 30;
constexpr int kLargePercent = 2;  // They cost three times as much.

// More validators, of which up to f are Byzantine and know of each other.
void enlarge(World& world, Chance& dice) {
    if (!dice.percent(kLargePercent)) return;
    world.members -= world.validators;
    world.validators = dice.percent(20) ? 10 : 7;
    world.members += world.validators;
    const std::size_t count = world.faulty_max() - (dice.percent(20) ? 1 : 0);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < world.validators; ++i)
        order.push_back(i);
    dice.shuffle(order);
    world.byzantine.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
    std::ranges::sort(world.byzantine);
    if (world.wrong_time && !world.is_honest(*world.wrong_time)) world.wrong_time.reset();
    // One that is silent for a while, beside them.
    world.forgetful.reset();
    if (count < world.faulty_max() && !world.wrong_time) world.forgetful = order[count];
}

// Who is restored is silent for a while, which counts as faulty.
void make_room(World& world) {
    while (world.byzantine.size() >= world.faulty_max())
        world.byzantine.pop_back();
    world.wrong_time.reset();
}

// No fault that counts is beside it.
void let_all_go_ahead(World& world) {
    world.byzantine.clear();
    world.wrong_time.reset();
    world.forgetful.reset();
    world.goes_ahead = true;
}

// None beside other faults that count.
void choose_disaster(World& world, Chance& dice) {
    const bool is_alone = world.byzantine.empty() && !world.wrong_time && !world.forgetful;
    if (!is_alone) return;
    world.loses_two = dice.percent(kAmnesiaPercent);
    world.goes_ahead = !world.loses_two && dice.percent(kAheadPercent);
    const bool has_other = world.loses_two || world.goes_ahead;
    world.loses_half = !has_other && dice.percent(kHalfPercent);
    if (has_other || world.loses_half) world.upgrade_at.reset();
}

// Byzantine members use the first of their keys for all; without them votes may have the second.
std::size_t choose_vote_key(const World& world, std::uint64_t seed) {
    Chance dice(seed ^ kKeysSalt);
    return world.goes_ahead && dice.percent(50) ? 1 : 0;
}

void make_genesis(World& world, Chance& chance, std::uint64_t seed) {
    const std::size_t vote_key = choose_vote_key(world, seed);
    genesis::Genesis& genesis = world.genesis;
    genesis.times = {.initial = {1'700'000'000'000'000}, .interval_milliseconds = 250};
    for (std::size_t i = 0; i < world.members; ++i) {
        const chain::Name name = *chain::Name::from_string(std::string("bor") + "abcdefghijklm"[i]);
        const auto key = signing_key(i).public_key();
        genesis.members.push_back({name, chain::Authority::of_key(key), 1});
        genesis.nodes.push_back({name, name, node_key(i), 1});
        if (i < world.validators)
            genesis.schedule.entries.push_back({name, key, signing_key(i, vote_key).public_key()});
        world.universe.members.push_back(
            {name, key, {key, signing_key(i, 1).public_key()}, !world.is_honest(i)});
    }
    for (std::size_t i = 0; i < world.twins.size(); ++i) {
        const chain::Name owner = genesis.members[world.twins[i]].name;
        const std::string name = i == 0 ? "bortwin" : std::string("bortwin") + "abc"[i];
        genesis.nodes.push_back(
            {*chain::Name::from_string(name), owner, node_key(world.members + i), 1});
    }
    if (world.joiner) {
        const chain::Name owner = genesis.members.front().name;
        genesis.nodes.push_back(
            {*chain::Name::from_string("borvisitor"), owner, node_key(*world.joiner), 2});
    }
    genesis.system_authority = genesis.members.front().authority;
    genesis.parameters.open_accounts = 1;
    genesis.parameters.min_producers = world.validators;
    genesis.parameters.max_producers = world.validators + chance.below(2);
    genesis.parameters.schedule_period = 6 + chance.below(12);
    genesis.parameters.max_missed = 4 + chance.below(12);
    genesis.parameters.repetitions = chance.percent(70) ? 1 : 2;
    if (!world.elects_itself) return;
    genesis.parameters.min_producers = 1;
    genesis.parameters.max_producers = world.validators + kFreePlaces;
    genesis.parameters.max_missed = 2;
}

chain::BlockPtr first_block(const genesis::Genesis& genesis) {
    support::MemoryStorage storage;
    const auto batch = node::Core::first_batch(genesis);
    CHECK(batch.has_value());
    CHECK(storage.commit(*batch, true).has_value());
    const auto block = chain::BlockReader(storage).at(1);
    CHECK(block.has_value() && *block != nullptr);
    return *block;
}

}  // namespace

bool World::has_twin(std::size_t member) const {
    return std::ranges::find(twins, member) != twins.end();
}

bool World::is_honest(std::size_t machine) const {
    return !is_twin(machine) && std::ranges::find(byzantine, machine) == byzantine.end();
}

// Whoever gets a new disk, or comes late, finds all blocks at others. By dice of its own.
void choose_pruner(World& world, std::uint64_t seed) {
    Chance dice(seed ^ kPrunerSalt);
    const std::size_t one = dice.below(world.validators);
    const bool is_free = world.is_honest(one) && !world.loses_two && !world.loses_half;
    if (is_free && dice.percent(50)) world.pruner = one;
}

// Snapshots of a chain whose recovery no file tells of are refused.
void choose_restored(World& world, std::uint64_t seed) {
    Chance dice(seed ^ kRestoreSalt);
    world.snapshot_every = static_cast<chain::Height>(dice.between(8, 20));
    const bool prunes = dice.percent(40);
    std::size_t one = dice.below(world.validators);
    const std::size_t other = dice.below(world.validators);
    if (world.loses_two || world.goes_ahead || world.loses_half) return;
    world.all_prune = prunes && !world.upgrade_at;
    const std::size_t faulty = world.byzantine.size() + (world.wrong_time ? 1 : 0);
    if (faulty < world.faulty_max()) {
        while (!world.is_honest(one))
            one = (one + 1) % world.validators;
        world.restored = world.forgetful.value_or(one);
    }
    // Two of them do not have all blocks, and somebody must.
    if (world.is_honest(other) && other != world.pruner) world.replaced = other;
}

// Nodes have room for fewer blocks that are not final than a genesis file, by which one is
// restored, may say.
void choose_room(World& world, std::uint64_t seed, Worlds worlds) {
    Chance dice(seed ^ kRoomSalt);
    if (worlds == Worlds::narrow) {
        world.restored.reset();
        world.is_narrow = true;
        world.genesis.parameters.max_reversible = static_cast<std::uint64_t>(dice.between(1, 3));
        return;
    }
    if (world.restored || !dice.percent(kLittleRoomPercent)) return;
    world.genesis.parameters.max_reversible = static_cast<std::uint64_t>(dice.between(3, 16));
}

// As shipped no journal comes to its end in a world's time.
void choose_journals(World& world, std::uint64_t seed) {
    Chance dice(seed ^ kJournalSalt);
    if (dice.percent(50)) world.journal_blocks_max = static_cast<std::size_t>(dice.between(4, 64));
}

World make_world(Chance& chance, std::uint64_t seed, Worlds worlds) {
    Chance dice(seed ^ kWorldSalt);
    World world;
    world.votes = chance.percent(60);
    if (world.votes) world.members += chance.below(3);
    if (chance.percent(50)) world.byzantine = {chance.below(world.validators)};
    const bool is_double = !world.byzantine.empty() && chance.percent(70);
    if (chance.percent(25)) {
        world.wrong_time = chance.below(world.members);
        if (!world.is_honest(*world.wrong_time)) world.wrong_time.reset();
    }
    // Silent for a while it counts as faulty: none beside a Byzantine member or a wrong clock.
    const bool is_alone = world.byzantine.empty() && !world.wrong_time;
    if (is_alone && chance.percent(30)) world.forgetful = chance.below(world.validators);
    enlarge(world, dice);
    if (worlds == Worlds::restored) make_room(world);
    if (worlds == Worlds::ahead) let_all_go_ahead(world);
    for (const std::size_t one : world.byzantine) {
        if (world.is_large() ? dice.percent(40) : is_double) world.twins.push_back(one);
    }
    if (chance.percent(30)) world.joiner = world.machines();
    if (chance.percent(25)) world.upgrade_at = static_cast<chain::Height>(chance.between(8, 40));
    if (worlds == Worlds::any) choose_disaster(world, dice);
    world.elects_itself = Candidates::is_in(world, seed);
    make_genesis(world, chance, seed);
    choose_pruner(world, seed);
    choose_restored(world, seed);
    choose_room(world, seed, worlds);
    choose_journals(world, seed);
    world.universe.times = world.genesis.times;
    world.universe.repetitions = static_cast<std::uint32_t>(world.genesis.parameters.repetitions);
    world.universe.period = world.genesis.parameters.schedule_period;
    world.universe.choices = {world.genesis.schedule.entries};
    world.universe.genesis = first_block(world.genesis);
    return world;
}

}  // namespace sim::full
