// The deterministic outcome must not depend on the tier: every module runs in the interpreter,
// in code of tcc and in code of gcc, and must end alike, use the same units, tell the host the
// same and leave the same memory. And the compiler's own promises: it says whether it works,
// keeps what it made, and survives what it is given.
#include "../../chain/vm/machine.hpp"
#include "chain/vm/compiler.hpp"
#include "chain/vm/module.hpp"
#include "chain/vm/rewrite.hpp"
#include "node/compiler/process_compiler.hpp"
#include "../../chain/vm/random_module.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <stdlib.h>

namespace vm = chain::vm;
namespace fs = std::filesystem;

namespace {

class Silence final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level) const override { return true; }
    void write(base::Level, std::string_view, std::string_view line) override {
        lines.emplace_back(line);
    }
    std::vector<std::string> lines;
};

struct Directory {
    Directory() {
        std::string name = (fs::temp_directory_path() / "bor-compiler-XXXXXX").string();
        path = mkdtemp(name.data());
    }
    ~Directory() { fs::remove_all(path); }
    fs::path path;
};

node::ProcessCompiler::Options only(const fs::path& directory, vm::Tier tier) {
    node::ProcessCompiler::Options options;
    options.directory = directory;
    if (tier == vm::Tier::quick) options.optimised = "/nonexistent/gcc";
    if (tier == vm::Tier::optimised) options.quick = "/nonexistent/tcc";
    return options;
}

// Runs modules in one tier only, after having compiled them.
class Bench {
  public:
    explicit Bench(vm::Tier tier)
        : tier_(tier),
          compiler_(only(directory_.path, tier), base::Log(silence_, "compiler")),
          engine_(machine::hosts(), {}, tier == vm::Tier::interpreter ? nullptr : &compiler_) {}

    void set_prices(const vm::Prices& prices) { engine_.configure({}, prices); }

    machine::Seen run(const base::Bytes& wasm, const vm::ApplyArgs& args, std::uint64_t fuel) {
        const base::Hash256 hash = base::crypto::sha256(wasm);
        REQUIRE(engine_.prepare(hash, wasm));
        if (tier_ != vm::Tier::interpreter) {
            compiler_.wait_idle();
            REQUIRE(engine_.prepare(hash, wasm));
        }
        INFO((silence_.lines.empty() ? "" : silence_.lines.back()));
        REQUIRE(engine_.tier(hash) == tier_);
        return machine::run(engine_, wasm, args, fuel);
    }

  private:
    vm::Tier tier_;
    Silence silence_;
    Directory directory_;
    node::ProcessCompiler compiler_;
    vm::Engine engine_;
};

struct AllTiers {
    Bench interpreter{vm::Tier::interpreter};
    Bench quick{vm::Tier::quick};
    Bench optimised{vm::Tier::optimised};

    void set_prices(const vm::Prices& prices) {
        for (Bench* const bench : {&interpreter, &quick, &optimised})
            bench->set_prices(prices);
    }

    machine::Seen run(const base::Bytes& wasm,
                      const vm::ApplyArgs& args = {},
                      std::uint64_t fuel = 3'000'000) {
        machine::Seen seen = interpreter.run(wasm, args, fuel);
        const machine::Seen fast = quick.run(wasm, args, fuel);
        const machine::Seen best = optimised.run(wasm, args, fuel);
        INFO("interpreter: " << int(seen.trap) << " used " << seen.used << " told "
                             << seen.told.size() << "; tcc: " << int(fast.trap) << " used "
                             << fast.used << "; gcc: " << int(best.trap) << " used " << best.used);
        CHECK(seen == fast);
        CHECK(seen == best);
        return seen;
    }
};

base::Bytes module_of(const std::string& fields) {
    return machine::assemble("(module " + fields + ")");
}

std::string apply(const std::string& code, const std::string& locals = "") {
    return "(func (export \"apply\") (param i64 i64 i64) " + locals + code + ")";
}

