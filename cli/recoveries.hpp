#pragma once

#include "cli/command.hpp"
#include "genesis/snapshot_proof.hpp"

#include <filesystem>
#include <vector>

namespace cli {

// The recoveries that a chain went through, as the user confirms them: --recover-from ID, with the
// meaning of the node's option, and --recovery FILE for those that set the time back. Several are
// possible of both.
struct Recoveries {
    std::vector<base::Hash256> ids;
    std::vector<std::filesystem::path> files;
};
// To be added to the options of a command.
[[nodiscard]] std::vector<Option> recovery_options();
// invalid: an id is none, or a file is given and no id.
[[nodiscard]] base::Result<Recoveries> recoveries_of(const Arguments& arguments);

}  // namespace cli
