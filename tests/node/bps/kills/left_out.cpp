#include "tests/node/bps/kills/left_out.hpp"

#ifndef BOR_MUTANTS
#error "this file belongs to the build of mutants"
#endif

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of the one thread of a test.
bps::Rule chosen = bps::Rule::none;

}  // namespace

bool bps::is_left_out(Rule rule) {
    return rule == chosen;
}

void kills::leave_out(bps::Rule rule) {
    chosen = rule;
}
