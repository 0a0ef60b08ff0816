#include "base/line_limit.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace tests {

TEST_CASE("a cause has a line in 10 s, which says how many had none") {
    base::LineLimit<std::string> lines;
    base::Timestamp now{};
    CHECK(lines.allow(now, "a") == 0);
    CHECK_FALSE(lines.allow(now, "a"));
    now += std::chrono::milliseconds(9'999);
    CHECK_FALSE(lines.allow(now, "a"));
    CHECK(lines.allow(now, "b") == 0);
    now += std::chrono::milliseconds(1);
    CHECK(lines.allow(now, "a") == 2);
    now += std::chrono::seconds(10);
    CHECK(lines.allow(now, "a") == 0);
}

}  // namespace tests
