#include "node/contract_abi.hpp"

#include "chain/execution/rows.hpp"
#include "chain/types/exception.hpp"

namespace node {

base::Result<ContractAbi> find_contract_abi(AbiCache& abis,
                                            const chain::StateView& state,
                                            chain::Name code,
                                            chain::Name table) {
    using chain::Exception;
    if (state.find(chain::Table::account, chain::account_key(code)) == nullptr) {
        return chain::fail(Exception::account_query_exception,
                           "Fail to retrieve account for " + code.to_string());
    }
    ContractAbi abi;
    abi.serializer = abis.find(state, code);
    const chain::abi::TableDefinition* found =
        abi.serializer == nullptr ? nullptr : abi.serializer->find_table(table);
    if (found == nullptr) {
        return chain::fail(Exception::contract_table_query_exception,
                           "Table " + table.to_string() + " is not specified in the ABI");
    }
    abi.row_type = found->type;
    return abi;
}

}  // namespace node
