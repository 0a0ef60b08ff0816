#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cli {

// Bytes that come in pieces, as lines. A pure value.
class Lines {
  public:
    explicit Lines(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

    void add(std::string_view bytes) { held_ += bytes; }
    // Nothing comes any more: what is left is a line, too, unless it is empty.
    void end() { is_ended_ = true; }
    // The next whole line, without its end; nothing: it is not there yet. invalid: it is too long,
    // and so is what follows.
    [[nodiscard]] base::Result<std::optional<std::string>> next();
    // Of the line that came last, from 1 on.
    [[nodiscard]] std::uint64_t number() const { return number_; }

  private:
    std::size_t line_bytes_max_;
    std::string held_;
    std::size_t taken_ = 0;  // Of held_; cut off when all whole lines are.
    std::size_t seen_ = 0;   // Up to there no line ends that was not taken.
    std::uint64_t number_ = 0;
    bool is_ended_ = false;
};

// A line as key and value.
struct KeyedLine {
    std::optional<std::string> key;  // None without a separator.
    std::string value;
};
// Apart at the first separator; an empty one: no key. invalid: the line has none.
[[nodiscard]] base::Result<KeyedLine> keyed_line(std::string line,
                                                 std::string_view separator,
                                                 std::uint64_t number);

}  // namespace cli
