// What it costs to execute a stored chain of token transfers again without their signatures: with
// the state digest at every block, and with it at the ends of ranges, as in a node that catches up
// (spec 03, "Numbers to reach").
//
//   usage: bench_replay [--transactions N] [--block N] [--accounts N] [--data DIRECTORY]
//                       [--only with|without] [--json]
//
// --data: keeps the chain there, and takes one that is there.
#include "base/rng.hpp"
#include "bench/ledger/measure.hpp"
#include "bench/ledger/replay.hpp"
#include "bench/ledger/report.hpp"
#include "chain/state/block_store.hpp"

#include <algorithm>

namespace {

struct Plan {
    unsigned long transactions;
    unsigned long per_block;
    unsigned long accounts;
};

// Returns the height of the first block with transfers.
chain::Height make_chain(bench::Ledger& ledger, const Plan& plan) {
    bench::Chain chain(ledger);
    bench::make_users(chain, {plan.accounts});
    const chain::Height first = chain.view().head->header.height + 1;
    base::Rng rng(1);
    for (unsigned long i = 0; i < plan.transactions; ++i) {
        auto transaction =
            chain.make({bench::random_transfer(rng, plan.accounts, "a memo of some words")});
        // For its size; replay does not look at it.
        transaction.signatures.resize(1);
        chain.submit(transaction);
        if ((i + 1) % plan.per_block == 0) chain.close_block();
    }
    chain.close_block();
    return first;
}

// Of a chain that is there, or is made now.
chain::Height first_with_transfers(bench::Ledger& ledger, const Plan& plan) {
    const chain::BlockReader blocks(*ledger.storage);
    if (bench::must(blocks.at(2)) == nullptr) return make_chain(ledger, plan);
    for (chain::Height height = 2;; ++height) {
        const chain::BlockPtr block = bench::must(blocks.at(height));
        if (block == nullptr) bench::give_up("the chain has no block with transfers");
        if (block->transactions.size() > 200) return height;
    }
}

double cost(bench::Ledger& ledger, const bench::ReplayOptions& options, double recovery) {
    const bench::WorkDirectory scratch;
    const bench::Replayed done = bench::replay(ledger, scratch.path() / "state", options);
    return done.cpu / static_cast<double>(done.transactions) / recovery;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Arguments arguments(argc, argv);
    arguments.expect({"--transactions", "--block", "--accounts", "--data", "--only", "--json"},
                     "usage: bench_replay [--transactions N] [--block N] [--accounts N] "
                     "[--data DIRECTORY] [--only with|without] [--json]");
    const Plan plan{arguments.number("--transactions", 200'000),
                    arguments.number("--block", 5'000),
                    std::max(arguments.number("--accounts", 20'000), 2UL)};
    const std::string only = arguments.text("--only", "");
    const bench::WorkDirectory work(arguments.text("--data", ""));
    bench::Ledger ledger(work.path() / "data");
    const chain::Height first = first_with_transfers(ledger, plan);
    const double recovery = bench::measure_recovery();
    bench::Report report("replay");
    report.add("R, one bare recovery", recovery * 1e6, "us");
    bench::ReplayOptions options;
    options.from = first;
    if (only != "with") {
        options.digest_at_every_block = false;
        report.add(
            "transfer, digest at ends of ranges", cost(ledger, options, recovery), "R", 0.33);
    }
    if (only != "without") {
        options.digest_at_every_block = true;
        report.add("transfer, digest at every block", cost(ledger, options, recovery), "R", 0.55);
    }
    report.add("transfers", static_cast<double>(plan.transactions), "");
    report.add("transfers in a block", static_cast<double>(plan.per_block), "");
    report.add("accounts", static_cast<double>(plan.accounts), "");
    report.print(arguments.has("--json"));
    return 0;
}
