#pragma once

#include "node/bps/core/rule.hpp"

namespace kills {

// From now on; `none`: nothing is.
void leave_out(bps::Rule rule);

}  // namespace kills
