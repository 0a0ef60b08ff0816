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

// The WASM of an account's contract; absent: none.
[[nodiscard]] std::optional<base::Bytes> account_code(const StateView& state, Name account);
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

// --- Contract tables -----------------------------------------------------------------------

struct PrimaryEntry {
    std::uint64_t primary = 0;
    Name payer;
    Value row;  // row_value(*row) is the contract's.
};
[[nodiscard]] std::optional<PrimaryEntry> primary_find(const StateView& state,
                                                       const TableId& table,
                                                       std::uint64_t primary);
// The first at or after `primary`, and the last before it; the last of all without.
[[nodiscard]] std::optional<PrimaryEntry> primary_at_or_after(const StateView& state,
                                                              const TableId& table,
                                                              std::uint64_t primary);
[[nodiscard]] std::optional<PrimaryEntry> primary_before(const StateView& state,
                                                         const TableId& table,
                                                         std::optional<std::uint64_t> primary);

// A secondary index is one of Table::index64 ... index_long_double. Its `ordered` keys are
// big-endian, floats by ordered_double(); 8, 16 or 32 bytes.
struct SecondaryEntry {
    base::Bytes ordered;
    std::uint64_t primary = 0;
    Name payer;
    base::Bytes secondary;  // As the contract gave it, little-endian.
};
[[nodiscard]] std::size_t secondary_bytes(Table index);
[[nodiscard]] std::optional<SecondaryEntry> secondary_at_or_after(const StateView& state,
                                                                  Table index,
                                                                  const TableId& table,
                                                                  base::ByteView ordered,
                                                                  std::uint64_t primary);
// The last before {ordered, primary}; with empty `ordered` the last of all.
[[nodiscard]] std::optional<SecondaryEntry> secondary_before(const StateView& state,
                                                             Table index,
                                                             const TableId& table,
                                                             base::ByteView ordered,
                                                             std::uint64_t primary);

struct TableEntry {
    TableId id;
    TableRow row;
};
// The tables of a contract, by scope and name: the first at or after `from`, the last before
// it, both within from.code.
[[nodiscard]] std::optional<TableEntry> table_at_or_after(const StateView& state,
                                                          const TableId& from);
[[nodiscard]] std::optional<TableEntry> table_before(const StateView& state, const TableId& from);

// --- Producers ------------------------------------------------------------------------------

struct RegisteredProducer {
    Name name;
    ProducerRow row;
};
// Registrations by name, from `from` on.
[[nodiscard]] base::Result<std::vector<RegisteredProducer>> registered_producers(
    const StateView& state, Name from, std::size_t limit);

}  // namespace chain
