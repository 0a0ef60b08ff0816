#pragma once

#include "genesis/genesis.hpp"
#include "tests/sim/chance.hpp"
#include "tests/sim/consensus/universe.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sim::full {

// Which worlds a seed is to draw: any, or those in which one validator is restored from a snapshot,
// in which all clocks are ahead for a while, or in which nodes have room for few blocks.
enum class Worlds : std::uint8_t { any, restored, ahead, narrow };

// What a seed decides before the first event: who there is, and what may go wrong.
struct World {
    std::size_t validators = 4;  // At the beginning.
    std::size_t members = 4;     // With those that may enter later.
    bool votes = false;          // Members vote, register and rotate keys.
    // Byzantine members vote for accounts of their own, honest ones for all members, and nothing
    // else keeps anybody in the schedule.
    bool elects_itself = false;
    std::vector<std::size_t> byzantine;     // Members, ascending: at most f.
    std::vector<std::size_t> twins;         // Those of them that have a second machine.
    std::optional<std::size_t> wrong_time;  // Whose clock goes up to ten seconds wrong.
    std::optional<std::size_t> forgetful;   // Who loses its safety journal, or its whole disk.
    bool loses_two = false;                 // Two machines get new disks at once.
    bool goes_ahead = false;                // All clocks are a day ahead for a while.
    bool loses_half = false;                // Two validators are lost for ever.
    // A machine that comes when all has healed, with nothing but the genesis file.
    std::optional<std::size_t> joiner;
    // A validator that keeps as little of the past as it may.
    std::optional<std::size_t> pruner;
    bool all_prune = false;  // All do: who comes late needs a snapshot of others.
    // Who loses its state, not its journals, and is restored from another's snapshot; and whose
    // state is replaced by a newer one.
    std::optional<std::size_t> restored;
    std::optional<std::size_t> replaced;
    chain::Height snapshot_every = 1;  // Blocks.
    // There is room for very few blocks that are not final.
    bool is_narrow = false;
    // Of 4 KiB: a safety journal that has more is replaced by one page. 0: as shipped.
    std::size_t journal_blocks_max = 0;
    // From this height on other rules hold, which no program knows at first.
    std::optional<chain::Height> upgrade_at;
    genesis::Genesis genesis;
    // As the observer wants it: members with their keys, and the first block.
    Universe universe;

    [[nodiscard]] bool is_large() const { return validators > 4; }
    // How many of the validators may be faulty.
    [[nodiscard]] std::size_t faulty_max() const { return (validators - 1) / 3; }
    [[nodiscard]] std::size_t machines() const { return members + twins.size() + (joiner ? 1 : 0); }
    // The second machine of a Byzantine member.
    [[nodiscard]] bool is_twin(std::size_t machine) const {
        return machine >= members && machine < members + twins.size();
    }
    [[nodiscard]] bool has_twin(std::size_t member) const;
    [[nodiscard]] bool is_honest(std::size_t machine) const;
    [[nodiscard]] std::size_t member_of(std::size_t machine) const {
        if (machine == joiner) return 0;  // For whose organisation it looks on.
        return is_twin(machine) ? twins[machine - members] : machine;
    }
};

// Of a schedule, where Byzantine members vote for accounts of their own.
inline constexpr std::size_t kFreePlaces = 4;

// `seed`: for what has dice of its own, so that what others draw stays as it is.
[[nodiscard]] World make_world(Chance& chance, std::uint64_t seed, Worlds worlds);

}  // namespace sim::full
