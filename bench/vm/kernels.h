#pragma once

#include <stdint.h>

// Small programs, compiled as a contract and as native code from the same text (kernels.c). Each
// says its results by tell(), so that both can be compared.

#ifdef __cplusplus
extern "C" {
#endif

enum {
    kernel_multiply,   // A chain of 64-bit multiplications.
    kernel_sha256,     // 32-bit operations, arrays on the stack.
    kernel_sort,       // Quicksort of 100,000 numbers.
    kernel_planets,    // Floating point with square roots.
    kernel_copy,       // Bytes, one after the other.
    kernel_switch,     // An interpreter's loop.
    kernel_fibonacci,  // Calls.
    kernel_recursion,  // Calls, 200 deep.
    kernel_indirect,   // Calls by pointers to functions.
    kernel_random,     // Loads and stores without order in 512 KiB.
    kernels,
};

void run_kernel(uint64_t which);

// Of whoever runs them.
void tell(uint64_t value);

#ifdef __cplusplus
}
#endif
