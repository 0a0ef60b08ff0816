#include "hunt.hpp"

#include "../../tests/wabt/text.hpp"
#include "bench/ledger/measure.hpp"
#include "bench/price/clock.hpp"
#include "chain/types/prices.hpp"
#include "genome.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace vm_bench {

namespace {

struct Found {
    double ratio = 0;  // Nanoseconds here, a unit.
    Spent spent;
    std::string text;
};

Spent loading(Bench& bench, const base::Bytes& wasm, int rounds) {
    const chain::PriceTable prices;
    Spent spent{bench.load(wasm), static_cast<double>(prices[chain::Cost::load].of(wasm.size()))};
    for (int i = 1; i < rounds; ++i)
        spent.nanoseconds = std::min(spent.nanoseconds, bench.load(wasm));
    return spent;
}

// What the module's loop, or loading it, takes beside its price; 0 when it is no module, or its
// run ends by a trap.
Found weigh(Bench& bench, const Genome& genome, const HuntOptions& options, int rounds) {
    Found found{0, {}, genome.text()};
    const wabt_text::Assembled out = wabt_text::assemble(found.text);
    if (!out.error.empty()) return found;
    const base::Bytes wasm = base::to_bytes(std::as_bytes(std::span(out.bytes)));
    if (bench.is_valid(wasm)) {
        found.spent = options.loading ? loading(bench, wasm, 2 * rounds) : bench.warm(wasm, rounds);
    }
    found.ratio = found.spent.ratio();
    bench.forget();
    return found;
}

// Changes one module until nothing has made it worse for long.
Found climb(Bench& bench, base::Rng& rng, const HuntOptions& options, double end) {
    constexpr int kPatience = 60;
    constexpr int kRoundsFirst = 2;
    constexpr int kRoundsSure = 7;
    Genome best(rng);
    Found worst = weigh(bench, best, options, kRoundsFirst);
    for (int failed = 0; failed < kPatience && bench::wall() < end; ++failed) {
        Genome next = best;
        next.mutate(rng);
        if (weigh(bench, next, options, kRoundsFirst).ratio <= worst.ratio * 1.02) continue;
        // Once more and longer: others on the machine make anything slow for a moment.
        Found sure = weigh(bench, next, options, kRoundsSure);
        if (sure.ratio <= worst.ratio * 1.01) continue;
        best = next;
        worst = std::move(sure);
        failed = 0;
    }
    return worst;
}

}  // namespace

void hunt(Bench& bench, const HuntOptions& options) {
    constexpr std::size_t kKept = 10;
    const double scale = price::reference_scale();
    const double end = bench::wall() + 60.0 * static_cast<double>(options.minutes);
    base::Rng rng(options.seed);
    std::vector<Found> all;
    std::size_t starts = 0;
    for (; bench::wall() < end; ++starts) {
        all.push_back(climb(bench, rng, options, end));
        std::ranges::stable_sort(
            all, [](const Found& left, const Found& right) { return left.ratio > right.ratio; });
        if (all.size() > kKept) all.pop_back();
        std::fprintf(stderr,
                     "start %zu: worst so far %.2f ns/unit\n",
                     starts + 1,
                     scale * all.front().ratio);
    }
    std::printf(
        "hunt: commit %s, load %.2f, seed %llu, %zu starts; a nanosecond here is %.2f on "
        "the reference machine\n%8s %12s %12s\n",
        bench::commit().c_str(),
        bench::load_average(),
        static_cast<unsigned long long>(options.seed),
        starts,
        scale,
        "ns/unit",
        "ns",
        "units");
    if (!options.out.empty()) std::filesystem::create_directories(options.out);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string name = "worst-" + std::to_string(i + 1) + ".wat";
        std::printf("%8.2f %12.0f %12.0f  %s\n",
                    scale * all[i].ratio,
                    scale * all[i].spent.nanoseconds,
                    all[i].spent.units,
                    options.out.empty() ? "" : name.c_str());
        if (!options.out.empty()) std::ofstream(options.out + "/" + name) << all[i].text << '\n';
    }
}

}  // namespace vm_bench
