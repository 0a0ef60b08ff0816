#pragma once

#include "bench/transport/node.hpp"

#include <cstddef>
#include <string>

// What channels do when a peer is slow, is killed, or offers what it has not.
namespace faults {

struct Slow {
    std::size_t messages = 0;     // That came.
    std::size_t lost = 0;         // Or came twice, or in another order.
    double megabytes_before = 0;  // Resident, after half of them,
    double megabytes_after = 0;   // and at the end.
};
// One node reads 16 KiB messages of so many senders, who always have more, one each 50 us.
Slow slow_reader(Way way, unsigned senders, std::size_t messages_each);

struct Killed {
    double seen_seconds = 0;       // From kill -9 to the channel's end.
    double back_seconds = 0;       // To the last buffer that came back.
    double connected_seconds = 0;  // From a new peer's start to its channel, by `way`.
};
// A peer in a process of its own, which writes all the time.
Killed killed_peer(Way way);
// That process's part.
[[noreturn]] void talk_to(Way way, const std::string& address);

// Seconds from the connection until both ends have given up a path that leads nowhere.
double lie();

}  // namespace faults
