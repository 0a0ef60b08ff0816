#include "chain/execution/membership.hpp"

#include "base/crypto/hash.hpp"
#include "chain/state/row_scan.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace chain {

namespace {

using base::Result;

struct Role {
    std::string_view name;
    std::uint32_t bit;
};
constexpr auto kRoles = std::to_array<Role>({{"validator", kRoleValidator},
                                             {"observer", kRoleObserver},
                                             {"broker", kRoleBroker},
                                             {"gateway", kRoleGateway}});

RowKey node_key_key(const PublicKey& key) {
    return RowKey().raw(base::crypto::sha256(pack(key)).view());
}

}  // namespace

std::vector<std::string_view> role_names(std::uint32_t roles) {
    std::vector<std::string_view> names;
    for (const Role& role : kRoles) {
        if ((roles & role.bit) != 0) names.push_back(role.name);
    }
    return names;
}

const RegisteredKey* Registry::find(const PublicKey& key) const {
    const auto place = std::ranges::lower_bound(keys, key, {}, &RegisteredKey::key);
    return place != keys.end() && place->key == key ? &*place : nullptr;
}

Result<Registry> load_registry(const StateView& state, TimePoint now) {
    auto nodes = registered_nodes(state, Name{}, std::numeric_limits<std::size_t>::max());
    if (!nodes) return base::fail(std::move(nodes).error());
    Registry registry;
    for (const NodeEntry& entry : *nodes) {
        const NodeRow& row = entry.row;
        RegisteredKey key{.key = row.key,
                          .node = entry.node,
                          .organisation = row.organisation,
                          .roles = row.roles,
                          .until = std::nullopt};
        registry.keys.push_back(key);
        if (!row.previous_key || row.previous_until.to_time_point() <= now) continue;
        key.key = *row.previous_key;
        key.until = row.previous_until;
        registry.keys.push_back(std::move(key));
    }
    std::ranges::sort(registry.keys, {}, &RegisteredKey::key);
    return registry;
}

Result<std::vector<NodeEntry>> registered_nodes(const StateView& state,
                                                Name from,
                                                std::size_t limit) {
    std::vector<NodeEntry> nodes;
    RowScan rows(state, Table::node, {}, node_key(from));
    while (nodes.size() < limit) {
        const auto row = rows.next();
        if (!row) break;
        auto decoded = decode_row<NodeRow>(*row->value);
        if (!decoded) return base::fail(std::move(decoded).error());
        nodes.push_back({.node = Name{key_u64(row->key, 0)}, .row = *std::move(decoded)});
    }
    return nodes;
}

std::vector<MemberEntry> members(const StateView& state) {
    std::vector<MemberEntry> list;
    RowScan rows(state, Table::member, {});
    while (const auto row = rows.next()) {
        list.push_back({.name = Name{key_u64(row->key, 0)}, .weight = decode_u64(*row->value)});
    }
    return list;
}

std::size_t count_members(const StateView& state, std::size_t limit) {
    std::size_t count = 0;
    RowScan rows(state, Table::member, {});
    while (count < limit && rows.next()) {
        ++count;
    }
    return count;
}

std::optional<Name> find_node_of(const StateView& state, const PublicKey& key) {
    const Value row = state.find(Table::node_key, node_key_key(key));
    if (!row) return std::nullopt;
    return Name{decode_u64(*row)};
}

void put_node(StateDelta& state, Name node, const NodeRow* row) {
    if (const Value old = state.find(Table::node, node_key(node))) {
        const NodeRow before = decode_row<NodeRow>(*old).value_or(NodeRow{});
        state.erase(Table::node_key, node_key_key(before.key));
        if (before.previous_key) {
            state.erase(Table::node_key, node_key_key(*before.previous_key));
        }
    }
    if (row == nullptr) {
        state.erase(Table::node, node_key(node));
        return;
    }
    state.put(Table::node, node_key(node), pack(*row));
    state.put(Table::node_key, node_key_key(row->key), encode_u64(node.value));
    if (row->previous_key) {
        state.put(Table::node_key, node_key_key(*row->previous_key), encode_u64(node.value));
    }
}

}  // namespace chain
