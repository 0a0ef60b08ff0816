#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tests {

// The folder tests/ of the sources. ctest says where it is, not the compiler: a path in the
// compiler's arguments would keep clones from sharing what ccache has. By hand, tests run from the
// root.
inline std::string data_dir() {
    const char* set = std::getenv("BOR_TEST_DATA");
    return set == nullptr ? "tests" : set;
}

// The folder of the build that this program belongs to: programs are in bin/ there.
inline std::string build_dir() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().string();
}

}  // namespace tests
