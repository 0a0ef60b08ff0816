#include "base/crypto/hash.hpp"
#include "chain/execution/queries.hpp"
#include "node/base64.hpp"
#include "node/chain_api.hpp"

namespace node {

using chain::Exception;

namespace {

// What an account has set.
struct Contract {
    chain::AccountRow account;
    chain::Value code;  // The row of Table::code; null: none.
    base::Bytes abi;    // Empty: none.

    [[nodiscard]] base::ByteView code_bytes() const {
        return code == nullptr ? base::ByteView{} : chain::code_bytes(*code);
    }
    [[nodiscard]] std::string code_hash() const { return base::to_hex(account.code_hash.view()); }
};

// `what`: "code", "abi", as in nodeos' refusal.
base::Result<Contract> load_contract(const chain::StateView& state,
                                     chain::Name name,
                                     std::string_view what) {
    const chain::Value row = state.find(chain::Table::account, chain::account_key(name));
    if (row == nullptr) {
        return chain::fail(Exception::account_query_exception,
                           "unable to retrieve account " + std::string(what) +
                               " (unknown key (eosio::chain::name): " + name.to_string() + ")");
    }
    auto account = chain::decode_account(*row);
    if (!account) return base::fail(account.error());
    Contract contract;
    contract.account = *account;
    if (!account->code_hash.is_zero()) {
        contract.code = state.find(chain::Table::code, chain::code_key(account->code_hash));
    }
    contract.abi = chain::account_abi(state, name);
    return contract;
}

// An ABI that cannot be decoded is left out, as in nodeos.
void add_abi(const Contract& contract, Json& out) {
    if (contract.abi.empty()) return;
    auto definition = chain::abi::decode_definition(contract.abi);
    if (definition) out["abi"] = chain::abi::definition_to_json(*definition);
}

using Show = Answer (*)(chain::Name, const Contract&, Params&);

Calls::Read contract_call(std::string_view what, Show show) {
    return [what, show](const ApiContext&, const Moment& moment, Params& params) -> Answer {
        const chain::Name name = params.name("account_name");
        if (!params.ok()) return refuse(params.error());
        auto contract = load_contract(*moment.state, name, what);
        if (!contract) return refuse(contract.error());
        return show(name, *contract, params);
    };
}

Answer get_abi(chain::Name name, const Contract& contract, Params&) {
    Json out{{"account_name", name.to_string()}};
    add_abi(contract, out);
    return out;
}

Answer get_raw_abi(chain::Name name, const Contract& contract, Params& params) {
    const auto known = params.optional<base::Hash256>("abi_hash", chain::abi::hash_from_json);
    if (!params.ok()) return refuse(params.error());
    const base::Hash256 hash = base::crypto::sha256(contract.abi);
    Json out{{"account_name", name.to_string()},
             {"code_hash", contract.code_hash()},
             {"abi_hash", base::to_hex(hash.view())}};
    if (!known || *known != hash) out["abi"] = to_base64(contract.abi);
    return out;
}

Answer get_code_hash(chain::Name name, const Contract& contract, Params&) {
    return Json{{"account_name", name.to_string()}, {"code_hash", contract.code_hash()}};
}

Answer get_code(chain::Name name, const Contract& contract, Params& params) {
    const bool as_wasm = params.boolean("code_as_wasm", true);
    if (!params.ok()) return refuse(params.error());
    if (!as_wasm) {
        return refuse(Exception::unsupported_feature,
                      "Returning WAST from get_code is no longer supported");
    }
    Json out{{"account_name", name.to_string()},
             {"code_hash", contract.code_hash()},
             {"wast", ""},
             {"wasm", std::string(base::as_text(contract.code_bytes()))}};
    add_abi(contract, out);
    return out;
}

Answer get_raw_code_and_abi(chain::Name name, const Contract& contract, Params&) {
    return Json{{"account_name", name.to_string()},
                {"wasm", to_base64(contract.code_bytes())},
                {"abi", to_base64(contract.abi)}};
}

}  // namespace

void add_chain_code_calls(Calls& calls) {
    const auto add = [&](const char* path, std::string_view what, Show show) {
        calls.read({.path = path, .need = Need::required}, contract_call(what, show));
    };
    add("/v1/chain/get_abi", "abi", get_abi);
    add("/v1/chain/get_raw_abi", "abi", get_raw_abi);
    add("/v1/chain/get_code", "code", get_code);
    add("/v1/chain/get_code_hash", "code hash", get_code_hash);
    add("/v1/chain/get_raw_code_and_abi", "code/abi", get_raw_code_and_abi);
}

}  // namespace node
