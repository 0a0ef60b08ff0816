#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace base {

// Appends values in Antelope's binary form: little-endian integers, LEB128 lengths.
class Writer {
  public:
    Writer() { out_.reserve(kFirstBytes); }

    template <std::integral T>
    void integer(T value) {
        const auto bits = static_cast<std::make_unsigned_t<T>>(value);
        std::array<std::byte, sizeof(T)> bytes{};
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            bytes[i] = static_cast<std::byte>((bits >> (8 * i)) & 0xFFU);
        }
        raw(bytes);
    }
    void u8(std::uint8_t value) { out_.push_back(std::byte{value}); }
    void u16(std::uint16_t value) { integer(value); }
    void u32(std::uint32_t value) { integer(value); }
    void u64(std::uint64_t value) { integer(value); }
    void i64(std::int64_t value) { integer(value); }
    void boolean(bool value) { u8(value ? 1 : 0); }
    void varuint32(std::uint32_t value);
    void raw(ByteView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
    template <std::size_t N>
    void hash(const Hash<N>& value) {
        raw(value.bytes);
    }
    // A length and the bytes.
    void bytes(ByteView value);
    void string(std::string_view value) { bytes(as_bytes(value)); }

    [[nodiscard]] const Bytes& view() const { return out_; }
    [[nodiscard]] Bytes take() { return std::move(out_); }

  private:
    // Most of what is packed is longer; growing there byte by byte took seven allocations.
    static constexpr std::size_t kFirstBytes = 64;

    Bytes out_;
};

// Reads what Writer writes, strictly. The first error sticks: later reads return zero
// values, and finish() reports that error with its field and offset. Nothing is allocated
// for a length before it was checked against what is left and against the stated limit.
class Reader {
  public:
    explicit Reader(ByteView bytes) : bytes_(bytes) {}

    template <std::integral T>
    [[nodiscard]] T integer(std::string_view field) {
        using Bits = std::make_unsigned_t<T>;
        const ByteView in = raw(sizeof(T), field);
        if (in.size() != sizeof(T)) return T{};
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            bits |= std::to_integer<std::uint64_t>(in[i]) << (8 * i);
        }
        return static_cast<T>(static_cast<Bits>(bits));
    }
    [[nodiscard]] std::uint8_t u8(std::string_view field) { return integer<std::uint8_t>(field); }
    [[nodiscard]] std::uint16_t u16(std::string_view field) {
        return integer<std::uint16_t>(field);
    }
    [[nodiscard]] std::uint32_t u32(std::string_view field) {
        return integer<std::uint32_t>(field);
    }
    [[nodiscard]] std::uint64_t u64(std::string_view field) {
        return integer<std::uint64_t>(field);
    }
    [[nodiscard]] std::int64_t i64(std::string_view field) { return integer<std::int64_t>(field); }
    // 0 or 1; any other byte is an error.
    [[nodiscard]] bool boolean(std::string_view field);
    // The shortest form only.
    [[nodiscard]] std::uint32_t varuint32(std::string_view field);
    // Exactly `count` bytes, borrowed from the input; empty after an error.
    [[nodiscard]] ByteView raw(std::size_t count, std::string_view field) {
        if (failed_ || count > left()) return refuse(count, field);
        const ByteView view = bytes_.subspan(offset_, count);
        offset_ += count;
        return view;
    }
    template <std::size_t N>
    [[nodiscard]] Hash<N> hash(std::string_view field) {
        Hash<N> value;
        const ByteView in = raw(N, field);
        if (in.size() == N) std::memcpy(value.bytes.data(), in.data(), N);
        return value;
    }
    // A length of at most `limit` bytes and the bytes, borrowed from the input.
    [[nodiscard]] ByteView bytes(std::string_view field, std::size_t limit);
    [[nodiscard]] std::string string(std::string_view field, std::size_t limit);
    // A number of items: at most `limit`, and no more than could fit in what is left when
    // each takes at least `item_bytes_min` bytes (at least 1).
    [[nodiscard]] std::size_t count(std::string_view field,
                                    std::size_t limit,
                                    std::size_t item_bytes_min = 1);

    // Marks the input as wrong at the present offset; the first call counts.
    void set_error(std::string_view field, std::string_view reason);
    void set_error(Error error);
    [[nodiscard]] bool ok() const { return !failed_; }
    [[nodiscard]] std::size_t offset() const { return offset_; }
    [[nodiscard]] std::size_t left() const { return bytes_.size() - offset_; }

    // The sticky error; or an error when bytes are left over; else success.
    [[nodiscard]] Result<void> finish() const;
    // As finish(), but bytes may be left.
    [[nodiscard]] Result<void> status() const;

  private:
    // So many are not left. Apart from raw(), which every field passes and should be small.
    ByteView refuse(std::size_t count, std::string_view field);

    ByteView bytes_;
    std::size_t offset_ = 0;
    bool failed_ = false;
    Error error_{Errc::malformed, {}};
};

}  // namespace base
