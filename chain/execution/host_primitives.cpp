#include "chain/execution/host_primitives.hpp"

#include "base/check.hpp"

#include <openssl/bn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <secp256k1.h>
#include <secp256k1_recovery.h>

namespace chain::host {

namespace {

constexpr std::array<std::uint64_t, 8> kBlake2Start = {0x6A09E667F3BCC908,
                                                       0xBB67AE8584CAA73B,
                                                       0x3C6EF372FE94F82B,
                                                       0xA54FF53A5F1D36F1,
                                                       0x510E527FADE682D1,
                                                       0x9B05688C2B3E6C1F,
                                                       0x1F83D9ABFB41BD6B,
                                                       0x5BE0CD19137E2179};

// RFC 7693, 2.7: which message word goes where in each round; repeats after ten.
constexpr std::array<std::array<std::uint8_t, 16>, 10> kBlake2Order = {{
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}};

std::uint64_t load_word(base::ByteView bytes, std::size_t index) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        word |= std::to_integer<std::uint64_t>(bytes[8 * index + i]) << (8 * i);
    }
    return word;
}

// The mixing function G over four words of the working vector.
struct Mix {
    std::array<std::uint64_t, 16>& v;

    void operator()(std::array<std::size_t, 4> at, std::uint64_t x, std::uint64_t y) const {
        const auto [a, b, c, d] = at;
        v[a] = v[a] + v[b] + x;
        v[d] = std::rotr(v[d] ^ v[a], 32);
        v[c] = v[c] + v[d];
        v[b] = std::rotr(v[b] ^ v[c], 24);
        v[a] = v[a] + v[b] + y;
        v[d] = std::rotr(v[d] ^ v[a], 16);
        v[c] = v[c] + v[d];
        v[b] = std::rotr(v[b] ^ v[c], 63);
    }
};

using Words = std::array<std::uint64_t, 16>;

void blake2_round(Words& v, const Words& m, const std::array<std::uint8_t, 16>& s) {
    const Mix mix{v};
    mix({0, 4, 8, 12}, m[s[0]], m[s[1]]);
    mix({1, 5, 9, 13}, m[s[2]], m[s[3]]);
    mix({2, 6, 10, 14}, m[s[4]], m[s[5]]);
    mix({3, 7, 11, 15}, m[s[6]], m[s[7]]);
    mix({0, 5, 10, 15}, m[s[8]], m[s[9]]);
    mix({1, 6, 11, 12}, m[s[10]], m[s[11]]);
    mix({2, 7, 8, 13}, m[s[12]], m[s[13]]);
    mix({3, 4, 9, 14}, m[s[14]], m[s[15]]);
}

struct FreeNumber {
    void operator()(BIGNUM* number) const { BN_free(number); }
};
using Number = std::unique_ptr<BIGNUM, FreeNumber>;

Number number_of(base::ByteView bytes) {
    Number number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                            static_cast<int>(bytes.size()),
                            nullptr));
    CHECK(number != nullptr);
    return number;
}

std::uint32_t ceil_log2(std::size_t n) {
    return n <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(n - 1));
}

}  // namespace

base::Hash512 blake2_f(std::uint32_t rounds, const Blake2Block& block) {
    Words v{};
    Words m{};
    for (std::size_t i = 0; i < 8; ++i) {
        v[i] = load_word(block.state, i);
        v[i + 8] = kBlake2Start[i];
    }
    for (std::size_t i = 0; i < 16; ++i) {
        m[i] = load_word(block.message, i);
    }
    v[12] ^= block.offset_low;
    v[13] ^= block.offset_high;
    if (block.final) v[14] = ~v[14];
    for (std::uint32_t round = 0; round < rounds; ++round) {
        blake2_round(v, m, kBlake2Order[round % 10]);
    }
    base::Hash512 out;
    for (std::size_t i = 0; i < 8; ++i) {
        const std::uint64_t word = load_word(block.state, i) ^ v[i] ^ v[i + 8];
        for (std::size_t byte = 0; byte < 8; ++byte) {
            out.bytes[8 * i + byte] = static_cast<std::byte>(word >> (8 * byte));
        }
    }
    return out;
}

base::Bytes mod_exp(const ModExp& input) {
    base::Bytes out(input.modulus.size());
    const Number modulus = number_of(input.modulus);
    if (BN_is_zero(modulus.get())) return out;
    const Number base_number = number_of(input.base);
    const Number exponent = number_of(input.exponent);
    const Number result(BN_new());
    BN_CTX* scratch = BN_CTX_new();
    CHECK(result != nullptr && scratch != nullptr);
    CHECK(BN_mod_exp(result.get(), base_number.get(), exponent.get(), modulus.get(), scratch) == 1);
    BN_CTX_free(scratch);
    CHECK(BN_bn2binpad(result.get(),
                       reinterpret_cast<unsigned char*>(out.data()),
                       static_cast<int>(out.size())) >= 0);
    return out;
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
