#pragma once

#include "chain/execution/rows.hpp"
#include "chain/state/state.hpp"
#include "chain/types/exception.hpp"
#include "chain/types/parameters.hpp"
#include "chain/types/trace.hpp"
#include "chain/vm/host.hpp"
#include "chain/vm/vm.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace chain {

class ApplyContext;
class Authorization;
class PermissionCache;

// The block that a transaction is executed for.
struct BlockContext {
    Height height = 0;
    Slot slot = 0;
    TimePoint time;
    Name producer;
    BlockId previous;
    ChainId chain_id;
    std::uint32_t interval_milliseconds = 500;
    Slot parent_slot = 0;
    BlockId parent_final;    // `final` of the parent's header; zero below the genesis block.
    Height refers_from = 0;  // Lower blocks are not referred to, see RetimesRow.
};

// The parameters in force, decoded once a block (begin_block) or after they change.
struct Rules {
    ChainConfig config;
    WasmConfig wasm;
    BorParameters parameters;

    friend bool operator==(const Rules&, const Rules&) = default;
};

// Contract code by its hash.
using CodeSet = std::set<base::Hash256>;

// What the transactions of one block hand on to each other, beside the state.
struct BlockRun {
    Rules rules;   // Those in force.
    CodeSet code;  // Used so far: the first use in a block pays for loading it.
    // What they did to the state since somebody looked; absent: nobody looks.
    std::optional<ChangeSet> recent = std::nullopt;
};

// What the code of contracts in one transaction may have together (spec 03, "Loading").
inline constexpr std::uint64_t kTransactionCodeBytesMax = 4 * 1024 * 1024;

// The bounds of the VM under these rules: Antelope's wasm_config, within BoR's own.
[[nodiscard]] vm::Limits vm_limits(const WasmConfig& config);
[[nodiscard]] vm::Prices vm_prices(const PriceTable& table);
// What each run of an action costs, beside what its contract does.
[[nodiscard]] std::uint64_t run_price(const PriceTable& prices, const Action& action);

// How a transaction is executed.
struct ExecutionOptions {
    // What the receipt in a block says; a result that differs is an error of the block.
    std::optional<std::uint32_t> expected_cpu_us;
    bool skip_authorization = false;  // Keys were checked before, or there are none (dry run).
    bool read_only = false;           // No write, no authorization, nothing is billed.
    bool dry_run = false;             // Unsatisfied authority is no error; the caller drops it.
    // A limit of the producer's own, in microseconds of billed CPU; 0: none. A run that is_stopped
    // ends is then said to have reached it, too, and not to have failed with deadline_exception.
    std::uint32_t max_cpu_us = 0;
    // Whether the machine that runs it was told to stop (vm::Machine): the producer's or the dry
    // run's wall clock, which never decides about a block. Asked between actions and in host
    // calls that may take long; the engine looks by itself. Empty: nobody stops it. The
    // transaction fails with deadline_exception.
    std::function<bool()> is_stopped;
};

// How far a transaction came, for whoever must know whom its time counts against.
struct RunFacts {
    bool is_authorized = false;  // Its authorization was found good, or was not asked for.
    // The clock stopped it, or it used all that any transaction may here: to run it again would
    // only take the same time again. Not when what was left to its account or block ended it.
    bool is_over_limit = false;
};

// What of a finished transaction is not in its trace.
struct TransactionResult {
    TransactionTrace trace;              // `except` is set when it failed.
    std::vector<Digest> action_digests;  // Of receipts, in the order of execution.
    RunFacts facts;
    [[nodiscard]] bool succeeded() const { return !trace.except.has_value(); }
};

// Of what one transaction prints, in its trace. Printing more is billed, and left out; how much
// nodeos keeps is up to its memory.
inline constexpr std::size_t kConsoleBytesMax = 1024UL * 1024;

// One transaction being executed: its delta, its limits, and rows that are hot (nodeos'
// transaction_context). Nothing reaches the block's delta before the executor merges it.
//
// Thread: that of the executor.
class TransactionContext : base::Pinned {
  public:
    struct Environment {
        StateDelta& state;  // The transaction's own; dropped when it fails.
        const BlockContext& block;
        const Rules& rules;
        vm::Engine& engine;
        const vm::HostTable& hosts;  // Those of the engine.
        PermissionCache& permissions;
        const ExecutionOptions& options;
        const CodeSet* block_code = nullptr;  // Used in the block before; null: none.
    };
    TransactionContext(const Environment& environment, const DecodedTransaction& transaction);
    ~TransactionContext();

    [[nodiscard]] StateDelta& state() { return environment_.state; }
    [[nodiscard]] const BlockContext& block() const { return environment_.block; }
    [[nodiscard]] const ChainConfig& config() const { return rules().config; }
    [[nodiscard]] const WasmConfig& wasm_config() const { return rules().wasm; }
    [[nodiscard]] const BorParameters& parameters() const { return rules().parameters; }
    [[nodiscard]] const Rules& rules() const {
        return changed_rules_ ? *changed_rules_ : environment_.rules;
    }
    [[nodiscard]] bool rules_changed() const { return changed_rules_.has_value(); }
    // Those that held when the transaction began.
    [[nodiscard]] const PriceTable& prices() const { return environment_.rules.parameters.prices; }
    [[nodiscard]] bool read_only() const { return environment_.options.read_only; }
    [[nodiscard]] bool dry_run() const { return environment_.options.dry_run; }
    [[nodiscard]] const DecodedTransaction& decoded() const { return decoded_; }
    [[nodiscard]] const Transaction& transaction() const { return decoded_.content; }
    // Its binary form without signatures; made at most once, and within its base price.
    [[nodiscard]] base::ByteView packed_transaction();
    [[nodiscard]] vm::Engine& engine() { return environment_.engine; }
    [[nodiscard]] const vm::HostTable& hosts() const { return environment_.hosts; }
    [[nodiscard]] vm::Meter& meter() { return meter_; }
    [[nodiscard]] PermissionCache& permissions() { return environment_.permissions; }
    // The rules on authority, on the present state; `meter` pays.
    [[nodiscard]] Authorization authorization(vm::Meter& meter);

