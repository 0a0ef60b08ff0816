#include "bench/transport/channels.hpp"
#include "bench/transport/measure.hpp"
#include "bench/transport/verbs.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace measure {

namespace {

using enum Line::Goal;
using verbs::Means;

// A device played by software is a thousandth as fast: less of everything.
constexpr std::size_t kFewer = 16;

double per(std::uint64_t count, std::size_t messages) {
    return static_cast<double>(count) / static_cast<double>(messages);
}

// How often somebody wrote to a peer that had no receive, on all devices of the machine.
double receiver_not_ready() {
    namespace fs = std::filesystem;
    double out = 0;
    std::error_code ignored;
    for (const auto& device : fs::directory_iterator("/sys/class/infiniband", ignored)) {
        for (const auto& counter :
             fs::directory_iterator(device.path() / "ports/1/hw_counters", ignored)) {
            if (counter.path().filename().string().find("rnr") == std::string::npos) continue;
            double value = 0;
            std::ifstream(counter.path()) >> value;
            out += value;
        }
    }
    return out;
}

void compare_streams(const Options& options, const Report& report) {
    for (const std::size_t bytes : {std::size_t{64} << 10, std::size_t{1} << 20}) {
        const std::size_t total = options.megabytes << 20U;
        const std::size_t messages = std::max<std::size_t>(total / bytes, 32);
        const Means means{.bytes = bytes, .is_inline = false, .batch = 1, .answer_every = 1};
        verbs::Cost bare;
        verbs::Count ours;
        std::size_t ours_messages = 0;
        const std::string name = fmt::format("rdma channel, {} KiB messages", bytes >> 10U);
        report(compare(
            {.name = name + ", stream, against bare writes with immediate",
             .unit = "MB/s",
             .goal = 0.9,
             .kind = at_least},
            [&] {
                const auto before = verbs::counted();
                const double rate = channels::stream(Way::rdma, bytes, total);
                ours = verbs::counted() - before;
                ours_messages = total / bytes;
                return rate / 1e6;
            },
            [&] {
                bare = verbs::stream(used_devices(), means, messages);
                return static_cast<double>(bare.messages * bytes) / bare.seconds / 1e6;
            }));
        const auto count = [&](const char* what, std::uint64_t of_ours, std::uint64_t of_bare) {
            report({.name = fmt::format("{}, {} a message and its answer", name, what),
                    .ours = per(of_ours, ours_messages),
                    .bare = per(of_bare, bare.messages),
                    .unit = "",
                    .goal = 1,
                    .kind = at_most});
        };
        count("posts", ours.posts, bare.count.posts);
        count("writes", ours.writes, bare.count.writes);
        count("completions", ours.completions, bare.count.completions);
        count("wake-ups", ours.wakeups, bare.count.wakeups);
    }
}

void ablate(const Options& options, const Report& report) {
    const std::size_t messages = options.megabytes * 256;
    const auto line = [&](const std::string& name, const Means& with, const Means& without) {
        std::array<verbs::Cost, 2> costs;
        const auto cpu = [&](verbs::Cost& cost, const Means& means) {
            cost = verbs::stream(used_devices(), means, messages / (means.bytes > 1024 ? 8 : 1));
            return cost.cpu_seconds / static_cast<double>(cost.messages) * 1e6;
        };
        Line out = compare(
            {.name = "verbs, " + name + ", CPU of both ends a message", .unit = "us", .kind = none},
            [&] { return cpu(costs[0], with); },
            [&] { return cpu(costs[1], without); });
        const auto counts = [](const verbs::Cost& cost) {
            return fmt::format("{:.2f} posts {:.2f} completions {:.2f} wake-ups",
                               per(cost.count.posts, cost.messages),
                               per(cost.count.completions, cost.messages),
                               per(cost.count.wakeups, cost.messages));
        };
        out.note = counts(costs[0]) + " against " + counts(costs[1]);
        report(out);
    };
    const Means usual{};
    Means other = usual;
    other.is_inline = false;
    line("64 B inline against fetched by the device", usual, other);
    other = usual;
    other.report_every = 1;
    line("one report in 64 writes against all", usual, other);
    for (const unsigned batch : {4U, 16U, 32U}) {
        Means batched = usual;
        batched.batch = batch;
        other = usual;
        other.batch = 1;
        line(fmt::format("{} writes a call against one", batch), batched, other);
    }
    other = usual;
    other.is_solicited = false;
    line("woken by a batch's last against any", usual, other);
    const Means large{.bytes = std::size_t{64} << 10, .is_inline = false};
    other = large;
    other.registers_each = true;
    line("64 KiB from a registered pool against registered each time", large, other);
    other = large;
    Means huge = large;
    huge.has_huge_pages = true;
    std::size_t reserved = 0;
    std::ifstream("/proc/sys/vm/nr_hugepages") >> reserved;
    if (reserved >= 8) line("64 KiB on pages of 2 MiB against 4 KiB", huge, large);
}

void fetch(const Options& options, const Report& report) {
    struct Chain {
        std::size_t blocks;
        std::size_t bytes;
    };
    for (const Chain chain :
         {Chain{options.megabytes, std::size_t{1} << 20}, Chain{options.megabytes * 100, 2'000}}) {
        const auto tcp = channels::sync(Way::tcp, chain.blocks, chain.bytes);
        const auto ours = channels::sync(Way::rdma, chain.blocks, chain.bytes);
        const std::string name =
            fmt::format("{} blocks of {} B fetched, rdma against tcp", chain.blocks, chain.bytes);
        report({.name = name + ", time",
                .ours = ours.seconds,
                .bare = tcp.seconds,
                .unit = "s",
                .kind = none});
        report({.name = name + ", CPU of both ends",
                .ours = ours.cpu_seconds,
                .bare = tcp.cpu_seconds,
                .unit = "s",
                .kind = none});
    }
}

}  // namespace

void rdma(const Options& options, const Report& report) {
    Options fewer = options;
    fewer.megabytes = std::max<std::size_t>(options.megabytes / kFewer, 1);
    const double before = receiver_not_ready();
    compare_streams(fewer, report);
    ablate(fewer, report);
    fetch(fewer, report);
    faults(Way::rdma, report);
    report({.name = "rdma, writes to a peer without a receive, in all of this",
            .ours = receiver_not_ready() - before,
            .bare = 1,
            .unit = "",
            .goal = 0});
    report({.name = "rdma channels, idle node with 4 peers, against a core",
            .ours = 100 * channels::idle_share(Way::rdma, std::chrono::seconds(5)),
            .bare = 100,
            .unit = "%",
            .goal = 0.005});
}

}  // namespace measure
