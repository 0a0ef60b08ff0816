#pragma once

#include "transport/buffer_pool.hpp"
#include "transport/link/send_queue.hpp"
#include "transport/tcp/callers.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace transport::tcp {

// Where to listen, and every bound but the receive window (ReceiveWindow).
struct Options {
    std::vector<std::string> listen{};  // "host:port"; port 0: any free one.
    std::size_t channels_max = 256;     // Up or being opened.
    // Not yet up, opened by peers: that have begun, and that wait for it (Callers), of strangers
    // and of known origins each.
    std::size_t handshakes_max = 64;
    std::size_t handshakes_per_address_max = 8;  // Of strangers.
    Callers::Rates callers{};                    // How often they begin.
    // Of a TCP connection: short, because a lost SYN comes again only after 1, 3 and 7 seconds.
    std::chrono::milliseconds dial_max{2'000};
    std::chrono::milliseconds handshake_max{5'000};    // From its begin to being up.
    std::chrono::milliseconds heartbeat_every{1'000};  // When nothing else is sent.
    std::chrono::milliseconds silence_max{5'000};      // Without a byte from the peer.
    std::chrono::milliseconds stall_max{30'000};       // Of bytes that the peer does not take.
    std::chrono::milliseconds goodbye_max{1'000};
    // Of one channel's messages that the host holds; over it the channel is not read.
    std::size_t held_bytes_max = std::size_t{32} << 20;
    link::SendQueue::Limits queue{};
    // Address space; memory only as far as it is used. No huge pages: they would be used whole.
    PoolOptions pool{.bytes = std::size_t{1} << 30, .huge_pages = false};
};

}  // namespace transport::tcp
