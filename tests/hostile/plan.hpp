#pragma once

#include "genesis/genesis.hpp"
#include "tests/hostile/peer.hpp"

#include <chrono>
#include <optional>
#include <vector>

namespace hostile {

// On a busy machine an attack that has not come about when its time is over goes on, so long at
// most.
inline constexpr std::chrono::seconds kLateMax{20};

// What the command line wants.
struct Plan {
    genesis::Genesis genesis;
    std::chrono::seconds time{0};
    std::vector<base::crypto::PrivateKey> keys;         // Of nodes.
    std::optional<base::crypto::PrivateKey> signing{};  // Of a validator.
    std::vector<Target> targets;
    std::string http{};  // host:port of a node's API.
};

}  // namespace hostile
