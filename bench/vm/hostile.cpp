#include "hostile.hpp"

#include "../../tests/chain/vm/machine.hpp"
#include "../../tests/chain/vm/wasm_writer.hpp"
#include "../price/clock.hpp"
#include "chain/execution/host_functions.hpp"
#include "chain/vm/programs.hpp"
#include "node/machine/machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <malloc.h>
#include <string>
#include <utility>
#include <vector>

namespace vm_bench {

namespace {

namespace vm = chain::vm;
using std::uint32_t;
using Code = std::string;

constexpr std::size_t kLarge = 505UL * 1024;  // The limit is 512 KiB.
constexpr std::size_t kSmall = kLarge / 8;
constexpr int kRounds = 15;

// Instructions, as bytes of a text.
Code number(uint32_t value) {
    Code out;
    for (; value >= 0x80; value >>= 7U)
        out += static_cast<char>(value | 0x80U);
    return out + static_cast<char>(value);
}
Code constant(uint32_t value) {
    return "\x41" + number(value);  // Below 64: else its sign is another.
}
Code get(uint32_t local) {
    return "\x20" + number(local);
}
Code times(std::size_t count, const Code& code) {
    Code out;
    out.reserve(count * code.size());
    for (std::size_t i = 0; i < count; ++i)
        out += code;
    return out;
}
Code bytes(std::initializer_list<unsigned> values) {
    Code out;
    for (const unsigned value : values)
        out += static_cast<char>(value);
    return out;
}

const Code kBlock = bytes({0x02, 0x40});
const Code kEnd = "\x0b";
const Code kDrop = "\x1a";

struct Body {
    // NOLINTNEXTLINE(google-explicit-constructor): most bodies are their code.
    Body(Code code_in, uint32_t locals_in = 0, unsigned type_in = 0x7F)
        : code(std::move(code_in)), locals(locals_in), type(type_in) {}

    Code code;
    uint32_t locals;
    unsigned type;
};

// Bodies of (i64, i64, i64) -> (), then of () -> ().
base::Bytes module_of(const std::vector<Body>& bodies) {
    WasmWriter out;
    out.raw(base::as_bytes(bytes({0, 'a', 's', 'm', 1, 0, 0, 0})));
    const auto section = [&out](std::uint8_t id, const Code& content) {
        out.u8(id);
        out.u32(static_cast<uint32_t>(content.size()));
        out.raw(base::as_bytes(content));
    };
    section(1, bytes({2, 0x60, 3, 0x7E, 0x7E, 0x7E, 0, 0x60, 0, 0}));
    Code types = number(static_cast<uint32_t>(bodies.size()));
    Code codes = types;
    for (const Body& body : bodies) {
        types += static_cast<char>(&body == &bodies.front() ? 0 : 1);
        Code locals = bytes({0});
        if (body.locals > 0) locals = bytes({1}) + number(body.locals) + bytes({body.type});
        const Code whole = locals + body.code + kEnd;
        codes += number(static_cast<uint32_t>(whole.size())) + whole;
    }
    section(3, types);
    section(4, bytes({1, 0x70, 0, 10}));
    section(5, bytes({1, 0, 1}));
    section(7, bytes({1, 5, 'a', 'p', 'p', 'l', 'y', 0, 0}));
    section(10, codes);
    return out.take();
}

struct Shape {
    Shape(const char* name_in, Body body_in, Code before_in = {}, Code after_in = {})
        : name(name_in),
          body(std::move(body_in)),
          before(std::move(before_in)),
          after(std::move(after_in)) {}