const std::string kTell = "(import \"env\" \"tell\" (func $tell (param i64)))";

}  // namespace

namespace {

void compare_modules(std::uint64_t first, std::uint64_t count) {
    AllTiers tiers;
    std::map<vm::Trap, std::uint64_t> ends;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const std::string text = RandomModule(seed).text();
        INFO("seed " << seed << "\n" << text);
        const base::Bytes wasm = machine::assemble(text);
        const auto valid = vm::validate(wasm, {}, machine::hosts());
        INFO((valid ? "" : valid.error().detail));
        REQUIRE(valid);
        const machine::Seen seen = tiers.run(wasm);
        ++ends[seen.trap];
        // The second run finds what the first left, which is nothing; the third has less fuel.
        CHECK(tiers.run(wasm) == seen);
        (void)tiers.run(wasm, {}, seen.used / 2);
    }
    // The generator is of use only if it reaches many ends, and the end of apply often.
    CHECK(ends.size() >= 6);
    CHECK(ends[vm::Trap::none] >= count / 5);
}

}  // namespace

TEST_CASE("modules made by chance do the same in all tiers") {
    compare_modules(1, 60);
}

// By name only: takes a minute or two.
TEST_CASE("many modules made by chance do the same in all tiers", "[.campaign]") {
    compare_modules(1000, 500);
}

TEST_CASE("each trap, limit and exit is the same in all tiers") {
    AllTiers tiers;
    const std::string table =
        "(type $t (func)) (type $u (func (param i32))) (table 3 funcref)"
        "(func $f (type $u)) (elem (i32.const 1) $f)";
    const std::pair<std::string, vm::Trap> cases[] = {
        {apply("unreachable"), vm::Trap::unreachable},
        {"(memory 1)" + apply("(drop (i64.load (i32.const 65529)))"),
         vm::Trap::memory_out_of_bounds},
        {"(memory 1)" + apply("(i32.store8 offset=4294967295 (i32.const -1) (i32.const 0))"),
         vm::Trap::memory_out_of_bounds},
        {apply("(drop (i64.div_s (i64.const 1) (i64.const 0)))"), vm::Trap::divide_by_zero},
        {apply("(drop (i64.div_s (i64.const 0x8000000000000000) (i64.const -1)))"),
         vm::Trap::integer_overflow},
        {apply("(drop (i64.trunc_f64_u (f64.const 18446744073709551616)))"),
         vm::Trap::integer_overflow},
        {apply("(drop (i32.trunc_f32_s (f32.const nan)))"), vm::Trap::invalid_conversion},
        {table + apply("(call_indirect (type $t) (i32.const 1))"), vm::Trap::indirect_call},
        {table + apply("(call_indirect (type $t) (i32.const 2))"), vm::Trap::indirect_call},
        {table + apply("(call_indirect (type $t) (i32.const -1))"), vm::Trap::indirect_call},
        {"(func $f (call $f))" + apply("(call $f)"), vm::Trap::call_depth},
        {apply("(loop (br 0))"), vm::Trap::out_of_fuel},
        {"(memory 1)" + apply("(loop (drop (memory.grow (i32.const 0))) (br 0))"),
         vm::Trap::out_of_fuel},
        {"(memory 1)" + apply("(drop (memory.grow (i32.const 527))) (i32.store (i32.const"
                              " 34603008) (i32.const 1))"),
         vm::Trap::memory_out_of_bounds},
    };
    for (const auto& [fields, trap] : cases) {
        INFO(fields);
        CHECK(tiers.run(module_of(fields)).trap == trap);
    }
    const auto exited = tiers.run(
        module_of("(import \"env\" \"leave\" (func $leave))" + apply("(call $leave) unreachable")));
    CHECK(exited.kind == vm::Outcome::Kind::exited);
}

