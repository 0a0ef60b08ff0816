#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Small files of the kernel's, as text.
namespace probe {

// The first line; empty: there is no such file, or it can't be read.
[[nodiscard]] std::string line_of(const std::filesystem::path& file);
// What stands behind `label` in its line, without spaces around it.
[[nodiscard]] std::optional<std::string> value_of(const std::filesystem::path& file,
                                                  std::string_view label);
// The number that a text begins with.
[[nodiscard]] std::optional<std::uint64_t> number_at(std::string_view text, int base = 10);
// The names in a folder, sorted; numbers by value. None: there is no such folder.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);
[[nodiscard]] std::string mebibytes(std::uint64_t bytes);

}  // namespace probe
