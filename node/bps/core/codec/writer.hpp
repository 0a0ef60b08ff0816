#pragma once

#include "base/bytes.hpp"

#include <concepts>
#include <cstdint>
#include <utility>

namespace bps {

// Appends what Reader reads.
class Writer {
  public:
    template <std::integral T>
    void integer(T value) {
        const auto bits = static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
        for (std::size_t i = sizeof(T); i-- > 0;) {
            out_.push_back(static_cast<std::byte>((bits >> (8 * i)) & 0xFFU));
        }
    }
    void boolean(bool value) { integer<std::uint8_t>(value ? 1 : 0); }
    void unsigned_varint(std::uint32_t value) { varint_bits(value); }
    void varint(std::int32_t value) { varlong(value); }
    void varlong(std::int64_t value) {
        const auto bits = static_cast<std::uint64_t>(value);
        varint_bits((bits << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0));
    }
    void raw(base::ByteView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

    [[nodiscard]] std::size_t size() const { return out_.size(); }
    [[nodiscard]] const base::Bytes& view() const { return out_; }
    [[nodiscard]] base::Bytes take() { return std::exchange(out_, {}); }

  private:
    void varint_bits(std::uint64_t value) {
        for (; value >= 0x80U; value >>= 7U) {
            out_.push_back(static_cast<std::byte>((value & 0x7FU) | 0x80U));
        }
        out_.push_back(static_cast<std::byte>(value));
    }

    base::Bytes out_;
};

}  // namespace bps
