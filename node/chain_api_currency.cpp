#include "chain/execution/rows.hpp"
#include "chain/types/asset.hpp"
#include "node/chain_api.hpp"
#include "node/contract_abi.hpp"
#include "node/table_walk.hpp"

#include <algorithm>
#include <cctype>
#include <functional>

namespace node {

using chain::literals::operator""_n;
using chain::Exception;

namespace {

constexpr std::size_t kAssetBytes = 16;
constexpr std::size_t kRowKeyBytes = 32;

// Calls `each` with the value of every row of a table until it says false.
void walk_rows(const Moment& moment,
               const chain::TableId& table,
               const std::function<bool(base::ByteView)>& each) {
    TableWalk walk(
        *moment.state, chain::Table::contract_row, range_of(chain::table_key(table), kRowKeyBytes));
    for (; walk.row() != nullptr; walk.next()) {
        if (!each(chain::row_value(*walk.row()->value))) break;
    }
}

std::string upper_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char letter) {
        return static_cast<char>(std::toupper(letter));
    });
    return text;
}

// The asset at the start of a row.
base::Result<chain::Asset> asset_of(base::ByteView value) {
    if (value.size() < kAssetBytes) {
        return chain::fail(Exception::asset_type_exception, "Invalid data on table");
    }
    return chain::unpack<chain::Asset>(value.first(kAssetBytes), "balance");
}

Answer get_currency_balance(const ApiContext& context, const Moment& moment, Params& params) {
    const chain::Name code = params.name("code");
    const chain::Name account = params.name("account");
    const Json* given = params.find("symbol");
    const bool has_symbol = given != nullptr && !given->is_null();
    const std::string symbol = has_symbol ? upper_case(params.text("symbol")) : std::string();
    if (!params.ok()) return refuse(params.error());
    auto abi = find_contract_abi(context.abis, *moment.state, code, "accounts"_n);
    if (!abi) return refuse(abi.error());
    Json balances = Json::array();
    std::optional<base::Error> error;
    const Deadline deadline(context.response_time);
    walk_rows(moment, {code, account, "accounts"_n}, [&](base::ByteView value) {
        auto balance = asset_of(value);
        if (!balance) {
            error = balance.error();
            return false;
        }
        const bool is_wanted = !has_symbol || balance->symbol.code().to_string() == symbol;
        if (is_wanted) balances.push_back(balance->to_string());
        return !(has_symbol && is_wanted) && !deadline.is_over();
    });
    if (error) return refuse(*error);
    return balances;
}

Answer get_currency_stats(const ApiContext& context, const Moment& moment, Params& params) {
    const chain::Name code = params.name("code");
    const std::string text = upper_case(params.text("symbol"));
    if (!params.ok()) return refuse(params.error());
    auto abi = find_contract_abi(context.abis, *moment.state, code, "stat"_n);
    if (!abi) return refuse(abi.error());
    auto symbol = chain::SymbolCode::from_string(text);
    if (!symbol)
        return refuse(Exception::symbol_type_exception, "invalid character in symbol name");
    Json stats = Json::object();
    std::optional<base::Error> error;
    walk_rows(moment, {code, chain::Name{symbol->value}, "stat"_n}, [&](base::ByteView value) {
        base::Reader in(value);
        chain::Asset supply;
        chain::Asset max_supply;
        chain::Name issuer;
        chain::decode(in, supply, "supply");
        chain::decode(in, max_supply, "max_supply");
        chain::decode(in, issuer, "issuer");
        if (auto status = in.status(); !status) {
            error = status.error();
            return false;
        }
        stats[supply.symbol.code().to_string()] = {{"supply", supply.to_string()},
                                                   {"max_supply", max_supply.to_string()},
                                                   {"issuer", issuer.to_string()}};
        return true;
    });
    if (error) return refuse(*error);
    return stats;
}

}  // namespace

void add_chain_currency_calls(Calls& calls) {
    calls.read({.path = "/v1/chain/get_currency_balance", .need = Need::required},
               get_currency_balance);
    calls.read({.path = "/v1/chain/get_currency_stats", .need = Need::required},
               get_currency_stats);
}

}  // namespace node
