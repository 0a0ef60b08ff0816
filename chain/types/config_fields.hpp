#pragma once

#include "chain/types/parameters.hpp"

namespace chain {

// Call `visit(name, member)` for each field of Antelope's configurations in the order in which
// they are packed and shown; `Config` may be const.

// The layout of genesis, setparams and get_blockchain_parameters.
template <class Config, class Visit>
void each_v0_field(Config& config, const Visit& visit) {
    visit("max_block_net_usage", config.max_block_net_usage);
    visit("target_block_net_usage_pct", config.target_block_net_usage_pct);
    visit("max_transaction_net_usage", config.max_transaction_net_usage);
    visit("base_per_transaction_net_usage", config.base_per_transaction_net_usage);
    visit("net_usage_leeway", config.net_usage_leeway);
    visit("context_free_discount_net_usage_num", config.context_free_discount_net_usage_num);
    visit("context_free_discount_net_usage_den", config.context_free_discount_net_usage_den);
    visit("max_block_cpu_usage", config.max_block_cpu_usage);
    visit("target_block_cpu_usage_pct", config.target_block_cpu_usage_pct);
    visit("max_transaction_cpu_usage", config.max_transaction_cpu_usage);
    visit("min_transaction_cpu_usage", config.min_transaction_cpu_usage);
    visit("max_transaction_lifetime", config.max_transaction_lifetime);
    visit("deferred_trx_expiration_window", config.deferred_trx_expiration_window);
    visit("max_transaction_delay", config.max_transaction_delay);
    visit("max_inline_action_size", config.max_inline_action_size);
    visit("max_inline_action_depth", config.max_inline_action_depth);
    visit("max_authority_depth", config.max_authority_depth);
}

template <class Config, class Visit>
void each_config_field(Config& config, const Visit& visit) {
    each_v0_field(config, visit);
    visit("max_action_return_value_size", config.max_action_return_value_size);
}

template <class Config, class Visit>
void each_wasm_field(Config& config, const Visit& visit) {
    visit("max_mutable_global_bytes", config.max_mutable_global_bytes);
    visit("max_table_elements", config.max_table_elements);
    visit("max_section_elements", config.max_section_elements);
    visit("max_linear_memory_init", config.max_linear_memory_init);
    visit("max_func_local_bytes", config.max_func_local_bytes);
    visit("max_nested_structures", config.max_nested_structures);
    visit("max_symbol_bytes", config.max_symbol_bytes);
    visit("max_module_bytes", config.max_module_bytes);
    visit("max_code_bytes", config.max_code_bytes);
    visit("max_pages", config.max_pages);
    visit("max_call_depth", config.max_call_depth);
}

}  // namespace chain
