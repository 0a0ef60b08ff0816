#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace node {

// How a child process ended.
struct ChildEnd {
    bool ok = false;
    std::string text;  // What it printed first, or how it died; for people.
};

// Starts `command`, whose first word is the path of the program, waits for at most `limit`,
// and kills it with all its children then, or as soon as `cancelled` is set. Its input is empty,
// its output goes to the file `log`, which is removed. Temporary files go to `directory`. Thread:
// any; blocks.
[[nodiscard]] ChildEnd run_child(const std::vector<std::string>& command,
                                 const std::string& directory,
                                 const std::string& log,
                                 std::chrono::seconds limit,
                                 const std::atomic<bool>& cancelled);

}  // namespace node
