#pragma once

#include "suite.hpp"

#include <memory>

namespace suite {

// The product's compiler behind the suite's interface. validates() is true.
[[nodiscard]] std::unique_ptr<Engine> make_compiled_engine();

}  // namespace suite
