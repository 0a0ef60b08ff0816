#include "node/stream_json.hpp"

#include "chain/execution/rows.hpp"

#include <array>
#include <string_view>

namespace node {

using chain::Table;
using chain::abi::Json;

namespace {

constexpr std::size_t kContractRowKeyBytes = 32;

// In the order of Table's numbers, from 1.
constexpr std::array<std::string_view, 24> kNames = {"global",
                                                     "account",
                                                     "permission",
                                                     "permission_link",
                                                     "code",
                                                     "abi",
                                                     "contract_table",
                                                     "contract_row",
                                                     "index64",
                                                     "index128",
                                                     "index256",
                                                     "index_double",
                                                     "index_long_double",
                                                     "index64_primary",
                                                     "index128_primary",
                                                     "index256_primary",
                                                     "index_double_primary",
                                                     "index_long_double_primary",
                                                     "transaction_id",
                                                     "block_id",
                                                     "allowed",
                                                     "producer",
                                                     "member",
                                                     "node"};

std::string_view table_name(Table table) {
    const auto number = static_cast<std::size_t>(table);
    return number >= 1 && number <= kNames.size() ? kNames[number - 1] : "unknown";
}

// The row of a contract, decoded as far as its ABI goes.
void add_contract_row(base::ByteView key,
                      const chain::Value& stored,
                      const chain::abi::Resolver& resolver,
                      Json& out) {
    const chain::Name code{chain::key_u64(key, 0)};
    const chain::Name name{chain::key_u64(key, 16)};
    out["code"] = code.to_string();
    out["scope"] = chain::Name{chain::key_u64(key, 8)}.to_string();
    out["name"] = name.to_string();
    out["primary_key"] = std::to_string(chain::key_u64(key, 24));
    if (stored == nullptr) {
        out["value"] = nullptr;
        return;
    }
    out["payer"] = chain::row_payer(*stored).to_string();
    const base::ByteView value = chain::row_value(*stored);
    out["value"] = base::to_hex(value);
    const chain::abi::SerializerPtr abi = resolver(code);
    const std::string_view type = abi == nullptr ? std::string_view() : abi->table_type(name);
    if (type.empty()) return;
    if (auto row = abi->to_json(type, value)) out["row"] = std::move(*row);
}

}  // namespace

Json deltas_to_json(const chain::ChangeSet& changes, const chain::abi::Resolver& resolver) {
    Json list = Json::array();
    for (const chain::TableChanges& table : changes.tables()) {
        for (const chain::Change& change : table.changes) {
            const base::ByteView key = change.key;
            Json out{{"table", table_name(table.table)}};
            if (table.table == Table::contract_row && key.size() == kContractRowKeyBytes) {
                add_contract_row(key, change.value, resolver, out);
            } else {
                out["key"] = base::to_hex(key);
                out["value"] =
                    change.value == nullptr ? Json(nullptr) : Json(base::to_hex(*change.value));
            }
            list.push_back(std::move(out));
        }
    }
    return list;
}

}  // namespace node
