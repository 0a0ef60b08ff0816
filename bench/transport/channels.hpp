#pragma once

#include "bench/transport/node.hpp"
#include "bench/transport/result.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

// Exchanges over channels, from a host's command to the other's event.
namespace channels {

// Round trips of `bytes` each way at priority 0, beside a stream of 1 MiB messages at priority 7
// if `is_busy`.
std::vector<Nanoseconds> ping_pong(Way way, std::size_t bytes, int rounds, bool is_busy);

// Bytes per second one way, in messages of `bytes`; each `answered` of them, which are whole
// messages, are answered by a byte. A window of 8 MiB is kept full.
double stream(Way way,
              std::size_t bytes,
              std::size_t total,
              std::size_t answered = std::size_t{1} << 20);

// What each of five nodes takes, all joined by `way`, when nothing is sent.
struct Idle {
    double share = 0;    // Of a core.
    double wakeups = 0;  // A second.
    double counted = 0;  // The same.
};
// `count`: of what else happens meanwhile.
Idle idle(Way way, std::chrono::seconds duration, const std::function<double()>& count);

// What it took to fetch blocks, by both ends together.
struct Cost {
    double seconds = 0;
    double cpu_seconds = 0;
};
// A node that asks for blocks and one that has them, as nodes synchronise: requests of a MiB or
// 128 blocks, four of them under way.
Cost sync(Way way, std::size_t blocks, std::size_t bytes);

}  // namespace channels
