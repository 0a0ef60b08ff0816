#include "chain/types/exception.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace chain {

namespace {

struct Entry {
    Exception exception;
    std::string_view name;
    std::string_view what;
};

// Ascending, for the binary search. Source: the recorded answers, and nodeos' list.
constexpr auto kEntries = [] {
    using enum Exception;
    return std::to_array<Entry>({
        {parse_error_exception, "parse_error_exception", "Parse Error"},
        {bad_cast_exception, "bad_cast_exception", "Bad Cast"},
        {out_of_range_exception, "out_of_range_exception", "Out of Range"},
        {assert_exception, "assert_exception", "Assert Exception"},
        {std_exception,
         "St12out_of_range",
         "vector::_M_range_check: __n (which is 0) >= this->size() (which is 0)"},
        {overflow_exception, "overflow_exception", "Integer Overflow"},
        {chain_exception, "chain_exception", "blockchain exception"},
        {chain_type_exception, "chain_type_exception", "chain type exception"},
        {name_type_exception, "name_type_exception", "Invalid name"},
        {block_id_type_exception, "block_id_type_exception", "Invalid block ID"},
        {packed_transaction_type_exception,
         "packed_transaction_type_exception",
         "Invalid packed transaction"},
        {asset_type_exception, "asset_type_exception", "Invalid asset"},
        {symbol_type_exception, "symbol_type_exception", "Invalid symbol"},
        {abi_exception, "abi_exception", "ABI exception"},
        {abi_not_found_exception, "abi_not_found_exception", "No ABI found"},
        {invalid_type_inside_abi,
         "invalid_type_inside_abi",
         "The type defined in the ABI is invalid"},
        {duplicate_abi_type_def_exception,
         "duplicate_abi_type_def_exception",
         "Duplicate type definition in the ABI"},
        {duplicate_abi_struct_def_exception,
         "duplicate_abi_struct_def_exception",
         "Duplicate struct definition in the ABI"},
        {duplicate_abi_action_def_exception,
         "duplicate_abi_action_def_exception",
         "Duplicate action definition in the ABI"},
        {duplicate_abi_table_def_exception,
         "duplicate_abi_table_def_exception",
         "Duplicate table definition in the ABI"},
        {duplicate_abi_err_msg_def_exception,
         "duplicate_abi_err_msg_def_exception",
         "Duplicate error message definition in the ABI"},
        {abi_serialization_deadline_exception,
         "abi_serialization_deadline_exception",
         "ABI serialization time has exceeded the deadline"},
        {abi_recursion_depth_exception,
         "abi_recursion_depth_exception",
         "ABI recursive definition has exceeded the max recursion depth"},
        {abi_circular_def_exception,
         "abi_circular_def_exception",
         "Circular definition is detected in the ABI"},
        {unpack_exception, "unpack_exception", "Unpack data exception"},
        {pack_exception, "pack_exception", "Pack data exception"},
        {duplicate_abi_variant_def_exception,
         "duplicate_abi_variant_def_exception",
         "Duplicate variant definition in the ABI"},
        {unsupported_abi_version_exception,
         "unsupported_abi_version_exception",
         "ABI has an unsupported version"},
        {duplicate_abi_action_results_def_exception,
         "duplicate_abi_action_results_def_exception",
         "Duplicate action results definition in the ABI"},
        {block_tx_output_exception,
         "block_tx_output_exception",
         "Transaction outputs in block do not match transaction outputs from applying block"},
        {transaction_exception, "transaction_exception", "Transaction exception"},
        {tx_decompression_error, "tx_decompression_error", "Error decompressing transaction"},
        {tx_no_auths, "tx_no_auths", "Transaction should have at least one required authority"},
        {expired_tx_exception, "expired_tx_exception", "Expired Transaction"},
        {tx_exp_too_far_exception, "tx_exp_too_far_exception", "Transaction Expiration Too Far"},
        {invalid_ref_block_exception, "invalid_ref_block_exception", "Invalid Reference Block"},
        {tx_duplicate, "tx_duplicate", "Duplicate transaction"},
        {tx_not_found, "tx_not_found", "The transaction can not be found"},
        {too_many_tx_at_once, "too_many_tx_at_once", "Pushing too many transactions at once"},
        {tx_too_big, "tx_too_big", "Transaction is too big"},
        {tx_resource_exhaustion,
         "tx_resource_exhaustion",
         "Transaction exceeded transient resource limit"},
        {action_validate_exception, "action_validate_exception", "Action validate exception"},
        {account_name_exists_exception,
         "account_name_exists_exception",
         "Account name already exists"},
        {eosio_assert_message_exception,
         "eosio_assert_message_exception",
         "eosio_assert_message assertion failure"},
        {eosio_assert_code_exception,
         "eosio_assert_code_exception",
         "eosio_assert_code assertion failure"},
        {action_not_found_exception, "action_not_found_exception", "Action can not be found"},
        {unaccessible_api, "unaccessible_api", "Attempt to use unaccessible API"},
        {abort_called, "abort_called", "Abort Called"},
        {inline_action_too_big,
         "inline_action_too_big",
         "Inline Action exceeds maximum size limit"},
        {unauthorized_ram_usage_increase,
         "unauthorized_ram_usage_increase",
         "Action attempts to increase RAM usage of account without authorization"},
        {restricted_error_code_exception,
         "restricted_error_code_exception",
         "eosio_assert_code assertion failure uses restricted error code value"},
        {action_return_value_exception,
         "action_return_value_exception",
         "action return value size too big"},
        {database_exception, "database_exception", "Database exception"},
        {permission_query_exception, "permission_query_exception", "Permission Query Exception"},
        {account_query_exception, "account_query_exception", "Account Query Exception"},
        {contract_table_query_exception,
         "contract_table_query_exception",
         "Contract Table Query Exception"},
        {wasm_exception, "wasm_exception", "WASM Exception"},
        {wasm_execution_error, "wasm_execution_error", "Runtime Error Processing WASM"},
        {wasm_serialization_error,
         "wasm_serialization_error",
         "Serialization Error Processing WASM"},
        {overlapping_memory_error, "overlapping_memory_error", "memcpy with overlapping memory"},
        {ram_usage_exceeded, "ram_usage_exceeded", "Account using more than allotted RAM usage"},
        {tx_net_usage_exceeded,
         "tx_net_usage_exceeded",
         "Transaction exceeded the current network usage limit imposed on the transaction"},
        {block_net_usage_exceeded,
         "block_net_usage_exceeded",
         "Transaction network usage is too much for the remaining allowable usage of the current "
         "block"},
        {tx_cpu_usage_exceeded,
         "tx_cpu_usage_exceeded",
         "Transaction exceeded the current CPU usage limit imposed on the transaction"},
        {block_cpu_usage_exceeded,
         "block_cpu_usage_exceeded",
         "Transaction CPU usage is too much for the remaining allowable usage of the current "
         "block"},
        {deadline_exception, "deadline_exception", "Transaction took too long"},
        {authorization_exception, "authorization_exception", "Authorization exception"},
        {tx_duplicate_sig, "tx_duplicate_sig", "Duplicate signature included"},
        {tx_irrelevant_sig, "tx_irrelevant_sig", "Irrelevant signature included"},
        {unsatisfied_authorization,
         "unsatisfied_authorization",
         "Provided keys, permissions, and delays do not satisfy declared authorizations"},
        {missing_auth_exception, "missing_auth_exception", "Missing required authority"},
        {irrelevant_auth_exception, "irrelevant_auth_exception", "Irrelevant authority included"},
        {invalid_permission, "invalid_permission", "Invalid Permission"},
        {misc_exception, "misc_exception", "Miscellaneous exception"},
        {unknown_block_exception, "unknown_block_exception", "Unknown block"},
        {subjective_block_production_exception,
         "subjective_block_production_exception",
         "Subjective exception thrown during block production"},
        {unsupported_feature, "unsupported_feature", "Feature is currently unsupported"},
        {wallet_exception, "wallet_exception", "Wallet exception"},
        {wallet_exist_exception, "wallet_exist_exception", "Wallet already exists"},
        {wallet_nonexistent_exception, "wallet_nonexistent_exception", "Nonexistent wallet"},
        {wallet_locked_exception, "wallet_locked_exception", "Locked wallet"},
        {wallet_missing_pub_key_exception,
         "wallet_missing_pub_key_exception",
         "Missing public key"},
        {wallet_invalid_password_exception,
         "wallet_invalid_password_exception",
         "Invalid wallet password"},
        {wallet_not_available_exception, "wallet_not_available_exception", "No available wallet"},
        {wallet_unlocked_exception, "wallet_unlocked_exception", "Already unlocked"},
        {key_exist_exception, "key_exist_exception", "Key already exists"},
        {key_nonexistent_exception, "key_nonexistent_exception", "Nonexistent key"},
        {unsupported_key_type_exception, "unsupported_key_type_exception", "Unsupported key type"},
        {invalid_lock_timeout_exception,
         "invalid_lock_timeout_exception",
         "Wallet lock timeout is invalid"},
        {actor_whitelist_exception,
         "actor_whitelist_exception",
         "Authorizing actor of transaction is not on the whitelist"},
        {actor_blacklist_exception,
         "actor_blacklist_exception",
         "Authorizing actor of transaction is on the blacklist"},
        {contract_whitelist_exception,
         "contract_whitelist_exception",
         "Contract to execute is not on the whitelist"},
        {contract_blacklist_exception,
         "contract_blacklist_exception",
         "Contract to execute is on the blacklist"},
        {action_blacklist_exception,
         "action_blacklist_exception",
         "Action to execute is on the blacklist"},
        {key_blacklist_exception,
         "key_blacklist_exception",
         "Public key in authority is on the blacklist"},
        {invalid_table_payer, "invalid_table_payer", "The payer of the table data is invalid"},
        {table_access_violation, "table_access_violation", "Table access violation"},
        {invalid_table_iterator, "invalid_table_iterator", "Invalid table iterator"},
        {table_operation_not_permitted,
         "table_operation_not_permitted",
         "The table operation is not allowed"},
        {invalid_contract_vm_type, "invalid_contract_vm_type", "Invalid contract vm type"},
        {invalid_contract_vm_version, "invalid_contract_vm_version", "Invalid contract vm version"},
        {set_exact_code, "set_exact_code", "Contract is already running this version of code"},
        {wasm_config_unknown_version, "wasm_config_unknown_version", "Unknown wasm_config version"},
        {config_parse_error, "config_parse_error", "Parsing config error"},
        {duplicate_snapshot_request,
         "duplicate_snapshot_request",
         "Snapshot has been already scheduled with specified parameters"},
        {snapshot_request_not_found, "snapshot_request_not_found", "Snapshot request not found"},
        {invalid_snapshot_request, "invalid_snapshot_request", "Invalid snapshot request"},
        {invalid_http_request, "invalid_http_request", "invalid http request"},
        {crypto_api_exception, "crypto_api_exception", "Crypto API Exception"},
        {db_api_exception, "db_api_exception", "Database API Exception"},
        {arithmetic_exception, "arithmetic_exception", "Arithmetic Exception"},
        {protocol_feature_exception, "protocol_feature_exception", "Protocol feature exception"},
    });
}();

static_assert(std::ranges::is_sorted(kEntries, {}, &Entry::exception));

const Entry* find_entry(Exception exception) {
    const auto* found = std::ranges::lower_bound(kEntries, exception, {}, &Entry::exception);
    return found != kEntries.end() && found->exception == exception ? found : nullptr;
}

bool in_range(Exception exception, std::uint32_t first, std::uint32_t last) {
    const auto code = static_cast<std::uint32_t>(exception);
    return code >= first && code <= last;
}

}  // namespace

