#pragma once

#include "bench/transport/result.hpp"
#include "bench/transport/verbs_count.hpp"

#include <cstddef>
#include <string>
#include <vector>

// What channels by RDMA are measured against: two queue pairs, two threads that sleep for their
// completions, and WRITE WITH IMMEDIATE in a loop. No frames, no rings, no seals.
namespace verbs {

// How messages are written; each can be left out to see what it brings.
struct Means {
    std::size_t bytes = 64;
    bool is_inline = true;        // As far as the device can.
    unsigned report_every = 64;   // One write in so many reports its completion.
    unsigned batch = 16;          // Writes handed over by one call.
    unsigned answer_every = 32;   // An empty write for so many messages.
    bool is_solicited = true;     // Only the last of a batch wakes the reader.
    bool has_huge_pages = false;  // Where the machine has reserved some.
    bool registers_each = false;  // A message's memory, for that message only.
};

struct Cost {
    std::size_t messages = 0;
    double seconds = 0;
    double cpu_seconds = 0;  // Of both ends.
    Count count{};
};

// One way, with 64 messages under way at most; addresses of the two devices, or none.
Cost stream(const std::vector<std::string>& devices, const Means& means, std::size_t messages);

}  // namespace verbs
