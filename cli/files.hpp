#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace cli {

// The whole file. not_found, unavailable: with its path. At most 16 MiB.
[[nodiscard]] base::Result<std::string> read_file(const std::filesystem::path& path);

enum class Secrecy { shared, secret };  // Mode 0644 or 0600.

// Replaces the file in one step: a reader sees the old or the new contents, never a part.
[[nodiscard]] base::Result<void> write_file(const std::filesystem::path& path,
                                            std::string_view contents,
                                            Secrecy secrecy = Secrecy::shared);

// Whether write_file() would succeed, as far as can be told without the contents.
[[nodiscard]] base::Result<void> try_to_write(const std::filesystem::path& path);

}  // namespace cli
