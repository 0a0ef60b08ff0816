#pragma once

#include <cstdint>
#include <string>

namespace transport::ntb {

// What tells this machine, since it was started, from all others. Empty: it can't be read.
[[nodiscard]] std::string boot_id();

// By the operating system's chance; never 0.
[[nodiscard]] std::uint32_t random_epoch();
[[nodiscard]] std::uint64_t random_number();

}  // namespace transport::ntb
