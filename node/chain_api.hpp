#pragma once

#include "node/calls.hpp"

namespace node {

// /v1/chain, one function for each file of handlers. `calls` outlives the server.
void add_chain_info_calls(Calls& calls);
void add_chain_block_calls(Calls& calls);
void add_chain_account_calls(Calls& calls);
void add_chain_code_calls(Calls& calls);
void add_chain_table_calls(Calls& calls);
void add_chain_currency_calls(Calls& calls);
void add_chain_key_calls(Calls& calls);

}  // namespace node
