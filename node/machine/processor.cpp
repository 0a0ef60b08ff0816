#include "node/machine/processor.hpp"

#include <array>
#include <cpuid.h>

namespace node {

namespace {

struct Feature {
    const char* name;
    std::uint32_t ProcessorFeatures::*word;
    std::uint32_t bit;
};

// What x86-64-v2 adds to the first 64-bit processors (System V ABI, "Micro-Architecture Levels").
// By hand: __builtin_cpu_supports does not know CX16 and LAHF in every compiler.
constexpr std::array kNeeded{
    Feature{"SSE3", &ProcessorFeatures::basic_ecx, 0},
    Feature{"SSSE3", &ProcessorFeatures::basic_ecx, 9},
    Feature{"CX16", &ProcessorFeatures::basic_ecx, 13},
    Feature{"SSE4.1", &ProcessorFeatures::basic_ecx, 19},
    Feature{"SSE4.2", &ProcessorFeatures::basic_ecx, 20},
    Feature{"POPCNT", &ProcessorFeatures::basic_ecx, 23},
    Feature{"LAHF", &ProcessorFeatures::extended_ecx, 0},
};

}  // namespace

std::string missing_features(const ProcessorFeatures& features) {
    std::string missing;
    for (const Feature& feature : kNeeded) {
        if (((features.*feature.word >> feature.bit) & 1U) != 0) continue;
        if (!missing.empty()) missing += ", ";
        missing += feature.name;
    }
    return missing;
}

std::string unsupported_processor() {
    ProcessorFeatures features;
    std::uint32_t eax = 0;
    std::uint32_t ebx = 0;
    std::uint32_t ecx = 0;
    std::uint32_t edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) features.basic_ecx = ecx;
    if (__get_cpuid(0x80000001U, &eax, &ebx, &ecx, &edx) != 0) features.extended_ecx = ecx;
    return missing_features(features);
}

}  // namespace node
