#pragma once

#include "cli/command.hpp"

#include <string>

namespace cli {

// The options by which a command gets a password or a private key.
[[nodiscard]] Option secret_option(std::string_view name, std::string_view what);

// A secret from the file that `option` names ("-": standard input), else from the terminal
// without echo, else the first line of standard input. Never from the command line, where every
// user of the machine could read it. invalid: it is empty.
[[nodiscard]] base::Result<std::string> read_secret(const Arguments& arguments,
                                                    std::string_view option,
                                                    const std::string& prompt);

}  // namespace cli
