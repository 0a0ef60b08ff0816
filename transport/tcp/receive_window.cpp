#include "transport/tcp/receive_window.hpp"

#include <linux/tcp.h>  // The C library's tcp_info has no shortest round trip.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

namespace transport::tcp {

namespace {

// 10 Gb/s.
constexpr std::uint64_t kBytesPerMicrosecond = 1'250;

// The kernel keeps half of a buffer for its own books.
constexpr std::uint64_t kBooks = 2;

// What two round trips bring; 0: not known.
std::uint64_t two_round_trips(int socket) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
    const std::uint32_t unknown = ~std::uint32_t{0};
    if (info.tcpi_min_rtt == 0 || info.tcpi_min_rtt == unknown) return 0;
    return 2 * kBytesPerMicrosecond * info.tcpi_min_rtt;
}

// Returns what came of it.
std::uint64_t set_buffer(int socket, std::uint64_t bytes) {
    int value = static_cast<int>(bytes);
    if (::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &value, sizeof value) != 0) return 0;
    socklen_t size = sizeof value;
    if (::getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &value, &size) != 0) return 0;
    return static_cast<std::uint64_t>(value) / kBooks;
}

void leave_to_kernel(int socket) {
    const int none = 0;
    ::setsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &none, sizeof none);
}

}  // namespace

void ReceiveWindow::tune(int socket) {
    const std::uint64_t brought = two_round_trips(socket);
    if (brought == 0) return;
    const std::uint64_t wanted = std::clamp(brought, kMin, kMax);
    // A path changes rarely, and what is under way when a window shrinks may have come in vain.
    if (wanted_ != 0 && wanted < 2 * wanted_ && wanted_ < 2 * wanted) return;
    wanted_ = wanted;
    if (2 * set_buffer(socket, wanted) < wanted) leave_to_kernel(socket);
}

}  // namespace transport::tcp