    // --- Rows kept decoded until the transaction ends. Pointers stay valid until then. ---
    // Null: no such account.
    [[nodiscard]] const AccountRow* find_account(Name account);
    // The same, to be written back. The account must exist.
    [[nodiscard]] AccountRow& change_account(Name account);
    AccountRow& create_account(Name account, const AccountRow& row);
    [[nodiscard]] const CountersRow& counters() const { return counters_; }
    [[nodiscard]] CountersRow& change_counters();
    // Writes the kept rows into the delta.
    void flush();

    // --- Parameters. Seen by this transaction at once; limits that it has already been given
    // stay. The VM's own limits and all prices hold from the next transaction on. ---
    void set_config(const ChainConfig& config);
    void set_wasm_config(const WasmConfig& config);
    void set_parameters(const BorParameters& parameters);

    // --- Resources ---
    // Quotas and weights at once, as set_resource_limits; RAM is checked at the end.
    void set_account_limits(Name account, std::int64_t ram, std::int64_t net, std::int64_t cpu);
    [[nodiscard]] base::Result<void> add_ram_usage(Name account, std::int64_t delta);
    // Microseconds of CPU used so far, rounded up.
    [[nodiscard]] std::uint64_t cpu_used_us() const;
    // Charges; false: no units are left, and the failure is recorded.
    [[nodiscard]] bool pay(std::uint64_t units) {
        return meter_.charge(units) || fail_cpu_exceeded();
    }
    // Fails with the limit that was reached, in nodeos' words.
    bool fail_cpu_exceeded();
    // False: its units are used up or the clock has stopped it; the failure is recorded.
    [[nodiscard]] bool check_going();
    // For host calls that take long, and the trap of a stopped run: fails with what nodeos says.
    [[nodiscard]] bool is_stopped() const {
        return environment_.options.is_stopped && environment_.options.is_stopped();
    }
    bool fail_stopped();

    // Pays for the use of a contract's code before anything of it is read. False: the failure is
    // recorded; there are no units, or it is more code than one transaction may use.
    [[nodiscard]] bool use_code(const base::Hash256& hash, std::uint32_t bytes);
    [[nodiscard]] const CodeSet& used_code() const { return used_code_; }

    // --- Actions ---
    // Pays for a run of `action`, which is then scheduled. False: the failure is recorded.
    [[nodiscard]] bool pay_for_run(const Action& action);
    [[nodiscard]] ActionTrace& trace_of(std::uint32_t ordinal) { return traces_[ordinal - 1]; }
    std::uint32_t schedule_action(const Action& action,
                                  Name receiver,
                                  bool context_free,
                                  std::uint32_t creator,
                                  std::uint32_t ancestor);
    [[nodiscard]] bool execute_action(std::uint32_t ordinal, std::uint32_t depth);
    void add_receipt_digest(const Digest& digest) { action_digests_.push_back(digest); }

    // How many of so many bytes the consoles of all actions still hold; they are taken.
    [[nodiscard]] std::size_t take_console(std::size_t bytes) {
        const std::size_t taken = std::min(bytes, console_room_);
        console_room_ -= taken;
        return taken;
    }

    // --- Failing: the first reason counts; always returns false ---
    bool fail(const base::Error& error, std::optional<std::uint64_t> error_code = std::nullopt);
    [[nodiscard]] bool has_failed() const { return failure_.has_value(); }
    [[nodiscard]] const std::optional<TraceException>& failure() const { return failure_; }
    [[nodiscard]] TraceException& change_failure() { return *failure_; }
    [[nodiscard]] std::optional<std::uint64_t> error_code() const { return error_code_; }

  private:
    friend class TransactionRun;  // The executor's steps before and after the actions.

    struct KeptAccount {
        AccountRow row;
        bool exists = false;
        bool changed = false;
    };
    KeptAccount& keep(Name account);
    bool fail_too_long(std::string_view reason, std::uint64_t limit_us);
    // Starts the meter with what so many microseconds are.
    void give_units(std::uint64_t limit_us);
    Rules& change_rules();

    // Which limit on CPU is the lowest, for the message when it is reached.
    enum class CpuLimit : std::uint8_t { block, on_chain, header, account, node };

    Environment environment_;
    const DecodedTransaction& decoded_;
    base::Bytes packed_;  // When the packed form at hand is compressed.
    vm::Meter meter_;
    std::uint64_t units_at_start_ = 0;
    std::map<Name, KeptAccount> accounts_;
    std::optional<Rules> changed_rules_;
    CountersRow counters_;
    bool counters_changed_ = false;
    std::deque<ActionTrace> traces_;  // Stable addresses: actions run while more are scheduled.
    std::vector<Digest> action_digests_;
    std::vector<Name> ram_to_check_;  // Sorted.
    std::size_t console_room_ = kConsoleBytesMax;
    CodeSet used_code_;
    std::uint64_t used_code_bytes_ = 0;
    std::optional<TraceException> failure_;
    std::optional<std::uint64_t> error_code_;
    RunFacts facts_;
    std::uint64_t cpu_limit_us_ = 0;
    CpuLimit cpu_limit_ = CpuLimit::on_chain;
};

}  // namespace chain
