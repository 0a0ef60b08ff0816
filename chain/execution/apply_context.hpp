#pragma once

#include "chain/execution/rows.hpp"
#include "chain/execution/transaction_context.hpp"
#include "chain/state/state.hpp"
#include "chain/types/exception.hpp"
#include "chain/types/trace.hpp"
#include "chain/vm/host.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chain {

class HostDatabase;  // Iterators of contract tables; host_database.hpp.

// One scheduled action with the accounts it notifies: what host functions and native actions
// see and change (nodeos' apply_context).
//
// Failing: whatever returns false has recorded why with fail(); the first reason counts. A
// host function passes the false on, and the action and its transaction end.
// Thread: that of the executor. Lives on its stack, one for each action of a recursion.
class ApplyContext final : public vm::Context {
  public:
    // `ordinal` is of an action scheduled in `transaction`, which outlives this.
    ApplyContext(TransactionContext& transaction, std::uint32_t ordinal, std::uint32_t depth);
    ~ApplyContext() override;

    // Runs the action, its notifications, then its inline actions, depth first.
    [[nodiscard]] bool execute();

    // --- What runs ---
    [[nodiscard]] const Action& action() const { return *action_; }
    [[nodiscard]] Name receiver() const { return receiver_; }  // Whose code runs.
    [[nodiscard]] bool in_notification() const { return receiver_ != action_->account; }
    [[nodiscard]] bool context_free() const { return context_free_; }
    // The receiver was privileged when the action began.
    [[nodiscard]] bool privileged() const { return privileged_; }
    [[nodiscard]] bool read_only() const { return transaction_.read_only(); }
    [[nodiscard]] TransactionContext& transaction() { return transaction_; }
    [[nodiscard]] StateDelta& state() { return transaction_.state(); }
    [[nodiscard]] const BlockContext& block() const { return transaction_.block(); }
    // get_sender: the account whose action sent this one; empty for one of the transaction.
    [[nodiscard]] Name sender() const;
    // Index of the notified account this run is for, 0 for the first receiver.
    [[nodiscard]] std::size_t notification() const { return notified_index_; }

    // --- Failing ---
    // Records why the action fails; always returns false.
    bool fail(Exception exception, std::string text);
    bool fail(const base::Error& error);
    // eosio_assert_code and the like: the number is reported as the trace's error_code.
    bool fail_with_code(Exception exception, std::string text, std::uint64_t error_code);
    [[nodiscard]] bool has_failed() const { return transaction_.has_failed(); }

    // --- Console ---
    // What no longer fits into the transaction's kConsoleBytesMax is left out.
    void print(std::string_view text);
    // What this run has printed so far.
    [[nodiscard]] const std::string& console() const { return console_; }

    // --- Accounts and authority ---
    [[nodiscard]] bool is_account(Name account);
    // missing_auth_exception: not declared by the action.
    [[nodiscard]] bool require_authorization(Name account);
    [[nodiscard]] bool require_authorization(PermissionLevel level);
    [[nodiscard]] bool has_authorization(Name account) const;
    [[nodiscard]] bool has_recipient(Name account) const { return receivers_.contains(account); }
    // False: no units are left for the run.
    [[nodiscard]] bool require_recipient(Name account);

    // --- RAM ---
    // Bills `payer` and notes the delta in the trace. Overflow fails.
    [[nodiscard]] bool add_ram_usage(Name payer, std::int64_t delta);
    // The same for contract tables. That an unprivileged contract may bill others only with
    // their authorization is checked when the action ends (RAM_RESTRICTIONS).
    [[nodiscard]] bool update_db_usage(Name payer, std::int64_t delta) {
        return add_ram_usage(payer, delta);
    }

    // --- Sending ---
    // Schedules an inline action after checking that this action may send it.
    [[nodiscard]] bool send_inline(const Action& action);
    [[nodiscard]] bool send_context_free_inline(const Action& action);
    // Replaces the action's return value. action_return_value_exception: too big.
    [[nodiscard]] bool set_return_value(base::ByteView value);

    // The iterators of this action, made on first use. As in nodeos they live through its
    // notifications; inline actions have their own. Defined with HostDatabase in
    // host_database.cpp.
    [[nodiscard]] HostDatabase& database();

  private:
    [[nodiscard]] bool execute_one();
    [[nodiscard]] bool run_code();
    [[nodiscard]] bool check_ram_restrictions();
    [[nodiscard]] bool make_receipt();
    [[nodiscard]] std::vector<std::pair<Name, std::uint64_t>> count_authorizations();
    [[nodiscard]] Digest action_digest_of_run();
    void close_trace();
    [[nodiscard]] bool has_level(PermissionLevel least, PermissionLevel most) const;
    std::uint32_t schedule(const Action& action, Name receiver, bool context_free);
    [[nodiscard]] bool check_code_account(const Action& action);
    [[nodiscard]] bool check_inline(const Action& action);

    struct Notified {
        Name receiver;
        std::uint32_t ordinal = 0;
    };

    TransactionContext& transaction_;
    std::uint32_t first_ordinal_;  // Of the first receiver.
    std::uint32_t ordinal_;        // Of this run.
    std::uint32_t depth_;
    const Action* action_;
    Name receiver_;
    bool context_free_;
    bool privileged_ = false;
    std::size_t notified_index_ = 0;
    std::vector<Notified> notified_;
    std::set<Name> receivers_;  // Of notified_.
    // Those of the action in order, made when they are many and one is asked for.
    mutable std::vector<PermissionLevel> levels_;
    std::vector<std::uint32_t> inline_actions_;
    std::vector<std::uint32_t> context_free_inline_actions_;
    std::vector<RamDelta> ram_deltas_;  // Sorted by account.
    std::string console_;
    base::Bytes return_value_;
    std::optional<Digest> plain_digest_;  // Of the action without a return value.
    std::shared_ptr<HostDatabase> database_;
};

}  // namespace chain
