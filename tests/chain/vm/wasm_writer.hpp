#pragma once

#include "base/bytes.hpp"
#include "chain/vm/host.hpp"
#include "opcodes.hpp"

#include <cstdint>
#include <string_view>

// Appends the binary format of WebAssembly. The tests' own: shares nothing with chain/vm.
class WasmWriter {
  public:
    void u8(std::uint8_t value) { out_.push_back(std::byte{value}); }

    void u32(std::uint32_t value) {
        for (; value >= 0x80; value >>= 7U)
            u8(static_cast<std::uint8_t>(value | 0x80U));
        u8(static_cast<std::uint8_t>(value));
    }

    void s64(std::int64_t value) {
        while (value < -64 || value > 63) {
            u8(static_cast<std::uint8_t>(value) | 0x80U);
            value >>= 7;
        }
        u8(static_cast<std::uint8_t>(value) & 0x7FU);
    }

    void fixed(std::uint64_t value, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i)
            u8(static_cast<std::uint8_t>(value >> (8 * i)));
    }

    void name(std::string_view text) {
        u32(static_cast<std::uint32_t>(text.size()));
        raw(base::as_bytes(text));
    }

    void raw(base::ByteView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

    // A length, then the bytes.
    void sized(const base::Bytes& bytes) {
        u32(static_cast<std::uint32_t>(bytes.size()));
        raw(bytes);
    }

    void value_type(chain::vm::ValueType type) {
        u8(static_cast<std::uint8_t>(0x7FU - static_cast<unsigned>(type)));
    }

    // An instruction with one number.
    void indexed(std::uint8_t opcode, std::uint32_t index) {
        u8(opcode);
        u32(index);
    }

    // Of any type, by its bits.
    void constant(chain::vm::ValueType type, std::uint64_t bits) {
        using T = chain::vm::ValueType;
        u8(static_cast<std::uint8_t>(op::i32_const + static_cast<unsigned>(type)));
        if (type == T::i32) s64(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
        if (type == T::i64) s64(static_cast<std::int64_t>(bits));
        if (type == T::f32) fixed(bits, 4);
        if (type == T::f64) fixed(bits, 8);
    }

    [[nodiscard]] const base::Bytes& bytes() const { return out_; }
    [[nodiscard]] base::Bytes take() { return std::move(out_); }

  private:
    base::Bytes out_;
};
