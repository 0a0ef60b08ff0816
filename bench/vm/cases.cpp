#include "cases.hpp"

namespace vm_bench {

std::string text_of(const Module& module) {
    return "(module (import \"env\" \"nothing\" (func $nothing)) (memory " +
           std::to_string(module.pages) + ") " + module.fields +
           "(func (export \"apply\") (param $n i64) (param i64 i64) (local $x i64) (local $y i64)"
           "(local $i i32) (local $j i32) (local $f f64) (local $h f64) (local $g f32)"
           "(local $k f32) " +
           module.locals + module.setup + "(loop $again " + module.body +
           "(br_if $again (i64.ne (local.tee $n (i64.sub (local.get $n) (i64.const 1)))"
           "(i64.const 0)))))) ";
}

std::string repeated(const std::string& body, unsigned times) {
    std::string out;
    for (unsigned i = 0; i < times; ++i) {
        for (const char c : body)
            c == '#' ? out += std::to_string(i) : out += c;
    }
    return out;
}

// A linear congruential generator modulo the number of slots visits all of them.
std::string chain_of(unsigned bytes, unsigned stride, unsigned offset) {
    const unsigned slots = bytes / stride;
    const std::string mask = std::to_string(slots - 1);
    const std::string by = std::to_string(stride);
    const std::string next =
        "(i32.and (i32.add (i32.mul (local.get $j) (i32.const 1664525))"
        "(i32.const 1013904223)) (i32.const " +
        mask + "))";
    return "(local.set $j (i32.const 0)) (loop $fill (i32.store offset=" + std::to_string(offset) +
           " (i32.mul (local.get $j) (i32.const " + by + ")) (i32.mul " + next + "(i32.const " +
           by + "))) (br_if $fill (local.tee $j " + next + ")))";
}

std::string next_random() {
    return "(local.set $x (i64.add (i64.mul (local.get $x) (i64.const 6364136223846793005))"
           "(i64.const 1442695040888963407)))"
           "(local.set $j (i32.wrap_i64 (i64.shr_u (local.get $x) (i64.const 32))))";
}

}  // namespace vm_bench
