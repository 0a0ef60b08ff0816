#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// WABT, for tests only. Standard types throughout: it is compiled as C++17.
namespace wabt_text {

struct Assembled {
    std::vector<std::uint8_t> bytes;
    std::string error;  // Empty: `bytes` is the module.
};

// Text of WebAssembly to binary. Checks the text, not whether the module is valid.
[[nodiscard]] Assembled assemble(std::string_view text);

}  // namespace wabt_text
