#include "node/run_timer.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

// The timer against a machine that counts its stops, as the engine's thread uses it.

namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class CountingMachine final : public chain::vm::Machine {
  public:
    [[nodiscard]] std::unique_ptr<Code> publish(base::ByteView) override { return nullptr; }
    [[nodiscard]] const Room* room(std::size_t, std::size_t) override { return nullptr; }
    [[nodiscard]] bool grant(std::uint64_t) override { return false; }
    void stop() override {
        ++stops;
        is_stopped_ = true;
    }
    [[nodiscard]] bool is_stopped() const override { return is_stopped_; }
    void clear_stop() override { is_stopped_ = false; }

    std::atomic<int> stops = 0;

  private:
    std::atomic<bool> is_stopped_ = false;
};

// A contract that loops: until it is stopped.
Clock::duration loop(const CountingMachine& machine) {
    const auto began = Clock::now();
    while (!machine.is_stopped()) {
        if (Clock::now() > began + std::chrono::seconds(60)) FAIL("nobody stops the run");
    }
    return Clock::now() - began;
}

}  // namespace

TEST_CASE("a run is stopped at its limit, again and again", "[timer]") {
    CountingMachine machine;
    node::ThreadRunTimer timer(machine);
    for (int i = 1; i <= 20; ++i) {
        const milliseconds limit(i % 5);  // Zero: at once.
        const auto began = Clock::now();
        timer.arm(limit);
        (void)loop(machine);
        CHECK(Clock::now() - began >= limit);
        CHECK(timer.has_fired());
        timer.disarm();
        CHECK_FALSE(timer.has_fired());
        CHECK_FALSE(machine.is_stopped());
        CHECK(machine.stops == i);
    }
}

TEST_CASE("a run that ends in time is not stopped, nor the one after it", "[timer]") {
    CountingMachine machine;
    node::ThreadRunTimer timer(machine);
    for (int i = 0; i < 20'000; ++i) {
        timer.arm(hours(1));
        timer.disarm();
    }
    // The thread sleeps until the end of a run that is over: a shorter one must wake it.
    timer.arm(milliseconds(20));
    timer.disarm();
    const int before = machine.stops;  // 1 where this thread stood still for 20 ms.
    timer.arm(milliseconds(1));
    CHECK(loop(machine) < milliseconds(5'000));
    timer.disarm();
    std::this_thread::sleep_for(milliseconds(30));
    CHECK(machine.stops == before + 1);
    CHECK_FALSE(machine.is_stopped());
}

TEST_CASE("no stop comes after disarm()", "[timer]") {
    CountingMachine machine;
    node::ThreadRunTimer timer(machine);
    int seen = 0;
    for (int i = 0; i < 2'000; ++i) {
        // About as long as the thread needs to wake: sometimes the one is first, sometimes the
        // other.
        timer.arm(microseconds(i % 100));
        const auto until = Clock::now() + microseconds(i % 130);
        while (Clock::now() < until) {
        }
        timer.disarm();
        seen = machine.stops;
        CHECK_FALSE(machine.is_stopped());
        CHECK_FALSE(timer.has_fired());
        if (i % 100 == 0) std::this_thread::sleep_for(milliseconds(1));
        CHECK(machine.stops == seen);
    }
    CHECK(seen > 0);
}

TEST_CASE("who waits does not work", "[timer]") {
    CountingMachine machine;
    node::ThreadRunTimer timer(machine);
    const base::Duration before = timer.worked();
    std::this_thread::sleep_for(milliseconds(200));
    CHECK(timer.worked() - before < milliseconds(100));
    const base::Duration idle = timer.worked();
    while (timer.worked() < idle + milliseconds(1)) {
    }
    CHECK(timer.worked() > idle);
}

TEST_CASE("a limit of for ever is none", "[timer]") {
    CountingMachine machine;
    node::ThreadRunTimer timer(machine);
    timer.arm(base::Duration::max());
    std::this_thread::sleep_for(milliseconds(5));
    CHECK_FALSE(machine.is_stopped());
    const base::Duration before = timer.reading();
    std::this_thread::sleep_for(milliseconds(5));
    CHECK(timer.reading() - before >= milliseconds(5));
    timer.disarm();
    CHECK(machine.stops == 0);
}