TEST_CASE("the greatest stack that a contract may use fits that of a thread, in all tiers") {
    AllTiers tiers;
    // A thousand locals that live across the call, of both sizes of register, and as many
    // operands; each recursion has its own.
    std::string set;
    std::string use;
    std::string end;
    for (int i = 1; i <= 500; ++i) {
        const std::string local = std::to_string(i);
        const std::string other = std::to_string(i + 500);
        set += "(local.set " + local + " (i64.mul (local.get 0) (i64.const " + local + ")))";
        set += "(local.set " + other + " (f64.convert_i64_s (local.get " + local + ")))";
        use += "(local.get " + local + ")";
        end += "(i64.reinterpret_f64 (local.get " + other + ")) i64.xor i64.add ";
    }
    std::string locals = "(local ";
    for (int i = 0; i < 500; ++i)
        locals += "i64 ";
    for (int i = 0; i < 500; ++i)
        locals += "f64 ";
    const auto deep = [&](int depth) {
        return module_of(kTell + "(func $f (param i64) (result i64) " + locals + ") (if (i64.eqz " +
                         "(local.get 0)) (then (return (i64.const 1))))" + set + use +
                         "(call $f (i64.sub (local.get 0) (i64.const 1)))" + end + ")" +
                         apply("(call $tell (call $f (i64.const " + std::to_string(depth) + ")))"));
    };
    CHECK(tiers.run(deep(80)).trap == vm::Trap::none);
    CHECK(tiers.run(deep(240)).trap == vm::Trap::stack_bytes);
}

TEST_CASE("compiled code leaves nothing behind, wherever it wrote") {
    AllTiers tiers;
    const std::string sum =
        "(import \"env\" \"sum\" (func $sum (param i32 i32) (result i64)))"
        "(import \"env\" \"fill\" (func $fill (param i32 i32 i32)))";
    // Writes across the boundary of two blocks, through the host, and into new pages.
    const base::Bytes first = module_of(
        kTell + sum + "(memory 1) (data (i32.const 4090) \"\\01\\02\\03\\04\\05\\06\\07\\08\")" +
        apply("(call $tell (call $sum (i32.const 0) (i32.const 65536)))"
              "(i64.store (i32.const 4093) (i64.const -1)) (i64.store (i32.const 65528)"
              " (i64.const -1)) (call $fill (i32.const 8000) (i32.const 9000) (i32.const 3))"
              "(drop (memory.grow (i32.const 2))) (i64.store (i32.const 131069) (i64.const -1))"
              "(call $tell (call $sum (i32.const 0) (i32.const 196608)))"));
    const base::Bytes second = module_of(kTell + sum + "(memory 3)" +
                                         apply("(call $tell (call $sum (i32.const 0)"
                                               " (i32.const 196608)))"));
    for (int i = 0; i < 3; ++i) {
        const auto told = tiers.run(first).told;
        CHECK(told.front() == 36);
        CHECK(told.back() == 36 - (4 + 5 + 6 + 7 + 8) + 8 * 255 * 3 + 9000 * 3);
        CHECK(tiers.run(second).told == std::vector<std::uint64_t>{0});
    }
}

TEST_CASE("a run starts interpreted and goes on compiled, without a difference") {
    Directory directory;
    Silence silence;
    node::ProcessCompiler::Options options;
    options.directory = directory.path;
    const base::Bytes wasm = module_of(kTell + apply("(call $tell (local.get 1))"));
    const base::Hash256 hash = base::crypto::sha256(wasm);
    machine::Seen before;
    {
        node::ProcessCompiler compiler(options, base::Log(silence, "compiler"));
        CHECK(compiler.available());
        CHECK(compiler.reason().empty());
        vm::Engine engine(machine::hosts(), {}, &compiler);
        vm::Engine other(machine::hosts(), {}, &compiler);
        before = machine::run(engine, wasm, {.code = 77});
        CHECK(engine.tier(hash) == vm::Tier::interpreter);
        compiler.wait_idle();
        for (vm::Engine* const each : {&engine, &other}) {
            CHECK(machine::run(*each, wasm, {.code = 77}) == before);
            CHECK(each->tier(hash) == vm::Tier::optimised);
        }
    }
    // The next process finds the code on disk.
    node::ProcessCompiler compiler(options, base::Log(silence, "compiler"));
    vm::Engine engine(machine::hosts(), {}, &compiler);
    CHECK(machine::run(engine, wasm, {.code = 77}) == before);
    CHECK(engine.tier(hash) == vm::Tier::optimised);
}

