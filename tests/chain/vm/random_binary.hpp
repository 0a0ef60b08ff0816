#pragma once

#include "base/bytes.hpp"
#include "base/rng.hpp"
#include "chain/vm/host.hpp"

#include <cstdint>
#include <optional>
#include <vector>

// Valid modules made by chance, as binary: every instruction of the MVP, operands that lie on the
// stack across blocks and calls, branches with and without values to all labels, code that is
// never reached, calls with up to 64 parameters, deep nesting, edges of memory, numbers and NaN.
// They import from machine::hosts() and export apply. Most end by themselves.
namespace random_binary {

struct Options {
    // After each instruction that makes a NaN by arithmetic, code that makes it the canonical one:
    // for an engine that leaves the bits to the processor.
    bool canonical_nans = false;
};

[[nodiscard]] base::Bytes make(std::uint64_t seed, const Options& options);

// What follows is between the two files of the generator.

using Type = chain::vm::ValueType;

struct Signature {
    std::vector<Type> params;
    std::optional<Type> result;
};

struct GlobalPlan {
    Type type{};
    bool is_mutable = false;
};

// Imports of machine::hosts(), in the order of the module's functions.
enum Host : std::uint32_t { tell, sum, fill, leave, mix, digest, many, low, halves, host_count };

// What function bodies refer to.
struct Plan {
    std::vector<Signature> types;
    std::vector<std::uint32_t> functions;  // Their types, imported ones first.
    std::vector<GlobalPlan> globals;       // The first counts jumps back, and is mutable.
    std::vector<std::uint32_t> table;      // Functions; element 0 stays empty.
    std::uint32_t pages = 0;               // 0: no memory.
    std::uint32_t apply = 0;

    [[nodiscard]] const Signature& of(std::uint32_t function) const {
        return types[functions[function]];
    }
};

// The code section's entry of function `index`: locals and instructions.
[[nodiscard]] base::Bytes make_body(const Plan& plan,
                                    std::uint32_t index,
                                    const Options& options,
                                    base::Rng& rng);

// An edge of the type's numbers, or random bits.
[[nodiscard]] std::uint64_t any_bits(Type type, base::Rng& rng);

}  // namespace random_binary
