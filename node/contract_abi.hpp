#pragma once

#include "base/result.hpp"
#include "chain/abi/serializer.hpp"
#include "chain/state/state.hpp"
#include "node/abi_cache.hpp"

#include <string_view>

namespace node {

// How the rows of one table of a contract are to be read.
struct ContractAbi {
    chain::abi::SerializerPtr serializer;
    std::string_view row_type;  // Borrowed from the serializer.
};

// account_query_exception: no such account. contract_table_query_exception: the ABI does not
// know the table, or there is no ABI that can be used.
[[nodiscard]] base::Result<ContractAbi> find_contract_abi(AbiCache& abis,
                                                          const chain::StateView& state,
                                                          chain::Name code,
                                                          chain::Name table);

}  // namespace node
