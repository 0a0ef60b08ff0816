#pragma once

#include "genesis/recovery.hpp"

#include <array>
#include <string>

namespace genesis::test {

inline base::crypto::PrivateKey key_of(unsigned char tag) {
    std::array<std::byte, 32> secret{};
    secret.fill(std::byte{tag});
    return {base::crypto::KeyType::k1, secret};
}

// Four members with a validator each; of both the keys are key_of(1) to key_of(4).
inline Genesis chain_of_four() {
    Genesis genesis;
    genesis.times = {.initial = {1'700'000'000'000'000}, .interval_milliseconds = 500};
    unsigned char tag = 1;
    for (const std::string name : {"ma", "mb", "mc", "md"}) {
        const auto key = key_of(tag++).public_key();
        const auto member = *chain::Name::from_string(name);
        genesis.members.push_back({member, chain::Authority::of_key(key), 1});
        genesis.schedule.entries.push_back({member, key, key});
    }
    genesis.system_authority = members_authority(genesis.members);
    return genesis;
}

}  // namespace genesis::test
