// WebAssembly's own suite through our engines. Its folder comes from the environment
// (BOR_WASM_MVP); without it there is nothing to run, which is said.
#include "suite.hpp"

#include "compiled_suite.hpp"
#include "reference_instance.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace vm = chain::vm;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kFuel = 10'000'000'000;

// The reference interpreter.
class ReferenceEngine final : public suite::Engine {
  public:
    Loaded load(base::ByteView wasm) override;
    [[nodiscard]] bool validates() const override { return false; }
};

class ReferenceInstance final : public suite::Engine::Instance {
  public:
    reference::Module module;
    std::unique_ptr<reference::Instance> instance;

    std::optional<Answer> invoke(const std::string& name,
                                 std::span<const std::uint64_t> args) override {
        const reference::Export* const found = module.find_export(name, 0);
        if (found == nullptr) return std::nullopt;
        return call(found->index, args);
    }

    std::optional<std::uint64_t> global(const std::string& name) override {
        const reference::Export* const found = module.find_export(name, 3);
        if (found == nullptr) return std::nullopt;
        return instance->globals()[found->index];
    }

    Answer call(std::uint32_t function, std::span<const std::uint64_t> args) {
        struct Nothing : vm::Context {
        } context;
        vm::Meter meter(kFuel);
        const reference::End end = instance->call(function, args, context, meter);
        return {end.trap, end.result};
    }
};

bool is_foreign(const reference::Import& import) {
    return import.from != "spectest";
}

suite::Engine::Loaded ReferenceEngine::load(base::ByteView wasm) {
    auto decoded = reference::decode(wasm);
    if (!decoded) {
        const bool valid = decoded.error().code == base::Errc::invalid;
        return {nullptr, valid ? Refusal::unsupported : Refusal::invalid, decoded.error().detail};
    }
    if (std::ranges::any_of(decoded->imports, is_foreign)) {
        return {nullptr, Refusal::unsupported, "imports from another module"};
    }
    auto out = std::make_unique<ReferenceInstance>();
    out->module = std::move(*decoded);
    const auto find = [](std::string_view, std::string_view name) -> const vm::HostFunction* {
        const auto at = suite::spectest().find(name);
        return at ? &suite::spectest().at(*at) : nullptr;
    };
    auto made = reference::Instance::make(out->module, {}, find);
    if (!made) return {nullptr, Refusal::unlinkable, made.error().detail};
    out->instance = std::move(*made);
    if (out->module.start && out->call(*out->module.start, {}).trap != vm::Trap::none) {
        return {nullptr, Refusal::trapped, "the start function traps"};
    }
    return {std::move(out), Refusal::none, {}};
}

// What contracts do otherwise than the suite wants.
struct Difference {
    std::string_view where;
    std::string_view reason;
};
constexpr Difference kDifferences[] = {
    {"memory_grow.wast:45:", "grows to 803 pages; a contract has at most 528"},
    {"memory_grow.wast:48:", "reads how far that one grew"},
};

std::string_view reason_of(const std::string& failure) {
    const auto* const at = std::ranges::find_if(
        kDifferences, [&](const Difference& known) { return failure.starts_with(known.where); });
    return at == std::end(kDifferences) ? std::string_view{} : at->reason;
}

// Runs all files, prints what came of each, and returns the whole.
suite::Report run_all(const fs::path& folder, suite::Engine& engine) {
    const TemporaryDirectory scratch;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".wast") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    suite::Report all;
    for (const fs::path& file : files) {
        const suite::Report one = suite::run_file(file, scratch.path(), engine);
        std::uint64_t skipped = 0;
        for (const auto& [reason, many] : one.skipped)
            skipped += many;
        std::cout << file.filename().string() << ": " << one.passed << " passed, "
                  << one.failures.size() << " failed, " << skipped << " skipped\n";
        all.add(one);
    }
    for (const auto& [reason, many] : all.skipped)
        std::cout << "skipped " << many << ": " << reason << '\n';
    for (const std::string& failure : all.failures) {
        const std::string_view reason = reason_of(failure);
        std::cout << "differs: " << failure << "; " << (reason.empty() ? "WRONG" : reason) << '\n';
    }
    std::cout << all.passed << " passed, " << all.failures.size() << " failed\n";
    return all;
}

void check_suite(suite::Engine& engine) {
    const char* const folder = std::getenv("BOR_WASM_MVP");
    if (folder == nullptr) {
        WARN("skipped: BOR_WASM_MVP is not set");
        return;
    }
    const suite::Report report = run_all(folder, engine);
    for (const std::string& failure : report.failures) {
        INFO(failure);
        CHECK_FALSE(reason_of(failure).empty());
    }
    CHECK(report.failures.size() == std::size(kDifferences));
    // Fewer would mean that commands are not understood.
    CHECK(report.passed > 15'000);
}

}  // namespace

TEST_CASE("the reference interpreter passes WebAssembly's own suite") {
    ReferenceEngine engine;
    check_suite(engine);
}

TEST_CASE("the compiler passes WebAssembly's own suite") {
    const std::unique_ptr<suite::Engine> engine = suite::make_compiled_engine();
    check_suite(*engine);
}
