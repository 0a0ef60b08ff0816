#pragma once

#include "chain/execution/authority_checker.hpp"
#include "chain/types/parameters.hpp"

#include <optional>
#include <span>
#include <vector>

namespace chain {

// Antelope's rules on who may do what: minimum permissions, links, special cases of the
// actions that change permissions (nodeos' authorization_manager). Reads only.
class Authorization {
  public:
    // All outlive this. The meter pays for what authorities make us look at; when it runs
    // out, the answer is tx_cpu_usage_exceeded and the caller names the limit.
    struct Environment {
        const StateView& state;
        PermissionCache& cache;
        const ChainConfig& config;
        vm::Meter& meter;
    };
    explicit Authorization(const Environment& environment) : environment_(environment) {}

    struct Policy {
        bool dry_run = false;  // Unsatisfied authority is no error.
        bool brief = false;    // The error names no keys and permissions: nobody reads it.
    };
    // Whether the declared authorizations of all actions are relevant and satisfied.
    // irrelevant_auth_exception, unsatisfied_authorization, tx_irrelevant_sig,
    // permission_query_exception; nodeos' texts.
    [[nodiscard]] base::Result<void> check(std::span<const Action> actions,
                                           const Provided& provided,
                                           const Policy& policy) const;
    // Whether `provided` satisfies one permission (check_permission_authorization).
    [[nodiscard]] base::Result<void> check_permission(PermissionLevel level,
                                                      const Provided& provided) const;
    // Which of `candidates` must sign. unsatisfied_authorization: they do not suffice.
    [[nodiscard]] base::Result<std::vector<PublicKey>> required_keys(
        const Transaction& transaction, std::vector<PublicKey> candidates) const;

    [[nodiscard]] PermissionPtr find_permission(PermissionLevel level) const;
    // permission_query_exception with nodeos' text.
    [[nodiscard]] base::Result<PermissionPtr> get_permission(PermissionLevel level) const;
    // What the account linked to the action, or to all actions of its contract.
    [[nodiscard]] std::optional<Name> linked_permission(Name account, Name code, Name action) const;
    // The permission an action needs at least: the linked one, or active. Nothing: eosio.any.
    [[nodiscard]] std::optional<Name> minimum_permission(Name account,
                                                         Name code,
                                                         Name action) const;
    // Whether `level` is `other`, or an ancestor of it.
    [[nodiscard]] bool satisfies(PermissionLevel level, PermissionLevel other) const;

  private:
    // The keys that say this in a validator's name, though no permission names them: its node holds
    // no others. They are provided, or it is `ready`. None: an ordinary action.
    [[nodiscard]] base::Result<std::vector<PublicKey>> find_duty_keys(
        const Action& action, const Provided& provided) const;
    // `ready` proves that a node holds the keys: nothing else is good for it.
    [[nodiscard]] base::Result<std::vector<PublicKey>> find_ready_keys(const Action& action) const;
    // Nothing: an ordinary action. True: checked; false never.
    [[nodiscard]] base::Result<bool> check_special(const Action& action) const;
    [[nodiscard]] base::Result<void> check_updateauth(const Action& action) const;
    [[nodiscard]] base::Result<void> check_deleteauth(const Action& action) const;
    [[nodiscard]] base::Result<void> check_linkauth(const Action& action) const;
    [[nodiscard]] base::Result<void> check_unlinkauth(const Action& action) const;
    [[nodiscard]] base::Result<void> check_minimum(const Action& action,
                                                   PermissionLevel declared) const;
    // What the actions declare, each once and in order; they need no more than that. For those
    // with a duty key it is the key alone.
    [[nodiscard]] base::Result<std::vector<PermissionLevel>> declared_by(
        std::span<const Action> actions,
        const Provided& provided,
        std::vector<PublicKey>& duty_keys) const;
    // Adds what one action declares to the sorted `levels`.
    [[nodiscard]] base::Result<void> add_declared(const Action& action,
                                                  std::vector<PermissionLevel>& levels) const;
    [[nodiscard]] base::Result<void> require_satisfies(PermissionLevel declared,
                                                       PermissionLevel minimum,
                                                       std::string_view who) const;
    [[nodiscard]] AuthoritySource source() const;

    Environment environment_;
};

// ["EOS...","PUB_R1_..."] and [{"actor":"a","permission":"b"}], as in nodeos' messages.
[[nodiscard]] std::string keys_to_json(const std::vector<PublicKey>& keys);
[[nodiscard]] std::string levels_to_json(const std::vector<PermissionLevel>& levels);

// Sorts the keys recovered from a transaction's signatures. tx_duplicate_sig: one twice.
[[nodiscard]] base::Result<std::vector<PublicKey>> sorted_signature_keys(
    std::vector<PublicKey> keys);

}  // namespace chain
