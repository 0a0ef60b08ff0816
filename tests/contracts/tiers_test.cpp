// Contracts do the same on every tier: the interpreter, tcc's code and gcc's code give equal traces
// (consoles, results, failures, metered times) and leave equal states, over every expectation of
// the contract intrinsics, the recorded contracts, and calls with random arguments.
#include "base/pinned.hpp"
#include "ledger.hpp"
#include "node/compiler/process_compiler.hpp"
#include "tests/support/paths.hpp"

#include <nlohmann/json.hpp>

#include <bit>
#include <filesystem>
#include <memory>
#include <random>
#include <stdlib.h>

namespace {

using support::Arguments;
using support::Ledger;
using namespace chain::literals;  // NOLINT(google-build-using-namespace): for names.
namespace fs = std::filesystem;
using chain::vm::Tier;

constexpr chain::Name kIntrinsics = "intrinsics"_n;
constexpr chain::Name kToken = "eosio.token"_n;
constexpr chain::Name kTables = "tabtest"_n;

class Silence final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level) const override { return false; }
    void write(base::Level, std::string_view, std::string_view) override {}
};

struct Directory : base::Pinned {
    Directory() {
        std::string name = (fs::temp_directory_path() / "bor-contracts-XXXXXX").string();
        path = mkdtemp(name.data());
    }
    ~Directory() { fs::remove_all(path); }
    fs::path path;
};

// A ledger whose contracts run in one tier only.
class TierLedger {
  public:
    explicit TierLedger(Tier tier) : compiler_(options_of(tier), base::Log(silence_, "compiler")) {
        ledger_ = std::make_unique<Ledger>(tier == Tier::interpreter ? nullptr : &compiler_);
        for (const chain::Name account : {"alice"_n, "bob"_n})
            ledger_->create(account);
        const std::pair<chain::Name, const char*> contracts[] = {
            {kIntrinsics, "intrinsics"}, {kToken, "eosio.token"}, {kTables, "get_table_test"}};
        for (const auto& [account, contract] : contracts) {
            ledger_->deploy(account, contract);
            compile(contract, tier);
        }
    }
    Ledger& operator*() { return *ledger_; }
    Ledger* operator->() { return ledger_.get(); }

  private:
    [[nodiscard]] node::ProcessCompiler::Options options_of(Tier tier) const {
        node::ProcessCompiler::Options options;
        options.directory = directory_.path;
        if (tier == Tier::quick) options.optimised = "/nonexistent/gcc";
        if (tier == Tier::optimised) options.quick = "/nonexistent/tcc";
        return options;
    }
    void compile(const std::string& contract, Tier tier) {
        const base::Bytes wasm = support::contract_file(contract + "/" + contract + ".wasm");
        const base::Hash256 hash = base::crypto::sha256(wasm);
        REQUIRE(ledger_->engine().prepare(hash, wasm).has_value());
        if (tier != Tier::interpreter) compiler_.wait_idle();
        REQUIRE(ledger_->engine().prepare(hash, wasm).has_value());
        REQUIRE(ledger_->engine().tier(hash) == tier);
    }

    Silence silence_;
    Directory directory_;
    node::ProcessCompiler compiler_;
    std::unique_ptr<Ledger> ledger_;
};

struct AllTiers {
    TierLedger interpreter{Tier::interpreter};
    TierLedger quick{Tier::quick};
    TierLedger optimised{Tier::optimised};

    void push(const chain::SignedTransaction& transaction) {
        const chain::TransactionTrace trace = interpreter->push(transaction);
        CHECK(quick->push(transaction) == trace);
        CHECK(optimised->push(transaction) == trace);
    }
    void check_states() {
        check_state(quick->state());
        check_state(optimised->state());
    }

  private:
    using Rows = std::vector<std::pair<base::Bytes, base::Bytes>>;

    static Rows rows_of(const chain::StateView& state, chain::Table table) {
        Rows rows;
        base::Bytes key;
        while (true) {
            const std::optional<chain::Row> row = state.at_or_after(table, key);
            if (!row.has_value()) return rows;
            rows.emplace_back(row->key, *row->value);
            key = row->key;
            key.push_back(std::byte{0});
        }
    }
    void check_state(const chain::StateDelta& other) {
        const auto& tables = interpreter->state().tables();
        REQUIRE(other.tables().size() == tables.size());
        for (const chain::TableChanges& table : tables) {
            const bool equal =
                rows_of(interpreter->state(), table.table) == rows_of(other, table.table);
            INFO("table " << static_cast<int>(table.table));
            CHECK(equal);
        }
    }
};

