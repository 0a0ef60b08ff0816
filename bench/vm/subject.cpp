#include "subject.hpp"

#include "../../tests/chain/vm/machine.hpp"
#include "base/check.hpp"
#include "chain/types/prices.hpp"

#include <algorithm>
#include <ctime>
#include <unistd.h>

namespace vm_bench {

namespace {

namespace vm = chain::vm;

constexpr std::uint64_t kFuel = std::uint64_t{1} << 60U;
constexpr double kLongNs = 2e6;

bool nothing(vm::Context&, vm::Memory&, vm::Meter&, const std::uint64_t*, std::uint64_t*) {
    return true;
}

const vm::HostTable& hosts() {
    static const vm::HostTable kTable = [] {
        std::vector<vm::HostFunction> all;
        for (std::uint32_t i = 0; i < machine::hosts().size(); ++i)
            all.push_back(machine::hosts().at(i));
        const chain::PriceTable prices;
        const std::uint64_t least = prices[chain::Cost::trivial].base;
        all.push_back({"nothing", {}, std::nullopt, &nothing, least});
        return vm::HostTable(std::move(all));
    }();
    return kTable;
}

}  // namespace

double thread_ns() {
    timespec now{};
    CHECK(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void evict_caches() {
    constexpr std::size_t kLine = 64;
    constexpr long kLeast = 64L << 20U;
    constexpr long kMost = 384L << 20U;
    static std::vector<std::uint8_t> other(static_cast<std::size_t>(
        std::clamp(::sysconf(_SC_LEVEL3_CACHE_SIZE) * 5 / 4, kLeast, kMost)));
    for (std::size_t i = 0; i < other.size(); i += kLine)
        ++other[i];
}

Bench::Bench() {
    constexpr int kRounds = 1'000;
    forget();
    clock_ns_ = thread_ns();
    for (int i = 0; i < kRounds; ++i) {
        const double began = thread_ns();
        clock_ns_ = std::min(clock_ns_, thread_ns() - began);
    }
}

Sample Bench::run(const base::Bytes& wasm, const base::Hash256& hash, std::uint64_t times) {
    return run(wasm, hash, {times, 0, 0}, nullptr);
}

Sample Bench::run(const base::Bytes& wasm,
                  const base::Hash256& hash,
                  const vm::ApplyArgs& args,
                  std::vector<std::uint64_t>* told) {
    machine::Recorder context;
    vm::Meter meter(kFuel);
    const double began = thread_ns();
    const vm::Outcome outcome = engine_->run(hash, wasm, args, context, meter);
    const double took = std::max(0.0, thread_ns() - began - clock_ns_);
    CHECK(outcome.trap != vm::Trap::invalid_module);
    if (told != nullptr) *told = std::move(context.told);
    return {took, kFuel - meter.remaining(), outcome.trap};
}

void Bench::run_untimed(const base::Bytes& wasm, const base::Hash256& hash) {
    machine::Recorder context;
    vm::Meter meter(kFuel);
    CHECK(engine_->run(hash, wasm, {}, context, meter).trap == vm::Trap::none);
}

Spent Bench::warm(const base::Bytes& wasm, int rounds) {
    const base::Hash256 hash = base::crypto::sha256(wasm);
    std::uint64_t times = 2;
    Sample least = run(wasm, hash, 1);
    if (least.trap != vm::Trap::none) return {};
    for (Sample probe = run(wasm, hash, times); probe.nanoseconds - least.nanoseconds < kLongNs;
         probe = run(wasm, hash, times)) {
        if (probe.trap != vm::Trap::none) return {};
        times *= 2;
    }
    Sample most = run(wasm, hash, times);
    if (most.trap != vm::Trap::none) return {};
    for (int i = 1; i < rounds; ++i) {
        least.nanoseconds = std::min(least.nanoseconds, run(wasm, hash, 1).nanoseconds);
        most.nanoseconds = std::min(most.nanoseconds, run(wasm, hash, times).nanoseconds);
    }
    const auto more = static_cast<double>(times - 1);
    return {std::max(0.0, most.nanoseconds - least.nanoseconds) / more,
            static_cast<double>(most.units - least.units) / more};
}

Spent Bench::cold(const base::Bytes& wasm) {
    constexpr int kRounds = 3;
    const base::Hash256 hash = base::crypto::sha256(wasm);
    Sample least = run(wasm, hash, 1);
    for (int i = 0; i < kRounds; ++i) {
        evict_caches();
        const Sample sample = run(wasm, hash, 1);
        if (i == 0 || sample.nanoseconds < least.nanoseconds) least = sample;
    }
    return {least.nanoseconds, static_cast<double>(least.units)};
}

Spent Bench::in_turns(const base::Bytes& wasm, const base::Bytes& other) {
    constexpr int kRounds = 30;
    const base::Hash256 hash = base::crypto::sha256(wasm);
    const base::Hash256 other_hash = base::crypto::sha256(other);
    Spent least;
    for (int i = 0; i < kRounds; ++i) {
        static_cast<void>(run(other, other_hash, 1));
        const Sample sample = run(wasm, hash, 1);
        if (i > 0 && sample.nanoseconds > least.nanoseconds) continue;
        least = {sample.nanoseconds, static_cast<double>(sample.units)};
    }
    return least;
}

double Bench::load(const base::Bytes& wasm) {
    const base::Hash256 hash = base::crypto::sha256(wasm);
    forget();
    const double began = thread_ns();
    CHECK(engine_->prepare(hash, wasm).has_value());
    return thread_ns() - began;
}

bool Bench::is_valid(const base::Bytes& wasm) {
    return engine_->prepare(base::crypto::sha256(wasm), wasm).has_value();
}

void Bench::forget() {
    engine_.reset();  // Its code goes before another has the machine.
    engine_ = std::make_unique<vm::Engine>(hosts(), vm::Engine::Options{}, machine_);
    CHECK(engine_->open().has_value());
}

}  // namespace vm_bench
