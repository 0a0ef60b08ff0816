#pragma once

#include "base/result.hpp"
#include "chain/vm/compiler.hpp"

#include <memory>
#include <string>

namespace node {

// Loads a private copy of the shared object at `path`: `copy` is written, opened by the dynamic
// linker and removed again, so that two engines never share its variables. `copy` must be a
// name that this process has not used before. corrupt: it is no object of ours.
[[nodiscard]] base::Result<std::unique_ptr<chain::vm::NativeCode>> load_code(
    const std::string& path, const std::string& copy, chain::vm::Tier tier);

}  // namespace node
