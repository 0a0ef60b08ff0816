#pragma once

#include "base/bytes.hpp"
#include "base/codec.hpp"
#include "base/result.hpp"

#include <concepts>
#include <cstdint>
#include <string_view>

namespace bps {

// Reads Kafka's primitive values from borrowed bytes: big-endian integers, and the varints of
// Protocol Buffers. As with base::Reader, the first error sticks and later reads return zero.
class Reader {
  public:
    explicit Reader(base::ByteView bytes) : in_(bytes) {}

    template <std::integral T>
    [[nodiscard]] T integer(std::string_view field) {
        const base::ByteView bytes = in_.raw(sizeof(T), field);
        std::uint64_t bits = 0;
        for (const std::byte byte : bytes) {
            bits = (bits << 8U) | std::to_integer<std::uint64_t>(byte);
        }
        return static_cast<T>(static_cast<std::make_unsigned_t<T>>(bits));
    }
    // 0 or 1; any other byte is an error.
    [[nodiscard]] bool boolean(std::string_view field) { return in_.boolean(field); }
    // At most 5 or 10 bytes. Forms that are longer than needed are read, as Kafka does.
    [[nodiscard]] std::uint32_t unsigned_varint(std::string_view field) {
        return static_cast<std::uint32_t>(varint_bits(32, field));
    }
    // Zigzag.
    [[nodiscard]] std::int32_t varint(std::string_view field) {
        const auto bits = static_cast<std::uint32_t>(varint_bits(32, field));
        return static_cast<std::int32_t>((bits >> 1U) ^ (0U - (bits & 1U)));
    }
    [[nodiscard]] std::int64_t varlong(std::string_view field) {
        const std::uint64_t bits = varint_bits(64, field);
        return static_cast<std::int64_t>((bits >> 1U) ^ (std::uint64_t{0} - (bits & 1U)));
    }
    [[nodiscard]] base::ByteView raw(std::size_t count, std::string_view field) {
        return in_.raw(count, field);
    }

    void set_error(std::string_view field, std::string_view reason) {
        in_.set_error(field, reason);
    }
    void set_error(base::Error error) { in_.set_error(std::move(error)); }
    [[nodiscard]] bool ok() const { return in_.ok(); }
    [[nodiscard]] std::size_t offset() const { return in_.offset(); }
    [[nodiscard]] std::size_t left() const { return in_.left(); }
    // The first error.
    [[nodiscard]] base::Result<void> status() const { return in_.status(); }
    // The first error; or an error where bytes are left.
    [[nodiscard]] base::Result<void> finish() const { return in_.finish(); }

  private:
    // Each record has seven or more, of which most are one or two bytes long.
    [[nodiscard]] std::uint64_t varint_bits(unsigned bits, std::string_view field) {
        const auto first = integer<std::uint8_t>(field);
        if (first < 0x80U) return first;
        const auto second = integer<std::uint8_t>(field);
        const std::uint64_t value = (first & 0x7FU) | std::uint64_t{second & 0x7FU} << 7U;
        if (second >= 0x80U) return rest_of_varint(value, bits, field);
        return ok() ? value : 0;
    }
    // From the third byte on.
    [[nodiscard]] std::uint64_t rest_of_varint(std::uint64_t value,
                                               unsigned bits,
                                               std::string_view field);

    base::Reader in_;
};

}  // namespace bps
