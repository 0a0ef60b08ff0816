#pragma once

#include "base/crypto/hash.hpp"

#include <cstdint>
#include <optional>

namespace chain::host {

// The cryptographic primitives behind CRYPTO_PRIMITIVES. Pure; any thread.
using base::crypto::GoesOn;

// The BLAKE2b compression function F of RFC 7693 with any number of rounds (EIP-152).
struct Blake2Block {
    base::ByteView state;        // 64 bytes: eight little-endian words.
    base::ByteView message;      // 128 bytes: sixteen little-endian words.
    base::ByteView offset_low;   // 8 bytes.
    base::ByteView offset_high;  // 8 bytes.
    bool final = false;
};
[[nodiscard]] base::Hash512 blake2_f(std::uint32_t rounds,
                                     const Blake2Block& block,
                                     GoesOn goes_on = {});

// Big-endian numbers of any length; the modulus has at least one byte.
struct ModExp {
    base::ByteView base;
    base::ByteView exponent;
    base::ByteView modulus;
};
// base^exponent mod modulus, as long as the modulus; all zero for a modulus of zero.
[[nodiscard]] base::Bytes mod_exp(const ModExp& input, GoesOn goes_on = {});
// What mod_exp() costs, in units: it grows with the square of the modulus.
[[nodiscard]] std::uint64_t mod_exp_units(const ModExp& input);
// Whether the lengths are within Leap's restriction on these numbers.
[[nodiscard]] bool mod_exp_size_allowed(const ModExp& input);

// The uncompressed public key, 65 bytes, whose owner made a K1 signature: 1 byte of recovery
// id + 27 or 31, then r and s. Nothing: not a signature, or no such point. Unlike
// base::crypto::recover() it takes signatures that are not canonical.
[[nodiscard]] std::optional<base::Bytes> k1_recover(base::ByteView signature,
                                                    base::ByteView digest);

}  // namespace chain::host
