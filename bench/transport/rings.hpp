#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

// The rings of shared memory alone: two pinned threads that look all the time, and between them
// what a path does for each frame, with seals or without.
namespace rings {

using Nanoseconds = std::chrono::nanoseconds;

enum class Sealed { no, yes };

// Round trips of frames of `bytes`; each figure is the mean of some hundred.
std::vector<Nanoseconds> ping_pong(Sealed sealed, std::size_t bytes, int rounds);

// Bytes per second one way, in messages of `bytes` that are cut into full frames.
double stream(Sealed sealed, std::size_t bytes, std::size_t total);

// The bare thing: each thread writes a cache line that the other waits for.
std::vector<Nanoseconds> lines(int rounds);

}  // namespace rings
