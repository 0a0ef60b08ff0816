#pragma once

#include "chain/types/prices.hpp"

#include <string>
#include <vector>

// The worst uses of each price that contracts pay (vm::Prices), as modules.
namespace vm_bench {

struct Case {
    chain::Cost row;  // Whose price it is about.
    std::string label;
    std::string text;        // Of a module whose apply does `items` things, as often as its first
                             // argument says.
    double items = 1;        // Instructions of the row, pages, or what else has the price.
    bool whole = false;      // The run as a whole counts, with what starting it costs.
    std::string other = {};  // Runs between two of them: what starting costs by turns.
};

// A module: fields, what is done before, and `body` in a loop.
//
// Locals $x and $y are i64, $i and $j i32, $f and $h f64, $g and $k f32.
struct Module {
    std::string body = {};
    std::string setup = {};
    std::string fields = {};
    unsigned pages = 1;
    std::string locals = {};  // More of them.
};
[[nodiscard]] std::string text_of(const Module& module);
// `body` many times, with every # in it replaced by 0, 1, ..
[[nodiscard]] std::string repeated(const std::string& body, unsigned times);
// Fills the memory with a ring of pointers that visits every slot of `stride` bytes of the first
// `bytes` (a power of two) in an order without pattern; a pointer lies `offset` behind its slot.
[[nodiscard]] std::string chain_of(unsigned bytes, unsigned stride, unsigned offset = 0);
// $j becomes 32 bits that the processor cannot foresee.
[[nodiscard]] std::string next_random();

void add_integer_cases(std::vector<Case>& all);
void add_float_cases(std::vector<Case>& all);
void add_memory_cases(std::vector<Case>& all);
void add_control_cases(std::vector<Case>& all);
void add_start_cases(std::vector<Case>& all);

}  // namespace vm_bench
