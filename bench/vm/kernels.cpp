#include "kernels.hpp"

#include "../../tests/chain/vm/machine.hpp"
#include "base/check.hpp"
#include "bench/ledger/measure.hpp"
#include "kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace vm_bench {

namespace {

struct Kernel {
    const char* name;
    // The same ratio of what gcc -O2 made of the same contract at ab53202,
    // whose engine it was: the goal is to be no slower (see FIGURES.md).
    double gcc;
};
constexpr std::array<Kernel, kernels> kKernels{{{"multiply", 1.03},
                                                {"sha256", 1.43},
                                                {"sort", 1.20},
                                                {"planets, f64", 2.33},
                                                {"byte copy", 2.61},
                                                {"switch", 1.03},
                                                {"fibonacci(28)", 1.94},
                                                {"recursion", 0.29},
                                                {"indirect calls", 2.87},
                                                {"random memory", 1.33}}};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): C code has no other way.
std::vector<std::uint64_t>* heard = nullptr;  // What the native kernel tells.

base::Bytes read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    CHECK(file.good());
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const base::ByteView view = base::as_bytes(bytes);
    return {view.begin(), view.end()};
}

struct Times {
    double native = 0;
    double engine = 0;
};

void keep_least(double& least, double took) {
    if (least == 0 || took < least) least = took;
}

// One round of each, which must have the same results.
void measure(Bench& bench, const base::Bytes& wasm, std::uint64_t which, Times& times) {
    std::vector<std::uint64_t> native;
    heard = &native;
    const double began = thread_ns();
    run_kernel(which);
    keep_least(times.native, thread_ns() - began);
    std::vector<std::uint64_t> told;
    const Sample sample = bench.run(wasm, base::crypto::sha256(wasm), {.action = which}, &told);
    CHECK(sample.trap == chain::vm::Trap::none && told == native);
    keep_least(times.engine, sample.nanoseconds);
}

// Touches stack, data and heap as a token transfer does, with 12 host calls.
std::string like_a_transfer() {
    return "(module (import \"env\" \"tell\" (func $tell (param i64))) (import \"env\" \"sum\""
           " (func $sum (param i32 i32) (result i64))) (memory 1) (data (i32.const 8192) \"" +
           std::string(4'000, 'x') +
           "\") (func (export \"apply\") (param i64 i64 i64) (local i32 i64)"
           "(local.set 3 (i32.const 12)) (loop (i64.store (i32.sub (i32.const 8192) (i32.shl"
           " (local.get 3) (i32.const 6))) (local.get 4)) (local.set 4 (i64.add (local.get 4)"
           " (call $sum (i32.const 8192) (i32.const 16)))) (i64.store offset=16384 (i32.shl"
           " (local.get 3) (i32.const 5)) (local.get 4)) (br_if 0 (local.tee 3 (i32.sub"
           " (local.get 3) (i32.const 1)))))))";
}

// Of many runs in a row, each.
double transfer_ns(Bench& bench, const base::Bytes& wasm) {
    constexpr int kRounds = 20;
    constexpr int kRuns = 2'000;
    const base::Hash256 hash = base::crypto::sha256(wasm);
    double least = 0;
    for (int round = 0; round < kRounds; ++round) {
        const double began = thread_ns();
        for (int i = 0; i < kRuns; ++i)
            bench.run_untimed(wasm, hash);
        keep_least(least, (thread_ns() - began) / kRuns);
    }
    return least;
}

}  // namespace

void print_kernels(Bench& bench) {
    constexpr int kRounds = 15;
    const base::Bytes wasm = read(BOR_KERNELS "/kernels/kernels.wasm");
    const base::Bytes transfer = machine::assemble(like_a_transfer());
    std::ofstream(BOR_KERNELS "/transfer.wasm", std::ios::binary)
        .write(reinterpret_cast<const char*>(transfer.data()),
               static_cast<std::streamsize>(transfer.size()));
    std::array<Times, kernels> all{};
    for (int round = 0; round < kRounds; ++round) {
        for (std::size_t which = 0; which < all.size(); ++which)
            measure(bench, wasm, which, all[which]);
    }
    std::printf("kernels: commit %s, load %.2f\n%-16s %12s %12s %7s %12s\n",
                bench::commit().c_str(),
                bench::load_average(),
                "",
                "native, ms",
                "engine, ms",
                "ratio",
                "gcc's then");
    double logarithms = 0;
    double recorded = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const double ratio = all[i].engine / all[i].native;
        logarithms += std::log(ratio);
        recorded += std::log(kKernels[i].gcc);
        std::printf("%-16s %12.3f %12.3f %7.2f %12.2f\n",
                    kKernels[i].name,
                    all[i].native / 1e6,
                    all[i].engine / 1e6,
                    ratio,
                    kKernels[i].gcc);
    }
    const auto many = static_cast<double>(all.size());
    std::printf("geometric mean %.2f, of gcc's %.2f: %.2f\na run like a transfer: %.2f us\n",
                std::exp(logarithms / many),
                std::exp(recorded / many),
                std::exp((logarithms - recorded) / many),
                transfer_ns(bench, transfer) / 1e3);
}

}  // namespace vm_bench

void tell(std::uint64_t value) {
    vm_bench::heard->push_back(value);
}
