#pragma once

#include "base/result.hpp"

#include <string>

namespace bps {

// Below it nothing is written (spec 08, "Log"): Broker::set_disk_low().
inline constexpr unsigned kFreePercentMin = 5;

// How much of the disk that has `path` is left for this process, in whole percent, rounded down, of
// what is not kept for root. unavailable: the disk does not answer.
[[nodiscard]] base::Result<unsigned> free_percent(const std::string& path);

}  // namespace bps
