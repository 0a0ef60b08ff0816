// Keccak-f[1600] with a rate of 136 bytes, for the two digests that differ in padding only.
// OpenSSL 3.0 has no Keccak with the padding that Ethereum uses.
#include "base/crypto/hash.hpp"

#include <bit>
#include <cstring>

namespace base::crypto {

namespace {

using State = std::array<std::uint64_t, 25>;
constexpr std::size_t kRate = 136;

constexpr std::array<std::uint64_t, 24> kRoundConstants = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808A, 0x8000000080008000,
    0x000000000000808B, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008A, 0x0000000000000088, 0x0000000080008009, 0x000000008000000A,
    0x000000008000808B, 0x800000000000008B, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800A, 0x800000008000000A,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

// Rotation and position of the walk over the lanes that rho and pi make together.
constexpr std::array<int, 24> kRotations = {1,  3,  6,  10, 15, 21, 28, 36, 45, 55, 2,  14,
                                            27, 41, 56, 8,  25, 43, 62, 18, 39, 61, 20, 44};
constexpr std::array<std::size_t, 24> kLanes = {10, 7,  11, 17, 18, 3, 5,  16, 8,  21, 24, 4,
                                                15, 23, 19, 13, 12, 2, 20, 14, 22, 9,  6,  1};

void theta(State& a) {
    std::array<std::uint64_t, 5> column{};
    for (std::size_t x = 0; x < 5; ++x) {
        column[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    }
    for (std::size_t x = 0; x < 5; ++x) {
        const std::uint64_t mix = column[(x + 4) % 5] ^ std::rotl(column[(x + 1) % 5], 1);
        for (std::size_t y = 0; y < 25; y += 5)
            a[x + y] ^= mix;
    }
}

void permute(State& a) {
    for (const std::uint64_t constant : kRoundConstants) {
        theta(a);
        std::uint64_t carried = a[1];
        for (std::size_t i = 0; i < 24; ++i) {
            const std::uint64_t next = a[kLanes[i]];
            a[kLanes[i]] = std::rotl(carried, kRotations[i]);
            carried = next;
        }
        for (std::size_t y = 0; y < 25; y += 5) {
            const std::array<std::uint64_t, 5> row = {a[y], a[y + 1], a[y + 2], a[y + 3], a[y + 4]};
            for (std::size_t x = 0; x < 5; ++x) {
                a[y + x] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]);
            }
        }
        a[0] ^= constant;
    }
}

static_assert(std::endian::native == std::endian::little);

void absorb(State& a, const std::byte* block) {
    for (std::size_t i = 0; i < kRate / 8; ++i) {
        std::uint64_t lane = 0;
        std::memcpy(&lane, block + 8 * i, 8);
        a[i] ^= lane;
    }
    permute(a);
}

Hash256 digest(ByteView data, std::byte padding, GoesOn goes_on) {
    State state{};
    for (std::size_t blocks = 1; data.size() >= kRate; ++blocks) {
        absorb(state, data.data());
        data = data.subspan(kRate);
        if (blocks % (kPieceBytes / kRate) == 0 && !goes_on()) return {};
    }
    std::array<std::byte, kRate> last{};
    if (!data.empty()) std::memcpy(last.data(), data.data(), data.size());
    last[data.size()] ^= padding;
    last[kRate - 1] ^= std::byte{0x80};
    absorb(state, last.data());
    Hash256 hash;
    std::memcpy(hash.bytes.data(), state.data(), hash.bytes.size());
    return hash;
}

}  // namespace

Hash256 sha3_256(ByteView data, GoesOn goes_on) {
    return digest(data, std::byte{0x06}, goes_on);
}

Hash256 keccak256(ByteView data, GoesOn goes_on) {
    return digest(data, std::byte{0x01}, goes_on);
}

}  // namespace base::crypto
