#pragma once

#include "tests/hostile/plan.hpp"

namespace hostile {

// Comes to all targets and goes at once, again and again, by each key.
void come_and_go(const Plan& plan);

// Says to all targets, again and again, that all heights there are were final and here, and answers
// no question.
void claim_heights(const Plan& plan);

}  // namespace hostile
