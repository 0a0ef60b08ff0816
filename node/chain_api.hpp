#pragma once

#include "node/calls.hpp"

namespace node {

// The block that `text`, a number or an id, names. `what`: how nodeos calls it in its refusal.
[[nodiscard]] base::Result<chain::BlockPtr> find_block(const ApiContext& context,
                                                       const Moment& moment,
                                                       const std::string& text,
                                                       std::string_view what);

// /v1/chain, one function for each file of handlers. `calls` outlives the server.
void add_chain_info_calls(Calls& calls);
void add_chain_block_calls(Calls& calls);
void add_chain_account_calls(Calls& calls);
void add_chain_code_calls(Calls& calls);
void add_chain_table_calls(Calls& calls);
void add_chain_currency_calls(Calls& calls);
void add_chain_key_calls(Calls& calls);

}  // namespace node
