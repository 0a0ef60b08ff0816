#include "cli/bench_tokens.hpp"

#include "base/crypto/hash.hpp"
#include "chain/abi/definition.hpp"
#include "chain/abi/transaction_json.hpp"
#include "chain/types/asset.hpp"
#include "cli/files.hpp"
#include "cli/output.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace cli {

namespace {

using base::Errc;
using base::fail;
using base::crypto::PrivateKey;

constexpr std::string_view kContract = "bench.token";
constexpr std::string_view kUnit = "0.0001 BENCH";
constexpr std::uint32_t kSetupSeconds = 60;

chain::Name name_of(std::string_view text) {
    return *chain::Name::from_string(text);
}

// "benchaaa", "benchaab", ...
chain::Name account_name(std::size_t index) {
    std::string text = "benchaaa";
    for (std::size_t at = text.size(); index > 0; index /= 26)
        text[--at] = static_cast<char>('a' + index % 26);
    return name_of(text);
}

// The same key at every run: the accounts of an earlier run are used again.
base::Result<PrivateKey> derived_key(const PrivateKey& system, chain::Name name) {
    base::Writer out;
    out.string("bor-cli bench load");
    out.raw(system.secret());
    out.string(name.to_string());
    return PrivateKey::from_secret(base::crypto::KeyType::k1,
                                   base::crypto::sha256(out.take()).view());
}

base::Bytes transfer_data(chain::Name from,
                          chain::Name to,
                          const chain::Asset& quantity,
                          const std::string& memo) {
    base::Writer out;
    encode(out, from);
    encode(out, to);
    encode(out, quantity);
    out.string(memo);
    return out.take();
}

std::string body_of(const chain::SignedTransaction& transaction) {
    return chain::abi::dump_json(
        {{"return_failure_trace", false},
         {"retry_trx", false},
         {"transaction",
          chain::abi::packed_transaction_to_json(chain::PackedTransaction::pack(transaction))}});
}

// What follows builds on this transaction: one that is not final yet may lose its block, and then
// what it made.
base::Result<void> wait_final(const BenchTokens& tokens, const chain::TransactionId& id) {
    constexpr auto kPause = std::chrono::milliseconds(20);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSetupSeconds);
    const Json asked = {{"id", base::to_hex(id.view())}};
    while (std::chrono::steady_clock::now() < end) {
        const auto status = call(tokens.url, "/v1/chain/get_transaction_status", asked);
        if (!status) return fail(status.error());
        const std::string state = text_of(*status, "state");
        if (state == "IRREVERSIBLE") return {};
        if (state == "FAILED") {
            return fail(Errc::unavailable,
                        fmt::format("the preparing transaction {} was dropped: {}",
                                    base::to_hex(id.view()),
                                    text_of(*status, "reason")));
        }
        std::this_thread::sleep_for(kPause);
    }
    return fail(Errc::unavailable,
                fmt::format("the preparing transaction {} is not final after {} s: does the chain "
                            "go on? 'bor-cli doctor' says more",
                            base::to_hex(id.view()),
                            kSetupSeconds));
}

// Signs actions and sends them; waits until they are final.
base::Result<void> execute(const BenchTokens& tokens,
                           std::vector<chain::Action> actions,
                           const PrivateKey& key) {
    const auto header = bench_header(tokens.url, kSetupSeconds);
    if (!header) return fail(header.error());
    chain::SignedTransaction transaction;
    static_cast<chain::TransactionHeader&>(transaction) = *header;
    transaction.actions = std::move(actions);
    transaction.signatures.push_back(key.sign(transaction.signing_digest(tokens.chain_id, {})));
    const auto json = chain::abi::parse_json(body_of(transaction));
    const auto answer = call(tokens.url, "/v1/chain/send_transaction2", *json);
    if (!answer) return fail(answer.error());
    return wait_final(tokens, transaction.id());
}

chain::Action action(std::string_view account, std::string_view name, chain::Name actor) {
    return {name_of(account), name_of(name), {{actor, name_of("active")}}, {}};
}

chain::Action new_account(chain::Name name, const base::crypto::PublicKey& key) {
    chain::Action out = action("eosio", "newaccount", name_of("eosio"));
    base::Writer data;
    encode(data, name_of("eosio"));
    encode(data, name);
    encode(data, chain::Authority::of_key(key));
    encode(data, chain::Authority::of_key(key));
    out.data = data.take();
    return out;
}

bool exists(const std::string& url, chain::Name name) {
    return call(url, "/v1/chain/get_account", {{"account_name", name.to_string()}}).has_value();
}

