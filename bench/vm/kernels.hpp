#pragma once

#include "subject.hpp"

namespace vm_bench {

// Small programs on the engine against the same ones in native code, by turns in one process: the
// ratio of each, the geometric mean, and a run like a transfer. The programs and the transfer lie
// as modules beside the build (bench/vm), so that other engines can run them.
void print_kernels(Bench& bench);

}  // namespace vm_bench
