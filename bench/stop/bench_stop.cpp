// How long a run goes on after its stop flag was set (spec 03, "Wall clock is never consensus"),
// for each kind of long work: in CPU time of the thread that runs, so that other processes do not
// count, and by the clock. Fails when 1 of 100 takes more than the limit of CPU time.
//
//   usage: bench_stop [--rounds N] [--limit MICROSECONDS] [--only NAME]
#include "tests/chain/execution/long_runs.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <random>
#include <thread>

namespace {

using namespace chain::test;  // NOLINT(google-build-using-namespace): the tests' helpers.
using Clock = std::chrono::steady_clock;

struct Options {
    int rounds = 100;
    double limit = 1'000;
    std::string only;
};

double cpu_microseconds(::clockid_t clock) {
    timespec now{};
    (void)::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

struct Latency {
    double cpu = 0;  // Microseconds.
    double wall = 0;
    bool was_stopped = false;
};

Latency stop_once(TestChain& chain, std::chrono::microseconds after) {
    ::clockid_t runs{};
    (void)::pthread_getcpuclockid(::pthread_self(), &runs);
    std::atomic<bool> flag = false;
    double cpu_at_stop = 0;
    Clock::time_point stopped;
    std::thread timer([&] {
        std::this_thread::sleep_for(after);
        cpu_at_stop = cpu_microseconds(runs);
        stopped = Clock::now();
        flag = true;
        chain.machine().stop();
    });
    chain::ExecutionOptions options;
    options.is_stopped = [&flag] { return flag.load(); };
    auto transaction = chain.make({TestChain::action("long", "run", "long", {})});
    const auto result = chain.push(std::move(transaction), {"long"}, options);
    const double cpu = cpu_microseconds(runs);
    const Clock::time_point end = Clock::now();
    timer.join();
    chain.machine().clear_stop();
    return {cpu - cpu_at_stop,
            std::chrono::duration<double, std::micro>(end - stopped).count(),
            failure_of(result).code ==
                static_cast<std::uint64_t>(chain::Exception::deadline_exception)};
}

// Of 100, that which only one exceeds.
double percentile(std::vector<double>& values) {
    std::ranges::sort(values);
    return values[values.size() * 99 / 100 - (values.size() >= 100 ? 1 : 0)];
}

bool measure(const LongRun& run, const Options& options, std::mt19937& random) {
    TestChain chain(endless_options());
    (void)chain.create("long");
    if (!set_long_code(chain, "long", long_run_code(run, true)).succeeded()) {
        fmt::print("{}: the code was refused\n", run.name);
        return false;
    }
    chain.next_block();
    (void)stop_once(chain, std::chrono::milliseconds(60));  // Compiled, memory touched.
    std::vector<double> cpu;
    std::vector<double> wall;
    for (int i = 0; i < options.rounds; ++i) {
        const auto after = std::chrono::microseconds(1'000 + random() % 8'000);
        const Latency latency = stop_once(chain, after);
        if (!latency.was_stopped) {
            fmt::print("{}: ended by itself\n", run.name);
            return false;
        }
        cpu.push_back(latency.cpu);
        wall.push_back(latency.wall);
        chain.next_block();
    }
    const double late = percentile(cpu);
    fmt::print("{:22} {:9.0f} {:9.0f} {:9.0f} {:9.0f}{}\n",
               run.name,
               cpu[cpu.size() / 2],
               late,
               cpu.back(),
               percentile(wall),
               late > options.limit ? "  LATE" : "");
    return late <= options.limit;
}

Options read(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--rounds") == 0) options.rounds = std::atoi(argv[i + 1]);
        if (std::strcmp(argv[i], "--limit") == 0) options.limit = std::atof(argv[i + 1]);
        if (std::strcmp(argv[i], "--only") == 0) options.only = argv[i + 1];
    }
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read(argc, argv);
    std::mt19937 random(1);
    fmt::print("us after the stop:      cpu p50   cpu p99   cpu max  wall p99\n");
    bool is_good = true;
    for (const LongRun& run : long_runs()) {
        if (options.only.empty() || run.name == options.only)
            is_good = measure(run, options, random) && is_good;
    }
    return is_good ? 0 : 1;
}
