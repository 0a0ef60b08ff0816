#include "chain/execution/host_primitives.hpp"

#include "base/crypto/bignum.hpp"

#include <algorithm>
#include <bit>
#include <secp256k1.h>
#include <secp256k1_recovery.h>

namespace chain::host {

namespace {

std::uint64_t load_word(base::ByteView bytes, std::size_t index) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        word |= std::to_integer<std::uint64_t>(bytes[8 * index + i]) << (8 * i);
    }
    return word;
}

std::uint32_t ceil_log2(std::size_t n) {
    return n <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(n - 1));
}

}  // namespace

base::Hash512 blake2_f(std::uint32_t rounds, const Blake2Block& block, GoesOn goes_on) {
    base::crypto::Blake2Input in;
    in.rounds = rounds;
    for (std::size_t i = 0; i < in.state.size(); ++i) {
        in.state[i] = load_word(block.state, i);
    }
    for (std::size_t i = 0; i < in.message.size(); ++i) {
        in.message[i] = load_word(block.message, i);
    }
    in.offset = {load_word(block.offset_low, 0), load_word(block.offset_high, 0)};
    in.final_block = block.final;
    base::Hash512 out;
    std::size_t at = 0;
    for (const std::uint64_t word : base::crypto::blake2_f(in, goes_on)) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            out.bytes[at++] = static_cast<std::byte>(word >> shift);
        }
    }
    return out;
}

base::Bytes mod_exp(const ModExp& input, GoesOn goes_on) {
    auto result = base::crypto::mod_exp(input.base, input.exponent, input.modulus, goes_on);
    // The one thing it refuses is a modulus of zero, whose result is zero here.
    return result ? *std::move(result) : base::Bytes(input.modulus.size());
}

std::uint64_t mod_exp_units(const ModExp& input) {
    // A multiplication modulo n words takes about 2 n^2 + 20 n units, of which an exponent of
    // b bits needs at most 1.5 b; reducing the base takes n units for each of its words.
    const std::uint64_t words = input.modulus.size() / 8 + 1;
    const std::uint64_t base_words = input.base.size() / 8 + 1;
    const std::uint64_t multiplication = 2 * words * words + 20 * words + 100;
    return 12 * (input.exponent.size() + 1) * multiplication + 2 * base_words * words;
}

bool mod_exp_size_allowed(const ModExp& input) {
    constexpr std::uint32_t kLimit = 106;
    const std::size_t longest = std::max(input.base.size(), input.modulus.size());
    if (longest < input.exponent.size()) return false;
    return 5 * ceil_log2(input.exponent.size()) + 8 * ceil_log2(longest) <= kLimit;
}

std::optional<base::Bytes> k1_recover(base::ByteView signature, base::ByteView digest) {
    if (signature.size() != 65 || digest.size() != 32) return std::nullopt;
    const auto first = std::to_integer<int>(signature[0]);
    if (first < 27 || first >= 35) return std::nullopt;
    const auto* compact = reinterpret_cast<const unsigned char*>(signature.data() + 1);
    secp256k1_ecdsa_recoverable_signature parsed;
    if (secp256k1_ecdsa_recoverable_signature_parse_compact(
            secp256k1_context_static, &parsed, compact, (first - 27) & 3) == 0) {
        return std::nullopt;
    }
    secp256k1_pubkey key;
    if (secp256k1_ecdsa_recover(secp256k1_context_static,
                                &key,
                                &parsed,
                                reinterpret_cast<const unsigned char*>(digest.data())) == 0) {
        return std::nullopt;
    }
    base::Bytes out(65);
    std::size_t size = out.size();
    secp256k1_ec_pubkey_serialize(secp256k1_context_static,
                                  reinterpret_cast<unsigned char*>(out.data()),
                                  &size,
                                  &key,
                                  SECP256K1_EC_UNCOMPRESSED);
    return out;
}

}  // namespace chain::host
