#include "chain/abi/type_name.hpp"

#include <charconv>

namespace chain::abi {

TypeName split_suffix(std::string_view type) {
    if (type.ends_with("[]")) return {type.substr(0, type.size() - 2), Suffix::list};
    if (type.ends_with('?')) return {type.substr(0, type.size() - 1), Suffix::optional};
    const std::size_t open = type.find_last_of('[');
    if (open == std::string_view::npos || !type.ends_with(']')) return {type};
    const std::string_view digits = type.substr(open + 1, type.size() - open - 2);
    std::uint32_t size = 0;
    const char* end = digits.data() + digits.size();
    const auto [stopped, problem] = std::from_chars(digits.data(), end, size);
    if (digits.empty() || problem != std::errc{} || stopped != end) return {type};
    return {type.substr(0, open), Suffix::fixed_list, size};
}

}  // namespace chain::abi
