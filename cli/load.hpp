#pragma once

#include "base/result.hpp"
#include "chain/types/time.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cli {

using LoadClock = std::chrono::steady_clock;

// Requests to send to one node, and how. Open loop: request i is due at i / rate, whether or not
// those before it are answered, and its latency counts from there.
struct LoadPlan {
    std::string host;
    std::string port;
    std::vector<std::string> bodies;  // For /v1/chain/send_transaction2.
    std::uint64_t rate = 1;           // Requests per second.
    std::size_t connections = 1;      // Kept open; a request waits when all are busy.
    std::chrono::milliseconds poll{5};
};

struct LoadAnswer {
    LoadClock::time_point due;
    LoadClock::time_point at;
    int status = 0;  // HTTP; 0: none came.
};

struct LoadResult {
    LoadClock::time_point start;
    LoadClock::time_point last_answer;
    std::vector<LoadAnswer> answers;  // One for each body.
    // When get_info first showed this height, or one above, as head and as final.
    std::map<std::uint64_t, LoadClock::time_point> heads;
    std::map<std::uint64_t, LoadClock::time_point> finals;
    std::string first_refusal;  // The body of the first answer that was no success.
};

// Sends everything and waits until what was accepted is final, 30 s at most after the last answer.
// unavailable: the node cannot be reached at all. Runs on the calling thread.
[[nodiscard]] base::Result<LoadResult> run_load(const LoadPlan& plan);

// The value below which `percent` of the samples are; sorts them. 0 without samples.
[[nodiscard]] std::int64_t percentile(std::vector<std::int64_t>& samples, unsigned percent);

}  // namespace cli
