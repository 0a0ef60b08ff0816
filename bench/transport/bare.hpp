#pragma once

#include "bench/transport/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

// What the channels are measured against: two threads, epoll and OpenSSL over loopback, with
// nothing between them. Messages have a size that both ends know; there are no frames.
namespace bare {

// Round trips of `bytes` each way.
std::vector<Nanoseconds> ping_pong(std::size_t bytes, int rounds);

// Round trips of two threads that sleep in epoll and wake each other by eventfds: what a path
// through shared memory can't be quicker than.
std::vector<Nanoseconds> doorbells(int rounds);

// Round trips of `bytes` each way over TCP on loopback, without TLS; both ends wait in recv().
std::vector<Nanoseconds> loopback(std::size_t bytes, int rounds);

// Bytes per second that one thread copies, `bytes` at a time, through memory of 8 MiB.
double copies(std::size_t bytes, std::size_t total);

// Bytes per second one way, in messages of `bytes`.
double stream(std::size_t bytes, std::size_t total);

// The share of a core that a thread takes which a timer wakes so often.
double timer_share(double wakeups, std::chrono::seconds duration);

// Seconds of so many steps that need nothing but the processor.
double steps(std::uint64_t count);

}  // namespace bare
