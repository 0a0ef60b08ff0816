#include "bench/transport/channels.hpp"
#include "bench/transport/measure.hpp"
#include "bench/transport/passes.hpp"
#include "bench/transport/rings.hpp"
#include "bench/transport/verbs.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

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

// What a stream took, by channels or by bare writes.
struct Streamed {
    std::size_t messages = 0;
    double seconds = 0;
    verbs::Count count{};
    passes::Count passes{};
};

Streamed stream_channel(std::size_t bytes, std::size_t messages) {
    const auto before = verbs::counted();
    passes::begin();
    const double rate = channels::stream(Way::rdma, bytes, bytes * messages, bytes);
    const auto total = static_cast<double>(bytes * messages);
    return {messages, total / rate, verbs::counted() - before, passes::end()};
}

Streamed stream_bare(std::size_t bytes, std::size_t messages) {
    const Means means{.bytes = bytes, .is_inline = false, .batch = 1, .answer_every = 1};
    passes::begin();
    const auto cost = verbs::stream(used_devices(), means, messages);
    return {cost.messages, cost.seconds, cost.count, passes::end()};
}

// The work of the device's calls, and how often bytes are gone over.
void report_counts(const std::string& name,
                   std::size_t bytes,
                   const std::pair<Streamed, Streamed>& both,
                   const Report& report) {
    const auto& [ours, bare] = both;
    const auto count = [&](const char* what, std::uint64_t verbs::Count::*which) {
        report({.name = fmt::format("{}, {} a message and its answer", name, what),
                .ours = per(ours.count.*which, ours.messages),
                .bare = per(bare.count.*which, bare.messages),
                .unit = "",
                .goal = 1});
    };
    count("posts", &verbs::Count::posts);
    count("writes", &verbs::Count::writes);
    count("completions", &verbs::Count::completions);
    count("wake-ups", &verbs::Count::wakeups);
    const auto a_byte = [&](const Streamed& of, std::uint64_t passes::Count::*which) {
        return per(of.passes.*which, of.messages * bytes);
    };
    report({.name = name + ", copies of a byte, against the bare loop's and one",
            .ours = a_byte(ours, &passes::Count::copied),
            .bare = a_byte(bare, &passes::Count::copied) + 1,
            .unit = "",
            .goal = 1.01,
            .note = fmt::format("the cipher's passes: {:.2f} to another place, {:.2f} in place",
                                a_byte(ours, &passes::Count::elsewhere),
                                a_byte(ours, &passes::Count::in_place))});
}

// The parts that a message's time consists of, each alone; by two ends, so they overlap.
void report_parts(const std::string& name,
                  std::size_t bytes,
                  const std::pair<Streamed, Streamed>& both,
                  const Report& report) {
    const auto milliseconds = [](const Streamed& of) {
        return 1'000 * of.seconds / static_cast<double>(of.messages);
    };
    const auto cipher = rings::seals(bytes, std::size_t{1} << 20);
    const double bare = milliseconds(both.second);
    const double kib = static_cast<double>(bytes) / 1024;
    const double sealing = kib * cipher.sealing / 1'000;
    const double opening = kib * cipher.opening / 1'000;
    report({.name = name + ", time of one, against sealing, opening and the bare write alone",
            .ours = milliseconds(both.first),
            .bare = sealing + opening + bare,
            .unit = "ms",
            .kind = none,
            .note = fmt::format(
                "sealing {:.2f}, opening {:.2f}, bare {:.2f}", sealing, opening, bare)});
}

void compare_streams(const Options& options, const Report& report) {
    for (const std::size_t kib : {16U, 64U, 1024U}) {
        const std::size_t bytes = kib << 10U;
        const std::size_t messages = std::max<std::size_t>((options.megabytes << 20U) / bytes, 32);
        std::pair<Streamed, Streamed> both;
        const std::string name = fmt::format("rdma channel, {} KiB messages", kib);
        report(compare(
            {.name = name + ", stream, against bare writes with immediate",
             .unit = "MB/s",
             .goal = 0.9,
             .kind = kib < 64 ? none : at_least},
            [&] {
                both.first = stream_channel(bytes, messages);
                return static_cast<double>(bytes * messages) / both.first.seconds / 1e6;
            },
            [&] {
                both.second = stream_bare(bytes, messages);
                return static_cast<double>(bytes * both.second.messages) / both.second.seconds /
                       1e6;
            }));
        report_counts(name, bytes, both, report);
        report_parts(name, bytes, both, report);
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

}  // namespace

void rdma(const Options& options, const Report& report) {
    Options fewer = options;
    fewer.megabytes = std::max<std::size_t>(options.megabytes / kFewer, 1);
    const double before = receiver_not_ready();
    compare_streams(fewer, report);
    ablate(fewer, report);
    fetched({.way = Way::rdma, .blocks = fewer.megabytes, .bytes = std::size_t{1} << 20}, report);
    fetched({.way = Way::rdma, .blocks = fewer.megabytes * 100, .bytes = 2'000}, report);
    faults(Way::rdma, report);
    report({.name = "rdma, writes to a peer without a receive, in all of this",
            .ours = receiver_not_ready() - before,
            .bare = 1,
            .unit = "",
            .goal = 0});
    constexpr std::chrono::seconds kIdle{5};
    (void)idle(Way::tcp, kIdle, report);
    const auto count = [] { return static_cast<double>(verbs::counted().writes); };
    report({.name = "rdma channels, idle node with 4 peers, writes a second",
            .ours = idle(Way::rdma, kIdle, report, count).counted,
            .unit = "",
            .kind = none});
}

}  // namespace measure
