#include "base/check.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace base {

void check_failed(std::string_view expression, std::string_view file, int line) {
    fmt::print(stderr, "bug: {} does not hold, {}:{}\n", expression, file, line);
    std::abort();
}

}  // namespace base
