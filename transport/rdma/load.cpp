#include "transport/rdma/load.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

namespace transport::rdma {

namespace {

using std::filesystem::path;

constexpr std::uint64_t kAll = 1000;
// The formula's k, and where it begins to hold and holds: its threshold, with a slope.
constexpr std::uint64_t kRegular = 700;
constexpr std::uint64_t kLoaded = 400;
constexpr std::uint64_t kFree = 600;

constexpr double kBytesInGigabit = 125'000'000;
constexpr std::uint64_t kCounterBytes = 4;  // What a port counts.

template <class T>
T read(const path& file) {
    T out{};
    std::ifstream(file) >> out;
    return out;
}

void read_memory(const path& root, Reading& out) {
    std::ifstream in(root / "proc/meminfo");
    std::string name;
    std::uint64_t kib = 0;
    for (std::string unit; in >> name >> kib; std::getline(in, unit)) {
        if (name == "MemTotal:") out.memory = kib << 10U;
        if (name != "MemAvailable:") continue;
        out.free = kib << 10U;
        return;
    }
    out.memory = 0;
}

std::uint64_t part(std::uint64_t of, std::uint64_t all) {
    return all == 0 ? 0 : std::min(kAll, of * kAll / all);
}

// Counters begin anew with their device.
std::uint64_t grown(std::uint64_t before, std::uint64_t now) {
    return now > before ? now - before : 0;
}

}  // namespace

Reading read_load(const Device& device, const path& root) {
    Reading out;
    read_memory(root, out);
    const path port =
        root / "sys/class/infiniband" / device.name / "ports" / std::to_string(device.port);
    out.rate = static_cast<std::uint64_t>(read<double>(port / "rate") * kBytesInGigabit);
    out.received = kCounterBytes * read<std::uint64_t>(port / "counters/port_rcv_data");
    out.sent = kCounterBytes * read<std::uint64_t>(port / "counters/port_xmit_data");
    if (out.received != 0 || out.sent != 0) return out;
    const auto interface =
        read<std::string>(port / "gid_attrs/ndevs" / std::to_string(device.gid_index));
    if (interface.empty()) return out;
    const path statistics = root / "sys/class/net" / interface / "statistics";
    out.received = read<std::uint64_t>(statistics / "rx_bytes");
    out.sent = read<std::uint64_t>(statistics / "tx_bytes");
    return out;
}

Load load_between(const Reading& before, const Reading& now, base::Duration time) {
    Load out{.memory = part(now.memory - std::min(now.free, now.memory), now.memory)};
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    if (ms <= 0) return out;
    const std::uint64_t bytes =
        std::max(grown(before.received, now.received), grown(before.sent, now.sent));
    out.link = part(bytes * 1000 / static_cast<std::uint64_t>(ms), now.rate);
    return out;
}

std::size_t landings_for(const Load& load, std::size_t count) {
    const std::uint64_t left =
        (kAll - std::min(load.memory, kAll)) * (kAll - std::min(load.link, kAll)) / kAll;
    const std::uint64_t reduced = kRegular * left / kAll;
    const std::uint64_t slope = std::clamp(left, kLoaded, kFree) - kLoaded;
    const std::uint64_t share =
        (reduced * (kFree - kLoaded - slope) + kAll * slope) / (kFree - kLoaded);
    return std::clamp<std::size_t>(count * share / kAll, std::min(kLandingsMin, count), count);
}

}  // namespace transport::rdma
