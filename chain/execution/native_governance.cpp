#include "chain/execution/elections.hpp"
#include "chain/execution/membership.hpp"
#include "chain/execution/native_steps.hpp"

#include <limits>

namespace chain::native {

namespace {

constexpr std::uint64_t kNodeUnits = 5'000;  // For a node that is looked at.

bool require_account(ApplyContext& context, Name account) {
    if (context.is_account(account)) return true;
    return context.fail(Exception::account_query_exception,
                        "unknown account " + account.to_string());
}

// A node belongs to an organisation, which may change it; so may eosio.
bool require_owner_of(ApplyContext& context, Name organisation) {
    return context.has_authorization(kSystem) || context.require_authorization(organisation);
}

// A key tells which node it is: no two nodes have the same.
bool require_free_key(ApplyContext& context, Name node, const PublicKey& key) {
    const auto owner = find_node_of(context.state(), key);
    if (!owner || *owner == node) return true;
    return invalid(
        context, "key " + key.to_string() + " belongs to node " + owner->to_string() + " already");
}

// A member that leaves takes its nodes with it: none of its keys may connect any more.
bool remove_nodes_of(ApplyContext& context, Name organisation) {
    const auto nodes =
        registered_nodes(context.state(), Name{}, std::numeric_limits<std::size_t>::max());
    if (!nodes) return context.fail(nodes.error());
    if (!pay(context, kNodeUnits * nodes->size())) return false;
    for (const NodeEntry& entry : *nodes) {
        if (entry.row.organisation == organisation) put_node(context.state(), entry.node, nullptr);
    }
    return true;
}

std::optional<NodeRow> find_node(ApplyContext& context, Name node) {
    const Value row = context.state().find(Table::node, node_key(node));
    if (!row) {
        invalid(context, "node " + node.to_string() + " is not registered");
        return std::nullopt;
    }
    auto decoded = decode_row<NodeRow>(*row);
    if (decoded) return std::move(*decoded);
    context.fail(std::move(decoded).error());
    return std::nullopt;
}

}  // namespace

bool addmember(ApplyContext& context) {
    const auto data = data_of<OneName>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    if (!require_account(context, data->name)) return false;
    if (context.state().find(Table::member, member_key(data->name))) {
        return invalid(context, data->name.to_string() + " is a member already");
    }
    context.state().put(Table::member, member_key(data->name), encode_u64(1));
    return true;
}

bool rmmember(ApplyContext& context) {
    const auto data = data_of<OneName>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    if (!context.state().find(Table::member, member_key(data->name))) {
        return invalid(context, data->name.to_string() + " is no member");
    }
    context.state().erase(Table::member, member_key(data->name));
    return remove_nodes_of(context, data->name);
}

bool setweight(ApplyContext& context) {
    const auto data = data_of<SetWeight>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    if (!context.state().find(Table::member, member_key(data->member))) {
        return invalid(context, data->member.to_string() + " is no member");
    }
    if (data->weight > kWeightMax) {
        return invalid(context,
                       "weight is " + std::to_string(data->weight) + ", at most " +
                           std::to_string(kWeightMax) + " is allowed");
    }
    context.state().put(Table::member, member_key(data->member), encode_u64(data->weight));
    return true;
}

bool allow(ApplyContext& context) {
    const auto data = data_of<Allow>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    if (!require_account(context, data->account)) return false;
    const auto bits = static_cast<std::uint8_t>((data->accounts ? kAllowedAccounts : 0) |
                                                (data->contracts ? kAllowedContracts : 0));
    if (bits == 0) {
        context.state().erase(Table::allowed, account_key(data->account));
    } else {
        context.state().put(Table::allowed, account_key(data->account), {std::byte{bits}});
    }
    return true;
}

bool regnode(ApplyContext& context) {
    const auto data = data_of<RegNode>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    if (!require_account(context, data->organisation)) return false;
    if (data->node.empty()) return invalid(context, "a node's name cannot be empty");
    if (data->key.type != base::crypto::KeyType::r1) {
        return invalid(context, "a node's key must be R1: TLS has no scheme for others");
    }
    if (data->roles == 0 || (data->roles & ~kRolesKnown) != 0) {
        return invalid(context,
                       "roles must be a sum of 1 validator, 2 observer, 4 broker, 8 gateway");
    }
    if (!require_free_key(context, data->node, data->key)) return false;
    NodeRow row;
    row.organisation = data->organisation;
    row.key = data->key;
    row.roles = data->roles;
    put_node(context.state(), data->node, &row);
    return true;
}

bool rmnode(ApplyContext& context) {
    const auto data = data_of<OneName>(context);
    if (!data) return false;
    const auto node = find_node(context, data->name);
    if (!node || !require_owner_of(context, node->organisation)) return false;
    put_node(context.state(), data->name, nullptr);
    return true;
}

bool rotatekey(ApplyContext& context) {
    const auto data = data_of<RotateKey>(context);
    if (!data) return false;
    auto node = find_node(context, data->node);
    if (!node || !require_owner_of(context, node->organisation)) return false;
    if (data->key.type != base::crypto::KeyType::r1) {
        return invalid(context, "a node's key must be R1: TLS has no scheme for others");
    }
    if (data->until.to_time_point() <= context.block().time) {
        return invalid(context, "until must be in the future: the old key stays good till then");
    }
    if (node->key == data->key) return invalid(context, "this is the node's key already");
    if (!require_free_key(context, data->node, data->key)) return false;
    // A key that was still being rotated out ends now: a node has at most two.
    node->previous_key = node->key;
    node->previous_until = data->until;
    node->key = data->key;
    put_node(context.state(), data->node, &*node);
    return true;
}

bool setrules(ApplyContext& context) {
    const auto data = data_of<SetRules>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    auto rules = load_rules(context.state());
    if (!rules) return context.fail(std::move(rules).error());
    // The same on every node, whatever rules its program knows.
    if (data->version != rules->version + 1) {
        return invalid(context,
                       "rules version must be " + std::to_string(rules->version + 1) +
                           ", the next one; this is " + std::to_string(data->version));
    }
    if (data->height <= context.block().height) {
        return invalid(context,
                       "height must be above the present one, " +
                           std::to_string(context.block().height) +
                           ", so that nodes can be updated before");
    }
    rules->next_version = data->version;
    rules->next_height = data->height;
    context.state().put(Table::global, global_key(kGlobalRules), pack(*rules));
    return true;
}

bool setchain(ApplyContext& context) {
    const auto data = data_of<SetChain>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    if (data->values.empty()) return invalid(context, "setchain has no values");
    BorParameters parameters = context.transaction().parameters();
    for (const ChainValue& value : data->values) {
        if (auto set = parameters.change(value.name, value.value); !set) {
            return invalid(context, set.error().detail);
        }
    }
    if (auto good = parameters.validate(); !good) return invalid(context, good.error().detail);
    context.transaction().set_parameters(parameters);
    return true;
}

}  // namespace chain::native
