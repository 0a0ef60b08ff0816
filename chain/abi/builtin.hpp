#pragma once

#include "base/codec.hpp"
#include "chain/abi/json.hpp"

#include <string_view>

namespace chain::abi {

// A type that every ABI knows, with its two directions.
struct Builtin {
    std::string_view name;
    // Reports through the sticky error of the reader.
    Json (*read)(base::Reader& in);
    // Writes nothing when it fails.
    base::Result<void> (*write)(base::Writer& out, const Json& json);
};

// Null when no built-in type has this name.
[[nodiscard]] const Builtin* find_builtin(std::string_view name);

}  // namespace chain::abi