base::Result<void> set_token(const BenchTokens& tokens, const std::string& folder) {
    const chain::Name contract = name_of(kContract);
    const auto wasm = read_file(std::filesystem::path(folder) / "token.wasm");
    if (!wasm) return fail(wasm.error());
    const auto text = read_file(std::filesystem::path(folder) / "token.abi");
    if (!text) return fail(text.error());
    const auto json = chain::abi::parse_json(*text);
    if (!json) return fail(json.error());
    const auto definition = chain::abi::definition_from_json(*json);
    if (!definition) return fail(definition.error());
    const auto serializer = chain::abi::Serializer::make(*definition);
    if (!serializer) return fail(serializer.error());
    chain::Action code = action("eosio", "setcode", contract);
    base::Writer code_data;
    encode(code_data, contract);
    code_data.u8(0);
    code_data.u8(0);
    code_data.bytes(base::as_bytes(*wasm));
    code.data = code_data.take();
    chain::Action abi = action("eosio", "setabi", contract);
    base::Writer abi_data;
    encode(abi_data, contract);
    abi_data.bytes(chain::abi::encode_definition(*definition));
    abi.data = abi_data.take();
    if (auto done = execute(tokens, {code, abi}, tokens.system); !done) return done;
    chain::Action create = action(kContract, "create", contract);
    auto data =
        (*serializer)
            ->to_binary("create",
                        {{"issuer", kContract}, {"maximum_supply", "100000000000000.0000 BENCH"}});
    if (!data) return fail(data.error());
    create.data = *std::move(data);
    return execute(tokens, {create}, tokens.system);
}

// New money for every account, so that a long run does not end for lack of it.
base::Result<void> fund(const BenchTokens& tokens) {
    const chain::Name contract = name_of(kContract);
    const auto each = chain::Asset::from_string("10000.0000 BENCH");
    if (!each) return fail(each.error());
    chain::Asset total = *each;
    total.amount *= static_cast<std::int64_t>(tokens.accounts.size());
    chain::Action issue = action(kContract, "issue", contract);
    base::Writer data;
    encode(data, contract);
    encode(data, total);
    data.string(std::to_string(std::chrono::system_clock::now().time_since_epoch().count()));
    issue.data = data.take();
    std::vector<chain::Action> actions{issue};
    for (const BenchTokens::Account& account : tokens.accounts) {
        chain::Action transfer = action(kContract, "transfer", contract);
        transfer.data = transfer_data(contract, account.name, *each, "");
        actions.push_back(transfer);
    }
    return execute(tokens, std::move(actions), tokens.system);
}

}  // namespace

base::Result<chain::TransactionHeader> bench_header(const std::string& url, std::uint32_t seconds) {
    const auto info = call(url, "/v1/chain/get_info", Json());
    if (!info) return fail(info.error());
    const auto time = chain::TimePoint::from_string(text_of(*info, "head_block_time"));
    if (!time) return fail(time.error());
    const auto id = hash_of(*info, "last_irreversible_block_id");
    if (!id) return fail(id.error());
    chain::TransactionHeader header;
    header.expiration.seconds =
        static_cast<std::uint32_t>(time->microseconds / 1'000'000) + seconds;
    header.ref_block_num = static_cast<std::uint16_t>(chain::height_of(*id));
    header.ref_block_prefix = chain::ref_block_prefix_of(*id);
    return header;
}

base::Result<BenchTokens> BenchTokens::prepare(const std::string& url,
                                               const PrivateKey& system,
                                               const std::string& folder,
                                               std::size_t count) {
    const auto info = call(url, "/v1/chain/get_info", Json());
    if (!info) return fail(info.error());
    const auto chain_id = hash_of(*info, "chain_id");
    if (!chain_id) return fail(chain_id.error());
    BenchTokens tokens{url, *chain_id, system, {}};
    const chain::Name contract = name_of(kContract);
    std::vector<chain::Action> missing;
    const bool is_new = !exists(url, contract);
    if (is_new) missing.push_back(new_account(contract, system.public_key()));
    for (std::size_t i = 0; i < count; ++i) {
        const chain::Name name = account_name(i);
        const auto key = derived_key(system, name);
        if (!key) return fail(key.error());
        if (!exists(url, name)) missing.push_back(new_account(name, key->public_key()));
        tokens.accounts.push_back({name, *key});
    }
    if (!missing.empty()) {
        if (auto done = execute(tokens, std::move(missing), system); !done) {
            return fail(done.error());
        }
    }
    if (is_new) {
        if (auto done = set_token(tokens, folder); !done) return fail(done.error());
    }
    if (auto done = fund(tokens); !done) return fail(done.error());
    return tokens;
}

std::string BenchTokens::transfer(std::size_t index,
                                  const chain::TransactionHeader& header,
                                  chain::TransactionId& id) const {
    static const chain::Asset kAmount = *chain::Asset::from_string(kUnit);
    const Account& from = accounts[index % accounts.size()];
    const Account& to = accounts[(index + 1) % accounts.size()];
    chain::SignedTransaction transaction;
    static_cast<chain::TransactionHeader&>(transaction) = header;
    transaction.actions = {action(kContract, "transfer", from.name)};
    transaction.actions[0].data = transfer_data(from.name, to.name, kAmount, std::to_string(index));
    transaction.signatures.push_back(from.key.sign(transaction.signing_digest(chain_id, {})));
    id = transaction.id();
    return body_of(transaction);
}

}  // namespace cli
