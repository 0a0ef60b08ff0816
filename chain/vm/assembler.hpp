#pragma once

#include "chain/vm/encoder.hpp"
#include "chain/vm/host.hpp"
#include "chain/vm/layout.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace chain::vm {

[[nodiscard]] constexpr bool is_float(ValueType type) {
    return type == ValueType::f32 || type == ValueType::f64;
}
[[nodiscard]] constexpr std::uint8_t width_of(ValueType type) {
    return type == ValueType::i32 || type == ValueType::f32 ? 4 : 8;
}

enum class Bank : std::uint8_t { integer, floating };
[[nodiscard]] constexpr Bank bank_of(ValueType type) {
    return is_float(type) ? Bank::floating : Bank::integer;
}

inline x86::Gp quad(Register reg) {
    return {reg, 8};
}
inline x86::Gp dword(Register reg) {
    return {reg, 4};
}
inline x86::Gp low_byte(Register reg) {
    return {reg, 1};
}
inline x86::Gp integer(Register reg, ValueType type) {
    return {reg, width_of(type)};
}
inline x86::Xmm vector(Register reg) {
    return {reg};
}
// Below or at the base of the linear memory.
inline x86::Mem at_field(std::int32_t place, std::uint8_t bytes = 8) {
    return {x86::r15.id, place, bytes};
}
inline x86::Mem at_constant(Constant constant) {
    return at_field(place_of(constant), 16);
}
inline x86::Mem on_stack(std::int32_t place, std::uint8_t bytes = 8) {
    return {x86::rsp.id, place, bytes};
}

// Machine code that was written, and room behind it.
class CodeBlock {
  public:
    CodeBlock() = default;
    CodeBlock(x86::Encoder::Block block, std::size_t size)
        : block_(std::move(block)), size_(size) {}

    [[nodiscard]] base::ByteView view() const {
        return {reinterpret_cast<const std::byte*>(block_.get()), size_};
    }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    x86::Encoder::Block block_;
    std::size_t size_ = 0;
};

// Writes x86-64 code with its jumps. A jump to what is not written yet is a link of a chain that
// goes through the open jumps themselves, and costs no memory.
class Assembler : public x86::Encoder {
  public:
    using CondCode = x86::CondCode;
    // The last of the jumps to a place that is not known yet; 0: there is none.
    struct Chain {
        Offset last = 0;
        [[nodiscard]] bool is_empty() const { return last == 0; }
    };

    using Encoder::call;
    using Encoder::Encoder;
    using Encoder::jump;

    // Jumps and calls to what is written already.
    void jump(Offset to);
    void jump_if(CondCode condition, Offset to);
    void call(Offset to);
    // Jumps to what follows.
    void jump(Chain& chain);
    void jump_if(CondCode condition, Chain& chain);
    // Ends the jumps of a chain here; it is empty then.
    void land(Chain& chain);
    // Jumps over at most 127 bytes.
    [[nodiscard]] Offset skip();
    [[nodiscard]] Offset skip_if(CondCode condition);
    void land_skip(Offset skip);
    // A call whose target is filled in by set_call.
    [[nodiscard]] Offset open_call();
    void set_call(Offset at, Offset to);

    [[nodiscard]] std::int32_t word(Offset at) const;
    void set_word(Offset at, std::int32_t value);
    void align_with_traps(std::uint32_t boundary);

    // All that was written. Nothing is written afterwards.
    [[nodiscard]] CodeBlock take();

  private:
    void link(Chain& chain);

    static constexpr unsigned kJump = 0xE9;
    static constexpr unsigned kCall = 0xE8;
    static constexpr unsigned kTwoBytes = 0x0F;
    static constexpr unsigned near_jump(CondCode condition) {
        return 0x80U | static_cast<unsigned>(condition);
    }
};

// Inlined: each leader, and each instruction that may trap, has a jump.

inline void Assembler::jump(Offset to) {
    bytes(kJump, 0, 0, 0, 0);
    set_call(here(), to);
}

inline void Assembler::jump_if(CondCode condition, Offset to) {
    bytes(kTwoBytes, near_jump(condition), 0, 0, 0, 0);
    set_call(here(), to);
}

inline void Assembler::call(Offset to) {
    bytes(kCall, 0, 0, 0, 0);
    set_call(here(), to);
}

inline void Assembler::jump(Chain& chain) {
    bytes(kJump, 0, 0, 0, 0);
    link(chain);
}

inline void Assembler::jump_if(CondCode condition, Chain& chain) {
    bytes(kTwoBytes, near_jump(condition), 0, 0, 0, 0);
    link(chain);
}

// The jump just written names the one before it, until both land.
inline void Assembler::link(Chain& chain) {
    set_word(here() - 4, static_cast<std::int32_t>(chain.last));
    chain.last = here();
}

inline void Assembler::set_call(Offset at, Offset to) {
    set_word(at - 4, static_cast<std::int32_t>(to) - static_cast<std::int32_t>(at));
}

inline std::int32_t Assembler::word(Offset at) const {
    std::int32_t value = 0;
    std::memcpy(&value, begin() + at, 4);
    return value;
}

inline void Assembler::set_word(Offset at, std::int32_t value) {
    std::memcpy(begin() + at, &value, 4);
}

}  // namespace chain::vm
