#pragma once

#include "base/bytes.hpp"
#include "chain/vm/instruction.hpp"
#include "chain/vm/module.hpp"

#include <string_view>

namespace chain::vm {

// Appends WebAssembly's encodings.
class Emitter {
  public:
    void u8(std::uint8_t value) { out_.push_back(std::byte{value}); }
    void u32(std::uint32_t value);
    void s64(std::int64_t value);
    void raw(base::ByteView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
    void name(std::string_view text);
    void value_type(ValueType value) { u8(static_cast<std::uint8_t>(0x7FU - unsigned(value))); }
    void bytes(const Emitter& inner);  // A length, then the bytes.

    void indexed(std::uint8_t opcode, std::uint32_t index) {
        u8(opcode);
        u32(index);
    }
    void i32_const(std::int32_t value) {
        u8(op::i32_const);
        s64(value);
    }
    void i64_const(std::int64_t value) {
        u8(op::i64_const);
        s64(value);
    }
    // A constant of floating point by its bits.
    void f32_bits(std::uint32_t bits) {
        i32_const(static_cast<std::int32_t>(bits));
        u8(op::f32_reinterpret_i32);
    }
    void f64_bits(std::uint64_t bits) {
        i64_const(static_cast<std::int64_t>(bits));
        u8(op::f64_reinterpret_i64);
    }

    void clear() { out_.clear(); }
    [[nodiscard]] const base::Bytes& view() const { return out_; }
    [[nodiscard]] base::Bytes take() { return std::move(out_); }

  private:
    base::Bytes out_;
};

}  // namespace chain::vm
