#pragma once

#include "chain/execution/apply_context.hpp"
#include "chain/execution/authority_checker.hpp"
#include "chain/execution/host_functions.hpp"
#include "chain/execution/transaction_context.hpp"
#include "chain/state/empty_view.hpp"
#include "chain/vm/vm.hpp"
#include "node/machine/machine.hpp"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace host_test {

using namespace chain::literals;
using chain::Name;

// How the action under test is run.
struct Setup {
    Name receiver = "contract"_n;
    chain::Action action = {"contract"_n, "act"_n, {{"alice"_n, "active"_n}}, {}};
    bool context_free = false;
    bool privileged = false;
    bool read_only = false;
    std::vector<chain::Action> context_free_actions = {};
    std::vector<base::Bytes> context_free_data = {};
    std::uint64_t units = 1'000'000'000'000;
    std::size_t memory_bytes = 2 * 65'536;  // Machine::kMemory.
};

// One action of a transaction whose host functions are called by name, with a memory of two
// pages unless said otherwise, as if by a contract. Accounts: eosio, contract, other, alice, bob.
class Machine {
  public:
    static constexpr std::uint32_t kMemory = 2 * 65'536;  // Unless the setup has another.

    explicit Machine(Setup setup = {})
        : bytes(setup.memory_bytes), meter(setup.units), setup_(std::move(setup)) {
        for (const Name name : {"eosio"_n, "contract"_n, "other"_n, "alice"_n, "bob"_n}) {
            chain::AccountRow row;
            row.created = {1'700'000'000'000'000};
            row.privileged = setup_.privileged && name == setup_.receiver;
            state.put(chain::Table::account, chain::account_key(name), encode_account(row));
        }
        block.height = 77;
        block.time = {1'800'000'000'500'000};
        chain::SignedTransaction signed_transaction;
        signed_transaction.expiration = {1'800'000'100};
        signed_transaction.ref_block_num = 65'535;
        signed_transaction.ref_block_prefix = 0xFEDC'BA98;
        signed_transaction.actions = {setup_.action};
        signed_transaction.context_free_actions = setup_.context_free_actions;
        signed_transaction.context_free_data = setup_.context_free_data;
        decoded = chain::make_transaction(signed_transaction);
        options.read_only = setup_.read_only;
        transaction = std::make_unique<chain::TransactionContext>(
            chain::TransactionContext::Environment{
                state, block, rules, engine, chain::host_table(), permissions, options},
            *decoded);
        transaction->meter() = chain::vm::Meter(setup_.units);
        const std::uint32_t ordinal =
            transaction->schedule_action(setup_.action, setup_.receiver, setup_.context_free, 0, 0);
        context = std::make_unique<chain::ApplyContext>(*transaction, ordinal, 0);
    }

    // The function of this name, which must exist.
    [[nodiscard]] static const chain::vm::HostFunction& function(std::string_view name) {
        return chain::host_table().at(chain::host_table().find(name).value());
    }
    // Calls a host function, whose arguments must be as many as it has; nothing when it stopped
    // the contract.
    std::optional<std::uint64_t> run(const chain::vm::HostFunction& function,
                                     const std::uint64_t* args) {
        std::uint64_t result = 0;
        if (!function.call(*context, memory, meter, args, &result)) return std::nullopt;
        return result;
    }

    [[nodiscard]] const std::string& console() const { return context->console(); }
    // Why the action failed: "number text".
    [[nodiscard]] std::string failure() const {
        if (!transaction->has_failed()) return {};
        const base::Error error = transaction->failure()->to_error();
        return std::to_string(error.exception) + " " + error.detail;
    }

    template <class T>
    void write(std::uint32_t offset, const T& value) {
        std::memcpy(bytes.data() + offset, &value, sizeof(T));
    }
    void write_text(std::uint32_t offset, std::string_view text) {
        std::ranges::copy(base::as_bytes(text), bytes.begin() + offset);
    }
    void write_bytes(std::uint32_t offset, base::ByteView data) {
        std::ranges::copy(data, bytes.begin() + offset);
    }
    template <class T>
    [[nodiscard]] T read(std::uint32_t offset) const {
        T value{};
        std::memcpy(&value, bytes.data() + offset, sizeof(T));
        return value;
    }
    [[nodiscard]] std::string hex(std::uint32_t offset, std::size_t size) const {
        return base::to_hex(base::ByteView(bytes).subspan(offset, size));
    }

    chain::EmptyView empty;
    chain::StateDelta state{empty};
    chain::BlockContext block;
    chain::Rules rules;
    node::ContractMachine contract_machine;
    chain::vm::Engine engine{chain::host_table(), {}, contract_machine};
    chain::PermissionCache permissions;
    chain::ExecutionOptions options;
    chain::TransactionPtr decoded;
    std::unique_ptr<chain::TransactionContext> transaction;
    std::unique_ptr<chain::ApplyContext> context;
    base::Bytes bytes;
    chain::vm::Memory memory{bytes};
    chain::vm::Meter meter;

  private:
    Setup setup_;
};

}  // namespace host_test
