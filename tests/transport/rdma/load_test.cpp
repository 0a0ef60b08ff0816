// How much may come at once, by what a machine has left: the formula, what it is fed with, and that
// nobody waits for ever when it says less.
#include "transport/rdma/load.hpp"

#include "base/rng.hpp"
#include "transport/rdma/landing.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace tests {

namespace fs = std::filesystem;
namespace link = transport::link;
namespace rdma = transport::rdma;
using namespace std::chrono_literals;
using rdma::landings_for;
using rdma::Load;
using rdma::Reading;

namespace {

// A machine's files, in a folder.
class Machine {
  public:
    Machine() : root_(fs::temp_directory_path() / "bor-load-test") { fs::remove_all(root_); }
    ~Machine() { fs::remove_all(root_); }

    void write(const fs::path& file, const std::string& text) {
        fs::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text << "\n";
    }
    [[nodiscard]] Reading read() const {
        rdma::Device device;
        device.name = "mlx5_0";
        device.port = 2;
        device.gid_index = 3;
        return rdma::read_load(device, root_);
    }

  private:
    fs::path root_;
};

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

}  // namespace

TEST_CASE("who has memory and a free link is sent all, who has neither the least, never none") {
    for (const std::size_t count : {8U, 16U}) {
        CHECK(landings_for({}, count) == count);
        CHECK(landings_for({.memory = 400, .link = 0}, count) == count);
        CHECK(landings_for({.memory = 0, .link = 400}, count) == count);
        CHECK(landings_for({.memory = 200, .link = 250}, count) == count);
    }
    CHECK(landings_for({.memory = 500, .link = 0}, 8) == 5);
    CHECK(landings_for({.memory = 600, .link = 0}, 8) == 2);
    CHECK(landings_for({.memory = 600, .link = 0}, 16) == 4);
    // Exhausted: the least, where the thesis gives all.
    for (const Load& none : {Load{.memory = 1000, .link = 0},
                             Load{.memory = 0, .link = 1000},
                             Load{.memory = 1000, .link = 1000},
                             Load{.memory = 5000, .link = 7}})
        CHECK(landings_for(none, 8) == rdma::kLandingsMin);
    CHECK(landings_for({.memory = 1000, .link = 0}, 1) == 1);
    CHECK(landings_for({.memory = 1000, .link = 0}, 0) == 0);
    CHECK(landings_for({}, 0) == 0);
}

TEST_CASE("the more a machine is loaded the less it is sent, without a leap") {
    constexpr std::size_t kFine = 1000;
    std::size_t before = kFine;
    for (std::uint64_t used = 0; used <= 1000; ++used) {
        const std::size_t by_memory = landings_for({.memory = used, .link = 0}, kFine);
        CHECK(by_memory == landings_for({.memory = 0, .link = used}, kFine));
        CHECK(by_memory <= before);
        CHECK(before - by_memory <= 5);
        before = by_memory;
    }
    // k S f, below the slope.
    CHECK(landings_for({.memory = 700, .link = 0}, kFine) == 210);
    CHECK(landings_for({.memory = 500, .link = 400}, kFine) == 210);
}

