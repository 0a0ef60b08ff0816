#pragma once

#include "base/crypto/hash.hpp"

#include <array>
#include <cstdint>

namespace base::crypto {

// base ^ exponent mod modulus, all big-endian and unsigned, of any length; an empty number is
// zero. The result has as many bytes as `modulus`. 0 ^ 0 is 1 (mod 1: 0).
// invalid: the modulus is zero. The caller limits the lengths: the cost is about
// |exponent| * |modulus|^2. Not in constant time; not for secrets.
[[nodiscard]] Result<Bytes> mod_exp(ByteView base,
                                    ByteView exponent,
                                    ByteView modulus,
                                    GoesOn goes_on = {});

// The arguments of BLAKE2b's compression function (RFC 7693; EIP-152).
struct Blake2Input {
    std::uint32_t rounds = 12;
    std::array<std::uint64_t, 8> state{};
    std::array<std::uint64_t, 16> message{};
    std::array<std::uint64_t, 2> offset{};
    bool final_block = false;
};

// The state after compression. Linear in `rounds`, which the caller limits or charges for.
[[nodiscard]] std::array<std::uint64_t, 8> blake2_f(const Blake2Input& in, GoesOn goes_on = {});

}  // namespace base::crypto
