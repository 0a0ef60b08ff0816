#include "bench/ledger/measure.hpp"

#include "base/crypto/hash.hpp"
#include "base/crypto/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <secp256k1.h>
#include <secp256k1_recovery.h>
#include <sstream>

namespace bench {

namespace {

double seconds_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A line of /proc/PID/status that is in kilobytes.
std::uint64_t status_bytes(int pid, const std::string& name) {
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    std::string line;
    while (std::getline(status, line)) {
        if (!line.starts_with(name)) continue;
        std::istringstream fields(line.substr(name.size()));
        std::uint64_t kilobytes = 0;
        fields >> kilobytes;
        return kilobytes * 1024;
    }
    return 0;
}

std::string output_of(const std::string& command) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"),
                                                               &pclose);
    std::string text;
    std::array<char, 256> buffer{};
    while (pipe && std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) {
        text += buffer.data();
    }
    return text;
}

}  // namespace

double process_cpu() {
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

double thread_cpu() {
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

double wall() {
    return seconds_of(CLOCK_MONOTONIC);
}

std::vector<ThreadTime> thread_times() {
    std::map<std::string, ThreadTime> found;
    std::error_code ended;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ended)) {
        std::ifstream comm(task.path() / "comm");
        std::ifstream schedule(task.path() / "schedstat");
        std::string name;
        std::uint64_t nanoseconds = 0;
        if (!std::getline(comm, name) || !(schedule >> nanoseconds)) continue;
        ThreadTime& time = found[name];
        time.name = name;
        ++time.threads;
        time.cpu += static_cast<double>(nanoseconds) * 1e-9;
    }
    std::vector<ThreadTime> times;
    times.reserve(found.size());
    for (auto& [name, time] : found)
        times.push_back(std::move(time));
    return times;
}

std::vector<ThreadTime> used_between(const std::vector<ThreadTime>& before,
                                     const std::vector<ThreadTime>& after) {
    std::vector<ThreadTime> used;
    for (ThreadTime time : after) {
        const auto earlier = std::ranges::find(before, time.name, &ThreadTime::name);
        if (earlier != before.end()) time.cpu -= earlier->cpu;
        if (time.cpu > 1e-4) used.push_back(std::move(time));
    }
    std::ranges::sort(used, std::greater<>(), &ThreadTime::cpu);
    return used;
}

double measure_recovery() {
    constexpr int kRounds = 20;
    constexpr std::size_t kSignatures = 100;
    const std::unique_ptr<secp256k1_context, void (*)(secp256k1_context*)> context(
        secp256k1_context_create(SECP256K1_CONTEXT_SIGN | SECP256K1_CONTEXT_VERIFY),
        &secp256k1_context_destroy);
    std::vector<std::array<unsigned char, 32>> digests(kSignatures);
    std::vector<secp256k1_ecdsa_recoverable_signature> signatures(kSignatures);
    std::array<unsigned char, 32> secret{};
    secret.fill(7);
    for (std::size_t i = 0; i < kSignatures; ++i) {
        digests[i].fill(static_cast<unsigned char>(i + 1));
        secp256k1_ecdsa_sign_recoverable(
            context.get(), &signatures[i], digests[i].data(), secret.data(), nullptr, nullptr);
    }
    double least = 1;
    for (int round = 0; round < kRounds; ++round) {
        const double start = thread_cpu();
        for (std::size_t i = 0; i < kSignatures; ++i) {
            secp256k1_pubkey key;
            if (secp256k1_ecdsa_recover(context.get(), &key, &signatures[i], digests[i].data()) !=
                1) {
                std::abort();
            }
        }
        least = std::min(least, (thread_cpu() - start) / kSignatures);
    }
    return least;
}

std::uint64_t resident_bytes(int pid) {
    return status_bytes(pid, "VmRSS:");
}

std::uint64_t resident_bytes_max(int pid) {
    return status_bytes(pid, "VmHWM:");
}

double load_average() {
    double load = 0;
    getloadavg(&load, 1);
    return load;
}

std::string commit() {
    const std::string git = "git -C '" BOR_SOURCE_DIR "' ";
    std::string text = output_of(git + "rev-parse --short HEAD 2>/dev/null");
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    if (!output_of(git + "status --porcelain --untracked-files=no 2>/dev/null").empty())
        text += "+";
    return text;
}

}  // namespace bench
