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
constexpr auto kEntries = std::to_array<Entry>({
    {Exception::parse_error_exception, "parse_error_exception", "Parse Error"},
    {Exception::invalid_arg_exception, "invalid_arg_exception", "Invalid Argument"},
    {Exception::key_not_found_exception, "key_not_found_exception", "Key Not Found"},
    {Exception::bad_cast_exception, "bad_cast_exception", "Bad Cast"},
    {Exception::out_of_range_exception, "out_of_range_exception", "Out of Range"},
    {Exception::assert_exception, "assert_exception", "Assert Exception"},
    {Exception::eof_exception, "eof_exception", "End Of File"},
    {Exception::std_exception,
     "St12out_of_range",
     "vector::_M_range_check: __n (which is 0) >= this->size() (which is 0)"},
    {Exception::overflow_exception, "overflow_exception", "Integer Overflow"},
    {Exception::chain_exception, "chain_exception", "blockchain exception"},
    {Exception::chain_type_exception, "chain_type_exception", "chain type exception"},
    {Exception::name_type_exception, "name_type_exception", "Invalid name"},
    {Exception::public_key_type_exception, "public_key_type_exception", "Invalid public key"},
    {Exception::private_key_type_exception, "private_key_type_exception", "Invalid private key"},
    {Exception::authority_type_exception, "authority_type_exception", "Invalid authority"},
    {Exception::action_type_exception, "action_type_exception", "Invalid action"},
    {Exception::transaction_type_exception, "transaction_type_exception", "Invalid transaction"},
    {Exception::abi_type_exception, "abi_type_exception", "Invalid ABI"},
    {Exception::block_id_type_exception, "block_id_type_exception", "Invalid block ID"},
    {Exception::transaction_id_type_exception,
     "transaction_id_type_exception",
     "Invalid transaction ID"},
    {Exception::packed_transaction_type_exception,
     "packed_transaction_type_exception",
     "Invalid packed transaction"},
    {Exception::asset_type_exception, "asset_type_exception", "Invalid asset"},
    {Exception::chain_id_type_exception, "chain_id_type_exception", "Invalid chain ID"},
    {Exception::fixed_key_type_exception, "fixed_key_type_exception", "Invalid fixed key"},
    {Exception::symbol_type_exception, "symbol_type_exception", "Invalid symbol"},
    {Exception::unactivated_key_type,
     "unactivated_key_type",
     "Key type is not a currently activated type"},
    {Exception::unactivated_signature_type,
     "unactivated_signature_type",
     "Signature type is not a currently activated type"},
    {Exception::abi_exception, "abi_exception", "ABI exception"},
    {Exception::abi_not_found_exception, "abi_not_found_exception", "No ABI found"},
    {Exception::invalid_ricardian_clause_exception,
     "invalid_ricardian_clause_exception",
     "Invalid Ricardian Clause"},
    {Exception::invalid_ricardian_action_exception,
     "invalid_ricardian_action_exception",
     "Invalid Ricardian Action"},
    {Exception::invalid_type_inside_abi,
     "invalid_type_inside_abi",
     "The type defined in the ABI is invalid"},
    {Exception::duplicate_abi_type_def_exception,
     "duplicate_abi_type_def_exception",
     "Duplicate type definition in the ABI"},
    {Exception::duplicate_abi_struct_def_exception,
     "duplicate_abi_struct_def_exception",
     "Duplicate struct definition in the ABI"},
    {Exception::duplicate_abi_action_def_exception,
     "duplicate_abi_action_def_exception",
     "Duplicate action definition in the ABI"},
    {Exception::duplicate_abi_table_def_exception,
     "duplicate_abi_table_def_exception",
     "Duplicate table definition in the ABI"},
    {Exception::duplicate_abi_err_msg_def_exception,
     "duplicate_abi_err_msg_def_exception",
     "Duplicate error message definition in the ABI"},
    {Exception::abi_serialization_deadline_exception,
     "abi_serialization_deadline_exception",
     "ABI serialization time has exceeded the deadline"},
    {Exception::abi_recursion_depth_exception,
     "abi_recursion_depth_exception",
     "ABI recursive definition has exceeded the max recursion depth"},
    {Exception::abi_circular_def_exception,
     "abi_circular_def_exception",
     "Circular definition is detected in the ABI"},
    {Exception::unpack_exception, "unpack_exception", "Unpack data exception"},
    {Exception::pack_exception, "pack_exception", "Pack data exception"},
    {Exception::duplicate_abi_variant_def_exception,
     "duplicate_abi_variant_def_exception",
     "Duplicate variant definition in the ABI"},
    {Exception::unsupported_abi_version_exception,
     "unsupported_abi_version_exception",
     "ABI has an unsupported version"},
    {Exception::duplicate_abi_action_results_def_exception,
     "duplicate_abi_action_results_def_exception",
     "Duplicate action results definition in the ABI"},
    {Exception::fork_database_exception, "fork_database_exception", "Fork database exception"},
    {Exception::fork_db_block_not_found, "fork_db_block_not_found", "Block can not be found"},
    {Exception::block_validate_exception, "block_validate_exception", "Block exception"},
    {Exception::unlinkable_block_exception, "unlinkable_block_exception", "Unlinkable block"},
    {Exception::block_tx_output_exception,
     "block_tx_output_exception",
     "Transaction outputs in block do not match transaction outputs from applying block"},
    {Exception::block_resource_exhausted,
     "block_resource_exhausted",
     "Block exhausted allowed resources"},
    {Exception::block_too_old_exception, "block_too_old_exception", "Block is too old to push"},
    {Exception::block_from_the_future, "block_from_the_future", "Block is from the future"},
    {Exception::wrong_signing_key, "wrong_signing_key", "Block is not signed with expected key"},
    {Exception::wrong_producer, "wrong_producer", "Block is not signed by expected producer"},
    {Exception::invalid_block_header_extension,
     "invalid_block_header_extension",
     "Invalid block header extension"},
    {Exception::invalid_block_extension, "invalid_block_extension", "Invalid block extension"},
    {Exception::transaction_exception, "transaction_exception", "Transaction exception"},
    {Exception::tx_decompression_error,
     "tx_decompression_error",
     "Error decompressing transaction"},
    {Exception::tx_no_action, "tx_no_action", "Transaction should have at least one normal action"},
    {Exception::tx_no_auths,
     "tx_no_auths",
     "Transaction should have at least one required authority"},
    {Exception::cfa_irrelevant_auth,
     "cfa_irrelevant_auth",
     "Context-free action should have no required authority"},
    {Exception::expired_tx_exception, "expired_tx_exception", "Expired Transaction"},
    {Exception::tx_exp_too_far_exception,
     "tx_exp_too_far_exception",
     "Transaction Expiration Too Far"},
    {Exception::invalid_ref_block_exception,
     "invalid_ref_block_exception",
     "Invalid Reference Block"},
    {Exception::tx_duplicate, "tx_duplicate", "Duplicate transaction"},
    {Exception::deferred_tx_duplicate, "deferred_tx_duplicate", "Duplicate deferred transaction"},
    {Exception::cfa_inside_generated_tx,
     "cfa_inside_generated_tx",
     "Context free action is not allowed inside generated transaction"},
    {Exception::tx_not_found, "tx_not_found", "The transaction can not be found"},
    {Exception::too_many_tx_at_once,
     "too_many_tx_at_once",
     "Pushing too many transactions at once"},
    {Exception::tx_too_big, "tx_too_big", "Transaction is too big"},
    {Exception::unknown_transaction_compression,
     "unknown_transaction_compression",
     "Unknown transaction compression"},
    {Exception::invalid_transaction_extension,
     "invalid_transaction_extension",
     "Invalid transaction extension"},
    {Exception::tx_resource_exhaustion,
     "tx_resource_exhaustion",
     "Transaction exceeded transient resource limit"},
    {Exception::action_validate_exception,
     "action_validate_exception",
     "Action validate exception"},
    {Exception::account_name_exists_exception,
     "account_name_exists_exception",
     "Account name already exists"},
    {Exception::invalid_action_args_exception,
     "invalid_action_args_exception",
     "Invalid Action Arguments"},
    {Exception::eosio_assert_message_exception,
     "eosio_assert_message_exception",
     "eosio_assert_message assertion failure"},
    {Exception::eosio_assert_code_exception,
     "eosio_assert_code_exception",
     "eosio_assert_code assertion failure"},
    {Exception::action_not_found_exception,
     "action_not_found_exception",
     "Action can not be found"},
    {Exception::action_data_and_struct_mismatch,
     "action_data_and_struct_mismatch",
     "Mismatch between action data and its struct"},
    {Exception::unaccessible_api, "unaccessible_api", "Attempt to use unaccessible API"},
    {Exception::abort_called, "abort_called", "Abort Called"},
    {Exception::inline_action_too_big,
     "inline_action_too_big",
     "Inline Action exceeds maximum size limit"},
    {Exception::unauthorized_ram_usage_increase,
     "unauthorized_ram_usage_increase",
     "Action attempts to increase RAM usage of account without authorization"},
    {Exception::restricted_error_code_exception,
     "restricted_error_code_exception",
     "eosio_assert_code assertion failure uses restricted error code value"},
    {Exception::inline_action_too_big_nonprivileged,
     "inline_action_too_big_nonprivileged",
     "Inline action exceeds maximum size limit for a non-privileged account"},
    {Exception::action_return_value_exception,
     "action_return_value_exception",
     "action return value size too big"},
    {Exception::database_exception, "database_exception", "Database exception"},
    {Exception::permission_query_exception,
     "permission_query_exception",
     "Permission Query Exception"},
    {Exception::account_query_exception, "account_query_exception", "Account Query Exception"},
    {Exception::contract_table_query_exception,
     "contract_table_query_exception",
     "Contract Table Query Exception"},
    {Exception::contract_query_exception, "contract_query_exception", "Contract Query Exception"},
    {Exception::database_guard_exception,
     "database_guard_exception",
     "Database usage is at unsafe levels"},
    {Exception::wasm_exception, "wasm_exception", "WASM Exception"},
    {Exception::page_memory_error, "page_memory_error", "Error in WASM page memory"},
    {Exception::wasm_execution_error, "wasm_execution_error", "Runtime Error Processing WASM"},
    {Exception::wasm_serialization_error,
     "wasm_serialization_error",
     "Serialization Error Processing WASM"},
    {Exception::overlapping_memory_error,
     "overlapping_memory_error",
     "memcpy with overlapping memory"},
    {Exception::resource_exhausted_exception,
     "resource_exhausted_exception",
     "Resource exhausted exception"},
    {Exception::ram_usage_exceeded,
     "ram_usage_exceeded",
     "Account using more than allotted RAM usage"},
    {Exception::tx_net_usage_exceeded,
     "tx_net_usage_exceeded",
     "Transaction exceeded the current network usage limit imposed on the transaction"},
    {Exception::block_net_usage_exceeded,
     "block_net_usage_exceeded",
     "Transaction network usage is too much for the remaining allowable usage of the current "
     "block"},
    {Exception::tx_cpu_usage_exceeded,
     "tx_cpu_usage_exceeded",
     "Transaction exceeded the current CPU usage limit imposed on the transaction"},
    {Exception::block_cpu_usage_exceeded,
     "block_cpu_usage_exceeded",
     "Transaction CPU usage is too much for the remaining allowable usage of the current block"},
    {Exception::deadline_exception, "deadline_exception", "Transaction took too long"},
    {Exception::greylist_net_usage_exceeded,
     "greylist_net_usage_exceeded",
     "Transaction exceeded the current greylisted account network usage limit"},
    {Exception::greylist_cpu_usage_exceeded,
     "greylist_cpu_usage_exceeded",
     "Transaction exceeded the current greylisted account CPU usage limit"},
    {Exception::leeway_deadline_exception,
     "leeway_deadline_exception",
     "Transaction reached the deadline set due to leeway on account CPU limits"},
    {Exception::authorization_exception, "authorization_exception", "Authorization exception"},
    {Exception::tx_duplicate_sig, "tx_duplicate_sig", "Duplicate signature included"},
    {Exception::tx_irrelevant_sig, "tx_irrelevant_sig", "Irrelevant signature included"},
    {Exception::unsatisfied_authorization,
     "unsatisfied_authorization",
     "Provided keys, permissions, and delays do not satisfy declared authorizations"},
    {Exception::missing_auth_exception, "missing_auth_exception", "Missing required authority"},
    {Exception::irrelevant_auth_exception,
     "irrelevant_auth_exception",
     "Irrelevant authority included"},
    {Exception::insufficient_delay_exception, "insufficient_delay_exception", "Insufficient delay"},
    {Exception::invalid_permission, "invalid_permission", "Invalid Permission"},
    {Exception::unlinkable_min_permission_action,
     "unlinkable_min_permission_action",
     "The action is not allowed to be linked with minimum permission"},
    {Exception::invalid_parent_permission,
     "invalid_parent_permission",
     "The parent permission is invalid"},
    {Exception::misc_exception, "misc_exception", "Miscellaneous exception"},
    {Exception::rate_limiting_state_inconsistent,
     "rate_limiting_state_inconsistent",
     "Internal state is no longer consistent"},
    {Exception::unknown_block_exception, "unknown_block_exception", "Unknown block"},
    {Exception::unknown_transaction_exception,
     "unknown_transaction_exception",
     "Unknown transaction"},
    {Exception::subjective_block_production_exception,
     "subjective_block_production_exception",
     "Subjective exception thrown during block production"},
    {Exception::multiple_voter_info, "multiple_voter_info", "Multiple voter info detected"},
    {Exception::unsupported_feature, "unsupported_feature", "Feature is currently unsupported"},
    {Exception::json_parse_exception, "json_parse_exception", "JSON parse exception"},
    {Exception::sig_variable_size_limit_exception,
     "sig_variable_size_limit_exception",
     "Variable length component of signature too large"},
    {Exception::plugin_exception, "plugin_exception", "Plugin exception"},
    {Exception::missing_chain_plugin_exception,
     "missing_chain_plugin_exception",
     "Missing Chain Plugin"},
    {Exception::plugin_config_exception,
     "plugin_config_exception",
     "Incorrect plugin configuration"},
    {Exception::missing_trace_api_plugin_exception,
     "missing_trace_api_plugin_exception",
     "Missing Trace API Plugin"},
    {Exception::wallet_exception, "wallet_exception", "Wallet exception"},
    {Exception::wallet_exist_exception, "wallet_exist_exception", "Wallet already exists"},
    {Exception::wallet_nonexistent_exception, "wallet_nonexistent_exception", "Nonexistent wallet"},
    {Exception::wallet_locked_exception, "wallet_locked_exception", "Locked wallet"},
    {Exception::wallet_missing_pub_key_exception,
     "wallet_missing_pub_key_exception",
     "Missing public key"},
    {Exception::wallet_invalid_password_exception,
     "wallet_invalid_password_exception",
     "Invalid wallet password"},
    {Exception::wallet_not_available_exception,
     "wallet_not_available_exception",
     "No available wallet"},
    {Exception::wallet_unlocked_exception, "wallet_unlocked_exception", "Already unlocked"},
    {Exception::key_exist_exception, "key_exist_exception", "Key already exists"},
    {Exception::key_nonexistent_exception, "key_nonexistent_exception", "Nonexistent key"},
    {Exception::unsupported_key_type_exception,
     "unsupported_key_type_exception",
     "Unsupported key type"},
    {Exception::invalid_lock_timeout_exception,
     "invalid_lock_timeout_exception",
     "Wallet lock timeout is invalid"},
    {Exception::whitelist_blacklist_exception,
     "whitelist_blacklist_exception",
     "Actor or contract whitelist/blacklist exception"},
    {Exception::actor_whitelist_exception,
     "actor_whitelist_exception",
     "Authorizing actor of transaction is not on the whitelist"},
    {Exception::actor_blacklist_exception,
     "actor_blacklist_exception",
     "Authorizing actor of transaction is on the blacklist"},
    {Exception::contract_whitelist_exception,
     "contract_whitelist_exception",
     "Contract to execute is not on the whitelist"},
    {Exception::contract_blacklist_exception,
     "contract_blacklist_exception",
     "Contract to execute is on the blacklist"},
    {Exception::action_blacklist_exception,
     "action_blacklist_exception",
     "Action to execute is on the blacklist"},
    {Exception::key_blacklist_exception,
     "key_blacklist_exception",
     "Public key in authority is on the blacklist"},
    {Exception::contract_exception, "contract_exception", "Contract exception"},
    {Exception::invalid_table_payer,
     "invalid_table_payer",
     "The payer of the table data is invalid"},
    {Exception::table_access_violation, "table_access_violation", "Table access violation"},
    {Exception::invalid_table_iterator, "invalid_table_iterator", "Invalid table iterator"},
    {Exception::table_not_in_cache,
     "table_not_in_cache",
     "Table can not be found inside the cache"},
    {Exception::table_operation_not_permitted,
     "table_operation_not_permitted",
     "The table operation is not allowed"},
    {Exception::invalid_contract_vm_type, "invalid_contract_vm_type", "Invalid contract vm type"},
    {Exception::invalid_contract_vm_version,
     "invalid_contract_vm_version",
     "Invalid contract vm version"},
    {Exception::set_exact_code,
     "set_exact_code",
     "Contract is already running this version of code"},
    {Exception::wasm_file_not_found, "wasm_file_not_found", "No wasm file found"},
    {Exception::abi_file_not_found, "abi_file_not_found", "No abi file found"},
    {Exception::wasm_config_unknown_version,
     "wasm_config_unknown_version",
     "Unknown wasm_config version"},
    {Exception::config_parse_error, "config_parse_error", "Parsing config error"},
    {Exception::producer_exception, "producer_exception", "Producer exception"},
    {Exception::producer_priv_key_not_found,
     "producer_priv_key_not_found",
     "Producer private key is not available"},
    {Exception::missing_pending_block_state,
     "missing_pending_block_state",
     "Pending block state is missing"},
    {Exception::producer_schedule_exception,
     "producer_schedule_exception",
     "Producer schedule exception"},
    {Exception::producer_not_in_schedule,
     "producer_not_in_schedule",
     "The producer is not part of current schedule"},
    {Exception::snapshot_directory_not_found_exception,
     "snapshot_directory_not_found_exception",
     "The configured snapshot directory does not exist"},
    {Exception::snapshot_exists_exception,
     "snapshot_exists_exception",
     "The requested snapshot already exists"},
    {Exception::snapshot_finalization_exception,
     "snapshot_finalization_exception",
     "Snapshot Finalization Exception"},
    {Exception::invalid_protocol_features_to_activate,
     "invalid_protocol_features_to_activate",
     "The protocol features to be activated were not valid"},
    {Exception::duplicate_snapshot_request,
     "duplicate_snapshot_request",
     "Snapshot has been already scheduled with specified parameters"},
    {Exception::snapshot_request_not_found,
     "snapshot_request_not_found",
     "Snapshot request not found"},
    {Exception::invalid_snapshot_request, "invalid_snapshot_request", "Invalid snapshot request"},
    {Exception::block_log_exception, "block_log_exception", "Block log exception"},
    {Exception::http_exception, "http_exception", "http exception"},
    {Exception::invalid_http_response, "invalid_http_response", "invalid http response"},
    {Exception::fail_to_resolve_host, "fail_to_resolve_host", "fail to resolve host"},
    {Exception::http_request_fail, "http_request_fail", "http request fail"},
    {Exception::invalid_http_request, "invalid_http_request", "invalid http request"},
    {Exception::resource_limit_exception, "resource_limit_exception", "Resource limit exception"},
    {Exception::contract_api_exception, "contract_api_exception", "Contract API exception"},
    {Exception::crypto_api_exception, "crypto_api_exception", "Crypto API Exception"},
    {Exception::db_api_exception, "db_api_exception", "Database API Exception"},
    {Exception::arithmetic_exception, "arithmetic_exception", "Arithmetic Exception"},
    {Exception::snapshot_exception, "snapshot_exception", "Snapshot exception"},
    {Exception::snapshot_validation_exception,
     "snapshot_validation_exception",
     "Snapshot Validation Exception"},
    {Exception::protocol_feature_exception,
     "protocol_feature_exception",
     "Protocol feature exception"},
    {Exception::protocol_feature_validation_exception,
     "protocol_feature_validation_exception",
     "Protocol feature validation exception"},
    {Exception::protocol_feature_bad_block_exception,
     "protocol_feature_bad_block_exception",
     "Protocol feature exception (invalid block)"},
    {Exception::protocol_feature_iterator_exception,
     "protocol_feature_iterator_exception",
     "Protocol feature iterator exception"},
});

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
        case Exception::unknown_transaction_exception:
        case Exception::wallet_nonexistent_exception:
        case Exception::key_nonexistent_exception:
        case Exception::snapshot_request_not_found:
            return base::Errc::not_found;
        case Exception::tx_decompression_error:
        case Exception::unknown_transaction_compression:
        case Exception::json_parse_exception:
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
