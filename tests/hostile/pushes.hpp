#pragma once

#include "tests/hostile/plan.hpp"

namespace hostile {

// Pushes good transactions at the HTTP port, 3,000 a second, each over a connection of its own as
// nodeos' load generator does, and says what was answered.
void push_by_connections(const Plan& plan);

}  // namespace hostile
