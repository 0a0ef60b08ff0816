#pragma once

#include <string_view>

namespace node {

// The text of runtime.h and runtime_end.h, put into the program by CMake.
extern const std::string_view kRuntimeBegin;
extern const std::string_view kRuntimeEnd;

}  // namespace node
