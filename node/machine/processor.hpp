#pragma once

#include <cstdint>
#include <string>

namespace node {

// The words of the instruction `cpuid` that tell what compiled contracts need.
struct ProcessorFeatures {
    std::uint32_t basic_ecx = 0;     // Leaf 1.
    std::uint32_t extended_ecx = 0;  // Leaf 0x80000001.
};

// What of x86-64-v2 these words lack, as names with commas between; empty when nothing. Pure.
[[nodiscard]] std::string missing_features(const ProcessorFeatures& features);

// missing_features() of the processor that runs this program. The code of contracts is made for
// x86-64-v2 (spec 03, "Contracts"): a node must not start where this is not empty.
[[nodiscard]] std::string unsupported_processor();

}  // namespace node
