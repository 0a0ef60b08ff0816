// bor-transport-bench: what a channel costs over the bare thing, in one run.
//
//   usage: bor-transport-bench [--kind tcp|shm] [--rounds N] [--megabytes N] [--json]
//
// Bare and channel runs take turns, three times; the best of each counts, because whatever else
// the machine does only adds. Prints the load average, which must be small for the figures to
// mean anything.
#include "bench/transport/bare.hpp"
#include "bench/transport/channels.hpp"
#include "bench/transport/rings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kTurns = 3;

struct Options {
    int rounds = 20'000;
    std::size_t megabytes = 512;
    bool json = false;
    channels::Way way = channels::Way::tcp;
};

// One line of the result: our figure, the bare one, their ratio and what it should be.
struct Line {
    std::string name;
    double ours = 0;
    double bare = 0;
    std::string unit;
    double goal = 0;
    bool is_rate = false;  // More is better.

    [[nodiscard]] double ratio() const { return ours / bare; }
    [[nodiscard]] bool is_met() const { return is_rate ? ratio() >= goal : ratio() <= goal; }
};

double percentile(std::vector<bare::Nanoseconds> times, double share) {
    const auto at = static_cast<std::size_t>(share * static_cast<double>(times.size() - 1));
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(at), times.end());
    return static_cast<double>(times[at].count()) / 1'000;
}

// The least of several turns of each, taken alternately.
template <class Ours, class Bare>
void take_turns(Line& line, Ours ours, Bare bare) {
    for (int turn = 0; turn < kTurns; ++turn) {
        const double bare_figure = bare();
        const double our_figure = ours();
        const bool is_first = turn == 0;
        const auto better = [&](double a, double b) {
            return is_first ? b : line.is_rate ? std::max(a, b) : std::min(a, b);
        };
        line.bare = better(line.bare, bare_figure);
        line.ours = better(line.ours, our_figure);
    }
}

using channels::Way;
using rings::Sealed;

// A vote beside bulk, against a vote alone.
void measure_beside_bulk(const Options& options, std::vector<Line>& lines) {
    for (const double share : {0.5, 0.99}) {
        Line line{fmt::format("64 bytes at priority 0 beside 1 MiB at 7, p{:.0f}, against alone",
                              100 * share),
                  0,
                  0,
                  "us",
                  3};
        const auto round_trip = [&](bool is_busy) {
            const int rounds = options.rounds / 4;
            return percentile(channels::ping_pong(options.way, 64, rounds, is_busy), share);
        };
        take_turns(
            line, [&] { return round_trip(true); }, [&] { return round_trip(false); });
        lines.push_back(line);
    }
}

std::vector<Line> measure_tcp(const Options& options) {
    std::vector<Line> lines;
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 10, std::size_t{64} << 10}) {
        Line line{fmt::format("round trip of {} bytes, p50", bytes), 0, 0, "us", 1.25};
        const auto ours = [&] {
            return percentile(channels::ping_pong(Way::tcp, bytes, options.rounds, false), 0.5);
        };
        take_turns(
            line, ours, [&] { return percentile(bare::ping_pong(bytes, options.rounds), 0.5); });
        lines.push_back(line);
    }
    for (const std::size_t bytes : {std::size_t{16} << 10, std::size_t{1} << 20}) {
        Line line{fmt::format("stream of {} KiB messages", bytes >> 10U), 0, 0, "MB/s", 0.9, true};
        const std::size_t total = options.megabytes << 20U;
        take_turns(
            line,
            [&] { return channels::stream(Way::tcp, bytes, total) / 1e6; },
            [&] { return bare::stream(bytes, total) / 1e6; });
        lines.push_back(line);
    }
    measure_beside_bulk(options, lines);
    return lines;
}

double median(const std::vector<bare::Nanoseconds>& times) {
    return percentile(times, 0.5);
}

