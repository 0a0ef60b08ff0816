#include "node/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <unistd.h>

namespace node {

void tell_service_manager(std::string_view state) {
    const char* given = std::getenv("NOTIFY_SOCKET");
    if (given == nullptr) return;
    const std::string_view path = given;
    sockaddr_un address{};
    if (path.empty() || path.size() >= sizeof address.sun_path) return;
    address.sun_family = AF_UNIX;
    std::ranges::copy(path, address.sun_path);
    if (path.front() == '@') address.sun_path[0] = '\0';  // The abstract namespace.
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return;
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    // Nothing depends on it arriving: systemd has a timeout of its own.
    (void)!::sendto(socket,
                    state.data(),
                    state.size(),
                    MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(&address),
                    length);
    ::close(socket);
}

}  // namespace node
