#pragma once

#include "base/bytes.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chain::vm {

// Reads WebAssembly's encodings from borrowed bytes. The first error sticks; later reads
// return zero. LEB128 numbers may be padded (linkers do that) up to their longest form.
class WasmReader {
  public:
    explicit WasmReader(base::ByteView bytes, std::size_t base_offset = 0)
        : bytes_(bytes), base_(base_offset) {}

    std::uint8_t u8() {
        return done() ? nothing_left() : std::to_integer<std::uint8_t>(bytes_[offset_++]);
    }
    // LEB128, most often of one byte.
    std::uint32_t u32() { return one_byte() ? u8() : static_cast<std::uint32_t>(leb(32, false)); }
    std::int32_t s32() { return static_cast<std::int32_t>(s64_of(32)); }
    std::int64_t s64() { return s64_of(64); }
    std::uint32_t fixed32();  // Little-endian.
    std::uint64_t fixed64();
    base::ByteView raw(std::uint32_t count);
    base::ByteView rest() { return raw(static_cast<std::uint32_t>(bytes_.size() - offset_)); }
    // A number of items, of at least one byte each: at most `limit` and what is left.
    std::uint32_t count(std::uint32_t limit, std::string_view what);
    // A name of at most `limit` bytes; what is no UTF-8 is an error.
    std::string_view name(std::uint32_t limit);

    void set_error(std::string text);
    [[nodiscard]] bool ok() const { return error_.empty(); }
    [[nodiscard]] const std::string& error() const { return error_; }
    [[nodiscard]] bool done() const { return offset_ == bytes_.size(); }
    [[nodiscard]] std::size_t offset() const { return offset_; }
    // Position in the module, for messages.
    [[nodiscard]] std::size_t module_offset() const { return base_ + offset_; }

  private:
    std::uint64_t leb(unsigned bits, bool is_signed);
    std::uint8_t nothing_left();
    [[nodiscard]] bool one_byte() const {
        return !done() && (bytes_[offset_] & std::byte{0x80}) == std::byte{0};
    }
    std::int64_t s64_of(unsigned bits) {
        if (!one_byte()) return static_cast<std::int64_t>(leb(bits, true));
        return static_cast<std::int8_t>(u8() << 1U) >> 1U;  // Six bits and a sign.
    }

    base::ByteView bytes_;  // Shortened to what has been read at the first error.
    std::size_t base_;
    std::size_t offset_ = 0;
    std::string error_;
};

// The opcodes that are treated one by one; the rest goes by its class.
namespace op {
enum : std::uint8_t {
    unreachable = 0x00,
    nop = 0x01,
    block = 0x02,
    loop = 0x03,
    if_ = 0x04,    // NOLINT(readability-identifier-naming): a keyword
    else_ = 0x05,  // NOLINT(readability-identifier-naming): a keyword
    end = 0x0b,
    br = 0x0c,
    br_if = 0x0d,
    br_table = 0x0e,
    return_ = 0x0f,  // NOLINT(readability-identifier-naming): a keyword
    call = 0x10,
    call_indirect = 0x11,
    drop = 0x1a,
    select = 0x1b,
    local_get = 0x20,
    local_set = 0x21,
    local_tee = 0x22,
    global_get = 0x23,
    global_set = 0x24,
    i32_load = 0x28,
    i64_store32 = 0x3e,
    memory_size = 0x3f,
    memory_grow = 0x40,
    i32_const = 0x41,
    i64_const = 0x42,
    f32_const = 0x43,
    f64_const = 0x44,
    i32_div_s = 0x6d,
    i32_rem_u = 0x70,
    i64_div_s = 0x7f,
    i64_rem_u = 0x82,
    i64_extend_i32_u = 0xad,
    f32_demote_f64 = 0xb6,
    f64_promote_f32 = 0xbb,
    i32_reinterpret_f32 = 0xbc,
    f64_reinterpret_i64 = 0xbf,
};
}  // namespace op

// Whether an opcode is one of a row.
[[nodiscard]] constexpr bool within(std::uint8_t opcode, unsigned first, unsigned last) {
    return opcode >= first && opcode <= last;
}

inline constexpr std::uint8_t kEmptyBlock = 0x40;
// Value types, downwards from i32 in the order of ValueType.
inline constexpr std::uint8_t kI32Byte = 0x7F;
inline constexpr std::uint8_t kF64Byte = 0x7C;

}  // namespace chain::vm