struct Call {
    chain::Name account;
    chain::Name action;
    chain::Name actor;
    base::Bytes data;
};

chain::SignedTransaction transaction_of(const Call& call, std::uint32_t expiration) {
    chain::SignedTransaction transaction;
    transaction.expiration.seconds = expiration;
    transaction.max_cpu_usage_ms = 2;  // Random numbers make long loops.
    transaction.actions.push_back(
        {call.account, call.action, {{call.actor, "active"_n}}, call.data});
    return transaction;
}

std::vector<Call> calls() {
    std::ifstream in(tests::data_dir() + "/contracts/intrinsics/expected.json");
    std::vector<Call> made;
    for (const nlohmann::json& entry : nlohmann::json::parse(in)) {
        made.push_back({kIntrinsics,
                        chain::Name::from_string(entry["action"].get<std::string>()).value(),
                        kIntrinsics,
                        base::from_hex(entry["data"].get<std::string>()).value()});
    }
    const auto add =
        [&](chain::Name account, chain::Name action, chain::Name actor, const base::Bytes& data) {
            made.push_back({account, action, actor, data});
        };
    add(kToken, "create"_n, kToken, Arguments().name("alice"_n).asset(1'000'000, 4, "SYS"));
    const Arguments issued = Arguments().name("alice"_n).asset(500'000, 4, "SYS").text("memo");
    add(kToken, "issue"_n, "alice"_n, issued);
    const Arguments paid =
        Arguments().name("alice"_n).name("bob"_n).asset(12, 4, "SYS").text("memo");
    for (int i = 0; i < 20; ++i)
        add(kToken, "transfer"_n, "alice"_n, paid);
    for (std::uint64_t input = 1; input < 1'000'000; input *= 7) {
        add(kTables, "addnumobj"_n, kTables, Arguments().integer(input));
        add(kTables, "addhashobj"_n, kTables, Arguments().text(std::to_string(input)));
    }
    add(kTables, "modifynumobj"_n, kTables, Arguments().integer(std::uint64_t{3}));
    add(kTables, "erasenumobj"_n, kTables, Arguments().integer(std::uint64_t{2}));
    const std::pair<double, double> floats[] = {
        {1.5, -2.25}, {0.0, -0.0}, {1e300, 1e300}, {-1.0, 0.0}, {5e-324, 3.0}, {0.1, 0.3}};
    for (const auto& [x, y] : floats) {
        const Arguments both = Arguments()
                                   .integer(std::bit_cast<std::uint64_t>(x))
                                   .integer(std::bit_cast<std::uint64_t>(y));
        add(kIntrinsics, "floats"_n, kIntrinsics, both);
        add(kIntrinsics, "printfloat"_n, kIntrinsics, both);
    }
    return made;
}

// Every call as it is, then `count` of them with bytes of their data changed at random.
void run_random_calls(std::size_t count) {
    AllTiers tiers;
    const std::vector<Call> seeds = calls();
    std::uint32_t expiration = tiers.interpreter->now() + 60;
    for (const Call& call : seeds) {
        INFO(call.account.to_string() << "::" << call.action.to_string());
        tiers.push(transaction_of(call, expiration++));
    }
    std::mt19937 random(2026);  // The same calls in every run.
    for (std::size_t i = 0; i < count; ++i) {
        if (expiration > tiers.interpreter->now() + 3'000)
            expiration = tiers.interpreter->now() + 60;
        Call call = seeds[random() % seeds.size()];
        for (std::uint32_t changes = random() % 4; changes > 0 && !call.data.empty(); --changes) {
            call.data[random() % call.data.size()] = static_cast<std::byte>(random());
        }
        INFO("call " << i << ": " << call.account.to_string() << "::" << call.action.to_string()
                     << " " << base::to_hex(call.data));
        tiers.push(transaction_of(call, expiration++));
    }
    tiers.check_states();
}

}  // namespace

TEST_CASE("every tier gives the same traces and states") {
    run_random_calls(500);
}

TEST_CASE("every tier gives the same traces and states over 10,000 calls", "[.][campaign]") {
    run_random_calls(10'000);
}
