#include "chain/vm/encoder.hpp"

#include "base/check.hpp"

#include <cstring>
#include <new>

namespace chain::vm::x86 {

namespace {

// Bits of the prefix REX. The last one makes it stand where no other bit asks for it.
constexpr unsigned kWide = 8;
constexpr unsigned kReg = 4;
constexpr unsigned kIndex = 2;
constexpr unsigned kRm = 1;
constexpr unsigned kPresent = 0x40;

constexpr std::uint8_t kOperandSize = 0x66;

unsigned width_bit(std::uint8_t bytes) {
    return bytes == 8 ? kWide : 0;
}
// Without a prefix, spl to dil would be ah to bh.
unsigned byte_bit(Gp reg) {
    return reg.bytes == 1 && reg.id >= 4 ? kPresent : 0;
}
// A bit for the fourth one of a register's number.
unsigned high(unsigned reg, unsigned bit) {
    return reg >= 8 ? bit : 0;
}
bool fits_byte(std::int32_t value) {
    return value >= INT8_MIN && value <= INT8_MAX;
}
bool is_arithmetic(Opcode code) {
    return code.escape == 0 && code.prefix == 0 && (code.byte & 7U) == 3 && code.byte < 0x40;
}
// Of one or two bytes instead of four or eight.
Opcode narrow(Opcode code, std::uint8_t bytes) {
    if (bytes == 1) --code.byte;
    if (bytes == 2) code.prefix = kOperandSize;
    return code;
}

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory): see Encoder::Free.
Encoder::Encoder(std::size_t expected_bytes) {
    const std::size_t bytes = expected_bytes + kLongest;
    block_.reset(static_cast<std::uint8_t*>(std::malloc(bytes)));
    if (!block_) throw std::bad_alloc();
    at_ = begin();
    end_ = begin() + bytes;
}

void Encoder::grow() {
    const std::size_t used = here();
    const std::size_t bytes = 2 * static_cast<std::size_t>(end_ - begin());
    auto* const moved = static_cast<std::uint8_t*>(std::realloc(begin(), bytes));
    if (moved == nullptr) throw std::bad_alloc();
    static_cast<void>(block_.release());
    block_.reset(moved);
    at_ = begin() + used;
    end_ = begin() + bytes;
}
// NOLINTEND(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)

// Prefixes and opcode at `at`, where there is room; returns what follows.
std::uint8_t* Encoder::head(std::uint8_t* at, Opcode code, unsigned rex) {
    // Without branches, which the processor would foretell badly: what is absent is written over.
    *at = code.prefix;
    at += code.prefix != 0 ? 1 : 0;
    *at = static_cast<std::uint8_t>(0x40U | rex);
    at += rex != 0 ? 1 : 0;
    *at = 0x0F;
    at += code.escape > 0 ? 1 : 0;
    *at = 0x3A;
    at += code.escape > 1 ? 1 : 0;
    *at = code.byte;
    return at + 1;
}

void Encoder::simple(Opcode code, unsigned rex) {
    need_room();
    at_ = head(at_, code, rex);
}

void Encoder::direct(Opcode code, unsigned rex, unsigned reg, unsigned other) {
    need_room();
    std::uint8_t* const at = head(at_, code, rex | high(reg, kReg) | high(other, kRm));
    *at = static_cast<std::uint8_t>(0xC0U | (reg & 7U) << 3U | (other & 7U));
    at_ = at + 1;
}

void Encoder::indirect(Opcode code, unsigned rex, unsigned reg, const Mem& memory) {
    need_room();
    const bool indexed = memory.index != kNone;
    const unsigned extra =
        high(reg, kReg) | high(memory.base, kRm) | (indexed ? high(memory.index, kIndex) : 0);
    std::uint8_t* at = head(at_, code, rex | extra);
    const unsigned base = memory.base & 7U;
    // Without a displacement, rbp and r13 mean another form.
    const unsigned shorter = memory.place == 0 && base != rbp.id ? 0 : 1;
    const unsigned mode = fits_byte(memory.place) ? shorter : 2;
    const bool second = indexed || base == rsp.id;
    *at++ = static_cast<std::uint8_t>(mode << 6U | (reg & 7U) << 3U | (second ? 4U : base));
    const unsigned index = indexed ? memory.index & 7U : 4U;
    *at = static_cast<std::uint8_t>(unsigned{memory.shift} << 6U | index << 3U | base);
    at += second ? 1 : 0;
    std::memcpy(at, &memory.place, 4);
    at_ = at + (mode == 2 ? 4 : mode);
}

void Encoder::extended(Opcode code, unsigned extension, const Mem& memory) {
    indirect(code, 0, extension, memory);
}

void Encoder::put32(std::uint32_t value) {
    std::memcpy(at_, &value, 4);
    at_ += 4;
}

void Encoder::immediate(std::int32_t value, unsigned bytes) {
    const auto bits = static_cast<std::uint32_t>(value);
    if (bytes >= 4) return put32(bits);
    std::memcpy(at_, &bits, bytes);
    at_ += bytes;
}

void Encoder::op(Opcode code, Gp to, Gp from) {
    const bool reads = code != kTest;  // It has one form, and does not care.
    if (to.bytes == 1 && (is_arithmetic(code) || !reads)) --code.byte;
    const unsigned rex = width_bit(to.bytes) | byte_bit(to) | byte_bit(from);
    direct(code, rex, to.id, from.id);
}

void Encoder::op(Opcode code, Gp to, const Mem& from) {
    indirect(code, width_bit(to.bytes), to.id, from);
}

void Encoder::op(Opcode code, Gp to, std::int32_t value) {
    CHECK(is_arithmetic(code) && to.bytes >= 4);
    const unsigned extension = code.byte >> 3U;
    const bool small = fits_byte(value);
    if (!small && to.id == rax.id) {
        simple({0, 0, static_cast<std::uint8_t>(code.byte + 2)}, width_bit(to.bytes));
    } else {
        direct({0, 0, small ? std::uint8_t{0x83} : std::uint8_t{0x81}},
               width_bit(to.bytes),
               extension,
               to.id);
    }
    immediate(value, small ? 1 : 4);
}

void Encoder::op(Opcode code, const Mem& to, Gp from) {
    CHECK(is_arithmetic(code) || code == kMov);
    code.byte -= 2;
    indirect(narrow(code, from.bytes), width_bit(from.bytes) | byte_bit(from), from.id, to);
}

void Encoder::op(Opcode code, const Mem& to, std::int32_t value) {
    const unsigned bytes = to.bytes < 4 ? to.bytes : 4;
    if (code == kMov) {
        indirect(narrow({0, 0, 0xC7}, to.bytes), width_bit(to.bytes), 0, to);
        return immediate(value, bytes);
    }
    CHECK(is_arithmetic(code) && to.bytes >= 4);
    const bool small = fits_byte(value);
    const std::uint8_t byte = small ? 0x83 : 0x81;
    indirect({0, 0, byte}, width_bit(to.bytes), code.byte >> 3U, to);
    immediate(value, small ? 1 : 4);
}

void Encoder::op(Opcode code, Gp to, const Operand& from) {
    switch (from.kind) {
        case Operand::Kind::memory:
            return op(code, to, from.memory);
        case Operand::Kind::immediate:
            return op(code, to, from.memory.place);
        default:
            return op(code, to, Gp{from.memory.base, from.memory.bytes});
    }
}

void Encoder::op(Opcode code, const Mem& to, const Operand& from) {
    if (from.kind == Operand::Kind::immediate) return op(code, to, from.memory.place);
    CHECK(from.kind == Operand::Kind::gp);
    op(code, to, Gp{from.memory.base, from.memory.bytes});
}

void Encoder::op(Opcode code, Xmm to, Xmm from) {
    direct(code, 0, to.id, from.id);
}

void Encoder::op(Opcode code, Xmm to, const Mem& from) {
    indirect(code, 0, to.id, from);
}

void Encoder::op(Opcode code, Xmm to, const Operand& from) {
    from.is_memory() ? op(code, to, from.memory) : op(code, to, Xmm{from.memory.base});
}

void Encoder::op(Opcode code, Xmm to, Gp from) {
    direct(code, width_bit(from.bytes), to.id, from.id);
}

void Encoder::op(Opcode code, Gp to, Xmm from) {
    // The vector is the first operand of the one that writes the general register.
    if (code == kMovFromXmm) return direct(code, width_bit(to.bytes), from.id, to.id);
    direct(code, width_bit(to.bytes), to.id, from.id);
}

void Encoder::op(Opcode code, const Mem& to, Xmm from) {
    ++code.byte;
    indirect(code, 0, from.id, to);
}

// A write of 32 bits clears the others: the shortest form.
void Encoder::mov_constant(Gp to, std::uint64_t value) {
    if (to.bytes == 4 || value <= UINT32_MAX) {
        simple({0, 0, static_cast<std::uint8_t>(0xB8U | (to.id & 7U))}, high(to.id, kRm));
        return put32(static_cast<std::uint32_t>(value));
    }
    const auto number = static_cast<std::int64_t>(value);
    if (number == static_cast<std::int32_t>(number)) {
        direct({0, 0, 0xC7}, kWide, 0, to.id);
        return put32(static_cast<std::uint32_t>(value));
    }
    simple({0, 0, static_cast<std::uint8_t>(0xB8U | (to.id & 7U))}, kWide | high(to.id, kRm));
    std::memcpy(at_, &value, 8);
    at_ += 8;
}

void Encoder::test(Gp left, std::int32_t value) {
    direct({0, 0, 0xF7}, width_bit(left.bytes), 0, left.id);
    put32(static_cast<std::uint32_t>(value));
}

void Encoder::imul(Gp to, const Operand& from, std::int32_t value) {
    const bool small = fits_byte(value);
    const Opcode code{0, 0, small ? std::uint8_t{0x6B} : std::uint8_t{0x69}};
    from.is_memory() ? op(code, to, from.memory) : op(code, to, Gp{from.memory.base, to.bytes});
    immediate(value, small ? 1 : 4);
}

void Encoder::shift(Shift which, Gp reg, std::uint8_t by) {
    const std::uint8_t code = by == 1 ? 0xD1 : 0xC1;
    direct({0, 0, code}, width_bit(reg.bytes), static_cast<unsigned>(which), reg.id);
    if (by != 1) *at_++ = by;
}

void Encoder::shift_by_cl(Shift which, Gp reg) {
    direct({0, 0, 0xD3}, width_bit(reg.bytes), static_cast<unsigned>(which), reg.id);
}

void Encoder::set_if(CondCode condition, Gp to) {
    const auto code = static_cast<std::uint8_t>(0x90U | static_cast<unsigned>(condition));
    direct({0, 1, code}, byte_bit({to.id, 1}), 0, to.id);
}

void Encoder::move_if(CondCode condition, Gp to, const Operand& from) {
    op({0, 1, static_cast<std::uint8_t>(0x40U | static_cast<unsigned>(condition))}, to, from);
}

void Encoder::extend(bool is_signed, Gp to, const Operand& from) {
    Opcode code = is_signed ? kMovsx : kMovzx;
    if (from.memory.bytes == 2) ++code.byte;
    if (from.memory.bytes == 4) code = is_signed ? kMovsxd : kMov;
    if (from.is_memory()) return op(code, to, from.memory);
    const Gp reg{from.memory.base, from.memory.bytes};
    direct(code, width_bit(to.bytes) | byte_bit(reg), to.id, reg.id);
}

void Encoder::round(bool is_single, Xmm to, const Operand& from, std::uint8_t mode) {
    op(of_width(kRoundss, is_single), to, from);
    *at_++ = mode;
}

void Encoder::divide(bool is_signed, Gp by) {
    direct({0, 0, 0xF7}, width_bit(by.bytes), is_signed ? 7 : 6, by.id);
}

void Encoder::sign_into_rdx(Gp dividend) {
    simple({0, 0, 0x99}, width_bit(dividend.bytes));
}

void Encoder::complement_top_bit(Gp reg) {
    direct({0, 1, 0xBA}, width_bit(reg.bytes), 7, reg.id);
    *at_++ = static_cast<std::uint8_t>(8 * reg.bytes - 1);
}

void Encoder::push(Gp reg) {
    simple({0, 0, static_cast<std::uint8_t>(0x50U | (reg.id & 7U))}, high(reg.id, kRm));
}

void Encoder::pop(Gp reg) {
    simple({0, 0, static_cast<std::uint8_t>(0x58U | (reg.id & 7U))}, high(reg.id, kRm));
}

}  // namespace chain::vm::x86
