#pragma once

#include "base/result.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace base {

using Bytes = std::vector<std::byte>;         // Owns.
using ByteView = std::span<const std::byte>;  // Borrows for the duration of the call.

// A digest of N bytes. Ordered like its bytes; the zero value means "none".
template <std::size_t N>
struct Hash {
    std::array<std::byte, N> bytes{};

    [[nodiscard]] ByteView view() const { return bytes; }
    [[nodiscard]] bool is_zero() const { return *this == Hash{}; }
    friend auto operator<=>(const Hash&, const Hash&) = default;
};

using Hash160 = Hash<20>;
using Hash256 = Hash<32>;
using Hash512 = Hash<64>;

// The bytes of a text, borrowed.
[[nodiscard]] inline ByteView as_bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

// The text that has these bytes, borrowed. No encoding is checked.
[[nodiscard]] inline std::string_view as_text(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[nodiscard]] inline Bytes to_bytes(ByteView view) {
    return {view.begin(), view.end()};
}

// Order of byte strings: unsigned, shorter first when one is a prefix. The order of RocksDB.
[[nodiscard]] inline std::strong_ordering compare(ByteView a, ByteView b) {
    const std::size_t common = a.size() < b.size() ? a.size() : b.size();
    const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
    // NOLINTBEGIN(modernize-use-nullptr): the zeros are those of comparisons.
    return order != 0 ? order <=> 0 : a.size() <=> b.size();
}

[[nodiscard]] inline bool equal(ByteView a, ByteView b) {
    return compare(a, b) == 0;
}
// NOLINTEND(modernize-use-nullptr)

// A transparent "less" for ordered containers of byte strings.
struct BytesLess {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name.
    // NOLINTNEXTLINE(modernize-use-nullptr): as above.
    bool operator()(ByteView a, ByteView b) const { return compare(a, b) < 0; }
};

// Lower-case hexadecimal digits.
[[nodiscard]] std::string to_hex(ByteView bytes);

// malformed: an odd number of digits, or a character that is none. Both cases are read.
[[nodiscard]] Result<Bytes> from_hex(std::string_view text);

// Copies exactly N bytes. malformed: another length; the message names it.
template <std::size_t N>
[[nodiscard]] Result<Hash<N>> to_hash(ByteView bytes) {
    if (bytes.size() != N) {
        return fail(
            Errc::malformed,
            "expected " + std::to_string(N) + " bytes, found " + std::to_string(bytes.size()));
    }
    Hash<N> hash;
    std::memcpy(hash.bytes.data(), bytes.data(), N);
    return hash;
}

}  // namespace base
