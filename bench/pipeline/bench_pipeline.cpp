// The whole way of token transfers but for HTTP: from packed transactions in memory through
// signature recovery on workers, execution and blocks to the commit in RocksDB,
// by the node's own runtime. Prints what a transfer costs in R, one bare recovery in the same
// run (spec 03, "Numbers to reach"), and which threads spend it.
//
//   usage: bench_pipeline [--transactions N] [--accounts N] [--interval MS] [--in-flight N]
//   [--json]
//
// What the digest costs is measured on the blocks that came out: replayed with it and without.
#include "base/rng.hpp"
#include "bench/ledger/measure.hpp"
#include "bench/ledger/replay.hpp"
#include "bench/ledger/report.hpp"
#include "node/core/networked_core.hpp"
#include "node/key_recovery.hpp"
#include "node/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace {

struct Plan {
    unsigned long transactions;
    unsigned long accounts;
    unsigned long interval_ms;
    unsigned long in_flight;
};

using Packed = std::vector<chain::PackedTransaction>;

// Signs transfers that refer to the head of the chain.
Packed sign_transfers(bench::Ledger& ledger, bench::Chain& chain, const Plan& plan) {
    Packed packed;
    packed.reserve(plan.transactions);
    base::Rng rng(1);
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    const chain::ChainId id = ledger.genesis.chain_id();
    for (unsigned long i = 0; i < plan.transactions; ++i) {
        auto transaction =
            chain.make({bench::random_transfer(rng, plan.accounts, "a memo of some words")});
        transaction.expiration.seconds = static_cast<std::uint32_t>(now + 3'000);
        transaction.signatures.push_back(
            bench::bench_key().sign(transaction.signing_digest(id, {})));
        packed.push_back(chain::PackedTransaction::pack(transaction));
    }
    return packed;
}

// CPU seconds of one recovery as the workers do it: with the digest, and kept for later.
double pool_recovery(const bench::Ledger& ledger, const Packed& packed) {
    constexpr std::size_t kCount = 2'000;
    std::vector<chain::TransactionPtr> decoded;
    for (std::size_t i = 0; i < std::min(kCount, packed.size()); ++i) {
        decoded.push_back(bench::must(chain::decode_transaction(packed[i])));
    }
    double least = 1;
    for (int round = 0; round < 3; ++round) {
        node::KeyRecovery recovery(ledger.genesis.chain_id());
        const double start = bench::thread_cpu();
        for (const auto& transaction : decoded)
            static_cast<void>(bench::must(recovery.keys_of(*transaction)));
        least =
            std::min(least, (bench::thread_cpu() - start) / static_cast<double>(decoded.size()));
    }
    return least;
}

// Submits with a bound on what is under way, and waits until all of it is final.
class Feeder : public node::Plugin {
  public:
    Feeder(node::Runtime& runtime, std::size_t in_flight)
        : runtime_(runtime), in_flight_(in_flight) {}

    void run(Packed packed) {
        const std::size_t count = packed.size();
        for (chain::PackedTransaction& each : packed) {
            wait_for_room();
            bench::must(
                runtime_.submit(std::move(each), {}, [this](const node::effect::Answer& answer) {
                    if (!answer.outcome) bench::give_up(answer.outcome.error().detail);
                    const std::scoped_lock lock(mutex_);
                    --under_way_;
                    if (under_way_ == in_flight_ / 2) changed_.notify_one();
                }));
        }
        std::unique_lock lock(mutex_);
        while (final_ < count) {
            const std::size_t before = final_;
            if (changed_.wait_for(lock, kPatience, [&] { return final_ > before; })) continue;
            bench::give_up(
                fmt::format("{} of {} are final, {} not answered", final_, count, under_way_));
        }
    }

    void on_finalized(const node::effect::Finalized& finalized) override {
        const std::scoped_lock lock(mutex_);
        final_ += finalized.block->block->transactions.size();
        if (!finalized.block->block->transactions.empty()) ++blocks_;
        changed_.notify_one();
    }

    void on_dropped(const node::effect::Dropped& dropped) override {
        bench::give_up("a transaction was dropped: " + dropped.reason.detail);
    }

    [[nodiscard]] std::size_t blocks() const { return blocks_; }

  private:
    static constexpr auto kPatience = std::chrono::seconds(30);  // Since the last became final.

    // In halves, so that this thread is not woken for every answer.
    void wait_for_room() {
        std::unique_lock lock(mutex_);
        if (under_way_ >= in_flight_) {
            changed_.wait(lock, [&] { return under_way_ <= in_flight_ / 2; });
        }
        ++under_way_;
    }

    node::Runtime& runtime_;
    const std::size_t in_flight_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t under_way_ = 0;
    std::size_t final_ = 0;
    std::size_t blocks_ = 0;
};

struct Ran {
    double cpu = 0;
    double wall = 0;
    std::size_t blocks = 0;
    std::vector<bench::ThreadTime> threads;
};

Ran run(bench::Ledger& ledger, const Plan& plan, Packed packed) {
    node::Effects first;
    auto core = std::make_unique<node::NetworkedCore>(ledger.open_core(node::system_time(), first),
                                                      std::nullopt,
                                                      ledger.signer,
                                                      base::Log(ledger.log, "p2p"));
    node::Runtime::Options options;
    options.workers = std::max(1U, std::thread::hardware_concurrency());
    node::Runtime runtime(options,
                          {*ledger.storage, ledger.journals, base::Log(ledger.log, "runtime")},
                          ledger.genesis.chain_id(),
                          std::move(core),
                          std::move(first));
    Feeder feeder(runtime, plan.in_flight);
    runtime.add_plugin(feeder);
    runtime.start();
    const auto before = bench::thread_times();
    Ran ran;
    const double cpu = bench::process_cpu();
    const double start = bench::wall();
    feeder.run(std::move(packed));
    ran.cpu = bench::process_cpu() - cpu;
    ran.wall = bench::wall() - start;
    ran.threads = bench::used_between(before, bench::thread_times());
    ran.blocks = feeder.blocks();
    runtime.stop();
    return ran;
}

double replay_cost(bench::Ledger& ledger, chain::Height from, bool digest) {
    const bench::WorkDirectory scratch;
    bench::ReplayOptions options;
    options.from = from;
    options.digest_at_every_block = digest;
    const bench::Replayed done = bench::replay(ledger, scratch.path() / "state", options);
    return done.cpu / static_cast<double>(done.transactions);
}

void measure(const Plan& plan, bool json) {
    const bench::WorkDirectory work;
    bench::Ledger ledger(work.path() / "data", static_cast<std::uint32_t>(plan.interval_ms));
    Packed packed;
    chain::Height from = 0;
    {
        bench::Chain chain(ledger);
        bench::make_users(chain, {plan.accounts});
        packed = sign_transfers(ledger, chain, plan);
        from = chain.view().head->header.height + 1;
    }
    const double pool = pool_recovery(ledger, packed);
    const double early = bench::measure_recovery();
    const Ran ran = run(ledger, plan, std::move(packed));
    const double recovery = (early + bench::measure_recovery()) / 2;
    const double each = ran.cpu / static_cast<double>(plan.transactions);
    bench::Report report("pipeline");
    report.add("R, one bare recovery", recovery * 1e6, "us");
    report.add("recovery in the pool", pool / early, "R", 1.05);
    report.add("transfer, with the state digest", each / recovery, "R", 1.65);
    const double digest = replay_cost(ledger, from, true) - replay_cost(ledger, from, false);
    report.add("of it the state digest", digest / recovery, "R");
    report.add("transfer, without the digest", (each - digest) / recovery, "R", 1.4);
    for (const bench::ThreadTime& thread : ran.threads) {
        report.add(fmt::format("thread {} x{}", thread.name, thread.threads),
                   thread.cpu / static_cast<double>(plan.transactions) / recovery,
                   "R");
    }
    report.add("rate", static_cast<double>(plan.transactions) / ran.wall, "transfers/s");
    report.add("cores busy", ran.cpu / ran.wall, "");
    report.add("transfers in a block",
               static_cast<double>(plan.transactions) / static_cast<double>(ran.blocks),
               "");
    report.print(json);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Arguments arguments(argc, argv);
    arguments.expect({"--transactions", "--accounts", "--interval", "--in-flight", "--json"},
                     "usage: bench_pipeline [--transactions N] [--accounts N] [--interval MS] "
                     "[--in-flight N] [--json]");
    measure({.transactions = arguments.number("--transactions", 200'000),
             .accounts = std::max(arguments.number("--accounts", 20'000), 2UL),
             .interval_ms = arguments.number("--interval", 500),
             .in_flight = std::max(arguments.number("--in-flight", 4'000), 2UL)},
            arguments.has("--json"));
    return 0;
}
