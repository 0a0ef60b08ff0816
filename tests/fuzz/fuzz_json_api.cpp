// A request's body as every API call reads it: parameters, transactions in both forms, bounds.
// The first byte chooses the call.
#include "chain/abi/transaction_json.hpp"
#include "node/params.hpp"
#include "node/table_keys.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

void read_fields(node::Params& params) {
    (void)params.name("account_name");
    (void)params.text("block_num_or_id");
    (void)params.u32("limit", 10);
    (void)params.boolean("json");
    (void)params.names("accounts");
    (void)params.list<chain::PublicKey>("keys", chain::abi::public_key_from_json);
    (void)params.list<chain::PermissionLevel>("levels", chain::abi::permission_level_from_json);
    (void)params.optional<base::Hash256>("id", chain::abi::hash_from_json);
}

void read_transaction(const node::Params& params) {
    (void)chain::abi::transaction_from_json(params.body(), {});
    auto packed = chain::abi::packed_transaction_from_json(params.body(), {});
    if (packed) (void)chain::decode_transaction(std::move(*packed));
}

void read_bound(node::Params& params) {
    const std::string text = params.text("lower_bound");
    auto kind = node::parse_key_kind(params.text("key_type"));
    if (!params.ok()) return;
    (void)node::parse_key64(text, "scope");
    if (kind) (void)node::parse_bound(*kind, params.boolean("hex"), text, "lower_bound");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
    node::Params params(body, static_cast<node::Need>(data[0] % 3));
    if (params.ok()) {
        if (data[0] / 3 % 3 == 0) read_fields(params);
        if (data[0] / 3 % 3 == 1) read_transaction(params);
        if (data[0] / 3 % 3 == 2) read_bound(params);
    }
    if (!params.ok()) (void)node::error_response(params.error(), true);
    return 0;
}
