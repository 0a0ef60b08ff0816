#pragma once

#include <string>
#include <vector>

namespace vm_bench {

// What compiling costs a byte of a module: of these contracts, and of modules that are made to be
// the worst: time, what is kept, the highest use of memory, and the time of eight times the bytes.
void print_compiling(const std::vector<std::string>& files);

}  // namespace vm_bench
