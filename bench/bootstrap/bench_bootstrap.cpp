// The chain that bootstrap/measure.py has nodes join, and what the parts of a snapshot cost by
// themselves.
//
//   usage: bench_bootstrap --make DIRECTORY [--accounts N] [--transfers N] [--blocks N]
//          bench_bootstrap --bare SNAPSHOT [--json]
//
// --make: in DIRECTORY server/data is a data directory of the one validator, whose blocks after the
// accounts have the transfers, evenly; beside it the keys of the validator and of both nodes.
#include "base/crypto/hash.hpp"
#include "base/rng.hpp"
#include "bench/bootstrap/bare.hpp"
#include "bench/ledger/chain.hpp"
#include "bench/ledger/measure.hpp"
#include "bench/ledger/report.hpp"
#include "node/disk/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kValidator = 1;
constexpr std::uint32_t kObserver = 2;

struct Plan {
    unsigned long accounts;
    unsigned long transfers;
    unsigned long blocks;
};

base::crypto::PrivateKey node_key(std::string_view name) {
    const std::string text = fmt::format("bor benchmark, node {}", name);
    return {base::crypto::KeyType::r1, base::crypto::sha256(base::as_bytes(text)).bytes};
}

// Its file, and how the genesis file names it.
genesis::Node make_node(const fs::path& directory, std::string_view name, std::uint32_t roles) {
    const base::crypto::PrivateKey key = node_key(name);
    const std::string path = (directory / fmt::format("{}.key", name)).string();
    bench::must(node::write_file_atomically(path, base::as_bytes(key.to_string()), 0600));
    return {.name = bench::must(chain::Name::from_string(name)),
            .organisation = bench::must(chain::Name::from_string("bora")),
            .key = key.public_key(),
            .roles = roles};
}

// Signed, since who joins looks at the signatures.
void add_transfers(bench::Chain& chain, const chain::ChainId& chain_id, const Plan& plan) {
    base::Rng rng(1);
    const unsigned long made = chain.view().head->header.height;
    const unsigned long blocks = plan.blocks > made ? plan.blocks - made : 1;
    unsigned long done = 0;
    for (unsigned long block = 1; block <= blocks; ++block) {
        for (const unsigned long goal = plan.transfers * block / blocks; done < goal; ++done) {
            auto transaction =
                chain.make({bench::random_transfer(rng, plan.accounts, "a memo of some words")});
            transaction.signatures = {
                bench::bench_key().sign(transaction.signing_digest(chain_id, {}))};
            chain.submit(transaction);
        }
        chain.close_block();
        if (block % 10'000 == 0) fmt::print(stderr, "{} blocks\n", block);
    }
}

void make(const fs::path& directory, const Plan& plan) {
    if (fs::exists(directory / "server")) bench::give_up(directory.string() + " has a chain");
    fs::create_directories(directory);
    const std::string key = (directory / "validator.key").string();
    const std::string text = bench::bench_key().to_string();
    bench::must(node::write_file_atomically(key, base::as_bytes(text), 0600));
    bench::Ledger ledger(
        directory / "server" / "data",
        500,
        {make_node(directory, "joiner", kObserver), make_node(directory, "server", kValidator)});
    bench::Chain chain(ledger);
    bench::make_users(chain, {plan.accounts, true});
    add_transfers(chain, ledger.genesis.chain_id(), plan);
    fmt::print("{} {} {}\n",
               bench::bench_public_key().to_string(),
               chain.view().finalized->header.height,
               base::to_hex(chain.view().finalized->id.view()));
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Arguments arguments(argc, argv);
    arguments.expect({"--make", "--accounts", "--transfers", "--blocks", "--bare", "--json"},
                     "usage: bench_bootstrap --make DIRECTORY [--accounts N] [--transfers N] "
                     "[--blocks N]\n       bench_bootstrap --bare SNAPSHOT [--json]");
    if (arguments.has("--make")) {
        make(arguments.text("--make", ""),
             {std::max(arguments.number("--accounts", 1'000'000), 2UL),
              arguments.number("--transfers", 1'000'000),
              arguments.number("--blocks", 100'000)});
        return 0;
    }
    if (!arguments.has("--bare")) bench::give_up("--make or --bare is needed");
    bench::Report report("bootstrap");
    report.add("R, one bare recovery", bench::measure_recovery() * 1e6, "us");
    bench::measure_bare(arguments.text("--bare", ""), report);
    report.print(arguments.has("--json"));
    return 0;
}
