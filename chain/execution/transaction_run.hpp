#pragma once

#include "chain/execution/executor.hpp"
#include "chain/execution/resource_limits.hpp"

#include <set>
#include <vector>

namespace chain {

// One transaction from its first check to its receipt; the order of the steps, and of the
// errors therefore, is that of nodeos' controller. Each step returns false after recording
// the failure in the context.
class TransactionRun : base::Pinned {
  public:
    TransactionRun(TransactionContext& context, std::vector<PublicKey> keys);

    [[nodiscard]] bool run();
    // Moves what happened into a result, whether it succeeded or not.
    [[nodiscard]] TransactionResult take_result();

  private:
    [[nodiscard]] bool check_header();
    [[nodiscard]] bool check_expiration();
    [[nodiscard]] bool check_tapos();
    [[nodiscard]] bool check_duplicate();
    [[nodiscard]] bool check_accounts();
    [[nodiscard]] bool pay_for_actor(Name actor);
    [[nodiscard]] bool check_action_accounts(const Action& action, bool& has_authorization);
    [[nodiscard]] bool pay_base();
    [[nodiscard]] std::uint64_t base_units() const;
    void set_cpu_limit();
    [[nodiscard]] bool set_limits();
    [[nodiscard]] bool lower_to_account();
    [[nodiscard]] bool check_net_usage();
    [[nodiscard]] bool check_authorization();
    [[nodiscard]] bool execute_actions();
    [[nodiscard]] bool finish();
    [[nodiscard]] bool note_permission_usage();
    [[nodiscard]] bool check_ram();
    [[nodiscard]] bool bill();
    [[nodiscard]] bool check_cpu_usage(std::uint64_t billed, std::int64_t account_limit);
    [[nodiscard]] std::uint64_t initial_net_usage() const;
    [[nodiscard]] ResourceLimit payer_limit(Resource resource);
    bool fail(Exception exception, std::string text);

    TransactionContext& context_;
    const Transaction& transaction_;
    std::vector<PublicKey> keys_;
    ResourceWindows windows_;
    Name payer_;
    std::set<Name> actors_;  // Of all actions, but for payer_.
    std::uint64_t net_usage_ = 0;
    std::uint64_t net_limit_ = 0;
    std::uint64_t eager_net_limit_ = 0;
    bool net_limit_is_of_block_ = true;
    std::uint64_t objective_cpu_us_ = 0;
    std::uint64_t base_units_ = 0;  // Paid before anything else.
    bool cpu_limit_is_of_block_ = true;
    TransactionReceiptHeader receipt_;
};

}  // namespace chain
