#include "tests/sim/full/world.hpp"

#include "base/check.hpp"
#include "chain/state/block_store.hpp"
#include "node/core/core.hpp"
#include "tests/sim/full/machine.hpp"

#include <string>

namespace sim::full {

namespace {

void make_genesis(World& world, Chance& chance) {
    genesis::Genesis& genesis = world.genesis;
    genesis.times = {.initial = {1'700'000'000'000'000}, .interval_milliseconds = 250};
    for (std::size_t i = 0; i < world.members; ++i) {
        const chain::Name name = *chain::Name::from_string(std::string("bor") + "abcdefg"[i]);
        const auto key = signing_key(i).public_key();
        genesis.members.push_back({name, chain::Authority::of_key(key), 1});
        genesis.nodes.push_back({name, name, node_key(i), 1});
        if (i < World::kValidators) genesis.schedule.entries.push_back({name, key, key});
        world.universe.members.push_back(
            {name, key, {key, signing_key(i, 1).public_key()}, i == world.byzantine});
    }
    if (world.twin) {
        const chain::Name owner = genesis.members[*world.byzantine].name;
        genesis.nodes.push_back(
            {*chain::Name::from_string("bortwin"), owner, node_key(*world.twin), 1});
    }
    if (world.joiner) {
        const chain::Name owner = genesis.members.front().name;
        genesis.nodes.push_back(
            {*chain::Name::from_string("borvisitor"), owner, node_key(*world.joiner), 2});
    }
    genesis.system_authority = genesis.members.front().authority;
    genesis.parameters.open_accounts = 1;
    genesis.parameters.min_producers = World::kValidators;
    genesis.parameters.max_producers = World::kValidators + chance.below(2);
    genesis.parameters.schedule_period = 6 + chance.below(12);
    genesis.parameters.max_missed = 4 + chance.below(12);
    genesis.parameters.repetitions = chance.percent(70) ? 1 : 2;
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

World make_world(Chance& chance) {
    World world;
    world.votes = chance.percent(60);
    if (world.votes) world.members += chance.below(3);
    if (chance.percent(50)) world.byzantine = chance.below(World::kValidators);
    if (world.byzantine && chance.percent(70)) world.twin = world.members;
    if (chance.percent(25)) {
        world.wrong_time = chance.below(world.members);
        if (world.wrong_time == world.byzantine) world.wrong_time.reset();
    }
    // Silent for a while it counts as faulty: none beside a Byzantine member or a wrong clock.
    const bool is_alone = !world.byzantine && !world.wrong_time;
    if (is_alone && chance.percent(30)) world.forgetful = chance.below(World::kValidators);
    if (chance.percent(30)) world.joiner = world.machines();
    if (chance.percent(25)) world.upgrade_at = static_cast<chain::Height>(chance.between(8, 40));
    make_genesis(world, chance);
    world.universe.times = world.genesis.times;
    world.universe.repetitions = static_cast<std::uint32_t>(world.genesis.parameters.repetitions);
    world.universe.period = world.genesis.parameters.schedule_period;
    world.universe.choices = {world.genesis.schedule.entries};
    world.universe.genesis = first_block(world.genesis);
    return world;
}

}  // namespace sim::full
