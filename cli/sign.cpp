#include "cli/output.hpp"
#include "cli/secret.hpp"
#include "cli/transaction.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

using base::Errc;
using base::fail;

base::Result<chain::ChainId> chain_id_of(const Session& session, const Arguments& arguments) {
    std::string text = arguments.get("chain-id");
    if (text.empty()) {
        const auto info = call(session.url, "/v1/chain/get_info", Json());
        if (!info) {
            return fail(
                Errc::unavailable,
                fmt::format("{}; without a node, --chain-id is needed", info.error().detail));
        }
        text = text_of(*info, "chain_id");
    }
    const auto bytes = base::from_hex(text);
    if (!bytes) return fail(Errc::invalid, fmt::format("'{}' is no chain id", text));
    return base::to_hash<32>(*bytes);
}

base::Result<void> sign(const Session& session, const Arguments& arguments) {
    auto transaction = transaction_argument(session, arguments);
    if (!transaction) return fail(transaction.error());
    const auto chain_id = chain_id_of(session, arguments);
    if (!chain_id) return fail(chain_id.error());
    if (arguments.has("public-key")) {
        const auto earlier = transaction->signatures;
        Json keys = Json::array();
        for (const std::string& key : arguments.all("public-key"))
            keys.push_back(key);
        auto done = wallet_sign(session, keys, base::to_hex(chain_id->view()), *transaction);
        if (!done) return done;
        transaction->signatures.insert(
            transaction->signatures.begin(), earlier.begin(), earlier.end());
    } else {
        const auto text = read_secret(arguments, "private-key-file", "private key");
        if (!text) return fail(text.error());
        const auto key = base::crypto::PrivateKey::from_string(*text);
        if (!key)
            return fail(Errc::invalid, "that is no private key (5..., PVT_K1_..., PVT_R1_...)");
        transaction->signatures.push_back(
            key->sign(transaction->signing_digest(*chain_id, transaction->context_free_data)));
    }
    if (arguments.has("push-transaction")) {
        return push_packed(session, chain::PackedTransaction::pack(*transaction));
    }
    return print_json(chain::abi::transaction_to_json(
        *transaction, nullptr, chain::abi::TransactionForm::with_signatures));
}

base::Result<void> validate_signatures(const Session& session, const Arguments& arguments) {
    const auto transaction = any_transaction_argument(session, arguments);
    if (!transaction) return fail(transaction.error());
    const auto chain_id = chain_id_of(session, arguments);
    if (!chain_id) return fail(chain_id.error());
    const auto digest = transaction->signing_digest(*chain_id, transaction->context_free_data);
    Json keys = Json::array();
    for (const chain::Signature& signature : transaction->signatures) {
        const auto key = base::crypto::recover(signature, digest);
        if (!key) return fail(key.error());
        keys.push_back(key->to_string());
    }
    if (session.json) return print_json(keys);
    for (const Json& key : keys)
        fmt::print("{}\n", key.get<std::string>());
    if (keys.empty()) return fail(Errc::invalid, "the transaction has no signatures");
    return {};
}

}  // namespace

void add_sign_commands(std::vector<Command>& commands) {
    const Positional transaction{"transaction", "JSON, or a file with it"};
    const Option chain_id{"chain-id", 'c', "ID", "the chain (default: the node's)"};
    commands.push_back(
        {"sign",
         "Sign a transaction given as JSON",
         {transaction},
         {chain_id,
          {"public-key", 0, "PUBLICKEY", "sign with this key of the wallet; once for each"},
          secret_option("private-key-file", "file with the key (default: typed, or stdin)"),
          {"push-transaction", 'p', "", "send it when it is signed"}},
         sign});
    commands.push_back({"validate signatures",
                        "Show the keys that signed a transaction",
                        {transaction},
                        {chain_id},
                        validate_signatures});
}

}  // namespace cli