TEST_CASE("what a machine says of itself becomes its load") {
    const Reading before{.memory = 8 * kGiB, .free = 6 * kGiB, .rate = 1'000'000'000};
    Reading now = before;
    CHECK(rdma::load_between(before, now, 10s).memory == 250);
    CHECK(rdma::load_between(before, now, 10s).link == 0);
    now.received = 2'500'000'000;
    now.sent = 4'000'000'000;
    CHECK(rdma::load_between(before, now, 10s).link == 400);
    CHECK(rdma::load_between(before, now, 1s).link == 1000);
    CHECK(rdma::load_between(before, now, 0s).link == 0);
    // Its device is another one: it counts anew.
    CHECK(rdma::load_between(now, before, 10s).link == 0);
    now.rate = 0;
    CHECK(rdma::load_between(before, now, 10s).link == 0);
    now.free = 9 * kGiB;
    CHECK(rdma::load_between(before, now, 10s).memory == 0);
    CHECK(rdma::load_between({}, {}, 10s).memory == 0);
    now = {.memory = std::numeric_limits<std::uint64_t>::max() >> 10U, .free = 0};
    CHECK(rdma::load_between({}, now, 10s).memory == 1000);
}

TEST_CASE("a machine is asked by its files, and what it does not say is unknown") {
    Machine machine;
    Reading reading = machine.read();
    CHECK(reading.memory == 0);
    CHECK(reading.rate == 0);
    CHECK(landings_for(rdma::load_between(reading, reading, 10s), 8) == 8);
    machine.write("proc/meminfo",
                  "MemTotal:        8388608 kB\nMemFree:          123 kB\n"
                  "MemAvailable:    2097152 kB\nBuffers:   7 kB");
    machine.write("sys/class/infiniband/mlx5_0/ports/2/rate", "2.5 Gb/sec (1X SDR)");
    reading = machine.read();
    CHECK(reading.memory == 8 * kGiB);
    CHECK(reading.free == 2 * kGiB);
    CHECK(reading.rate == 312'500'000);
    CHECK(reading.received == 0);
    // A software device counts nothing; its interface does.
    machine.write("sys/class/infiniband/mlx5_0/ports/2/gid_attrs/ndevs/3", "eth7");
    machine.write("sys/class/net/eth7/statistics/rx_bytes", "1234");
    machine.write("sys/class/net/eth7/statistics/tx_bytes", "99999999999");
    reading = machine.read();
    CHECK(reading.received == 1234);
    CHECK(reading.sent == 99'999'999'999);
    machine.write("sys/class/infiniband/mlx5_0/ports/2/counters/port_rcv_data", "1000");
    machine.write("sys/class/infiniband/mlx5_0/ports/2/counters/port_xmit_data", "500");
    machine.write("sys/class/infiniband/mlx5_0/ports/2/rate", "100 Gb/sec (4X EDR)");
    reading = machine.read();
    CHECK(reading.received == 4000);
    CHECK(reading.sent == 2000);
    CHECK(reading.rate == 12'500'000'000);
    // A kernel that does not say what can be had.
    machine.write("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:          123 kB");
    CHECK(machine.read().memory == 0);
}

TEST_CASE("a peer of which fewer are wanted at once has never more under way, and goes on") {
    constexpr std::size_t kCount = 8;
    base::Rng rng(1);
    base::Bytes memory(kCount * rdma::kLandingPlaceBytes);
    rdma::LandingWriter writer(memory, base::Hash256{});
    rdma::LandingReader reader(memory, base::Hash256{});
    std::uint64_t told = 0;
    std::uint64_t allowed = kCount;  // Tokens below it may be written.
    std::size_t window = kCount;
    const auto tell = [&] {
        const std::uint64_t freed = reader.freed(window);
        if (freed <= told) return;
        told = freed;
        REQUIRE(writer.take_credit(told));
        REQUIRE(told + kCount >= allowed);
        allowed = told + kCount;
        // Told now, so no more than are wanted now.
        CHECK(allowed - reader.taken() <= window);
    };
    const base::Bytes plain(10);
    base::Bytes out(plain.size());
    for (int i = 0; i < 20'000; ++i) {
        if (rng.below(50) == 0) window = rdma::kLandingsMin + rng.below(kCount - 1);
        if (rng.below(2) == 0 && writer.room() > 0) (void)writer.write(plain);
        if (rng.below(2) == 0 && reader.taken() < writer.token())
            REQUIRE(reader.take({.token = reader.taken(), .bytes = 10}, out));
        if (rng.below(3) == 0) tell();
        // With all taken and told, so many may come.
        if (reader.taken() < writer.token()) continue;
        tell();
        CHECK(writer.room() >= window);
    }
    CHECK(writer.token() > 5'000);
}

}  // namespace tests
