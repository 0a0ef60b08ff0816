#include "base/crypto/bignum.hpp"

#include "base/check.hpp"

#include <openssl/bn.h>

#include <bit>
#include <memory>

namespace base::crypto {

namespace {

struct Free {
    void operator()(BIGNUM* number) const { BN_free(number); }
    void operator()(BN_CTX* context) const { BN_CTX_free(context); }
};
using Number = std::unique_ptr<BIGNUM, Free>;

Number number(ByteView bytes) {
    Number out(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                         static_cast<int>(bytes.size()),
                         nullptr));
    CHECK(out != nullptr);
    return out;
}

// What the steps of one power need.
class Power {
  public:
    Power() { CHECK(context_ != nullptr && sum_ != nullptr && piece_ != nullptr); }

    void reduce(BIGNUM* number, const BIGNUM* modulus) {
        CHECK(BN_nnmod(number, number, modulus, context_.get()) == 1);
    }
    // Piece by piece of `by`, each of which is multiplied and reduced: whole numbers of 8 KiB take
    // milliseconds.
    void multiply(BIGNUM* number, const BIGNUM* by, const BIGNUM* modulus, GoesOn goes_on) {
        constexpr int kPieceBits = 8'192;
        BN_zero(sum_.get());
        const int bits = BN_num_bits(by);
        for (int at = (bits - 1) / kPieceBits * kPieceBits; at >= 0 && goes_on();
             at -= kPieceBits) {
            CHECK(BN_rshift(piece_.get(), by, at) == 1);
            (void)BN_mask_bits(piece_.get(), kPieceBits);  // Fails where nothing lies above.
            CHECK(BN_mul(piece_.get(), piece_.get(), number, context_.get()) == 1);
            CHECK(BN_lshift(sum_.get(), sum_.get(), kPieceBits) == 1);
            CHECK(BN_add(sum_.get(), sum_.get(), piece_.get()) == 1);
            reduce(sum_.get(), modulus);
        }
        BN_swap(number, sum_.get());
    }

  private:
    std::unique_ptr<BN_CTX, Free> context_{BN_CTX_new()};
    Number sum_{BN_new()};
    Number piece_{BN_new()};
};

constexpr std::array<std::uint64_t, 8> kIv = {0x6A09E667F3BCC908,
                                              0xBB67AE8584CAA73B,
                                              0x3C6EF372FE94F82B,
                                              0xA54FF53A5F1D36F1,
                                              0x510E527FADE682D1,
                                              0x9B05688C2B3E6C1F,
                                              0x1F83D9ABFB41BD6B,
                                              0x5BE0CD19137E2179};

constexpr std::array<std::array<std::uint8_t, 16>, 10> kSigma = {{
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

// The lanes that each of the eight mixings of a round works on: columns, then diagonals.
constexpr std::array<std::array<std::uint8_t, 4>, 8> kMixings = {{{0, 4, 8, 12},
                                                                  {1, 5, 9, 13},
                                                                  {2, 6, 10, 14},
                                                                  {3, 7, 11, 15},
                                                                  {0, 5, 10, 15},
                                                                  {1, 6, 11, 12},
                                                                  {2, 7, 8, 13},
                                                                  {3, 4, 9, 14}}};

void mix(std::array<std::uint64_t, 16>& v,
         const std::array<std::uint8_t, 4>& lanes,
         std::uint64_t x,
         std::uint64_t y) {
    auto& [a, b, c, d] = lanes;
    v[a] += v[b] + x;
    v[d] = std::rotr(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = std::rotr(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 63);
}

}  // namespace

Result<Bytes> mod_exp(ByteView base, ByteView exponent, ByteView modulus, GoesOn goes_on) {
    const Number m = number(modulus);
    if (BN_is_zero(m.get())) return fail(Errc::invalid, "mod_exp: the modulus is zero");
    const Number b = number(base);
    const Number e = number(exponent);
    Power power;
    const Number result = number(std::array{std::byte{1}});
    power.reduce(result.get(), m.get());
    power.reduce(b.get(), m.get());
    // Bit by bit: OpenSSL's own function takes tens of milliseconds and asks nobody.
    for (int bit = BN_num_bits(e.get()) - 1; bit >= 0 && goes_on(); --bit) {
        power.multiply(result.get(), result.get(), m.get(), goes_on);
        if (BN_is_bit_set(e.get(), bit) == 0) continue;
        power.multiply(result.get(), b.get(), m.get(), goes_on);
    }
    Bytes out(modulus.size());
    const int size = static_cast<int>(out.size());
    CHECK(BN_bn2binpad(result.get(), reinterpret_cast<unsigned char*>(out.data()), size) == size);
    return out;
}

std::array<std::uint64_t, 8> blake2_f(const Blake2Input& in, GoesOn goes_on) {
    std::array<std::uint64_t, 16> v{};
    for (std::size_t i = 0; i < 8; ++i) {
        v[i] = in.state[i];
        v[i + 8] = kIv[i];
    }
    v[12] ^= in.offset[0];
    v[13] ^= in.offset[1];
    if (in.final_block) v[14] = ~v[14];
    constexpr std::uint32_t kRounds = 8'192;  // Between two questions.
    for (std::uint32_t round = 0; round < in.rounds; ++round) {
        if (round % kRounds == kRounds - 1 && !goes_on()) break;
        const auto& order = kSigma[round % kSigma.size()];
        for (std::size_t i = 0; i < kMixings.size(); ++i) {
            mix(v, kMixings[i], in.message[order[2 * i]], in.message[order[2 * i + 1]]);
        }
    }
    std::array<std::uint64_t, 8> out = in.state;
    for (std::size_t i = 0; i < 8; ++i)
        out[i] ^= v[i] ^ v[i + 8];
    return out;
}

}  // namespace base::crypto
