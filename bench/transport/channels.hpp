#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

// The same exchanges over channels: two I/O threads of transport/tcp and their hosts, which answer
// on the I/O thread as a core thread would, by lists of commands.
namespace channels {

using Nanoseconds = std::chrono::nanoseconds;

// Which way the messages go.
enum class Way { tcp, shm };

// Round trips of `bytes` each way at priority 0, beside a stream of 1 MiB messages at priority 7
// if `is_busy`.
std::vector<Nanoseconds> ping_pong(Way way, std::size_t bytes, int rounds, bool is_busy);

// Bytes per second one way, in messages of `bytes`.
double stream(Way way, std::size_t bytes, std::size_t total);

// The share of a core that each of five nodes takes, all joined by `way`, when nothing is sent.
double idle_share(Way way, std::chrono::seconds duration);

}  // namespace channels
