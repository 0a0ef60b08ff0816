#include "cases.hpp"

// Loads, stores and globals.

namespace vm_bench {

namespace {

using chain::Cost;
using std::string;

constexpr unsigned kMiB = 1'024 * 1'024;
constexpr unsigned kMany = 50;

// Each load gives the address of the next.
void add_ring(std::vector<Case>& all, Cost row, unsigned bytes, unsigned pages) {
    string loads = "(local.get $i)";
    for (unsigned i = 0; i < kMany; ++i)
        loads = "(i32.load " + loads + ")";
    const string size = bytes >= kMiB ? std::to_string(bytes / kMiB) + " MiB"
                                      : std::to_string(bytes / 1'024) + " KiB";
    all.push_back({row,
                   "chained loads over " + size + " of " + std::to_string(pages) + " pages",
                   text_of({.body = "(local.set $i " + loads + ")",
                            .setup = chain_of(bytes, 64),
                            .pages = pages}),
                   kMany});
}

void add_page_crossing_ring(std::vector<Case>& all, Cost row, unsigned bytes, unsigned pages) {
    constexpr unsigned kPage = 4'096;
    constexpr unsigned kAcross = kPage - 2;
    string loads = "(local.get $i)";
    for (unsigned i = 0; i < kMany; ++i)
        loads = "(i32.load offset=" + std::to_string(kAcross) + " " + loads + ")";
    all.push_back({row,
                   "chained loads across pages over " + std::to_string(bytes / kMiB) + " MiB",
                   text_of({.body = "(local.set $i " + loads + ")",
                            .setup = chain_of(bytes, kPage, kAcross),
                            .pages = pages}),
                   kMany});
}

void add_random(std::vector<Case>& all, Cost row, unsigned bytes, unsigned pages) {
    const string mask = std::to_string(bytes - 8);
    const string address = "(i32.and (local.get $j) (i32.const " + mask + "))";
    const string size = std::to_string(bytes / kMiB) + " MiB";
    all.push_back(
        {row,
         "stores without order over " + size,
         text_of(
             {.body = repeated(next_random() + "(i64.store " + address + " (local.get $x))", kMany),
              .pages = pages}),
         kMany});
    all.push_back({row,
                   "loads without order over " + size + ", each waits",
                   text_of({.body = repeated("(local.set $x (i64.mul (i64.add (local.get $x)"
                                             " (i64.load (i32.and (i32.wrap_i64 (i64.shr_u"
                                             " (local.get $x) (i64.const 32))) (i32.const " +
                                                 mask + ")))) (i64.const 6364136223846793005)))",
                                             kMany),
                            .setup = "(local.set $x (i64.const 88172645463325252))",
                            .pages = pages}),
                   kMany});
}

void add_near(std::vector<Case>& all, const string& label, const string& body, double per) {
    all.push_back({Cost::memory,
                   label,
                   text_of({.body = repeated(body, kMany),
                            .fields = "(global $g0 (mut i64) (i64.const 0))"
                                      "(global $g1 (mut f64) (f64.const 0))",
                            .pages = 16}),
                   kMany * per});
}

}  // namespace

void add_memory_cases(std::vector<Case>& all) {
    for (const unsigned kib : {16U, 64U, 256U, 512U, 1'024U})
        add_ring(all, Cost::memory, kib * 1'024, 16);
    add_page_crossing_ring(all, Cost::memory, kMiB, 17);
    all.back().row = Cost::memory_mid;
    add_random(all, Cost::memory, kMiB, 16);
    for (const unsigned mib : {2U, 4U}) {
        add_ring(all, Cost::memory_mid, mib * kMiB, 64);
        add_random(all, Cost::memory_mid, mib * kMiB, 64);
    }
    for (const unsigned mib : {8U, 16U, 32U}) {
        add_ring(all, Cost::memory_far, mib * kMiB, 528);
        add_page_crossing_ring(all, Cost::memory_far, mib * kMiB, 528);
        add_random(all, Cost::memory_far, mib * kMiB, 528);
    }
    // What was stored is loaded again: from the processor's queue, in one piece or not.
    add_near(
        all, "store, load of the same", "(i64.store (i32.const 64) (i64.load (i32.const 64)))", 2);
    add_near(all,
             "store, load beside it",
             "(i64.store (local.get $i) (i64.load offset=1 (local.get $i)))",
             2);
    add_near(all,
             "store, load across a page",
             "(i64.store offset=4092 (local.get $i) (i64.load offset=4091 (local.get $i)))",
             2);
    add_near(
        all, "stores across a page", "(f64.store offset=4092 (local.get $i) (local.get $f))", 1);
    string stores;
    for (unsigned page = 0; page < kMany; ++page) {
        stores += "(i64.store offset=" + std::to_string(4'096 * 5 * page + 4'092) +
                  " (local.get $i) (local.get $x))";
    }
    all.push_back(
        {Cost::memory, "stores across many pages", text_of({.body = stores, .pages = 16}), kMany});
    add_near(all, "i64.store8", "(i64.store8 offset=# (local.get $i) (local.get $x))", 1);
    add_near(all,
             "global.set, global.get",
             "(global.set $g0 (i64.add (global.get $g0) (i64.const 1)))",
             2);
    add_near(all, "global.set, global.get, f64", "(global.set $g1 (global.get $g1))", 2);
    add_near(all, "memory.size", "(local.set $i (i32.sub (memory.size) (memory.size)))", 2);
}

}  // namespace vm_bench
