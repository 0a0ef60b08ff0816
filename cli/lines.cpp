#include "cli/lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cli {

base::Result<std::optional<std::string>> Lines::next() {
    const std::size_t end = held_.find('\n', std::max(taken_, seen_));
    const bool is_last = end == std::string::npos && is_ended_ && taken_ < held_.size();
    const std::size_t size = std::min(end, held_.size()) - taken_;
    if (size > line_bytes_max_) {
        return base::fail(base::Errc::invalid,
                          fmt::format("line {} has more than {} bytes, which no record has",
                                      number_ + 1,
                                      line_bytes_max_));
    }
    if (end == std::string::npos && !is_last) {
        held_.erase(0, std::exchange(taken_, 0));
        seen_ = held_.size();
        return std::optional<std::string>();
    }
    ++number_;
    std::string line = held_.substr(taken_, size);
    taken_ += size + (is_last ? 0 : 1);
    return std::optional(std::move(line));
}

base::Result<KeyedLine> keyed_line(std::string line,
                                   std::string_view separator,
                                   std::uint64_t number) {
    if (separator.empty()) return KeyedLine{.key = std::nullopt, .value = std::move(line)};
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) {
        return base::fail(
            base::Errc::invalid,
            fmt::format("line {} has no '{}' between a key and a value", number, separator));
    }
    return KeyedLine{.key = line.substr(0, at), .value = line.substr(at + separator.size())};
}

}  // namespace cli
