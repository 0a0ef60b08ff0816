// The validator of contracts against WABT's: modules from strangers, and bodies of functions made
// of the input. What ours accepts is valid WebAssembly; what ours refuses is invalid, or beyond a
// limit.
#include "../chain/vm/machine.hpp"
#include "../chain/vm/wasm_writer.hpp"
#include "chain/vm/module.hpp"
#include "tests/wabt/interpreter.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

namespace vm = chain::vm;

// A module around a body: all that an instruction may name.
base::Bytes around(base::ByteView body) {
    WasmWriter out;
    const auto section = [&out](std::uint8_t id, std::string_view content) {
        out.u8(id);
        out.u32(static_cast<std::uint32_t>(content.size()));
        out.raw(base::as_bytes(content));
    };
    out.raw(base::as_bytes(std::string_view("\0asm\1\0\0\0", 8)));
    // () -> (), (i32 i64 f32 f64) -> i32, (f64) -> f64
    section(1, {"\3\x60\0\0\x60\4\x7f\x7e\x7d\x7c\1\x7f\x60\1\x7c\1\x7c", 18});
    section(3, {"\3\1\0\2", 4});
    section(4, {"\1\x70\0\2", 4});
    section(5, {"\1\0\1", 3});
    section(6, {"\3\x7f\1\x41\0\x0b\x7e\0\x42\1\x0b\x7c\1\x44\0\0\0\0\0\0\0\0\x0b", 24});
    WasmWriter first;
    first.raw(base::as_bytes(std::string_view("\2\2\x7f\1\x7d", 5)));  // Locals: i32 i32 f32.
    first.raw(body);
    first.u8(op::end);
    WasmWriter codes;
    codes.u32(3);
    codes.sized(first.bytes());
    codes.raw(base::as_bytes(std::string_view("\2\0\x0b\4\0\x20\0\x0b", 8)));
    out.u8(10);
    out.sized(codes.bytes());
    return out.take();
}

bool names_a_limit(std::string_view reason) {
    static constexpr std::array<std::string_view, 6> kLimits{
        "limit", "deeper than", "import", "at most", "start", "pages"};
    return std::ranges::any_of(
        kLimits, [&](std::string_view each) { return reason.find(each) != reason.npos; });
}

void compare(const base::Bytes& wasm) {
    const vm::HostTable none({});
    const auto ours = vm::scan_and_validate(wasm, {}, none, {.contract = false});
    const auto* first = reinterpret_cast<const std::uint8_t*>(wasm.data());
    const std::string theirs = wabt_interpreter::refuses({first, first + wasm.size()});
    if (ours.has_value() == theirs.empty()) return;
    if (!ours && names_a_limit(ours.error().detail)) return;
    std::fprintf(stderr,
                 "ours: %s\nWABT: %s\n",
                 ours ? "valid" : ours.error().detail.c_str(),
                 theirs.empty() ? "valid" : theirs.c_str());
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto* first = reinterpret_cast<const std::byte*>(data);
    const base::Bytes input(first, first + size);
    compare(input);
    compare(around(input));
    return 0;
}
