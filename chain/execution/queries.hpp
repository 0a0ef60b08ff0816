#pragma once

#include "chain/execution/resource_limits.hpp"
#include "chain/execution/rows.hpp"

#include <optional>
#include <span>
#include <vector>

namespace chain {

// What the API asks about a state. Pure functions over a view; any thread with a finished
// view. All are bounded by a limit of the caller or by what one account may hold.

// --- Accounts ------------------------------------------------------------------------------

struct LinkedAction {
    Name code;
    std::optional<Name> action;  // Absent: every action of the contract.
};

struct PermissionSummary {
    Name name;
    PermissionRow row;
    std::vector<LinkedAction> linked;
};

struct AccountSummary {
    Name name;
    AccountRow row;
    std::vector<PermissionSummary> permissions;  // By name.
    std::vector<LinkedAction> linked_to_any;     // eosio.any
    ResourceLimit net;
    ResourceLimit cpu;
};

// `slot` is the head block's. account_query_exception: no such account.
[[nodiscard]] base::Result<AccountSummary> account_summary(const StateView& state,
                                                           Name account,
                                                           Slot slot);
[[nodiscard]] base::Result<std::optional<AccountRow>> find_account(const StateView& state,
                                                                   Name account);
// When an ordinal of ResourceLimit was; Antelope's epoch for 0, which means never.
[[nodiscard]] TimePoint time_of_ordinal(const SlotTimes& times, std::uint32_t ordinal);

// The ABI; for eosio the native one while none is set. Empty: none.
[[nodiscard]] base::Bytes account_abi(const StateView& state, Name account);

// --- Keys ----------------------------------------------------------------------------------

// Those of `candidates` that must sign. unsatisfied_authorization with nodeos' text.
[[nodiscard]] base::Result<std::vector<PublicKey>> required_keys(const StateView& state,
                                                                 const Transaction& transaction,
                                                                 std::vector<PublicKey> candidates);

struct AuthorizedAccount {
    PermissionLevel permission;  // Whose authority names the authorizer.
    std::optional<PublicKey> key;
    std::optional<PermissionLevel> account;
    Weight weight = 0;
    std::uint32_t threshold = 0;
};
// Permissions whose authority names one of the keys or accounts; a level with an empty
// permission means any of the actor's. At most `limit`, in order of account and permission
// for each key, then each account.
[[nodiscard]] base::Result<std::vector<AuthorizedAccount>> accounts_by_authorizers(
    const StateView& state,
    std::span<const PublicKey> keys,
    std::span<const PermissionLevel> accounts,
    std::size_t limit);

// --- Producers ------------------------------------------------------------------------------

struct RegisteredProducer {
    Name name;
    ProducerRow row;
};
// Registrations by name, from `from` on.
[[nodiscard]] base::Result<std::vector<RegisteredProducer>> registered_producers(
    const StateView& state, Name from, std::size_t limit);

}  // namespace chain
