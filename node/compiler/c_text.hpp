#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <string>

namespace node {

// The complete C source of a rewritten module: our runtime, the calls to host functions, and
// what WABT's C writer makes of the module. WABT may abort; call it in bor-wasm-compile only.
// malformed: WABT refused, or wrote something that this program does not know.
[[nodiscard]] base::Result<std::string> c_text_of(base::ByteView module);

}  // namespace node
