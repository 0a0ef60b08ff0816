// Contracts that compilers made, and modules that fuzzing kept, through engines that share
// nothing. Their hosts answer by chance, so that each run takes another way. Contracts of others
// come from the folder that BOR_CONTRACTS names; without it only our own are run.
#include "node/machine/machine.hpp"
#include "opcodes.hpp"
#include "oracle_engines.hpp"
#include "tests/support/paths.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace vm = chain::vm;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kFuel = 300'000;
constexpr std::uint64_t kRuns = 60;

struct Sample {
    std::string name;
    base::Bytes wasm;
    reference::Module module;
};

// Those of the folder's files that may be code of an account.
void collect(const fs::path& folder, std::vector<Sample>* out) {
    if (!fs::is_directory(folder)) return;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), {}};
        auto module = reference::decode(base::as_bytes(bytes));
        if (!module) continue;
        const vm::HostTable hosts = oracle::chance_hosts(*module);
        const base::Bytes wasm = base::to_bytes(base::as_bytes(bytes));
        if (!vm::validate(wasm, {}, hosts)) continue;
        out->push_back({entry.path().filename().string(), wasm, std::move(*module)});
    }
}

const std::vector<Sample>& samples() {
    static const std::vector<Sample> kSamples = [] {
        std::vector<Sample> out;
        collect(fs::path(tests::build_dir()) / "contracts", &out);
        collect(fs::path(tests::data_dir()) / "fuzz/corpus/wasm", &out);
        if (const char* const folder = std::getenv("BOR_CONTRACTS"); folder != nullptr) {
            collect(folder, &out);
        } else {
            WARN("only our own contracts: BOR_CONTRACTS is not set");
        }
        return out;
    }();
    return kSamples;
}

// Names that the contract compares with: constants in its code.
std::vector<std::uint64_t> names_of(const reference::Module& module) {
    std::vector<std::uint64_t> out{0};
    for (const reference::Function& function : module.functions) {
        for (const reference::Instruction& instruction : function.code) {
            if (instruction.opcode == op::i64_const) out.push_back(instruction.bits);
        }
    }
    return out;
}

// Runs every sample often, by `compare`, which returns what differs.
template <class Compare>
void for_each_run(Compare compare) {
    std::uint64_t finished = 0;
    CHECK(samples().size() >= 6);
    for (const Sample& sample : samples()) {
        const vm::HostTable hosts = oracle::chance_hosts(sample.module);
        const std::vector<std::uint64_t> names = names_of(sample.module);
        base::Rng rng(sample.wasm.size());
        for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
            oracle::Call call{.fuel = kFuel, .seed = seed};
            const std::uint64_t account = names[rng.below(names.size())];
            const std::uint64_t code = rng.below(4) == 0 ? names[rng.below(names.size())] : account;
            call.args = {account, code, names[rng.below(names.size())]};
            const std::string difference = compare(sample, hosts, call, &finished);
            if (!difference.empty()) FAIL(sample.name << " seed " << seed << ": " << difference);
        }
    }
    // A contract that only ever ends at its first check shows nothing.
    CHECK(finished >= samples().size() * kRuns / 20);
}

}  // namespace

TEST_CASE("contracts do the same in WABT's interpreter and in the reference") {
    for_each_run([](const Sample& sample,
                    const vm::HostTable& hosts,
                    const oracle::Call& call,
                    std::uint64_t* finished) -> std::string {
        const auto expected = oracle::ReferenceEngine(hosts, {}).run(sample.wasm, call);
        if (expected->kind == vm::Outcome::Kind::ok) ++*finished;
        if (!oracle::is_of_the_module(expected->trap)) return {};
        const auto found = oracle::WabtEngine(hosts).run(sample.wasm, call);
        return found ? oracle::difference(*expected, *found) : std::string();
    });
}

TEST_CASE("the product bills contracts what the reference executes") {
    for_each_run([](const Sample& sample,
                    const vm::HostTable& hosts,
                    const oracle::Call& call,
                    std::uint64_t* finished) {
        node::ContractMachine contract_machine;
        vm::Engine engine(hosts, {}, contract_machine);
        oracle::ReferenceEngine reference(hosts, {});
        oracle::ProductEngine product(engine);
        if (reference.run(sample.wasm, call)->kind == vm::Outcome::Kind::ok) ++*finished;
        return oracle::difference_at_fuels(reference, product, sample.wasm, call);
    });
}
