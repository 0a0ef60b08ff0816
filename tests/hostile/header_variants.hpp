#pragma once

#include "tests/hostile/plan.hpp"

namespace hostile {

// A validator that is silent but for this: in each of its slots so many headers to each target,
// other ones to each, all of them good. Says what was sent.
void vary_headers(const Plan& plan);

}  // namespace hostile