// Rings alone, between threads that look all the time.
void measure_rings(const Options& options, std::vector<Line>& lines) {
    const int rounds = 50 * options.rounds;
    const auto trip = [&](Sealed sealed) { return median(rings::ping_pong(sealed, 64, rounds)); };
    const auto bare_trip = [&] { return median(rings::lines(rounds)); };
    Line open{"ring, 64 bytes there and back, p50, against two lines", 0, 0, "us", 1.5};
    take_turns(
        open, [&] { return trip(Sealed::no); }, bare_trip);
    lines.push_back(open);
    Line sealed{"the same, sealed", 0, 0, "us", 2.5};
    take_turns(
        sealed, [&] { return trip(Sealed::yes); }, bare_trip);
    lines.push_back(sealed);
    Line tcp{
        "sealed ring, 64 bytes there and back, p50, against TCP loopback", 0, 0, "us", 1.0 / 15};
    take_turns(
        tcp,
        [&] { return trip(Sealed::yes); },
        [&] { return median(bare::loopback(64, options.rounds)); });
    lines.push_back(tcp);
    const std::size_t total = options.megabytes << 20U;
    const std::size_t bytes = std::size_t{64} << 10;
    for (const Sealed kind : {Sealed::no, Sealed::yes}) {
        Line line{kind == Sealed::no ? "open ring, stream of 64 KiB messages, against memcpy"
                                     : "sealed ring, the same",
                  0,
                  0,
                  "MB/s",
                  0.5,
                  true};
        take_turns(
            line,
            [&] { return rings::stream(kind, bytes, total) / 1e6; },
            [&] { return bare::copies(bytes, total) / 1e6; });
        lines.push_back(line);
    }
}

// Sealed rings, ends that sleep, and everything from the host's command to its event.
std::vector<Line> measure_shm(const Options& options) {
    std::vector<Line> lines;
    measure_rings(options, lines);
    lines.push_back({"idle node with 4 peers, against a hundredth of a core",
                     100 * channels::idle_share(Way::shm, std::chrono::seconds(5)),
                     1,
                     "%",
                     0.5});
    const auto round_trip = [&](Way way) {
        return percentile(channels::ping_pong(way, 64, options.rounds, false), 0.5);
    };
    const auto ours = [&] { return round_trip(Way::shm); };
    Line bells{"channel, round trip of 64 bytes, p50, against eventfd and epoll", 0, 0, "us", 1.3};
    take_turns(bells, ours, [&] { return percentile(bare::doorbells(options.rounds), 0.5); });
    lines.push_back(bells);
    Line tcp{"channel, round trip of 64 bytes, p50, against a TCP channel", 0, 0, "us", 1};
    take_turns(tcp, ours, [&] { return round_trip(Way::tcp); });
    lines.push_back(tcp);
    const std::size_t total = options.megabytes << 20U;
    const std::size_t bytes = std::size_t{64} << 10;
    Line stream{"channel, stream of 64 KiB messages, against memcpy", 0, 0, "MB/s", 0.5, true};
    take_turns(
        stream,
        [&] { return channels::stream(Way::shm, bytes, total) / 1e6; },
        [&] { return bare::copies(bytes, total) / 1e6; });
    lines.push_back(stream);
    measure_beside_bulk(options, lines);
    return lines;
}

void print(const Options& options, const std::vector<Line>& lines, double load) {
    if (!options.json) {
        fmt::print("load average {:.2f}\n", load);
        for (const Line& line : lines) {
            fmt::print("{:62} {:9.1f} {:9.1f} {:4} ratio {:5.2f} goal {} {}{}\n",
                       line.name,
                       line.ours,
                       line.bare,
                       line.unit,
                       line.ratio(),
                       line.is_rate ? ">=" : "<=",
                       line.goal,
                       line.is_met() ? "" : "  MISSED");
        }
        return;
    }
    fmt::print("{{\"kind\":\"{}\",\"load\":{:.2f},\"results\":[",
               options.way == channels::Way::tcp ? "tcp" : "shm",
               load);
    for (const Line& line : lines) {
        fmt::print(
            "{}{{\"name\":\"{}\",\"ours\":{:.2f},\"bare\":{:.2f},\"unit\":\"{}\","
            "\"ratio\":{:.3f},\"goal\":{},\"met\":{}}}",
            &line == lines.data() ? "" : ",",
            line.name,
            line.ours,
            line.bare,
            line.unit,
            line.ratio(),
            line.goal,
            line.is_met());
    }
    fmt::print("]}}\n");
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
        if (name == "--json") {
            options.json = true;
        } else if (name == "--kind" && (value == "tcp" || value == "shm")) {
            options.way = value == "tcp" ? Way::tcp : Way::shm;
            ++i;
        } else if (name == "--rounds" && i + 1 < argc) {
            options.rounds = std::max(std::atoi(argv[++i]), 100);
        } else if (name == "--megabytes" && i + 1 < argc) {
            options.megabytes = static_cast<std::size_t>(std::max(std::atoi(argv[++i]), 16));
        } else {
            fmt::print(stderr,
                       "usage: bor-transport-bench [--kind tcp|shm] [--rounds N] [--megabytes N] "
                       "[--json]\n");
            return 2;
        }
    }
    std::array<double, 1> load{};
    (void)getloadavg(load.data(), 1);
    const bool is_tcp = options.way == Way::tcp;
    print(options, is_tcp ? measure_tcp(options) : measure_shm(options), load[0]);
    return 0;
}
