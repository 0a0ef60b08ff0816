#pragma once

#include "bench/transport/node.hpp"
#include "bench/transport/result.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

// Exchanges over channels, from a host's command to the other's event.
namespace channels {

// Round trips of `bytes` each way at priority 0, beside a stream of 1 MiB messages at priority 7
// if `is_busy`.
std::vector<Nanoseconds> ping_pong(Way way, std::size_t bytes, int rounds, bool is_busy);

// Bytes per second one way, in messages of `bytes`.
double stream(Way way, std::size_t bytes, std::size_t total);

// The share of a core that each of five nodes takes, all joined by `way`, when nothing is sent.
double idle_share(Way way, std::chrono::seconds duration);

// What it took to fetch blocks, by both ends together.
struct Cost {
    double seconds = 0;
    double cpu_seconds = 0;
};
// A node that asks for blocks and one that has them, as nodes synchronise: requests of a MiB or
// 128 blocks, four of them under way.
Cost sync(Way way, std::size_t blocks, std::size_t bytes);

}  // namespace channels
