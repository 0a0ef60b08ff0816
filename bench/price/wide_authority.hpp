#pragma once

#include "chain/types/authority.hpp"

#include <cstddef>
#include <cstdint>

namespace price {

// One of so many keys is enough; nobody has any of them.
[[nodiscard]] inline chain::Authority authority_of_keys(std::uint32_t count) {
    chain::Authority authority;
    authority.threshold = 1;
    for (std::uint32_t i = 0; i < count; ++i) {
        chain::KeyWeight entry;
        entry.weight = 1;
        entry.key.point[0] = std::byte{2};
        entry.key.point[1] = static_cast<std::byte>(i >> 8U);
        entry.key.point[2] = static_cast<std::byte>(i);
        authority.keys.push_back(entry);
    }
    return authority;
}

}  // namespace price
