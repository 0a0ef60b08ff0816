// What contracts cost beside their prices, and beside native code.
//
//   usage: bench_vm [TEXT]                 the table of prices, warm and cold, what has TEXT in it
//          bench_vm --kernels              small programs against the same ones in native code
//          bench_vm --compile [WASM...]    what compiling costs: contracts, and the worst modules
//          bench_vm --hunt [--loading] [--minutes N] [--seed S] [--out FOLDER]
//                                          looks for modules that cost more than they pay
#include "bench/ledger/report.hpp"
#include "hostile.hpp"
#include "hunt.hpp"
#include "kernels.hpp"
#include "subject.hpp"
#include "table.hpp"

#include <string>

int main(int argc, char** argv) {
    const bench::Arguments arguments(argc, argv);
    vm_bench::Bench bench;
    if (arguments.has("--kernels")) {
        vm_bench::print_kernels(bench);
    } else if (arguments.has("--compile")) {
        vm_bench::print_compiling({argv + 2, argv + argc});
    } else if (arguments.has("--hunt")) {
        vm_bench::hunt(bench,
                       {.minutes = arguments.number("--minutes", 10),
                        .seed = arguments.number("--seed", 1),
                        .out = arguments.text("--out", ""),
                        .loading = arguments.has("--loading")});
    } else {
        vm_bench::print_prices(bench, argc > 1 ? argv[1] : "");
    }
    return 0;
}