    const char* name;
    Body body;  // Its code is repeated between the others.
    Code before, after;
};

std::vector<Shape> shapes() {
    const Code opens = times(1000, kBlock);
    const Code closes = times(1000, kEnd);
    Code breaks;
    Code switched;
    for (uint32_t i = 0; i < 1000; ++i)
        breaks += constant(0) + "\x0d" + number(i);
    for (uint32_t i = 0; i < 8192; ++i)
        switched += number(i % 100);
    const Code table = kBlock + constant(1) + "\x0e" + number(8191);
    const Code zero64 = "\x44" + Code(8, '\0');
    const Code zero32 = "\x43" + Code(4, '\0');
    Code scattered;
    for (uint32_t i = 0; i < 10'000; ++i) {
        scattered += kBlock + get(3 + i * 7919 % 2000) + get(3 + i * 104'729 % 2000) + "\x6a\x21" +
                     number(3 + i * 31 % 2000) + kEnd;
    }
    return {
        {"nested blocks", {opens + closes}},
        {"nested blocks with branches out", {opens + breaks + closes}},
        {"nested loops",
         {times(1000, bytes({0x03, 0x40})) + constant(0) + "\x0d" + number(999) + closes}},
        {"nested ifs", {times(1000, constant(1) + "\x04\x40") + closes}},
        {"ifs with results",
         {constant(1) + "\x04\x7f" + constant(1) + "\x05" + constant(2) + kEnd + kDrop}},
        {"2,000 locals in 10,000 blocks", {scattered, 2000}},
        {"br_table of 8,191", {table + Code(8192, '\0') + kEnd}},
        {"br_table of 8,191 to 100 blocks",
         {table + switched + kEnd},
         times(100, kBlock),
         times(100, kEnd)},
        {"small br_table", {kBlock + constant(1) + "\x0e\x01" + bytes({0, 0}) + kEnd}},
        {"loads and stores", {get(3) + get(3) + bytes({0x28, 2, 4, 0x36, 2, 8}), 1}},
        {"stores of constants", {constant(0) + constant(1) + bytes({0x36, 2, 0})}},
        {"chained loads", {bytes({0x2D, 0, 0})}, constant(0), kDrop},
        {"conversions", {bytes({0xB1, 0xBA})}, zero64, kDrop},
        {"f32.min", {get(3) + "\x96", 1, 0x7D}, zero32, kDrop},
        {"f64.add", {get(3) + "\xa0", 1, 0x7C}, zero64, kDrop},
        {"f64.sqrt", {"\x9f"}, zero64, kDrop},
        {"f64.nearest", {"\x9e"}, zero64, kDrop},
        {"i32.div_s", {get(3) + "\x6d", 1}, get(3), kDrop},
        {"i64.div_s", {get(1) + "\x7f"}, get(0), kDrop},
        {"i32.clz", {"\x67", 1}, get(3), kDrop},
        {"i32.eqz", {"\x45"}, get(0) + "\x50", kDrop},
        {"a local that changes below operands",
         {times(1000, get(3)) + bytes({0x41, 1, 0x21, 3}) + times(1000, kDrop), 1}},
        {"memory.grow", {constant(0) + bytes({0x40, 0}) + kDrop}},
        {"calls", {bytes({0x10, 1})}},
        {"indirect calls", {constant(0) + bytes({0x11, 1, 0})}},
        {"branches", {constant(0) + bytes({0x0D, 0})}},
        {"select", {get(1) + get(3) + "\x1b", 1}, get(0), kDrop},
        {"constants of 64 bits", {"\x42" + times(9, "\x80") + "\x7f" + "\x21" + bytes({0})}},
        {"nop", {"\x01"}},
        {"unreachable code", {bytes({0x41, 0}) + kDrop}, bytes({0})},
    };
}

base::Bytes module_of(const Shape& shape, std::size_t size) {
    const std::size_t count = std::max<std::size_t>(1, size / shape.body.code.size());
    Body body = shape.body;
    body.code = shape.before + times(count, shape.body.code) + shape.after;
    return module_of({body, Body({})});
}

base::Bytes many_functions(uint32_t count, uint32_t locals) {
    std::vector<Body> bodies(count, Body({}, locals));
    return module_of(bodies);
}

double processor_ns() {
    timespec now{};
    if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) std::abort();
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Bytes of code, or 0: it is refused.
std::size_t compile_once(const vm::HostTable& hosts, const base::Bytes& wasm, std::string& reason) {
    node::ContractMachine machine;
    vm::Engine engine(hosts, {}, machine);
    const base::Result<void> done = engine.prepare({}, wasm);
    if (done) return engine.programs().bytes();
    reason = done.error().detail;
    return 0;
}

// A line of /proc/self/status, in KiB.
long status_kib(const std::string& name) {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
    }
    return 0;
}

// What compiling takes of resident memory at most, in KiB, with the code that is kept.
long peak_kib(const vm::HostTable& hosts, const base::Bytes& wasm) {
    std::string reason;
    static_cast<void>(::malloc_trim(0));
    std::ofstream("/proc/self/clear_refs") << 5;  // The highest use begins anew.
    const long before = status_kib("VmRSS");
    static_cast<void>(compile_once(hosts, wasm, reason));
    return status_kib("VmHWM") - before;
}

// Nanoseconds of processor time, the fastest of some.
double compile_ns(const vm::HostTable& hosts, const base::Bytes& wasm) {
    double best = 1e18;
    std::string reason;
    for (int i = 0; i < kRounds; ++i) {
        const double began = processor_ns();
        static_cast<void>(compile_once(hosts, wasm, reason));
        best = std::min(best, processor_ns() - began);
    }
    return best;
}

void print_row(const vm::HostTable& hosts,
               double scale,
               const std::string& name,
               const base::Bytes& wasm,
               const base::Bytes* small) {
    std::string reason;
    const std::size_t code = compile_once(hosts, wasm, reason);
    if (code == 0) {
        std::printf("%9zu  %s: refused: %s\n", wasm.size(), name.c_str(), reason.c_str());
        return;
    }
    const double ns = compile_ns(hosts, wasm);
    const long kib = peak_kib(hosts, wasm);
    const auto size = static_cast<double>(wasm.size());
    const double growth = small != nullptr ? ns / compile_ns(hosts, *small) : 0;
    std::printf("%9zu %9.1f %9.1f %9.1f %9.1f  %s\n",
                wasm.size(),
                scale * ns / size,
                static_cast<double>(code) / size,
                static_cast<double>(kib) * 1024 / size,
                growth,
                name.c_str());
}

}  // namespace

void print_compiling(const std::vector<std::string>& files) {
    // Each module pays for fresh memory, whatever came before it.
    static_cast<void>(::mallopt(M_MMAP_THRESHOLD, 64 * 1024));
    const vm::HostTable& none = machine::hosts();
    const double scale = price::reference_scale();
    std::printf(
        "compiling, with validation and publishing; of the module's bytes, ns of the reference "
        "machine and bytes;\na nanosecond here is %.2f there\n"
        "%9s %9s %9s %9s %9s\n",
        scale,
        "bytes",
        "ns/B",
        "kept/B",
        "peak/B",
        "8x: time");
    for (const std::string& file : files) {
        std::ifstream in(file, std::ios::binary);
        if (!in) {
            std::printf("%s: cannot be read\n", file.c_str());
            continue;
        }
        const std::string text((std::istreambuf_iterator<char>(in)), {});
        print_row(chain::host_table(),
                  scale,
                  file.substr(file.rfind('/') + 1),
                  base::to_bytes(base::as_bytes(text)),
                  nullptr);
    }
    for (const Shape& shape : shapes()) {
        const base::Bytes small = module_of(shape, kSmall);
        print_row(none, scale, shape.name, module_of(shape, kLarge), &small);
    }
    const base::Bytes few = many_functions(1000, 0);
    print_row(none, scale, "8,000 functions", many_functions(8000, 0), &few);
    const base::Bytes few_locals = many_functions(1000, 2000);
    print_row(
        none, scale, "8,000 functions of 2,000 locals", many_functions(8000, 2000), &few_locals);
}

}  // namespace vm_bench
