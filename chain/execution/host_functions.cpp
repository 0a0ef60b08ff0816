#include "chain/execution/host_functions.hpp"

#include "chain/execution/host_groups.hpp"

namespace chain {

const vm::HostTable& host_table() {
    static const vm::HostTable kTable = [] {
        host::Functions functions;
        host::add_action(functions);
        host::add_system(functions);
        host::add_print(functions);
        host::add_crypto(functions);
        host::add_memory(functions);
        host::add_builtins(functions);
        host::add_primary(functions);
        host::add_secondary(functions);
        host::add_transaction(functions);
        host::add_permission(functions);
        host::add_privileged(functions);
        host::add_producer(functions);
        return vm::HostTable(std::move(functions));
    }();
    return kTable;
}

}  // namespace chain
