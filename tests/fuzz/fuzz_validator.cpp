// Bodies of functions from strangers: the validator and WABT's must agree on each. The first byte
// chooses the function's type; what follows is its body, with its locals.
#include "../chain/vm/machine.hpp"
#include "../chain/vm/wasm_writer.hpp"
#include "tests/wabt/validator.hpp"

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace {

void section(WasmWriter& out, std::uint8_t id, std::initializer_list<unsigned> content) {
    out.u8(id);
    out.u32(static_cast<std::uint32_t>(content.size()));
    for (const unsigned byte : content)
        out.u8(static_cast<std::uint8_t>(byte));
}

base::Bytes module_of(std::uint8_t type, base::ByteView body) {
    WasmWriter out;
    for (const unsigned byte : {0x00U, 0x61U, 0x73U, 0x6DU, 1U, 0U, 0U, 0U})
        out.u8(static_cast<std::uint8_t>(byte));
    // () -> (), (i32, i64) -> i32, (f32, f64) -> f64, (i64, i64, i64) -> ()
    section(out, 1, {4, 0x60, 0,    0, 0x60, 2,    0x7F, 0x7E, 1,    0x7F, 0x60,
                     2, 0x7D, 0x7C, 1, 0x7C, 0x60, 3,    0x7E, 0x7E, 0x7E, 0});
    section(out, 3, {2, 3, type});
    section(out, 4, {1, 0x70, 0, 4});
    section(out, 5, {1, 0, 1});
    // i32 and f32 can change, i64 and f64 cannot.
    section(out, 6, {4, 0x7F, 1,    0x41, 0, 0x0B, 0x7E, 0, 0x42, 0, 0x0B, 0x7D, 1, 0x43, 0,   0,
                     0, 0,    0x0B, 0x7C, 0, 0x44, 0,    0, 0,    0, 0,    0,    0, 0,    0x0B});
    section(out, 7, {1, 5, 'a', 'p', 'p', 'l', 'y', 0, 0});
    WasmWriter code;
    code.u8(2);
    code.u8(2);  // apply: no locals, and its end.
    code.u8(0);
    code.u8(0x0B);
    code.u32(static_cast<std::uint32_t>(body.size()));
    code.raw(body);
    out.u8(10);
    out.sized(code.bytes());
    return out.take();
}

// What follows this text in the refusal, as a number.
std::optional<unsigned long> number_after(const std::string& refusal,
                                          std::string_view text,
                                          int base) {
    const auto found = refusal.find(text);
    if (found == std::string::npos) return std::nullopt;
    return std::stoul(refusal.substr(found + text.size()), nullptr, base);
}

// WABT takes some opcodes of later features also where these are off: of reference types, of SIMD.
// What ours refuses so must be none of the MVP.
bool is_of_later_feature(const std::string& ours) {
    if (ours.find("is not of the WebAssembly MVP") == std::string::npos) return false;
    const auto opcode = number_after(ours, "opcode ", 16);
    if (!opcode) return false;
    const auto within = [&](unsigned low, unsigned high) {
        return low <= *opcode && *opcode <= high;
    };
    return !within(0x00, 0x05) && !within(0x0B, 0x11) && !within(0x1A, 0x1B) &&
           !within(0x20, 0x24) && !within(0x28, 0xBF);
}

// WABT takes a value type of locals in more bytes than one, too. Ours says where its first ends.
bool is_long_value_type(const std::string& ours, const base::Bytes& wasm) {
    const auto end = number_after(ours, "unknown value type at byte ", 10);
    return end && *end > 0 && *end <= wasm.size() &&
           (wasm[*end - 1] & std::byte{0x80}) != std::byte{0};
}

// What one of the two refuses by a limit of its own, which the format leaves to it. And WABT takes
// bodies that end within a block, and value types of blocks in more bytes than one.
bool may_differ(const std::string& ours, const std::string& theirs, const base::Bytes& wasm) {
    return ours.find("limit") != std::string::npos || ours.find("deeper") != std::string::npos ||
           ours.find("none left") != std::string::npos ||
           ours.find("unknown block type") != std::string::npos ||
           theirs.find("local count") != std::string::npos || is_of_later_feature(ours) ||
           is_long_value_type(ours, wasm);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const base::ByteView input(reinterpret_cast<const std::byte*>(data), size);
    const base::Bytes wasm =
        module_of(std::to_integer<std::uint8_t>(input[0]) % 4, input.subspan(1));
    const auto done = chain::vm::validate(wasm, {}, machine::hosts());
    const std::string ours = done ? std::string() : done.error().detail;
    std::vector<std::uint8_t> plain;
    plain.reserve(wasm.size());
    for (const std::byte byte : wasm)
        plain.push_back(std::to_integer<std::uint8_t>(byte));
    const std::string theirs = wabt_validator::refusal_of(plain);
    if (ours.empty() == theirs.empty() || may_differ(ours, theirs, wasm)) return 0;
    std::fprintf(stderr, "ours: \"%s\", WABT's: \"%s\"\n", ours.c_str(), theirs.c_str());
    std::abort();
}
