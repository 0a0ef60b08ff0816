#pragma once

#include <string_view>

namespace base {

// Prints what was expected and where, and ends the process. For bugs of ours only.
[[noreturn]] void check_failed(std::string_view expression, std::string_view file, int line);

}  // namespace base

// States what must hold unless this program is wrong. Always on, in release too: going on
// with broken invariants would put wrong data on disk.
#define CHECK(condition)                                          \
    do {                                                          \
        if (!(condition)) [[unlikely]] {                          \
            ::base::check_failed(#condition, __FILE__, __LINE__); \
        }                                                         \
    } while (false)
