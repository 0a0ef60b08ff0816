// Modules made by chance, run by engines that share nothing: the reference interpreter, WABT's,
// and the product's. BOR_ORACLE_MODULES says how many (a campaign: 10,000 and more) and
// BOR_ORACLE_FIRST from which seed; a failure names its seed.
#include "node/machine/machine.hpp"
#include "oracle_engines.hpp"
#include "random_binary.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace vm = chain::vm;

namespace {

constexpr std::uint64_t kFuel = 200'000;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Seeds {
    std::uint64_t first = from_environment("BOR_ORACLE_FIRST", 1);
    std::uint64_t count = 0;
};

Seeds seeds(std::uint64_t usual) {
    Seeds out;
    out.count = from_environment("BOR_ORACLE_MODULES", usual);
    return out;
}

// The generator is of use only if its modules end in all ways, and often come to their end.
class Ends {
  public:
    void add(const oracle::Seen& seen) { ++of_[{seen.kind, seen.trap}]; }
    void check(std::uint64_t count) const {
        using Kind = vm::Outcome::Kind;
        for (const auto& [end, many] : of_) {
            UNSCOPED_INFO("kind " << int(end.first) << " trap " << int(end.second) << ": " << many);
        }
        CHECK(of_.at({Kind::ok, vm::Trap::none}) >= count / 4);
        if (count >= 1000) CHECK(of_.size() >= 10);
    }

  private:
    std::map<std::pair<vm::Outcome::Kind, vm::Trap>, std::uint64_t> of_;
};

}  // namespace

TEST_CASE("modules made by chance are valid") {
    const Seeds all = seeds(2'000);
    for (std::uint64_t seed = all.first; seed < all.first + all.count; ++seed) {
        for (const bool canonical : {false, true}) {
            const base::Bytes wasm = random_binary::make(seed, {canonical});
            const auto valid = vm::validate(wasm, {}, machine::hosts());
            if (valid) continue;
            FAIL("seed " << seed << ": " << valid.error().detail);
        }
    }
}

TEST_CASE("the reference interpreter does what WABT's does") {
    const Seeds all = seeds(2'000);
    oracle::ReferenceEngine reference(machine::hosts(), {});
    oracle::WabtEngine other(machine::hosts());
    Ends ends;
    std::uint64_t compared = 0;
    for (std::uint64_t seed = all.first; seed < all.first + all.count; ++seed) {
        const base::Bytes wasm = random_binary::make(seed, {.canonical_nans = true});
        const auto expected = reference.run(wasm, {.fuel = kFuel});
        ends.add(*expected);
        if (!oracle::is_of_the_module(expected->trap)) continue;
        const auto found = other.run(wasm, {.fuel = kFuel});
        if (!found) continue;
        ++compared;
        INFO("seed " << seed);
        const std::string difference = oracle::difference(*expected, *found);
        if (!difference.empty()) FAIL(difference);
    }
    CHECK(compared >= all.count * 3 / 5);
    ends.check(all.count);
}

namespace {

// Prices of which no sum looks like another, and limits that are reached.
reference::Rules narrow_rules() {
    reference::Rules rules;
    rules.prices = {.plain = 3,
                    .memory = 17,
                    .memory_mid = 101,
                    .memory_far = 211,
                    .divide = 37,
                    .floating = 53,
                    .root = 71,
                    .call = 89,
                    .local = 7,
                    .page = 1009,
                    .data = 307,
                    .run = 401};
    rules.limits.max_call_depth = 12;
    rules.limits.max_stack_bytes = 3000;
    return rules;
}

}  // namespace

// What the comparison itself is worth: an engine that charges by blocks, and is right by
// construction, agrees; without any one of the leaders it does not.
TEST_CASE("the comparison of bills finds each leader that is missing") {
    const Seeds all = seeds(400);
    struct Mutant {
        const char* name;
        bool reference::Leaders::*rule;
    };
    using reference::Leaders;
    constexpr Mutant kMutants[] = {{"none", nullptr},
                                   {"loop", &Leaders::after_loop},
                                   {"if", &Leaders::after_if},
                                   {"else", &Leaders::after_else},
                                   {"br_if", &Leaders::after_br_if},
                                   {"call", &Leaders::after_call},
                                   {"call_indirect", &Leaders::after_call_indirect},
                                   {"memory.grow", &Leaders::after_memory_grow},
                                   {"end of if", &Leaders::after_end_of_if},
                                   {"target", &Leaders::after_target}};
    oracle::ReferenceEngine reference(machine::hosts(), {});
    for (const Mutant& mutant : kMutants) {
        reference::Rules rules;
        rules.by_blocks.emplace();
        if (mutant.rule != nullptr) (*rules.by_blocks).*mutant.rule = false;
        oracle::ReferenceEngine by_blocks(machine::hosts(), rules);
        std::string difference;
        std::uint64_t seed = all.first;
        for (; seed < all.first + all.count && difference.empty(); ++seed) {
            const base::Bytes wasm = random_binary::make(seed, {});
            difference = oracle::difference_at_fuels(reference, by_blocks, wasm, {.fuel = kFuel});
        }
        INFO("without " << mutant.name << ": seed " << seed - 1 << " " << difference);
        CHECK(difference.empty() == (mutant.rule == nullptr));
    }
}

TEST_CASE("the product bills what the reference interpreter executes") {
    const Seeds all = seeds(2'000);
    for (const reference::Rules& rules : {reference::Rules{}, narrow_rules()}) {
        oracle::ReferenceEngine reference(machine::hosts(), rules);
        node::ContractMachine contract_machine;
        vm::Engine engine(
            machine::hosts(), {.limits = rules.limits, .prices = rules.prices}, contract_machine);
        oracle::ProductEngine product(engine);
        Ends ends;
        for (std::uint64_t seed = all.first; seed < all.first + all.count; ++seed) {
            const base::Bytes wasm = random_binary::make(seed, {});
            ends.add(*reference.run(wasm, {.fuel = kFuel}));
            const std::string difference =
                oracle::difference_at_fuels(reference, product, wasm, {.fuel = kFuel});
            if (!difference.empty()) FAIL("seed " << seed << " " << difference);
        }
        ends.check(all.count);
    }
}
