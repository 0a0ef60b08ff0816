#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace chain::abi {

// What stands at the end of a type's name.
enum class Suffix : std::uint8_t { none, list, fixed_list, optional };

// "uint8[]" is {"uint8", list}, "uint8[4]" is {"uint8", fixed_list, 4}.
struct TypeName {
    std::string_view item;
    Suffix suffix = Suffix::none;
    std::size_t size = 0;  // Of a fixed list.
};

// Takes one suffix off. A size that is no number or above 2^32 is no suffix.
[[nodiscard]] TypeName split_suffix(std::string_view type);

// "uint8$" is a field that may be missing at the end.
[[nodiscard]] inline bool is_extension(std::string_view type) {
    return type.ends_with('$');
}
[[nodiscard]] inline std::string_view without_extension(std::string_view type) {
    if (is_extension(type)) type.remove_suffix(1);
    return type;
}

}  // namespace chain::abi
