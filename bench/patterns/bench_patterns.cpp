// Makes the transactions of the patterns for measure.py, which sends them to nodes. Reads commands
// from standard input and answers each with a line of JSON:
//
//   list                    what patterns there are, and the scale to the reference machine
//   deploy FIRST LAST       transactions that make the accounts of these patterns, with their code
//   prepare INDEX           transactions that store what the pattern works on
//   run INDEX COUNT TIMES   so many transactions of the pattern; each works COUNT times
//
//   usage: bench_patterns SYSTEM_KEY_FILE CHAIN_ID BLOCK_ID
// The key is the one of eosio, the block one of the chain's last, which transactions refer to.
#include "base/crypto/hash.hpp"
#include "base/crypto/keys.hpp"
#include "bench/price/clock.hpp"
#include "chain/abi/json.hpp"
#include "chain/abi/transaction_json.hpp"
#include "pattern.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using chain::abi::Json;
using patterns::Pattern;

constexpr std::uint64_t kPrepares = std::uint64_t{1} << 63U;
constexpr std::size_t kBytesTogether = 300'000;
constexpr std::uint32_t kLifeSeconds = 1'800;
// Larger than any transaction: what makes equal ones differ.
constexpr std::uint32_t kNetWords = 1'000'000;

template <class T>
T must(base::Result<T> result) {
    if (result) return *std::move(result);
    std::fprintf(stderr, "bench_patterns: %s\n", result.error().detail.c_str());
    std::exit(1);
}

chain::Name account_of(std::size_t index) {
    std::string text = "pataaaa";
    for (std::size_t at = text.size(); index > 0; index /= 26)
        text[--at] = static_cast<char>('a' + index % 26);
    return must(chain::Name::from_string(text));
}

class Packer {
  public:
    Packer(const base::crypto::PrivateKey& key, base::Hash256 chain_id, base::Hash256 block_id)
        : key_(key), chain_id_(chain_id), block_id_(block_id) {
        patterns::add_instructions(all_);
        patterns::add_hosts(all_);
        patterns::add_rows(all_);
        patterns::add_transactions(all_);
    }

    [[nodiscard]] Json list() const {
        Json rows = Json::array();
        for (const Pattern& each : all_) {
            rows.push_back({{"name", each.name},
                            {"stored", each.is_stored},
                            {"prepared", each.prepared},
                            {"count", each.count},
                            {"count_max", each.count_max}});
        }
        return {{"patterns", rows}, {"scale", price::reference_scale()}};
    }

    Json deploy(std::size_t first, std::size_t last) {
        std::vector<chain::Action> accounts;
        std::vector<chain::Action> contracts;
        for (std::size_t i = first; i < last; ++i)
            add_account(i, accounts, contracts);
        Json bodies = Json::array({body_of(std::move(accounts))});
        // As many in one as a transaction has bytes for.
        std::vector<chain::Action> together;
        std::size_t bytes = 0;
        for (chain::Action& each : contracts) {
            if (!together.empty() && bytes + each.data.size() > kBytesTogether) {
                bodies.push_back(body_of(std::exchange(together, {})));
                bytes = 0;
            }
            bytes += each.data.size();
            together.push_back(std::move(each));
        }
        if (!together.empty()) bodies.push_back(body_of(std::move(together)));
        return bodies;
    }

    Json prepare(std::size_t index) {
        Json bodies = Json::array();
        for (std::uint32_t i = 0; i < all_[index].prepared; ++i) {
            bodies.push_back(body_of({work(index, kPrepares, i, patterns::kPreparedRows)}));
        }
        return bodies;
    }

    Json run(std::size_t index, std::uint32_t count, std::uint32_t times) {
        Json bodies = Json::array();
        for (std::uint32_t i = 0; i < times; ++i) {
            const std::uint32_t number = ++runs_;
            const Pattern& pattern = all_[index];
            bodies.push_back(body_of(
                pattern.actions ? pattern.actions(account_of(index), number)
                                : std::vector<chain::Action>{work(index, 0, number, count)}));
        }
        return bodies;
    }

