#pragma once

#include "tests/hostile/plan.hpp"

namespace hostile {

// Transactions with as many signatures as a transaction may have, of keys that may sign nothing, to
// all targets at once. Whether they do is known once all of these keys are recovered.
void sign_in_vain(const Plan& plan);

}  // namespace hostile
