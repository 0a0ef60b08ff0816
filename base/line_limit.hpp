#pragma once

#include "base/time.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace base {

// One line of the log in 10 s for each cause that a sender can bring about as often as it likes
// (spec 10), and how many it stands for. The causes are the caller's, and few.
template <class Cause>
class LineLimit {
  public:
    static constexpr Duration kEvery = std::chrono::seconds(10);

    // Empty: no line now. Else how many were held back since the last one.
    [[nodiscard]] std::optional<std::uint64_t> allow(Timestamp now, const Cause& cause) {
        const auto [at, is_first] = lines_.try_emplace(cause, Line{now, 0});
        Line& line = at->second;
        if (!is_first && now - line.told_at < kEvery) {
            ++line.held_back;
            return {};
        }
        const std::uint64_t others = line.held_back;
        line = {now, 0};
        return others;
    }

  private:
    struct Line {
        Timestamp told_at{};
        std::uint64_t held_back = 0;
    };

    std::map<Cause, Line> lines_;
};

}  // namespace base