  private:
    static chain::Action work(std::size_t index,
                              std::uint64_t flags,
                              std::uint64_t number,
                              std::uint32_t count) {
        const chain::Name account = account_of(index);
        return {account,
                chain::Name{flags | (number << 32U) | count},
                {{account, must(chain::Name::from_string("active"))}},
                {}};
    }

    void add_account(std::size_t index,
                     std::vector<chain::Action>& accounts,
                     std::vector<chain::Action>& contracts) const {
        const chain::Name account = account_of(index);
        const chain::Name system = must(chain::Name::from_string("eosio"));
        const auto own = chain::Authority::of_key(key_.public_key());
        base::Writer made;
        encode(made, system);
        encode(made, account);
        encode(made, own);
        encode(made, own);
        accounts.push_back(patterns::action_of(system, "eosio", "newaccount", made.take()));
        if (!all_[index].module.empty()) {
            base::Writer code;
            encode(code, account);
            code.u8(0);
            code.u8(0);
            code.bytes(patterns::assemble(all_[index].module));
            contracts.push_back(patterns::action_of(account, "eosio", "setcode", code.take()));
        }
        if (!all_[index].is_privileged) return;
        base::Writer privileged;
        encode(privileged, account);
        privileged.u8(1);
        contracts.push_back(patterns::action_of(system, "eosio", "setpriv", privileged.take()));
    }

    std::string body_of(std::vector<chain::Action> actions) {
        chain::SignedTransaction transaction;
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        transaction.expiration.seconds =
            kLifeSeconds + static_cast<std::uint32_t>(
                               std::chrono::duration_cast<std::chrono::seconds>(now).count());
        transaction.ref_block_num = static_cast<std::uint16_t>(chain::height_of(block_id_));
        transaction.ref_block_prefix = chain::ref_block_prefix_of(block_id_);
        transaction.max_net_usage_words = kNetWords + ++bodies_;
        transaction.actions = std::move(actions);
        transaction.signatures.push_back(key_.sign(transaction.signing_digest(chain_id_, {})));
        return chain::abi::dump_json({{"return_failure_trace", true},
                                      {"retry_trx", false},
                                      {"transaction",
                                       chain::abi::packed_transaction_to_json(
                                           chain::PackedTransaction::pack(transaction))}});
    }

    base::crypto::PrivateKey key_;
    base::Hash256 chain_id_;
    base::Hash256 block_id_;
    std::vector<Pattern> all_;
    std::uint32_t bodies_ = 0;
    std::uint32_t runs_ = 0;
};

Json answer_to(Packer& packer, const std::string& line) {
    std::istringstream words(line);
    std::string command;
    std::size_t first = 0;
    std::uint32_t second = 0;
    std::uint32_t third = 0;
    words >> command >> first >> second >> third;
    if (command == "list") return packer.list();
    if (command == "deploy") return packer.deploy(first, second);
    if (command == "prepare") return packer.prepare(first);
    if (command == "run") return packer.run(first, second, third);
    std::fprintf(stderr, "bench_patterns: no such command: %s\n", line.c_str());
    std::exit(1);
}

base::Hash256 hash_of(const char* hex) {
    return must(base::to_hash<32>(must(base::from_hex(hex))));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: bench_patterns SYSTEM_KEY_FILE CHAIN_ID BLOCK_ID\n");
        return 2;
    }
    std::ifstream file(argv[1]);
    std::string key;
    file >> key;
    Packer packer(
        must(base::crypto::PrivateKey::from_string(key)), hash_of(argv[2]), hash_of(argv[3]));
    for (std::string line; std::getline(std::cin, line);)
        std::cout << chain::abi::dump_json(answer_to(packer, line)) << std::endl;
    return 0;
}
