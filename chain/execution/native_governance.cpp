#include "chain/execution/elections.hpp"
#include "chain/execution/membership.hpp"
#include "chain/execution/native_steps.hpp"
#include "chain/execution/schedule_rows.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace chain::native {

namespace {

constexpr std::uint64_t kNodeUnits = 5'000;   // For a node that is looked at.
constexpr std::uint64_t kEntryUnits = 1'000;  // For a validator whose nodes are looked for.

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

std::optional<std::vector<NodeEntry>> all_nodes(ApplyContext& context) {
    auto nodes = registered_nodes(context.state(), Name{}, std::numeric_limits<std::size_t>::max());
    if (!nodes) {
        context.fail(nodes.error());
        return std::nullopt;
    }
    if (!pay(context, kNodeUnits * nodes->size())) return std::nullopt;
    return *std::move(nodes);
}

using Owners = std::set<Name>;

bool is_validators(const NodeRow& node) {
    return (node.roles & kRoleValidator) != 0;
}

// Who has a node that may connect as a validator's.
Owners owners_of(const std::vector<NodeEntry>& nodes) {
    Owners owners;
    for (const NodeEntry& entry : nodes) {
        if (is_validators(entry.row)) owners.insert(entry.row.organisation);
    }
    return owners;
}

// Whether a quorum can connect still. Without one nothing becomes final, and no node that is
// registered then may connect, as those that are final count: the change could not be taken back.
bool keeps_quorum(ApplyContext& context,
                  const std::string& change,
                  const Owners& before,
                  const Owners& after) {
    const auto schedules = load_schedules(context.state());
    if (!schedules) return context.fail(schedules.error());
    for (const Schedule* schedule : {schedules->active.get(), schedules->proposed.get()}) {
        // One validator agrees with itself.
        if (schedule == nullptr || schedule->quorum() == 1) continue;
        if (!pay(context, kEntryUnits * schedule->entries.size())) return false;
        const auto count = [&](const Owners& owners) {
            return static_cast<std::size_t>(std::ranges::count_if(
                schedule->entries,
                [&](const ScheduleEntry& entry) { return owners.contains(entry.producer); }));
        };
        const std::size_t left = count(after);
        if (left >= schedule->quorum() || left >= count(before)) continue;
        return invalid(
            context,
            change + " would leave " + std::to_string(left) + " of the " +
                std::to_string(schedule->entries.size()) + " validators of schedule " +
                std::to_string(schedule->version) + " with a registered validator's node, and " +
                std::to_string(schedule->quorum()) +
                " must agree: nothing would become final any more. Take validators whose nodes go "
                "out of the schedule and wait until it has changed ('bor-cli validators'), or "
                "register another node first ('bor-cli node add')");
    }
    return true;
}

// Whether a node may be replaced, or removed where `after` is null.
bool may_replace(ApplyContext& context,
                 const std::string& change,
                 const NodeEntry& before,
                 const NodeRow* after) {
    const bool serves_on =
        after != nullptr && is_validators(*after) && after->organisation == before.row.organisation;
    if (!is_validators(before.row) || serves_on) return true;
    auto nodes = all_nodes(context);
    if (!nodes) return false;
    const Owners owners = owners_of(*nodes);
    std::erase_if(*nodes, [&](const NodeEntry& entry) { return entry.node == before.node; });
    if (after != nullptr) nodes->push_back({before.node, *after});
    return keeps_quorum(context, change, owners, owners_of(*nodes));
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
    if (count_members(context.state(), 2) == 1) {
        return invalid(context,
                       data->name.to_string() +
                           " is the last member: nobody could vote for validators or sign a "
                           "recovery any more; make another account a member first "
                           "('bor-cli member add')");
    }
    // A member that leaves takes its nodes with it: none of their keys may connect any more.
    const auto nodes = all_nodes(context);
    if (!nodes) return false;
    const Owners before = owners_of(*nodes);
    Owners after = before;
    after.erase(data->name);
    const std::string change =
        "removing member " + data->name.to_string() + ", which revokes its nodes,";
    if (!keeps_quorum(context, change, before, after)) return false;
    context.state().erase(Table::member, member_key(data->name));
    for (const NodeEntry& entry : *nodes) {
        if (entry.row.organisation == data->name) put_node(context.state(), entry.node, nullptr);
    }
    return true;
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
    if (context.state().find(Table::node, node_key(data->node))) {
        const auto before = find_node(context, data->node);
        if (!before) return false;
        const std::string change = "registering node " + data->node.to_string() + " anew";
        if (!may_replace(context, change, {data->node, *before}, &row)) return false;
    }
    put_node(context.state(), data->node, &row);
    return true;
}

bool rmnode(ApplyContext& context) {
    const auto data = data_of<OneName>(context);
    if (!data) return false;
    const auto node = find_node(context, data->name);
    if (!node || !require_owner_of(context, node->organisation)) return false;
    const std::string change = "removing node " + data->name.to_string();
    if (!may_replace(context, change, {data->name, *node}, nullptr)) return false;
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
