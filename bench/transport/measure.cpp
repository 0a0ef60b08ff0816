#include "bench/transport/measure.hpp"

#include "bench/transport/bare.hpp"
#include "bench/transport/channels.hpp"
#include "bench/transport/faults.hpp"
#include "bench/transport/rings.hpp"
#include "bench/transport/used.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace measure {

namespace {

using rings::Sealed;
using rings::Send;
using enum Line::Goal;

constexpr std::size_t kBulk = std::size_t{64} << 10;
constexpr std::chrono::seconds kIdle{10};

void beside_bulk(Way way, const Options& options, const Report& report) {
    for (const double share : {0.5, 0.99}) {
        const auto round_trip = [&](bool is_busy) {
            return percentile(channels::ping_pong(way, 64, options.rounds / 10, is_busy), share);
        };
        report(compare(
            {.name = fmt::format("{} channel, 64 B at priority 0 beside 1 MiB at 7, p{:.0f}, "
                                 "against alone",
                                 to_string(way),
                                 100 * share),
             .unit = "us",
             .goal = 3,
             .kind = share > 0.5 ? at_most : none},
            [&] { return round_trip(true); },
            [&] { return round_trip(false); }));
    }
}

// With what both used for a MiB, of both ends.
void compare_tls_streams(std::size_t bytes, std::size_t total, const Report& report) {
    std::array<std::vector<Used>, 2> uses;
    const auto run = [&](std::size_t side, auto stream) {
        const Used before = used();
        const double rate = stream();
        uses[side].push_back(used() - before);
        return rate / 1e6;
    };
    Line line = compare(
        {.name = fmt::format("tcp channel, stream of {} KiB messages, against a bare stream "
                             "over TLS",
                             bytes >> 10U),
         .unit = "MB/s",
         .goal = 0.9,
         .kind = at_least},
        [&] { return run(0, [&] { return channels::stream(Way::tcp, bytes, total); }); },
        [&] { return run(1, [&] { return bare::stream(bytes, total); }); });
    const auto a_mib = [&](std::size_t side, double Used::*what) {
        std::vector<double> all;
        for (const Used& each : uses[side])
            all.push_back(each.*what / static_cast<double>(total >> 20U));
        const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
        std::nth_element(all.begin(), middle, all.end());
        return *middle;
    };
    line.note = fmt::format("a MiB: CPU {:.0f} / {:.0f} us, sleeps {:.1f} / {:.1f}",
                            1e6 * a_mib(0, &Used::cpu_seconds),
                            1e6 * a_mib(1, &Used::cpu_seconds),
                            a_mib(0, &Used::sleeps),
                            a_mib(1, &Used::sleeps));
    report(line);
}

double trip(Way way, std::size_t bytes, const Options& options) {
    return median(channels::ping_pong(way, bytes, options.rounds, false));
}

void stream_rings(const Options& options, const Report& report) {
    const std::size_t total = options.megabytes << 20U;
    const auto copies = [&] { return bare::copies(kBulk, total) / 1e6; };
    for (const Sealed sealed : {Sealed::no, Sealed::yes}) {
        for (const auto& [way, name] : {std::pair{Send::straight, "straight into the ring"},
                                        std::pair{Send::buffer, "from a buffer of the pool"},
                                        std::pair{Send::copy, "copied into a buffer first"}}) {
            // The goal is the ring's, not the cipher's.
            const bool has_goal = sealed == Sealed::no && way == Send::straight;
            report(compare(
                {.name = fmt::format("{} ring, stream of 64 KiB messages, {}, against memcpy",
                                     sealed == Sealed::no ? "open" : "sealed",
                                     name),
                 .unit = "MB/s",
                 .goal = 0.5,
                 .kind = has_goal ? at_least : none},
                [&, chosen = way] { return rings::stream(sealed, chosen, kBulk, total) / 1e6; },
                copies));
        }
    }
}

}  // namespace

void rings(const Options& options, const Report& report) {
    const int rounds = 20 * options.rounds;
    const auto looking = [&](Sealed sealed) {
        return median(::rings::ping_pong(sealed, 64, rounds));
    };
    const auto bare_trip = [&] { return median(::rings::lines(rounds)); };
    report(compare(
        {.name = "open ring, 64 B there and back, p50, against two bare lines",
         .unit = "us",
         .goal = 1.5},
        [&] { return looking(Sealed::no); },
        bare_trip));
    report(compare(
        {.name = "sealed ring, the same", .unit = "us", .goal = 2.5},
        [&] { return looking(Sealed::yes); },
        bare_trip));
    report(compare(
        {.name = "sealed ring, 64 B there and back, p50, against TCP on loopback",
         .unit = "us",
         .goal = 1.0 / 15},
        [&] { return looking(Sealed::yes); },
        [&] { return median(bare::loopback(64, options.rounds)); }));
    report(compare(
        {.name = "sealed ring, both ends asleep, 64 B there and back, p50, "
                 "against eventfd and epoll",
         .unit = "us",
         .goal = 1.3},
        [&] { return median(::rings::sleepers(64, options.rounds)); },
        [&] { return median(bare::doorbells(options.rounds)); }));
    stream_rings(options, report);
}

