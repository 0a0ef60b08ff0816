#pragma once

#include "tests/support/machine.hpp"

#include <memory>
#include <string>
#include <utility>

namespace support {

// A chain of the members "bank" and so on, each a validator with the key of its number from 7 on.
inline genesis::Genesis genesis_of(std::size_t validators) {
    const std::vector<std::string> names{
        "bank", "bourse", "broker", "vault", "mint", "shop", "yard"};
    genesis::Genesis genesis;
    genesis.times = {.initial = {1'700'000'000'000'000}, .interval_milliseconds = 500};
    for (std::size_t i = 0; i < validators; ++i) {
        const chain::Name name = *chain::Name::from_string(names.at(i));
        const auto key = key_of(static_cast<unsigned char>(7 + i)).public_key();
        genesis.members.push_back({name, chain::Authority::of_key(key), 1});
        genesis.schedule.entries.push_back({name, key, key});
    }
    std::ranges::sort(genesis.members, {}, &genesis::Member::name);
    genesis.system_authority = genesis.members.front().authority;
    genesis.parameters.open_accounts = 1;
    return genesis;
}

// A whole node in one thread: the production core over a simulated disk and clock.
class OneNode {
  public:
    OneNode() : machine_(genesis_of(1), key_of(7)) { machine_.start(); }

    // Opens the node on what the disk holds now.
    void start() { machine_.start(); }
    void cut_power_and_start() { machine_.cut_power_and_start(); }
    // As start(), later.
    void start_at(chain::Slot slot, int milliseconds) {
        machine_.set_time(genesis().times.time_of(slot).to_timestamp() +
                          std::chrono::milliseconds(milliseconds));
        machine_.start();
    }
    // As after a recovery: from a slot on the chain has these times.
    void start_with(std::vector<chain::Retime> retimes, chain::Slot slot) {
        machine_.retime(std::move(retimes));
        start_at(slot, 0);
    }
    // Goes to the start of this slot and lets the node work.
    void tick_at(chain::Slot slot, int milliseconds = 0) {
        machine_.set_time(genesis().times.time_of(slot).to_timestamp() +
                          std::chrono::milliseconds(milliseconds));
        machine_.step(node::input::Tick{});
    }
    node::Ticket submit(const chain::TransactionPtr& transaction, const std::string& sender = {}) {
        return machine_.submit(transaction, sender);
    }
    [[nodiscard]] chain::TransactionPtr new_account(const std::string& name) const {
        return machine_.new_account("bank", name);
    }
    // An action of eosio by itself.
    [[nodiscard]] chain::TransactionPtr act(std::string_view name, base::Bytes data) const {
        return machine_.act("eosio", name, std::move(data));
    }
    // Of bank, of so many bytes, which does nothing.
    [[nodiscard]] chain::TransactionPtr idle(std::size_t bytes) const {
        return machine_.idle("bank", bytes);
    }
    [[nodiscard]] bool has_account(const std::string& name, const chain::StateView& state) const {
        return Machine::has_account(name, state);
    }
    [[nodiscard]] const node::Published& view() const { return machine_.view(); }
    [[nodiscard]] const genesis::Genesis& genesis() const { return machine_.genesis(); }
    MemoryStorage& storage() { return machine_.storage(); }
    base::Bytes& log() { return machine_.log(); }
    void step(const node::Input& input) { machine_.step(input); }

  private:
    Machine machine_;

  public:
    std::optional<int>& writes_left = machine_.writes_left;
    std::map<node::Ticket, node::effect::Answer>& answers = machine_.answers;
    std::vector<chain::BlockPtr>& finalized = machine_.finalized;
    std::function<void(const node::effect::Finalized&)>& on_finalized = machine_.on_finalized;
    std::vector<node::effect::Dropped>& dropped = machine_.dropped;
    SimulatedTimer& timer = machine_.timer;
    bool& signed_twice = machine_.shown_twice;
};

}  // namespace support
