#pragma once

#include "chain/execution/authority_checker.hpp"
#include "chain/execution/block_schedule.hpp"
#include "chain/execution/transaction_context.hpp"
#include "chain/vm/vm.hpp"

#include <vector>

namespace chain {

// A transaction to execute, with what a signature worker found out about it.
struct TransactionInput {
    const DecodedTransaction& transaction;
    std::vector<PublicKey> keys;  // One recovered from each signature, in their order.
};

// How many ids of expired transactions a block without transactions removes.
inline constexpr std::size_t kExpiredIdsPerBlock = 100;

// Executes transactions and what surrounds them in a block (spec 03). The same state, block
// and transactions give the same results on every machine.
//
// Thread: one, that of `engine`. Owns caches only: results do not depend on them.
class Executor : base::Pinned {
  public:
    // Both outlive this; `hosts` is the table that `engine` was made with. `rules_known` is the
    // newest version of the rules that this program has; another one is for simulators.
    Executor(vm::Engine& engine,
             const vm::HostTable& hosts,
             std::uint32_t rules_known = kRulesKnown);
    ~Executor();

    // What comes before a block's transactions: its parent's id for TAPOS, schedules and rules
    // that become valid, missed slots. Returns what the block's header must say of schedules.
    // unavailable: the rules of this height are newer than this program; the text says so.
    [[nodiscard]] base::Result<BlockSchedule> begin_block(StateDelta& delta,
                                                          const BlockContext& block);

    // Runs one transaction on top of `delta`, which gets its changes when it succeeds and is
    // untouched when it fails, and in a read-only or dry run. Why it failed is in the trace.
    // `trace.producer_block_id` is left to the caller; elapsed times are metered, not measured.
    [[nodiscard]] TransactionResult execute(const TransactionInput& input,
                                            StateDelta& delta,
                                            const BlockContext& block,
                                            const ExecutionOptions& options);
    // The same for who runs a block's transactions on one delta: `run` has what those before left,
    // and gets what this one adds when it succeeds and writes. Reading the rules from the state
    // for each was a twentieth of a transfer.
    [[nodiscard]] TransactionResult execute(const TransactionInput& input,
                                            StateDelta& delta,
                                            const BlockContext& block,
                                            const ExecutionOptions& options,
                                            BlockRun& run);

    // What comes after its `transactions`: expired ids leave, kExpiredIdsPerBlock and two for each
    // transaction at most; averages and virtual limits.
    [[nodiscard]] base::Result<void> finish_block(StateDelta& delta,
                                                  const BlockContext& block,
                                                  std::size_t transactions);

    // Compiles a contract before its first run; of no effect when no account has this code, or
    // when it is compiled already.
    void prepare(const StateView& state, const base::Hash256& code_hash);

    // The parameters in force in `state`.
    [[nodiscard]] const Rules& rules(const StateView& state);

  private:
    // Brings the engine under these rules.
    void configure(const Rules& rules);

    vm::Engine& engine_;
    const vm::HostTable& hosts_;
    std::uint32_t rules_known_;
    PermissionCache permissions_;
    // The rows that rules_ were decoded from.
    Value config_value_;
    Value wasm_value_;
    Value parameters_value_;
    Rules rules_;
    vm::Limits limits_;  // As the engine has them.
    vm::Prices prices_;
};

}  // namespace chain
