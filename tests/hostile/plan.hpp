#pragma once

#include "genesis/genesis.hpp"
#include "tests/hostile/peer.hpp"

#include <chrono>
#include <optional>
#include <vector>

namespace hostile {

// What the command line wants.
struct Plan {
    genesis::Genesis genesis;
    std::chrono::seconds time{0};
    std::vector<base::crypto::PrivateKey> keys;         // Of nodes.
    std::optional<base::crypto::PrivateKey> signing{};  // Of a validator.
    std::vector<Target> targets;
};

}  // namespace hostile
