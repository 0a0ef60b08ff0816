#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace chain::vm {

// Registers of one kind are named by their number in instructions.
using Register = std::uint8_t;

// x86-64 instructions as the processor's manual writes them (Intel SDM, volume 2): the operands
// and the opcodes that the compiler of contracts needs, and no others.
namespace x86 {

inline constexpr Register kNone = 0xFF;

// A general register, of which so many bytes are used: 1, 2, 4 or 8. A write of 4 clears the rest.
struct Gp {
    Register id = 0;
    std::uint8_t bytes = 8;
};
struct Xmm {
    Register id = 0;
};
// base + (index << shift) + place, where so many bytes are used.
struct Mem {
    Register base = 0;
    std::int32_t place = 0;
    std::uint8_t bytes = 8;
    Register index = kNone;  // Not rsp.
    std::uint8_t shift = 0;
};
// What an instruction reads. An immediate is sign-extended.
struct Operand {
    enum class Kind : std::uint8_t { gp, xmm, memory, immediate };

    // NOLINTBEGIN(google-explicit-constructor): what an instruction reads is written as it is.
    Operand(Gp reg) : kind(Kind::gp), memory{reg.id, 0, reg.bytes} {}
    Operand(Xmm reg) : kind(Kind::xmm), memory{reg.id} {}
    Operand(const Mem& place) : kind(Kind::memory), memory(place) {}
    Operand(std::int32_t value) : kind(Kind::immediate), memory{0, value} {}
    // NOLINTEND(google-explicit-constructor)

    [[nodiscard]] bool is_memory() const { return kind == Kind::memory; }

    Kind kind;
    Mem memory;  // A register is its base, an immediate its place.
};

// NOLINTBEGIN(readability-identifier-naming): registers have the names of the manual.
inline constexpr Gp rax{0}, rcx{1}, rdx{2}, rbx{3}, rsp{4}, rbp{5}, rsi{6}, rdi{7};
inline constexpr Gp r9{9}, r10{10}, r11{11}, r12{12}, r13{13}, r14{14}, r15{15};
inline constexpr Gp eax{0, 4}, ecx{1, 4}, edx{2, 4}, esi{6, 4}, r14d{14, 4};
inline constexpr Gp al{0, 1};
inline constexpr Xmm xmm0{0};
// NOLINTEND(readability-identifier-naming)

// In the order of their numbers in jcc, setcc and cmovcc; each one and its contrary differ in
// the lowest bit.
enum class CondCode : std::uint8_t { o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g };
[[nodiscard]] constexpr CondCode negated(CondCode condition) {
    return static_cast<CondCode>(static_cast<unsigned>(condition) ^ 1U);
}

// An instruction that reads its second operand; `escape` is what stands before the opcode: nothing,
// 0F, or 0F 3A.
struct Opcode {
    std::uint8_t prefix = 0;
    std::uint8_t escape = 0;
    std::uint8_t byte = 0;

    friend bool operator==(const Opcode&, const Opcode&) = default;
};
// Their opcodes with memory on the left are smaller by 2, those of bytes by 1.
inline constexpr Opcode kAdd{0, 0, 0x03}, kOr{0, 0, 0x0B}, kAnd{0, 0, 0x23}, kSub{0, 0, 0x2B};
inline constexpr Opcode kXor{0, 0, 0x33}, kCmp{0, 0, 0x3B}, kMov{0, 0, 0x8B};
inline constexpr Opcode kTest{0, 0, 0x85}, kLea{0, 0, 0x8D}, kMovsxd{0, 0, 0x63};
inline constexpr Opcode kImul{0, 1, 0xAF}, kBsf{0, 1, 0xBC}, kBsr{0, 1, 0xBD},
    kPopcnt{0xF3, 1, 0xB8};
// Of bytes; of two bytes larger by 1.
inline constexpr Opcode kMovzx{0, 1, 0xB6}, kMovsx{0, 1, 0xBE};
// Singles; doubles have another prefix.
inline constexpr Opcode kAddss{0xF3, 1, 0x58}, kMulss{0xF3, 1, 0x59}, kSubss{0xF3, 1, 0x5C};
inline constexpr Opcode kMinss{0xF3, 1, 0x5D}, kDivss{0xF3, 1, 0x5E}, kMaxss{0xF3, 1, 0x5F};
inline constexpr Opcode kSqrtss{0xF3, 1, 0x51}, kMovss{0xF3, 1, 0x10}, kRoundss{0x66, 2, 0x0A};
inline constexpr Opcode kUcomiss{0, 1, 0x2E}, kCvtsi2ss{0xF3, 1, 0x2A}, kCvttss2si{0xF3, 1, 0x2C};
inline constexpr Opcode kCvtss2sd{0xF3, 1, 0x5A}, kCvtsd2ss{0xF2, 1, 0x5A};
inline constexpr Opcode kMovaps{0, 1, 0x28}, kAndps{0, 1, 0x54}, kOrps{0, 1, 0x56},
    kXorps{0, 1, 0x57};
// Between a general register and a vector, 4 or 8 bytes.
inline constexpr Opcode kMovToXmm{0x66, 1, 0x6E}, kMovFromXmm{0x66, 1, 0x7E};

// The instruction for singles or doubles, named by that of singles.
[[nodiscard]] constexpr Opcode of_width(Opcode single, bool is_single) {
    if (is_single) return single;
    if (single == kUcomiss) return {0x66, 1, single.byte};
    if (single == kRoundss) return {0x66, 2, 0x0B};
    return {0xF2, single.escape, single.byte};
}

enum class Shift : std::uint8_t { rol = 0, ror = 1, shl = 4, shr = 5, sar = 7 };

// Writes instructions into memory of its own. Writing a valid instruction with operands that it
// does not have is our bug. Tested against asmjit.
class Encoder : base::Pinned {
  public:
    using Offset = std::uint32_t;
    // Memory that realloc moves by its pages, not by its bytes, and that is not cleared before.
    // NOLINTBEGIN(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)
    struct Free {
        void operator()(std::uint8_t* block) const { std::free(block); }
    };
    // NOLINTEND(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)
    using Block = std::unique_ptr<std::uint8_t[], Free>;

