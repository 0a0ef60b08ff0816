#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace cli {

// One check of `doctor`.
struct Finding {
    std::string name;
    bool good = false;
    std::string text;        // One sentence, with what to do when it is not good.
    bool is_remark = false;  // Good, and yet worth a look.
};

// What is found at the session's node. Takes some seconds: it watches whether the head advances.
[[nodiscard]] std::vector<Finding> examine_node(const Session& session);

}  // namespace cli
