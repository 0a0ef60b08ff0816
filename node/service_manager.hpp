#pragma once

#include <string_view>

namespace node {

// Tells systemd how the service is ("READY=1"), if it asked to be told (Type=notify).
void tell_service_manager(std::string_view state);

}  // namespace node
