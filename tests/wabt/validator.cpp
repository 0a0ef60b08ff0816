// Compiled apart: with options of its own (tests/CMakeLists.txt).
#include "tests/wabt/validator.hpp"

#include "tests/wabt/features.hpp"

#include <wabt/binary-reader-ir.h>
#include <wabt/binary-reader.h>
#include <wabt/ir.h>
#include <wabt/validator.h>

namespace wabt_validator {

std::string refusal_of(const std::vector<std::uint8_t>& wasm) {
    wabt::Errors errors;
    wabt::Module module;
    const wabt::Features features = wabt_features::mvp();
    constexpr bool kStopOnFirstError = true;
    const wabt::ReadBinaryOptions read(features, nullptr, false, kStopOnFirstError, true);
    const bool is_valid =
        wabt::Succeeded(
            wabt::ReadBinaryIr("module", wasm.data(), wasm.size(), read, &errors, &module)) &&
        wabt::Succeeded(wabt::ValidateModule(&module, &errors, wabt::ValidateOptions(features)));
    if (is_valid) return {};
    return errors.empty() ? "no reason is given" : errors.front().message;
}

}  // namespace wabt_validator
