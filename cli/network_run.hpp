#pragma once

#include "cli/command.hpp"
#include "cli/network_file.hpp"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace cli {

// The programs of a network's folder: what `network up` does alike for one that it makes and for a
// node that joins another.

// The folder that --dir names.
[[nodiscard]] std::filesystem::path dir_of(const Session& session);

// A free port that is not among those taken already.
[[nodiscard]] base::Result<std::uint16_t> another_port(std::set<std::uint16_t>& taken);

// Of config.ini: every plugin that a local node serves.
[[nodiscard]] std::string plugin_lines();

// Starts the node of this data directory, with `more` options, and notes its process.
[[nodiscard]] base::Result<void> start_node(const std::filesystem::path& dir,
                                            NetworkFile::Validator& node,
                                            const std::vector<std::string>& more);

// Whether the node's folder is there to be started. not_found: it is gone; says what can be done.
[[nodiscard]] base::Result<void> check_folder(const NetworkFile::Validator& node);

// What went wrong with a node, and how its log ends.
[[nodiscard]] base::Error with_log(const NetworkFile::Validator& node, const std::string& what);

// What runs where, to standard output.
base::Result<void> print_network(const NetworkFile& file, const Session& session);

}  // namespace cli
