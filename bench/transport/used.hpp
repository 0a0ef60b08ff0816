#pragma once

#include "base/check.hpp"

#include <sys/resource.h>

#include <ctime>

// What this process has used so far.
struct Used {
    double cpu_seconds = 0;
    double sleeps = 0;  // Times that one of its threads slept and was woken.

    [[nodiscard]] Used operator-(const Used& before) const {
        return {cpu_seconds - before.cpu_seconds, sleeps - before.sleeps};
    }
};

[[nodiscard]] inline Used used() {
    timespec time{};
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0);
    rusage usage{};
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return {static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9,
            static_cast<double>(usage.ru_nvcsw)};
}
