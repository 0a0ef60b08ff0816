#pragma once

#include "cli/http_client.hpp"

#include <string>
#include <string_view>

namespace cli {

// Of the answer of /v1/bor/validators: the node that is registered by this name; null: none is.
[[nodiscard]] const Json* find_node(const Json& validators, std::string_view name);

// "the node NAME is registered already, by ORGANISATION as ROLES, with the key KEY".
[[nodiscard]] std::string registered_text(const Json& node);

}  // namespace cli
