// A node with a million accounts on disk: resident memory while accounts are read and used at
// random, and how long it takes from kill -9 to a serving API (spec 03, "Numbers to reach").
// The accounts come from real newaccount actions in real blocks, each with some tokens.
//
//   usage: bench_accounts [--accounts N] [--transfers N] [--data DIRECTORY] [--json]
//
// --data: keeps the chain there, and takes one that is there.
#include "base/rng.hpp"
#include "bench/accounts/node_process.hpp"
#include "bench/ledger/chain.hpp"
#include "bench/ledger/measure.hpp"
#include "bench/ledger/report.hpp"
#include "chain/state/block_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

namespace {

namespace fs = std::filesystem;

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr int kKills = 5;

struct Plan {
    unsigned long accounts;
    unsigned long transfers;
};

void make_chain(const fs::path& data, const Plan& plan) {
    bench::Ledger ledger(data);
    if (bench::must(chain::BlockReader(*ledger.storage).at(2)) != nullptr) return;
    bench::Chain chain(ledger);
    bench::make_users(chain, {plan.accounts, true});
}

// What a client needs to know of a running chain.
struct Reference {
    chain::ChainId chain_id;
    chain::BlockId final_block;
};

base::Hash256 hash_member(const std::string& json, const std::string& name) {
    const std::size_t at = json.find("\"" + name + "\":\"");
    if (at == std::string::npos) bench::give_up("get_info has no " + name);
    const auto bytes = bench::must(base::from_hex(json.substr(at + name.size() + 4, 64)));
    return bench::must(base::to_hash<32>(bytes));
}

Reference ask_reference(bench::NodeProcess& node) {
    std::string info;
    if (node.post("/v1/chain/get_info", "", info) != 200) bench::give_up("get_info: " + info);
    return {hash_member(info, "chain_id"), hash_member(info, "last_irreversible_block_id")};
}

std::string transfer_body(const Reference& reference, const Plan& plan, base::Rng& rng) {
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    chain::SignedTransaction transaction;
    transaction.expiration.seconds = static_cast<std::uint32_t>(now + 60);
    const auto height = chain::height_of(reference.final_block);
    transaction.ref_block_num = static_cast<std::uint16_t>(height & 0xFFFFU);
    transaction.ref_block_prefix = chain::ref_block_prefix_of(reference.final_block);
    transaction.actions = {
        bench::random_transfer(rng, plan.accounts, fmt::format("{}", rng.below(1U << 30U)))};
    transaction.signatures = {
        bench::bench_key().sign(transaction.signing_digest(reference.chain_id, {}))};
    const auto packed = chain::PackedTransaction::pack(transaction);
    return fmt::format(
        R"({{"return_failure_trace":false,"transaction":{{"signatures":["{}"],)"
        R"("compression":"none","packed_context_free_data":"","packed_trx":"{}"}}}})",
        packed.signatures.front().to_string(),
        base::to_hex(packed.packed_trx));
}

// Reads and uses accounts at random.
void use_accounts(bench::NodeProcess& node, const Plan& plan, base::Rng& rng) {
    const Reference reference = ask_reference(node);
    std::string answer;
    for (unsigned long i = 0; i < plan.transfers; ++i) {
        const std::string body = transfer_body(reference, plan, rng);
        if (node.post("/v1/chain/send_transaction2", body, answer) != 202) {
            bench::give_up("send_transaction2: " + answer);
        }
        const std::string account =
            fmt::format(R"({{"account_name":"{}"}})",
                        bench::account_name(rng.below(plan.accounts)).to_string());
        if (node.post("/v1/chain/get_account", account, answer) != 200) {
            bench::give_up("get_account: " + answer);
        }
    }
}

void measure(const fs::path& directory, const Plan& plan, bench::Report& report) {
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "bor-node";
    base::Rng rng(3);
    auto node = std::make_unique<bench::NodeProcess>(program, directory);
    report.add("first start to serving", node->seconds_to_serve(), "s");
    report.add("resident after the start",
               static_cast<double>(bench::resident_bytes(node->pid())) / kMebibyte,
               "MiB");
    use_accounts(*node, plan, rng);
    double slowest = 0;
    const auto resident = static_cast<double>(bench::resident_bytes_max(node->pid())) / kMebibyte;
    report.add("resident at most, accounts in use", resident, "MiB", 512);
    for (int i = 0; i < kKills; ++i) {
        node->kill();
        node = std::make_unique<bench::NodeProcess>(program, directory);
        slowest = std::max(slowest, node->seconds_to_serve());
        use_accounts(*node, {plan.accounts, plan.transfers / 10}, rng);
    }
    report.add(fmt::format("kill -9 to serving, slowest of {}", kKills), slowest, "s", 1);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Arguments arguments(argc, argv);
    arguments.expect({"--accounts", "--transfers", "--data", "--json"},
                     "usage: bench_accounts [--accounts N] [--transfers N] [--data DIRECTORY] "
                     "[--json]");
    const Plan plan{std::max(arguments.number("--accounts", 1'000'000), 2UL),
                    arguments.number("--transfers", 20'000)};
    const bench::WorkDirectory work(arguments.text("--data", ""));
    const double start = bench::wall();
    make_chain(work.path() / "data", plan);
    bench::Report report("accounts");
    report.add("accounts", static_cast<double>(plan.accounts), "");
    report.add("to make them", bench::wall() - start, "s");
    measure(work.path(), plan, report);
    report.print(arguments.has("--json"));
    return 0;
}
