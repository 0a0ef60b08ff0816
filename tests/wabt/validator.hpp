#pragma once

#include <cstdint>
#include <string>
#include <vector>

// WABT's validator, as an oracle that others wrote. Standard types throughout: it is compiled as
// C++17.
namespace wabt_validator {

// Why this is no valid module of the MVP; empty: it is one.
[[nodiscard]] std::string refusal_of(const std::vector<std::uint8_t>& wasm);

}  // namespace wabt_validator