    // More than `expected_bytes` may come, at the price of growing.
    explicit Encoder(std::size_t expected_bytes);

    [[nodiscard]] Offset here() const { return static_cast<Offset>(at_ - begin()); }

    // The memory on the right may not be narrower than the register on the left, but for movzx
    // and movsx.
    void op(Opcode code, Gp to, Gp from);
    void op(Opcode code, Gp to, const Mem& from);
    void op(Opcode code, Gp to, std::int32_t value);  // add, or, and, sub, xor, cmp.
    void op(Opcode code, const Mem& to, Gp from);     // These, and mov.
    void op(Opcode code, const Mem& to, std::int32_t value);
    void op(Opcode code, Gp to, const Operand& from);
    void op(Opcode code, const Mem& to, const Operand& from);
    void op(Opcode code, Xmm to, Xmm from);
    void op(Opcode code, Xmm to, const Mem& from);
    void op(Opcode code, Xmm to, const Operand& from);
    void op(Opcode code, Xmm to, Gp from);          // cvtsi2s., movd, movq.
    void op(Opcode code, Gp to, Xmm from);          // cvtts.2si, movd, movq.
    void op(Opcode code, const Mem& to, Xmm from);  // movss, movsd.

    void mov(auto to, auto from) { op(kMov, to, from); }
    void add(auto to, auto from) { op(kAdd, to, from); }
    void sub(auto to, auto from) { op(kSub, to, from); }
    void cmp(auto to, auto from) { op(kCmp, to, from); }
    void mov_constant(Gp to, std::uint64_t value);
    void lea(Gp to, const Mem& from) { op(kLea, to, from); }
    void test(Gp left, Gp right) { op(kTest, right, left); }
    void test(Gp left, std::int32_t value);
    void clear(Gp reg) { op(kXor, Gp{reg.id, 4}, Gp{reg.id, 4}); }
    void clear(Xmm reg) { op(kXorps, reg, reg); }
    void imul(Gp to, const Operand& from, std::int32_t value);
    // By a constant, or by cl.
    void shift(Shift which, Gp reg, std::uint8_t by);
    void shift_by_cl(Shift which, Gp reg);
    void set_if(CondCode condition, Gp to);  // A byte.
    void move_if(CondCode condition, Gp to, const Operand& from);
    void extend(bool is_signed, Gp to, const Operand& from);  // From 1, 2 or 4 bytes.
    void round(bool is_single, Xmm to, const Operand& from, std::uint8_t mode);
    void divide(bool is_signed, Gp by);
    void sign_into_rdx(Gp dividend);  // Which is rax: cdq or cqo.
    void complement_top_bit(Gp reg);
    void load_mode(const Mem& from) { extended({0, 1, 0xAE}, 2, from); }  // ldmxcsr, stmxcsr
    void store_mode(const Mem& to) { extended({0, 1, 0xAE}, 3, to); }
    void push(Gp reg);
    void push(const Mem& from) { extended({0, 0, 0xFF}, 6, from); }
    void pop(Gp reg);
    void call(const Mem& from) { extended({0, 0, 0xFF}, 2, from); }
    void call(Gp reg) { bytes(0xFF, 0xD0 | reg.id); }  // One of the first eight.
    void jump(Gp reg) { bytes(0xFF, 0xE0 | reg.id); }  // One of the first eight.
    void ret() { bytes(0xC3); }
    void fill_words() { bytes(0xF3, 0x48, 0xAB); }  // rep stosq

    // Written as they stand.
    void bytes(auto... values) {
        static_assert(sizeof...(values) <= kLongest);
        need_room();
        ((*at_++ = static_cast<std::uint8_t>(values)), ...);
    }

  protected:
    static constexpr std::size_t kLongest = 24;

    [[nodiscard]] std::uint8_t* begin() const { return block_.get(); }
    void need_room() {
        if (static_cast<std::size_t>(end_ - at_) < kLongest) grow();
    }

    Block block_;
    std::uint8_t* at_ = nullptr;
    std::uint8_t* end_ = nullptr;

  private:
    void grow();
    static std::uint8_t* head(std::uint8_t* at, Opcode code, unsigned rex);
    void simple(Opcode code, unsigned rex);
    void direct(Opcode code, unsigned rex, unsigned reg, unsigned other);
    void indirect(Opcode code, unsigned rex, unsigned reg, const Mem& memory);
    void extended(Opcode code, unsigned extension, const Mem& memory);
    void put32(std::uint32_t value);
    void immediate(std::int32_t value, unsigned bytes);
};

}  // namespace x86
}  // namespace chain::vm
