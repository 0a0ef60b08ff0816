#include "transport/tcp/receive_window.hpp"

#include "transport/descriptor.hpp"

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <vector>

namespace tests {

using transport::Descriptor;
using transport::tcp::ReceiveWindow;

namespace {

// Both ends of a connection on loopback.
struct Sockets {
    Sockets() {
        const Descriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof address;
        REQUIRE(::bind(listener.get(), any, size) == 0);
        REQUIRE(::listen(listener.get(), 1) == 0);
        REQUIRE(::getsockname(listener.get(), any, &size) == 0);
        writer = Descriptor(::socket(AF_INET, SOCK_STREAM, 0));
        REQUIRE(::connect(writer.get(), any, size) == 0);
        reader = Descriptor(::accept(listener.get(), nullptr, nullptr));
        REQUIRE(reader);
    }
    Descriptor writer{};
    Descriptor reader{};
};

// As much as the peer takes at once.
void write_all(int socket) {
    const std::vector<char> bytes(std::size_t{64} << 10U);
    while (::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    REQUIRE((errno == EAGAIN || errno == EWOULDBLOCK));
}

// Reads nearly all that there is, so that the kernel finds its reader quick; returns what there
// was.
std::size_t read_most(int socket) {
    pollfd readable{.fd = socket, .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&readable, 1, 10'000) == 1);
    int waiting = 0;
    REQUIRE(::ioctl(socket, FIONREAD, &waiting) == 0);
    std::vector<char> bytes(static_cast<std::size_t>(std::max(waiting, 1)));
    REQUIRE(::recv(socket, bytes.data(), bytes.size(), 0) > 0);
    return static_cast<std::size_t>(waiting);
}

std::size_t most_waiting(const Sockets& pair) {
    std::size_t most = 0;
    for (int i = 0; i < 400; ++i) {
        write_all(pair.writer.get());
        most = std::max(most, read_most(pair.reader.get()));
    }
    return most;
}

}  // namespace

TEST_CASE("a window is no longer than its path asks for, however quick the reader is") {
    constexpr std::size_t kShort = 2 * ReceiveWindow::kMin;
    const Sockets untuned;
    REQUIRE(most_waiting(untuned) > kShort);  // What the kernel would do.

    const Sockets pair;
    ReceiveWindow window;
    window.tune(pair.reader.get());
    CHECK(most_waiting(pair) <= kShort);
    window.tune(pair.reader.get());
    CHECK(most_waiting(pair) <= kShort);
}

TEST_CASE("a socket without a path has no window to tune") {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
    int before = 0;
    socklen_t size = sizeof before;
    REQUIRE(::getsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &before, &size) == 0);
    ReceiveWindow window;
    window.tune(socket.get());
    window.tune(-1);
    int after = 0;
    REQUIRE(::getsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &after, &size) == 0);
    CHECK(after == before);
}

}  // namespace tests
