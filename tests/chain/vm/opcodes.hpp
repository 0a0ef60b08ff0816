#pragma once

#include <cstdint>

// Opcodes of the WebAssembly MVP that tests name, from the specification's appendix "Index of
// Instructions". Tests have their own list, so that an error in that of chain/vm shows.
namespace op {

enum : std::uint8_t {
    unreachable = 0x00,
    nop = 0x01,
    block = 0x02,
    loop = 0x03,
    if_ = 0x04,    // NOLINT(readability-identifier-naming): a keyword without it;
    else_ = 0x05,  // NOLINT(readability-identifier-naming)
    end = 0x0B,
    br = 0x0C,
    br_if = 0x0D,
    br_table = 0x0E,
    return_ = 0x0F,  // NOLINT(readability-identifier-naming)
    call = 0x10,
    call_indirect = 0x11,
    drop = 0x1A,
    select = 0x1B,
    local_get = 0x20,
    local_set = 0x21,
    local_tee = 0x22,
    global_get = 0x23,
    global_set = 0x24,
    i32_load = 0x28,
    i64_load32_u = 0x35,
    i32_store = 0x36,
    i64_store32 = 0x3E,
    memory_size = 0x3F,
    memory_grow = 0x40,
    i32_const = 0x41,
    i64_const = 0x42,
    f32_const = 0x43,
    f64_const = 0x44,
};

[[nodiscard]] constexpr bool is_load(std::uint8_t opcode) {
    return opcode >= i32_load && opcode <= i64_load32_u;
}

[[nodiscard]] constexpr bool is_access(std::uint8_t opcode) {
    return opcode >= i32_load && opcode <= i64_store32;
}

// What stands behind it up to the end of its block is never reached.
[[nodiscard]] constexpr bool never_goes_on(std::uint8_t opcode) {
    return opcode == unreachable || opcode == br || opcode == br_table || opcode == return_;
}

}  // namespace op
