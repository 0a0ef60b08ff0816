#pragma once

#include <cstdint>

// What this process asked of its RDMA devices, channels and bare verbs alike.
namespace verbs {

struct Count {
    std::uint64_t posts = 0;        // Calls that hand writes to a device,
    std::uint64_t writes = 0;       // and how many these were.
    std::uint64_t completions = 0;  // Of writes that report, and of receives.
    std::uint64_t wakeups = 0;

    [[nodiscard]] Count operator-(const Count& before) const {
        return {posts - before.posts,
                writes - before.writes,
                completions - before.completions,
                wakeups - before.wakeups};
    }
};
// Since the start; exact when nothing is under way.
[[nodiscard]] Count counted();

}  // namespace verbs
