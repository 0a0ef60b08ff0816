#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

// What the channels are measured against: two threads, epoll and OpenSSL over loopback, with
// nothing between them. Messages have a size that both ends know; there are no frames.
namespace bare {

using Nanoseconds = std::chrono::nanoseconds;

// Round trips of `bytes` each way.
std::vector<Nanoseconds> ping_pong(std::size_t bytes, int rounds);

// Bytes per second one way, in messages of `bytes`.
double stream(std::size_t bytes, std::size_t total);

}  // namespace bare
