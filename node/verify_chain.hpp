#pragma once

#include "base/log.hpp"
#include "base/result.hpp"
#include "node/options.hpp"

#include <string>

namespace node {

// Executes every final block of the data directory again, from genesis, in a directory of its
// own that is removed afterwards, and compares each header with what comes out of it. The node
// must not run. Returns one line that says how many blocks agree and the last state digest.
// corrupt: the height of the first block that differs, and in what.
[[nodiscard]] base::Result<std::string> verify_chain(const Options& options, const base::Log& log);

}  // namespace node
