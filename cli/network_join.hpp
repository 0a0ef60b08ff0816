#pragma once

#include "cli/command.hpp"
#include "cli/network_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cli {

// `network up --join LINE`: makes a folder with a node of the chain of the line (genesis file,
// configuration, a new node key), then go_on_joining(). invalid: the line, or what its node says,
// is not what it should be, or the folder is in use; nothing is made then.
[[nodiscard]] base::Result<void> join_network(const Session& session,
                                              const std::filesystem::path& dir,
                                              const Arguments& arguments);

// Waits until the node is registered, starts it with `more` options, and shows how far it is until
// it has all that is final; it goes on running. May be cut short, and called again.
[[nodiscard]] base::Result<void> go_on_joining(const Session& session,
                                               const std::filesystem::path& dir,
                                               NetworkFile& file,
                                               const std::vector<std::string>& more);

}  // namespace cli
