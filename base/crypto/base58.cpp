#include "base/crypto/base58.hpp"

#include "base/crypto/secret.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace base::crypto {

namespace {

constexpr std::string_view kAlphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
constexpr std::uint32_t kParseError = 4;  // fc's parse_error_exception.

// Digits taken at a time: 58^5 is the largest power that fits in 32 bits.
constexpr std::size_t kDigits = 5;
constexpr std::uint32_t kChunk = 58U * 58U * 58U * 58U * 58U;

constexpr std::array<std::int16_t, 256> make_values() {
    std::array<std::int16_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
        values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int16_t>(i);
    }
    return values;
}
constexpr std::array<std::int16_t, 256> kValues = make_values();

// A big number of 32-bit limbs, least significant first. It may be a private key.
using Limbs = std::vector<std::uint32_t, SecretAllocator<std::uint32_t>>;

Limbs limbs_of(ByteView bytes) {
    Limbs limbs((bytes.size() + 3) / 4);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto value = std::to_integer<std::uint32_t>(bytes[bytes.size() - 1 - i]);
        limbs[i / 4] |= value << (8 * (i % 4));
    }
    while (!limbs.empty() && limbs.back() == 0)
        limbs.pop_back();
    return limbs;
}

// Divides in place and returns the remainder.
std::uint32_t divide(Limbs& limbs, std::uint32_t divisor) {
    std::uint64_t rest = 0;
    for (std::size_t i = limbs.size(); i-- > 0;) {
        rest = (rest << 32U) | limbs[i];
        limbs[i] = static_cast<std::uint32_t>(rest / divisor);
        rest %= divisor;
    }
    while (!limbs.empty() && limbs.back() == 0)
        limbs.pop_back();
    return static_cast<std::uint32_t>(rest);
}

void multiply_add(Limbs& limbs, std::uint32_t factor, std::uint32_t term) {
    std::uint64_t carry = term;
    for (std::uint32_t& limb : limbs) {
        carry += std::uint64_t{limb} * factor;
        limb = static_cast<std::uint32_t>(carry);
        carry >>= 32U;
    }
    if (carry != 0) limbs.push_back(static_cast<std::uint32_t>(carry));
}

Error cannot_decode(std::string_view text) {
    return Error{
        Errc::malformed, "Unable to decode base58 string " + std::string(text), kParseError};
}

}  // namespace

std::string to_base58(ByteView bytes) {
    std::size_t zeros = 0;
    while (zeros < bytes.size() && bytes[zeros] == std::byte{0})
        ++zeros;
    Limbs limbs = limbs_of(bytes.subspan(zeros));
    std::string text;  // Reversed until the end. What it grows out of would not be wiped.
    text.reserve(bytes.size() * 7 / 5 + kDigits);
    while (!limbs.empty()) {
        std::uint32_t rest = divide(limbs, kChunk);
        for (std::size_t i = 0; i < kDigits && (rest != 0 || !limbs.empty()); ++i) {
            text.push_back(kAlphabet[rest % 58]);
            rest /= 58;
        }
    }
    text.append(zeros, kAlphabet.front());
    std::reverse(text.begin(), text.end());
    return text;
}

Result<Bytes> from_base58(std::string_view text) {
    if (text.size() > kBase58CharactersMax) {
        return fail(Error{Errc::malformed,
                          "base58 text of " + std::to_string(text.size()) +
                              " characters; at most " + std::to_string(kBase58CharactersMax),
                          kParseError});
    }
    std::size_t zeros = 0;
    while (zeros < text.size() && text[zeros] == kAlphabet.front())
        ++zeros;
    Limbs limbs;
    std::uint32_t pending = 0;
    std::uint32_t factor = 1;
    for (const char letter : text.substr(zeros)) {
        const int value = kValues[static_cast<unsigned char>(letter)];
        if (value < 0) return fail(cannot_decode(text));
        pending = pending * 58 + static_cast<std::uint32_t>(value);
        factor *= 58;
        if (factor == kChunk) {
            multiply_add(limbs, factor, pending);
            pending = 0;
            factor = 1;
        }
    }
    if (factor != 1) multiply_add(limbs, factor, pending);

    Bytes bytes;
    bytes.reserve(zeros + limbs.size() * sizeof(Limbs::value_type));
    bytes.resize(zeros);
    bool leading = true;
    for (std::size_t i = limbs.size() * 4; i-- > 0;) {
        const auto value = static_cast<std::byte>(limbs[i / 4] >> (8 * (i % 4)) & 0xFFU);
        leading = leading && value == std::byte{0};
        if (!leading) bytes.push_back(value);
    }
    return bytes;
}

}  // namespace base::crypto
