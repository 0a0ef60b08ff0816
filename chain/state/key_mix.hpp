#pragma once

#include "base/bytes.hpp"

#include <cstdint>
#include <cstring>

namespace chain {

// A number that differs with nearly every key. Only ever used to skip a search, or to choose
// where a cache looks; what a reader is told does not depend on it. Not the same on all
// machines.
[[nodiscard]] inline std::uint64_t stir(std::uint64_t state, std::uint64_t word) {
    state = (state ^ word) * 0x9E3779B97F4A7C15ULL;
    return state ^ (state >> 32U);
}

[[nodiscard]] inline std::uint64_t key_mix(std::uint64_t seed, base::ByteView key) {
    std::uint64_t state = stir(seed, key.size());
    std::size_t at = 0;
    for (; at + 8 <= key.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, key.data() + at, 8);
        state = stir(state, word);
    }
    if (at < key.size()) {
        std::uint64_t word = 0;
        std::memcpy(&word, key.data() + at, key.size() - at);
        state = stir(state, word);
    }
    return stir(state, 0);
}

}  // namespace chain
