#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// CPU seconds of this process so far, all threads, in user and kernel.
[[nodiscard]] double process_cpu();
// CPU seconds of the calling thread so far.
[[nodiscard]] double thread_cpu();
// Seconds of a clock that only goes on.
[[nodiscard]] double wall();

// CPU seconds of the threads that are there now, those of one name together.
struct ThreadTime {
    std::string name;
    unsigned threads = 0;
    double cpu = 0;
};
[[nodiscard]] std::vector<ThreadTime> thread_times();

// What the threads used between two calls; those that used nothing are left out.
[[nodiscard]] std::vector<ThreadTime> used_between(const std::vector<ThreadTime>& before,
                                                   const std::vector<ThreadTime>& after);

// R: CPU seconds of one bare recovery by libsecp256k1 (spec 03, "Numbers to reach"). The least
// of several rounds, since others only ever add to it.
[[nodiscard]] double measure_recovery();

// A process's memory in bytes, from /proc; 0: no such process.
[[nodiscard]] std::uint64_t resident_bytes(int pid);
[[nodiscard]] std::uint64_t resident_bytes_max(int pid);

// Of the machine over the last minute.
[[nodiscard]] double load_average();
// Of the source tree, "+" behind it when files were changed since; empty without git.
[[nodiscard]] std::string commit();

}  // namespace bench