std::uint64_t exception_code(Exception exception) {
    return exception == Exception::exception ? 0 : static_cast<std::uint64_t>(exception);
}

std::string_view exception_name(Exception exception) {
    const Entry* entry = find_entry(exception);
    return entry == nullptr ? "exception" : entry->name;
}

std::string_view exception_what(Exception exception) {
    const Entry* entry = find_entry(exception);
    return entry == nullptr ? "unspecified" : entry->what;
}

base::Errc exception_errc(Exception exception) {
    switch (exception) {
        case Exception::abi_not_found_exception:
        case Exception::tx_not_found:
        case Exception::unknown_block_exception:
        case Exception::wallet_nonexistent_exception:
        case Exception::key_nonexistent_exception:
        case Exception::snapshot_request_not_found:
            return base::Errc::not_found;
        case Exception::tx_decompression_error:
        case Exception::invalid_http_request:
            return base::Errc::malformed;
        default:
            break;
    }
    if (in_range(exception, 1, 999)) return base::Errc::malformed;
    if (in_range(exception, 3'010'000, 3'019'999)) return base::Errc::malformed;
    if (in_range(exception, 3'060'000, 3'060'099)) return base::Errc::not_found;
    return base::Errc::invalid;
}

base::Error make_error(Exception exception, std::string detail) {
    return {exception_errc(exception), std::move(detail), static_cast<std::uint32_t>(exception)};
}

base::Error with_detail(base::Error error, std::string_view message) {
    error.detail += kDetailSeparator;
    error.detail += message;
    return error;
}

std::vector<std::string> details_of(const base::Error& error) {
    std::vector<std::string> details;
    std::size_t start = 0;
    while (true) {
        const std::size_t end = error.detail.find(kDetailSeparator, start);
        details.push_back(error.detail.substr(start, end - start));
        if (end == std::string::npos) return details;
        start = end + 1;
    }
}

Exception exception_of(const base::Error& error) {
    if (error.exception != 0) return static_cast<Exception>(error.exception);
    switch (error.code) {
        case base::Errc::not_found:
            return Exception::database_exception;
        case base::Errc::malformed:
            return Exception::chain_type_exception;
        case base::Errc::invalid:
            return Exception::transaction_exception;
        case base::Errc::would_block:
            return Exception::tx_resource_exhaustion;
        case base::Errc::unavailable:
            return Exception::unsupported_feature;
        case base::Errc::corrupt:
            return Exception::database_exception;
    }
    return Exception::exception;
}

}  // namespace chain
