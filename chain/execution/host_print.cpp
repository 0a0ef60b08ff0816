#include "chain/execution/apply_context.hpp"
#include "chain/execution/host_float128.hpp"
#include "chain/execution/host_groups.hpp"

#include <fmt/format.h>

#include <bit>

namespace chain::host {

namespace {

Result<void> print(const Call& call, std::string_view text) {
    in_pieces(call, text.size(), [&](std::size_t at, std::size_t size) {
        call.context.print(text.substr(at, size));
    });
    return {};
}

std::string decimal(UInt128 value) {
    std::string digits;
    do {
        digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
        value /= 10;
    } while (value != 0);
    return digits;
}

Result<void> print_c_string(const Call& call, CString text) {
    return print(call, text.text);
}
Result<void> print_bytes(const Call& call, Input text) {
    return print(call, base::as_text(text.bytes));
}
Result<void> print_signed(const Call& call, std::int64_t value) {
    return print(call, fmt::format("{}", value));
}
Result<void> print_unsigned(const Call& call, std::uint64_t value) {
    return print(call, fmt::format("{}", value));
}

Result<void> print_signed128(const Call& call, In<Int128> in) {
    const auto bits = static_cast<UInt128>(in.value);
    return print(call, in.value < 0 ? "-" + decimal(0 - bits) : decimal(bits));
}
Result<void> print_unsigned128(const Call& call, In<UInt128> in) {
    return print(call, decimal(in.value));
}

// Scientific, with as many digits after the point as the type can hold in decimal: what
// nodeos' streams write.
Result<void> print_float32(const Call& call, Float32 value) {
    return print(call, fmt::format("{:.6e}", std::bit_cast<float>(value.bits)));
}
Result<void> print_float64(const Call& call, Float64 value) {
    return print(call, fmt::format("{:.15e}", std::bit_cast<double>(value.bits)));
}
// Rounded to the 64-bit mantissa of x87 first, as nodeos does it.
Result<void> print_float128(const Call& call, In<Float128> in) {
    return print(call, fmt::format("{:.18e}", to_extended(in.value)));
}

Result<void> print_name(const Call& call, std::uint64_t name) {
    return print(call, Name{name}.to_string());
}
Result<void> print_hex(const Call& call, Input in) {
    in_pieces(call, in.bytes.size(), [&](std::size_t at, std::size_t size) {
        call.context.print(base::to_hex(in.bytes.subspan(at, size)));
    });
    return {};
}

}  // namespace

void add_print(Functions& out) {
    add<&print_c_string, Access::anyone, Cost::print>(out, "prints");
    add<&print_bytes, Access::anyone, Cost::print>(out, "prints_l");
    add<&print_signed, Access::anyone, Cost::print_number>(out, "printi");
    add<&print_unsigned, Access::anyone, Cost::print_number>(out, "printui");
    add<&print_signed128, Access::anyone, Cost::print_number128>(out, "printi128");
    add<&print_unsigned128, Access::anyone, Cost::print_number128>(out, "printui128");
    add<&print_float32, Access::anyone, Cost::print_float>(out, "printsf");
    add<&print_float64, Access::anyone, Cost::print_float>(out, "printdf");
    add<&print_float128, Access::anyone, Cost::print_float128>(out, "printqf");
    add<&print_name, Access::anyone, Cost::print_number>(out, "printn");
    add<&print_hex, Access::anyone, Cost::print_hex>(out, "printhex");
}

}  // namespace chain::host
