#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chain {

// The errors that Antelope clients know, by the number they are reported with: JSON
// "error": {"code", "name", "what"}. The value is the number; the name is nodeos' own.
// Numbers below 1000 are those of fc, its library.
enum class Exception : std::uint32_t {
    none = 0,  // In base::Error: the API chooses one by the error's Errc.
    parse_error_exception = 4,
    bad_cast_exception = 7,
    out_of_range_exception = 8,
    assert_exception = 10,
    std_exception = 13,
    overflow_exception = 19,
    chain_exception = 3000000,
    chain_type_exception = 3010000,
    name_type_exception = 3010001,
    block_id_type_exception = 3010008,
    packed_transaction_type_exception = 3010010,
    asset_type_exception = 3010011,
    symbol_type_exception = 3010014,
    abi_exception = 3015000,
    abi_not_found_exception = 3015001,
    invalid_type_inside_abi = 3015004,
    duplicate_abi_type_def_exception = 3015005,
    duplicate_abi_struct_def_exception = 3015006,
    duplicate_abi_action_def_exception = 3015007,
    duplicate_abi_table_def_exception = 3015008,
    duplicate_abi_err_msg_def_exception = 3015009,
    abi_serialization_deadline_exception = 3015010,
    abi_recursion_depth_exception = 3015011,
    abi_circular_def_exception = 3015012,
    unpack_exception = 3015013,
    pack_exception = 3015014,
    duplicate_abi_variant_def_exception = 3015015,
    unsupported_abi_version_exception = 3015016,
    duplicate_abi_action_results_def_exception = 3015017,
    block_tx_output_exception = 3030002,
    transaction_exception = 3040000,
    tx_decompression_error = 3040001,
    tx_no_auths = 3040003,
    expired_tx_exception = 3040005,
    tx_exp_too_far_exception = 3040006,
    invalid_ref_block_exception = 3040007,
    tx_duplicate = 3040008,
    tx_not_found = 3040011,
    too_many_tx_at_once = 3040012,
    tx_too_big = 3040013,
    tx_resource_exhaustion = 3040018,
    action_validate_exception = 3050000,
    account_name_exists_exception = 3050001,
    eosio_assert_message_exception = 3050003,
    eosio_assert_code_exception = 3050004,
    action_not_found_exception = 3050005,
    unaccessible_api = 3050007,
    abort_called = 3050008,
    inline_action_too_big = 3050009,
    unauthorized_ram_usage_increase = 3050010,
    restricted_error_code_exception = 3050011,
    action_return_value_exception = 3050014,
    database_exception = 3060000,
    permission_query_exception = 3060001,
    account_query_exception = 3060002,
    contract_table_query_exception = 3060003,
    wasm_exception = 3070000,
    wasm_execution_error = 3070002,
    wasm_serialization_error = 3070003,
    overlapping_memory_error = 3070004,
    ram_usage_exceeded = 3080001,
    tx_net_usage_exceeded = 3080002,
    block_net_usage_exceeded = 3080003,
    tx_cpu_usage_exceeded = 3080004,
    block_cpu_usage_exceeded = 3080005,
    deadline_exception = 3080006,
    authorization_exception = 3090000,
    tx_duplicate_sig = 3090001,
    tx_irrelevant_sig = 3090002,
    unsatisfied_authorization = 3090003,
    missing_auth_exception = 3090004,
    irrelevant_auth_exception = 3090005,
    invalid_permission = 3090007,
    misc_exception = 3100000,
    unknown_block_exception = 3100002,
    subjective_block_production_exception = 3100006,
    unsupported_feature = 3100008,
    wallet_exception = 3120000,
    wallet_exist_exception = 3120001,
    wallet_nonexistent_exception = 3120002,
    wallet_locked_exception = 3120003,
    wallet_missing_pub_key_exception = 3120004,
    wallet_invalid_password_exception = 3120005,
    wallet_not_available_exception = 3120006,
    wallet_unlocked_exception = 3120007,
    key_exist_exception = 3120008,
    key_nonexistent_exception = 3120009,
    unsupported_key_type_exception = 3120010,
    invalid_lock_timeout_exception = 3120011,
    actor_whitelist_exception = 3130001,
    actor_blacklist_exception = 3130002,
    contract_whitelist_exception = 3130003,
    contract_blacklist_exception = 3130004,
    action_blacklist_exception = 3130005,
    key_blacklist_exception = 3130006,
    invalid_table_payer = 3160001,
    table_access_violation = 3160002,
    invalid_table_iterator = 3160003,
    table_operation_not_permitted = 3160005,
    invalid_contract_vm_type = 3160006,
    invalid_contract_vm_version = 3160007,
    set_exact_code = 3160008,
    wasm_config_unknown_version = 3160015,
    config_parse_error = 3160016,
    duplicate_snapshot_request = 3170013,
    snapshot_request_not_found = 3170014,
    invalid_snapshot_request = 3170015,
    invalid_http_request = 3200006,
    crypto_api_exception = 3230001,
    db_api_exception = 3230002,
    arithmetic_exception = 3230003,
    protocol_feature_exception = 3250000,
    exception = 0xFFFFFFFF,  // fc's unspecified exception, which is reported as number 0.
};

// The number on the wire.
[[nodiscard]] std::uint64_t exception_code(Exception exception);
// "tx_duplicate"; "exception" for a number that is not listed.
[[nodiscard]] std::string_view exception_name(Exception exception);
// "Duplicate transaction"; "unspecified" for a number that is not listed.
[[nodiscard]] std::string_view exception_what(Exception exception);
// How callers of ours react: malformed for what does not decode, not_found for failed look-ups,
// invalid for broken rules.
[[nodiscard]] base::Errc exception_errc(Exception exception);

// An error with the number and nodeos' message for details[0].
[[nodiscard]] base::Error make_error(Exception exception, std::string detail);
[[nodiscard]] inline tl::unexpected<base::Error> fail(Exception exception, std::string detail) {
    return base::fail(make_error(exception, std::move(detail)));
}
// nodeos reports several messages for some errors. In Error::detail they follow each other,
// the reason first, with this between them.
inline constexpr char kDetailSeparator = '\x1e';
// `error` with one more message at the end.
[[nodiscard]] base::Error with_detail(base::Error error, std::string_view message);
[[nodiscard]] std::vector<std::string> details_of(const base::Error& error);
// The exception of an error; if it has none, the one that stands for its Errc.
[[nodiscard]] Exception exception_of(const base::Error& error);

}  // namespace chain
