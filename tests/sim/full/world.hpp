#pragma once

#include "genesis/genesis.hpp"
#include "tests/sim/chance.hpp"
#include "tests/sim/consensus/universe.hpp"

#include <cstddef>
#include <optional>

namespace sim::full {

// What a seed decides before the first event: who there is, and what may go wrong.
struct World {
    static constexpr std::size_t kValidators = 4;  // At the beginning.

    std::size_t members = kValidators;  // With those that may enter later.
    bool votes = false;                 // Members vote, register and rotate keys.
    std::optional<std::size_t> byzantine;
    std::optional<std::size_t> twin;        // The second machine of the Byzantine member.
    std::optional<std::size_t> wrong_time;  // Whose clock goes up to ten seconds wrong.
    std::optional<std::size_t> forgetful;   // Who loses its safety journal, or its whole disk.
    // A machine that comes when all has healed, with nothing but the genesis file.
    std::optional<std::size_t> joiner;
    // From this height on other rules hold, which no program knows at first.
    std::optional<chain::Height> upgrade_at;
    genesis::Genesis genesis;
    // As the observer wants it: members with their keys, and the first block.
    Universe universe;

    [[nodiscard]] std::size_t machines() const {
        return members + (twin ? 1 : 0) + (joiner ? 1 : 0);
    }
    [[nodiscard]] bool is_honest(std::size_t machine) const {
        return machine != byzantine && machine != twin;
    }
    [[nodiscard]] std::size_t member_of(std::size_t machine) const {
        if (machine == joiner) return 0;  // For whose organisation it looks on.
        return machine == twin ? *byzantine : machine;
    }
};

[[nodiscard]] World make_world(Chance& chance);

}  // namespace sim::full
