#pragma once

#include "cli/command.hpp"
#include "cli/http_client.hpp"

#include <string>
#include <string_view>

namespace cli {

// Indented, to standard output. Always succeeds: what a command may end with.
base::Result<void> print_json(const Json& json);

// Asks the node and prints the answer as it is.
[[nodiscard]] base::Result<void> ask(const Session& session,
                                     std::string_view path,
                                     const Json& body);
// The same for an operator's call.
[[nodiscard]] base::Result<void> ask_as_operator(const Session& session,
                                                 std::string_view path,
                                                 const Json& body);

// A member of an object; null when there is none.
[[nodiscard]] const Json& member_of(const Json& json, std::string_view key);
// A member that is an array; empty when there is none.
[[nodiscard]] const Json& list_of(const Json& json, std::string_view key);
// A member that is a hash in hexadecimal digits.
[[nodiscard]] base::Result<base::Hash256> hash_of(const Json& json, std::string_view key);
// A member that is a text; empty when there is none.
[[nodiscard]] std::string text_of(const Json& json, std::string_view key);

// A text without its quotes, anything else as JSON.
[[nodiscard]] std::string shown(const Json& value);
// A member as a person reads it; "-" when there is none.
[[nodiscard]] std::string shown(const Json& json, std::string_view key);

// A member that is a number, as number or as text; 0 when there is none.
[[nodiscard]] std::uint64_t number_of(const Json& json, std::string_view key);

}  // namespace cli
