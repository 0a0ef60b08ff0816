#include "chain/vm/instruction.hpp"

#include <fmt/format.h>

namespace chain::vm {

namespace {

// The length of the UTF-8 sequence that `text`, not empty, begins with; 0: it is none.
// Surrogates, overlong forms and what is above U+10FFFF are none (Unicode, table 3-7).
std::size_t utf8_length(base::ByteView text) {
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return 0;
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (text.size() < length) return 0;
    const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(1) < low || byte(1) > high) return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) return 0;
    }
    return length;
}

}  // namespace

std::uint8_t WasmReader::nothing_left() {
    set_error("1 byte wanted, none left");
    return 0;
}

std::uint64_t WasmReader::leb(unsigned bits, bool is_signed) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < bits; shift += 7) {
        const std::uint8_t byte = u8();
        if (!ok()) return 0;
        value |= std::uint64_t{byte & 0x7FU} << shift;
        const unsigned left = bits - shift;  // Bits that this byte may still give.
        if (left < 7) {
            // What does not fit must repeat the sign, or be zero when there is none.
            const unsigned excess = (byte & 0x7FU) >> (is_signed ? left - 1 : left);
            const unsigned ones = 0x7FU >> (left - 1);
            const bool fits = excess == 0 || (is_signed && excess == ones);
            if (!fits || (byte & 0x80U) != 0) {
                set_error("integer too large");
                return 0;
            }
        }
        if ((byte & 0x80U) != 0) continue;
        const unsigned used = shift + 7;
        if (is_signed && used < 64 && (byte & 0x40U) != 0) value |= ~std::uint64_t{0} << used;
        return value;
    }
    set_error("integer too long");
    return 0;
}

std::uint32_t WasmReader::fixed32() {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i)
        value |= std::uint32_t{u8()} << (8 * i);
    return value;
}

std::uint64_t WasmReader::fixed64() {
    const std::uint64_t low = fixed32();
    return low | (std::uint64_t{fixed32()} << 32U);
}

base::ByteView WasmReader::raw(std::uint32_t count) {
    if (!ok()) return {};
    if (count > bytes_.size() - offset_) {
        set_error(fmt::format("{} bytes wanted, {} left", count, bytes_.size() - offset_));
        return {};
    }
    offset_ += count;
    return bytes_.subspan(offset_ - count, count);
}

std::uint32_t WasmReader::count(std::uint32_t limit, std::string_view what) {
    const std::uint32_t found = u32();
    if (!ok()) return 0;
    if (found > limit) {
        set_error(fmt::format("{} {}, limit {}", found, what, limit));
        return 0;
    }
    if (found > bytes_.size() - offset_) {
        set_error(fmt::format("{} {} in {} bytes", found, what, bytes_.size() - offset_));
        return 0;
    }
    return found;
}

std::string_view WasmReader::name(std::uint32_t limit) {
    const base::ByteView text = raw(count(limit, "bytes in a name"));
    for (base::ByteView rest = text; !rest.empty();) {
        const std::size_t length = utf8_length(rest);
        if (length == 0) {
            set_error("name that is no UTF-8");
            return {};
        }
        rest = rest.subspan(length);
    }
    return base::as_text(text);
}

void WasmReader::set_error(std::string text) {
    if (!ok()) return;
    error_ = fmt::format("{} at byte {}", text, module_offset());
    bytes_ = bytes_.first(offset_);  // So that later reads find nothing.
}

namespace {

bool is_block_type(std::uint8_t byte) {
    return byte == kEmptyBlock || (byte >= 0x7C && byte <= 0x7F);
}

void read_br_table(WasmReader& in, Instruction& out, std::uint32_t limit) {
    out.index = in.count(limit, "br_table targets");
    for (std::uint32_t i = 0; in.ok() && i <= out.index; ++i)
        in.u32();
}

void read_reserved_zero(WasmReader& in) {
    if (in.u8() != 0 && in.ok()) in.set_error("reserved byte is not zero");
}

void read_control(WasmReader& in, Instruction& out, std::uint32_t br_table_limit) {
    switch (out.op) {
        case op::block:
        case op::loop:
        case op::if_:
            out.block = in.u8();
            if (in.ok() && !is_block_type(out.block)) in.set_error("unknown block type");
            return;
        case op::br:
        case op::br_if:
        case op::call:
            out.index = in.u32();
            return;
        case op::br_table:
            read_br_table(in, out, br_table_limit);
            return;
        case op::call_indirect:
            out.index = in.u32();
            read_reserved_zero(in);
            return;
        default:
            return;
    }
}

bool is_control(std::uint8_t opcode) {
    return opcode <= op::else_ || (opcode >= op::end && opcode <= op::call_indirect);
}

void read_immediate(WasmReader& in, Instruction& out) {
    if (out.op >= op::local_get && out.op <= op::global_set) {
        out.index = in.u32();
    } else if (out.op >= op::i32_load && out.op <= op::i64_store32) {
        in.u32();  // Alignment, checked by the validator.
        in.u32();
    } else if (out.op == op::memory_size || out.op == op::memory_grow) {
        read_reserved_zero(in);
    } else if (out.op == op::i32_const) {
        in.s32();
    } else if (out.op == op::i64_const) {
        in.s64();
    } else if (out.op == op::f32_const) {
        out.bits = in.fixed32();
    } else if (out.op == op::f64_const) {
        out.bits = in.fixed64();
    }
}

}  // namespace

Instruction read_instruction(WasmReader& in, std::uint32_t br_table_limit) {
    const std::size_t start = in.offset();
    Instruction out;
    out.op = in.u8();
    if (!in.ok()) return out;
    if (is_control(out.op)) {
        read_control(in, out, br_table_limit);
    } else if (stack_effect(out.op).has_value()) {
        read_immediate(in, out);
    } else {
        in.set_error(fmt::format("opcode 0x{:02x} is not of the WebAssembly MVP", out.op));
    }
    if (in.ok()) out.raw = in.since(start);
    return out;
}

std::optional<StackEffect> stack_effect(std::uint8_t opcode) {
    const auto within = [opcode](unsigned first, unsigned last) {
        return opcode >= first && opcode <= last;
    };
    if (opcode == op::drop) return StackEffect{1, 0};
    if (opcode == op::select) return StackEffect{3, 1};
    if (opcode == op::local_get || opcode == op::global_get) return StackEffect{0, 1};
    if (opcode == op::local_set || opcode == op::global_set) return StackEffect{1, 0};
    if (opcode == op::local_tee) return StackEffect{1, 1};
    if (within(0x28, 0x35)) return StackEffect{1, 1};  // Loads.
    if (within(0x36, 0x3e)) return StackEffect{2, 0};  // Stores.
    if (opcode == op::memory_size || within(0x41, 0x44)) return StackEffect{0, 1};
    if (opcode == op::memory_grow) return StackEffect{1, 1};
    const bool unary = opcode == 0x45 || opcode == 0x50 || within(0x67, 0x69) ||
                       within(0x79, 0x7b) || within(0x8b, 0x91) || within(0x99, 0x9f) ||
                       within(0xa7, 0xbf);
    if (unary) return StackEffect{1, 1};
    if (within(0x46, 0xa6)) return StackEffect{2, 1};
    return std::nullopt;
}

}  // namespace chain::vm