// Compiled code has prices in it: what was compiled under others must not run.
TEST_CASE("new prices change the bill alike in all tiers, and old ones come back") {
    AllTiers tiers;
    const base::Bytes wasm = module_of(
        kTell + "(memory 2) (data (i32.const 2000) \"x\")" +
        apply("(local.set 0 (i64.const 50)) (loop (call $tell (local.get 0))"
              "(i64.store (i32.const 8) (i64.div_u (local.get 0) (i64.const 3)))"
              "(drop (f64.add (f64.const 1) (f64.const 2)))"
              "(br_if 0 (i32.wrap_i64 (local.tee 0 (i64.sub (local.get 0) (i64.const 1))))))"
              "(drop (memory.grow (i32.const 1)))"));
    const std::uint64_t normal = tiers.run(wasm).used;
    const vm::Prices once;
    for (std::uint32_t vm::Prices::*const price : {&vm::Prices::plain,
                                                   &vm::Prices::memory,
                                                   &vm::Prices::divide,
                                                   &vm::Prices::floating,
                                                   &vm::Prices::call,
                                                   &vm::Prices::page,
                                                   &vm::Prices::data,
                                                   &vm::Prices::run}) {
        vm::Prices twice;
        twice.*price *= 2;
        tiers.set_prices(twice);
        const std::uint64_t used = tiers.run(wasm).used;
        // Fifty rounds of what the loop does once; three pages; two KiB of data.
        CHECK(used > normal);
        CHECK((used - normal) % (once.*price) == 0);
    }
    tiers.set_prices({});
    CHECK(tiers.run(wasm).used == normal);
}

TEST_CASE("without a compiler everything is interpreted, and the compiler says so") {
    Directory directory;
    Silence silence;
    node::ProcessCompiler::Options options;
    options.directory = directory.path;
    options.quick = "/nonexistent/tcc";
    options.optimised = "/bin/false";
    node::ProcessCompiler compiler(options, base::Log(silence, "compiler"));
    CHECK_FALSE(compiler.available());
    CHECK_FALSE(compiler.reason().empty());
    vm::Engine engine(machine::hosts(), {}, &compiler);
    const base::Bytes wasm = module_of(kTell + apply("(call $tell (i64.const 4))"));
    CHECK(machine::run(engine, wasm).told == std::vector<std::uint64_t>{4});
    compiler.wait_idle();
    CHECK(machine::run(engine, wasm).told == std::vector<std::uint64_t>{4});
    CHECK(engine.tier(base::crypto::sha256(wasm)) == vm::Tier::interpreter);
    options.helper = "/nonexistent/helper";
    CHECK_FALSE(node::ProcessCompiler(options, base::Log(silence, "compiler")).available());
}

TEST_CASE("what is no module, and damaged files, do no harm") {
    Directory directory;
    Silence silence;
    node::ProcessCompiler::Options options;
    options.directory = directory.path;
    node::ProcessCompiler compiler(options, base::Log(silence, "compiler"));
    const base::Bytes rubbish(100, std::byte{7});
    const base::Hash256 key = base::crypto::sha256(rubbish);
    compiler.request(key, rubbish);
    compiler.wait_idle();
    CHECK(compiler.load(key, vm::Tier::interpreter) == nullptr);
    CHECK_FALSE(silence.lines.empty());
    // An object that was cut off is thrown away.
    const fs::path cut = directory.path / (base::to_hex(key.bytes) + "-1-optimised.so");
    std::ofstream(cut) << "\x7f"
                       << "ELF and no more";
    CHECK(compiler.load(key, vm::Tier::interpreter) == nullptr);
    CHECK_FALSE(fs::exists(cut));
}
