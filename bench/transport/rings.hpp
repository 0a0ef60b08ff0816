#pragma once

#include "bench/transport/result.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

// The rings of shared memory alone, and between them what a path does for each frame, with seals
// or without.
namespace rings {

enum class Sealed { no, yes };

// Round trips of frames of `bytes` between two pinned threads that look all the time; each figure
// is the mean of some hundred.
std::vector<Nanoseconds> ping_pong(Sealed sealed, std::size_t bytes, int rounds);

// The bare thing: each thread writes a cache line that the other waits for.
std::vector<Nanoseconds> lines(int rounds);

// Round trips of frames of `bytes` between two ends of shared memory that sleep: sealed rings, and
// the doorbells of two kinds whose drivers two threads run.
std::vector<Nanoseconds> sleepers(std::size_t bytes, int rounds);

// How a message comes into a ring.
enum class Send {
    straight,  // Cut from where it is.
    buffer,    // In a buffer of the pool, by the queue of a channel.
    copy,      // The same, copied into that buffer first.
};
// Bytes per second one way, in messages of `bytes`.
double stream(Sealed sealed, Send way, std::size_t bytes, std::size_t total);

// Microseconds to seal and to open a KiB, in units of `bytes` (of 64 KiB at most), on one thread.
struct Seals {
    double sealing = 0;
    double opening = 0;
};
Seals seals(std::size_t bytes, std::size_t total);

}  // namespace rings