void tcp_channels(const Options& options, const Report& report) {
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 10, kBulk}) {
        report(compare(
            {.name = fmt::format("tcp channel, round trip of {} B, p50, against a bare "
                                 "echo over TLS",
                                 bytes),
             .unit = "us",
             .goal = 1.25},
            [&] { return trip(Way::tcp, bytes, options); },
            [&] { return median(bare::ping_pong(bytes, options.rounds)); }));
    }
    const std::size_t total = options.megabytes << 20U;
    for (const std::size_t bytes : {std::size_t{16} << 10, std::size_t{1} << 20}) {
        compare_tls_streams(bytes, total, report);
    }
    beside_bulk(Way::tcp, options, report);
    (void)idle(Way::tcp, kIdle, report);
}

void shm_channels(const Options& options, const Report& report) {
    const auto ours = [&] { return trip(Way::shm, 64, options); };
    report(compare({.name = "shm channel, round trip of 64 B, p50, asleep, against eventfd "
                            "and epoll",
                    .unit = "us",
                    .kind = none},
                   ours,
                   [&] { return median(bare::doorbells(options.rounds)); }));
    report(
        compare({.name = "shm channel, the same, against a tcp channel", .unit = "us", .goal = 1},
                ours,
                [&] { return trip(Way::tcp, 64, options); }));
    const std::size_t total = options.megabytes << 20U;
    report(compare(
        {.name = "shm channel, stream of 64 KiB messages, against a tcp channel",
         .unit = "MB/s",
         .goal = 1,
         .kind = at_least},
        [&] { return channels::stream(Way::shm, kBulk, total) / 1e6; },
        [&] { return channels::stream(Way::tcp, kBulk, total) / 1e6; }));
    beside_bulk(Way::shm, options, report);
    (void)idle(Way::shm, kIdle, report);
}

void sync(const Options& options, const Report& report) {
    constexpr int kTurns = 3;
    fetched({.blocks = options.megabytes * 2,
             .bytes = std::size_t{1} << 20,
             .turns = kTurns,
             .has_goal = true},
            report);
    fetched({.blocks = options.megabytes * 100'000 / 512,
             .bytes = 2'000,
             .turns = kTurns,
             .has_goal = true},
            report);
}

channels::Idle idle(Way way,
                    std::chrono::seconds duration,
                    const Report& report,
                    const std::function<double()>& count) {
    const auto ours = channels::idle(way, duration, count);
    const double bare = bare::timer_share(ours.wakeups, duration);
    const auto each = [&](double share) { return 1e6 * share / ours.wakeups; };
    const std::string name = fmt::format("{} channels, idle node with 4 peers", to_string(way));
    report(
        {.name = name + ", against a core",
         .ours = 100 * ours.share,
         .bare = 100,
         .unit = "%",
         .goal = 0.005,
         .note = fmt::format("{:.0f} wake-ups/s, {:.0f} us each", ours.wakeups, each(ours.share))});
    report({.name = name + ", against a bare timer of as many wake-ups",
            .ours = 100 * ours.share,
            .bare = 100 * bare,
            .unit = "%",
            .kind = none,
            .note = fmt::format("{:.0f} us each", each(bare))});
    report({.name = "what tells processors apart: a loop of 20 million steps",
            .ours = 1'000 * bare::steps(20'000'000),
            .unit = "ms",
            .kind = none});
    return ours;
}

void faults(Way way, const Report& report) {
    const std::string prefix = fmt::format("{} ", to_string(way));
    const bool is_emulated = way == Way::rdma;
    const auto slow = ::faults::slow_reader(way, 64, is_emulated ? 32 : 256);
    report({.name = prefix + "slow reader of 64 senders, messages lost or out of order",
            .ours = static_cast<double>(slow.lost),
            .bare = static_cast<double>(slow.messages),
            .unit = "",
            .goal = 0});
    report({.name = prefix + "slow reader, resident at the end against half-way",
            .ours = slow.megabytes_after,
            .bare = slow.megabytes_before,
            .unit = "MB",
            .goal = 1.05});
    const auto killed = ::faults::killed_peer(way);
    report({.name = prefix + "peer killed while it writes, seen, against a second",
            .ours = killed.seen_seconds,
            .bare = 1,
            .unit = "s",
            .goal = 1});
    report({.name = prefix + "killed peer, every buffer back",
            .ours = killed.back_seconds,
            .bare = 1,
            .unit = "s",
            .goal = 1});
    report({.name = prefix + "killed peer, its successor connected",
            .ours = killed.connected_seconds,
            .bare = 1,
            .unit = "s",
            .kind = none});
    if (way == Way::tcp) {
        report({.name = "offered RDMA that is a lie, given up, against a second",
                .ours = ::faults::lie(),
                .bare = 1,
                .unit = "s",
                .goal = 1.5});
    }
}

}  // namespace measure
