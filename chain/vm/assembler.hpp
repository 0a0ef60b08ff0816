#pragma once

#include "base/check.hpp"
#include "chain/vm/host.hpp"
#include "chain/vm/layout.hpp"

#include <asmjit/x86.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace chain::vm {

namespace x86 = asmjit::x86;

[[nodiscard]] constexpr bool is_float(ValueType type) {
    return type == ValueType::f32 || type == ValueType::f64;
}
[[nodiscard]] constexpr std::uint32_t width_of(ValueType type) {
    return type == ValueType::i32 || type == ValueType::f32 ? 4 : 8;
}

// Registers of one kind are named by their number in instructions.
using Register = std::uint8_t;
enum class Bank : std::uint8_t { integer, floating };
[[nodiscard]] constexpr Bank bank_of(ValueType type) {
    return is_float(type) ? Bank::floating : Bank::integer;
}

inline x86::Gp quad(Register reg) {
    return x86::gpq(reg);
}
inline x86::Gp dword(Register reg) {
    return x86::gpd(reg);
}
inline x86::Gp integer(Register reg, ValueType type) {
    return width_of(type) == 4 ? x86::Gp(x86::gpd(reg)) : x86::Gp(x86::gpq(reg));
}
inline x86::Xmm vector(Register reg) {
    return x86::xmm(reg);
}
// Below or at the base of the linear memory.
inline x86::Mem at_field(std::int32_t place, std::uint32_t bytes = 8) {
    return x86::ptr(x86::r15, place, bytes);
}
inline x86::Mem at_constant(Constant constant, std::uint32_t bytes) {
    return at_field(place_of(constant), bytes);
}

// Writes x86-64 code. asmjit encodes the instructions; jumps are ours, because its labels take
// a hundred bytes each: a jump to what is not written yet is a link of a chain that goes through
// the open jumps themselves, and costs no memory.
class Assembler : base::Pinned {
  public:
    using Offset = std::uint32_t;
    // The last of the jumps to a place that is not known yet; 0: there is none.
    struct Chain {
        Offset last = 0;
        [[nodiscard]] bool is_empty() const { return last == 0; }
    };

    // `expected_bytes` of code: more may come, at the price of moving what there is.
    explicit Assembler(std::size_t expected_bytes);

    // asmjit's interface, for single instructions.
    x86::Assembler* operator->() { return &inner_; }

    [[nodiscard]] Offset here() const { return static_cast<Offset>(inner_.offset()); }
    void bytes(std::initializer_list<std::uint8_t> code) {
        inner_.embed(code.begin(), code.size());
    }

    // Jumps and calls to what is written already.
    void jump(Offset to);
    void jump_if(x86::CondCode condition, Offset to);
    void call(Offset to);
    // Jumps to what follows.
    void jump(Chain& chain);
    void jump_if(x86::CondCode condition, Chain& chain);
    // Ends the jumps of a chain here; it is empty then.
    void land(Chain& chain);
    // Jumps over at most 127 bytes.
    [[nodiscard]] Offset skip();
    [[nodiscard]] Offset skip_if(x86::CondCode condition);
    void land_skip(Offset skip);
    // A call whose target is filled in by set_call.
    [[nodiscard]] Offset open_call();
    void set_call(Offset at, Offset to);

    [[nodiscard]] std::int32_t word(Offset at) const;
    void set_word(Offset at, std::int32_t value);
    void align_with_traps(std::uint32_t boundary);

    // Jumps to what follows if the number in a register is a NaN; returns the jump, for set_call().
    [[nodiscard]] Offset open_jump_if_nan(Register reg, bool is_single);

    // All that was written. Nothing is written afterwards.
    [[nodiscard]] base::ByteView code() const;

  private:
    void join(Chain& chain);

    // asmjit refuses what cannot be encoded. That would be our bug.
    class Refusal final : public asmjit::ErrorHandler {
      public:
        void handleError(asmjit::Error error,
                         const char* message,
                         asmjit::BaseEmitter* from) override;
    };

    [[nodiscard]] std::uint8_t* data() { return holder_.textSection()->buffer().data(); }
    [[nodiscard]] const std::uint8_t* data() const {
        return holder_.textSection()->buffer().data();
    }

    Refusal refusal_;
    asmjit::CodeHolder holder_;
    x86::Assembler inner_;
};

}  // namespace chain::vm
