#pragma once

#include "chain/execution/rows.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace chain {

// Who may connect (spec 05): the nodes that organisations registered on chain.

// Bits of NodeRow::roles.
inline constexpr std::uint32_t kRoleValidator = 1;
inline constexpr std::uint32_t kRoleObserver = 2;
inline constexpr std::uint32_t kRoleBroker = 4;
inline constexpr std::uint32_t kRoleGateway = 8;
inline constexpr std::uint32_t kRolesKnown = 0x0F;
// "validator", "observer", ...: the names of the bits, in ascending order.
[[nodiscard]] std::vector<std::string_view> role_names(std::uint32_t roles);

// A key that a node may connect with.
struct RegisteredKey {
    PublicKey key;
    Name node;
    Name organisation;
    std::uint32_t roles = 0;
    // It was rotated out and is good until then; absent: the present key of the node.
    std::optional<TimePointSec> until;

    friend bool operator==(const RegisteredKey&, const RegisteredKey&) = default;
};

// Everybody who may connect, by key: read it from the final state whenever a block became final.
struct Registry {
    std::vector<RegisteredKey> keys;  // Ascending.

    // Null: not registered, or no longer.
    [[nodiscard]] const RegisteredKey* find(const PublicKey& key) const;
    friend bool operator==(const Registry&, const Registry&) = default;
};

// The registry of a state at `now`, the time of the state's block: a rotated key counts until its
// time. One pass over the nodes. corrupt: a row does not decode.
[[nodiscard]] base::Result<Registry> load_registry(const StateView& state, TimePoint now);

struct NodeEntry {
    Name node;
    NodeRow row;
};
// The nodes from `from` on, by name, at most `limit`.
[[nodiscard]] base::Result<std::vector<NodeEntry>> registered_nodes(const StateView& state,
                                                                    Name from,
                                                                    std::size_t limit);
struct MemberEntry {
    Name name;
    std::uint64_t weight = 0;
};
// The members, by name.
[[nodiscard]] std::vector<MemberEntry> members(const StateView& state);
// How many there are, counted up to `limit`.
[[nodiscard]] std::size_t count_members(const StateView& state, std::size_t limit);
// Whose key it is, be it the present or the previous one; nothing: nobody's.
[[nodiscard]] std::optional<Name> find_node_of(const StateView& state, const PublicKey& key);
// Writes a node, and what finds it by its keys; erases it when `row` is null. The caller has
// checked that no other node has the keys.
void put_node(StateDelta& state, Name node, const NodeRow* row);

}  // namespace chain
