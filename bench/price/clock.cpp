#include "bench/price/clock.hpp"

#include "base/crypto/hash.hpp"
#include "base/crypto/keys.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace price {

namespace {

double processor_ns() {
    timespec now{};
    if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) std::abort();
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

constexpr double kRecoveryNs = 33'000;  // On the reference machine (spec 03).

}  // namespace

void Clock::start() {
    began_ns_ = processor_ns();
}

void Clock::stop(std::uint64_t times) {
    constexpr double kRoundNs = 1e6;
    const double took = processor_ns() - began_ns_;
    const double each = took / static_cast<double>(times);
    total_ns_ += took;
    is_best_ = rounds_ == 0 || each < best_ns_;
    if (is_best_) best_ns_ = each;
    last_times_ = times;
    ++rounds_;
    if (took < kRoundNs) batch_ *= 2;
}

void Clock::add_units(std::uint64_t units) {
    if (is_best_) units_ = static_cast<double>(units) / static_cast<double>(last_times_);
}

Result Clock::result(const std::string& label) const {
    return {label, best_ns_, units_};
}

double reference_scale() {
    std::array<std::byte, 32> secret{};
    secret.fill(std::byte{0x11});
    const base::crypto::PrivateKey key(base::crypto::KeyType::k1, secret);
    const base::Hash256 digest = base::crypto::sha256(base::as_bytes("message"));
    const base::crypto::Signature signature = key.sign(digest);
    Clock clock;
    while (clock.wants_more()) {
        const std::uint64_t batch = clock.batch();
        clock.start();
        for (std::uint64_t i = 0; i < batch; ++i) {
            if (!base::crypto::recover(signature, digest)) std::abort();
        }
        clock.stop(batch);
    }
    return kRecoveryNs / clock.result("").nanoseconds;
}

void print(std::vector<Result> results, double scale) {
    const auto ratio = [scale](const Result& result) {
        return result.units > 0 ? scale * result.nanoseconds / result.units : 0;
    };
    std::ranges::sort(results, std::greater<>(), ratio);
    std::printf("a nanosecond here is %.2f on the reference machine\n", scale);
    std::printf("%8s %14s %14s  %s\n", "ns/unit", "ns", "units", "what");
    for (const Result& result : results) {
        std::printf("%8.3f %14.0f %14.0f  %s\n",
                    ratio(result),
                    scale * result.nanoseconds,
                    result.units,
                    result.label.c_str());
    }
}

}  // namespace price
