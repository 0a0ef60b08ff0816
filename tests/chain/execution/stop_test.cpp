// Runs are stopped by the clock: in code without leaders, inside host calls that take long, and
// while memory is cleaned; and nothing of a stopped run is left to the next.
#include "long_runs.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace chain;
using namespace chain::test;

namespace {

struct Runner : TestChain {
    Runner() : TestChain(endless_options()) {
        for (const char* account : {"long", "clean"})
            REQUIRE(create(account).succeeded());
    }
    void set(const std::string& account, base::ByteView code) {
        const TransactionResult result = set_long_code(*this, account, code);
        INFO(failure_of(result).text);
        REQUIRE(result.succeeded());
        next_block();
    }
    TransactionResult run(const std::string& account, std::function<bool()> is_stopped = {}) {
        ExecutionOptions options;
        options.is_stopped = std::move(is_stopped);
        return push(make({action(account, "run", account, {})}), {account}, options);
    }
};

void check_stopped(const TransactionResult& result) {
    const Failure failure = failure_of(result);
    CHECK(failure.code == static_cast<std::uint64_t>(Exception::deadline_exception));
    CHECK(failure.text.starts_with("deadline exceeded "));
    CHECK(result.facts.is_over_limit);
}

// Fails unless all of the memory, as far as the long runs write to it, is zero.
base::Bytes cleanness() {
    const wabt_text::Assembled out = wabt_text::assemble(R"((module (memory 528)
        (func (export "apply") (param i64 i64 i64) (local $i i32)
          (loop
            (if (i64.ne (i64.load (local.get $i)) (i64.const 0)) (then unreachable))
            (br_if 0 (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8)))
                               (i32.const 34603008))))))
    )");
    return base::to_bytes(std::as_bytes(std::span(out.bytes)));
}

}  // namespace

TEST_CASE("a host call that takes long looks at the clock itself", "[stop]") {
    Runner runner;
    for (const LongRun& run : long_runs()) {
        if (!run.is_long_call) continue;
        INFO(run.name);
        runner.set("long", long_run_code(run, false));
        // The machine is not told: compiled code never ends the run.
        std::uint64_t asked = 0;
        (void)runner.run("long", [&asked] {
            ++asked;
            return false;
        });
        REQUIRE(asked > 5);
        const std::uint64_t before_end = asked - 2;
        asked = 0;
        check_stopped(runner.run("long", [&] { return ++asked > before_end; }));
        CHECK(asked < before_end + 5);
        runner.next_block();
    }
}

TEST_CASE("another thread ends every kind of long run", "[stop]") {
    Runner runner;
    runner.set("clean", cleanness());
    for (const LongRun& run : long_runs()) {
        INFO(run.name);
        runner.set("long", long_run_code(run, true));
        std::atomic<bool> flag = false;
        std::thread timer([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            flag = true;
            runner.machine().stop();
        });
        const TransactionResult result = runner.run("long", [&flag] { return flag.load(); });
        timer.join();
        runner.machine().clear_stop();
        check_stopped(result);
        const TransactionResult after = runner.run("clean");
        INFO(failure_of(after).text);
        CHECK(after.succeeded());
        runner.next_block();
    }
}

TEST_CASE("a run that is stopped while its memory is cleaned leaves nothing either", "[stop]") {
    Runner runner;
    runner.set("clean", cleanness());
    const LongRun fill{"fill", detail::filled(34'603'000)};
    runner.set("long", long_run_code(fill, false));
    for (const char* const stopped : {"long", "clean"}) {
        REQUIRE(runner.run("long").succeeded());
        runner.machine().stop();
        check_stopped(runner.run(stopped));
        runner.machine().clear_stop();
        CHECK(runner.run("clean").succeeded());
        // The image of the code that was stopped is there again.
        REQUIRE(runner.run("long").succeeded());
        CHECK(runner.run("clean").succeeded());
        runner.next_block();
    }
}

TEST_CASE("the limit of a node has one text, whether clock or units reach it", "[stop]") {
    Runner runner;
    runner.set("long", long_run_code(long_runs().front(), true));
    ExecutionOptions options;
    options.max_cpu_us = 1'000;
    SECTION("units") {}
    SECTION("clock") {
        options.is_stopped = [] { return true; };
    }
    const TransactionResult result =
        runner.push(runner.make({TestChain::action("long", "run", "long", {})}), {"long"}, options);
    const Failure failure = failure_of(result);
    CHECK(failure.code == static_cast<std::uint64_t>(Exception::tx_cpu_usage_exceeded));
    CHECK(failure.text.ends_with("us reached node configured max-transaction-time 1000us"));
    // By the clock it was as long, however little was metered.
    constexpr std::string_view kTook = "was executing for too long ";
    const std::size_t at = failure.text.find(kTook);
    REQUIRE(at != std::string::npos);
    CHECK(std::stoull(failure.text.substr(at + kTook.size())) >= 1'000);
    CHECK(result.facts.is_over_limit);
}
