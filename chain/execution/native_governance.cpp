#include "chain/execution/native_steps.hpp"

namespace chain::native {

namespace {

constexpr Name kSystem = "eosio"_n;
constexpr std::uint32_t kRulesKnown = 1;     // The rules this program has.
constexpr std::uint32_t kRolesKnown = 0x0F;  // Validator, observer, broker, gateway.

bool invalid(ApplyContext& context, std::string text) {
    return context.fail(Exception::action_validate_exception, std::move(text));
}

bool require_account(ApplyContext& context, Name account) {
    if (context.is_account(account)) return true;
    return context.fail(Exception::account_query_exception,
                        "unknown account " + account.to_string());
}

// A node belongs to an organisation, which may change it; so may eosio.
bool require_owner_of(ApplyContext& context, Name organisation) {
    return context.has_authorization(kSystem) || context.require_authorization(organisation);
}

std::optional<NodeRow> find_node(ApplyContext& context, Name node) {
    const Value row = context.state().find(Table::node, node_key(node));
    if (!row) {
        invalid(context, "node " + node.to_string() + " is not registered");
        return std::nullopt;
    }
    auto decoded = decode_node(*row);
    if (decoded) return std::move(*decoded);
    context.fail(std::move(decoded).error());
    return std::nullopt;
}

}  // namespace

bool setvotekey(ApplyContext& context) {
    const auto data = data_of<SetVoteKey>(context);
    if (!data || !context.require_authorization(data->producer)) return false;
    if (data->key.type != base::crypto::KeyType::k1) {
        return invalid(context, "a vote key must be K1: votes are signed with K1 keys");
    }
    const RowKey key = producer_key(data->producer);
    const Value old = context.state().find(Table::producer, key);
    if (!old) return invalid(context, "producer not found");
    auto row = decode_producer(*old);
    if (!row) return context.fail(std::move(row).error());
    row->vote_key = data->key;
    context.state().put(Table::producer, key, encode_producer(*row));
    return true;
}

// Only a network elects its validators by readiness; a fixed schedule does not ask for it.
bool ready(ApplyContext& context) {
    const auto data = data_of<OneName>(context);
    if (!data || !context.require_authorization(data->name)) return false;
    return invalid(context,
                   "ready is not supported yet: the schedule of this network is fixed, see "
                   "setprods");
}

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
    return true;
}

bool setweight(ApplyContext& context) {
    const auto data = data_of<SetWeight>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    if (!context.state().find(Table::member, member_key(data->member))) {
        return invalid(context, data->member.to_string() + " is no member");
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
    NodeRow row;
    row.organisation = data->organisation;
    row.key = data->key;
    row.roles = data->roles;
    context.state().put(Table::node, node_key(data->node), encode_node(row));
    return true;
}

bool rmnode(ApplyContext& context) {
    const auto data = data_of<OneName>(context);
    if (!data) return false;
    const auto node = find_node(context, data->name);
    if (!node || !require_owner_of(context, node->organisation)) return false;
    context.state().erase(Table::node, node_key(data->name));
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
    node->previous_key = node->key;
    node->previous_until = data->until;
    node->key = data->key;
    context.state().put(Table::node, node_key(data->node), encode_node(*node));
    return true;
}

bool reportbad(ApplyContext& context) {
    return invalid(context,
                   "reportbad is not supported yet: evidence of double signing is only checked "
                   "by a network of validators");
}

bool setrules(ApplyContext& context) {
    const auto data = data_of<SetRules>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    auto rules = load_rules(context.state());
    if (!rules) return context.fail(std::move(rules).error());
    if (data->version <= rules->version || data->version > kRulesKnown + 1) {
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
    context.state().put(Table::global, global_key(kGlobalRules), encode_rules(*rules));
    return true;
}

bool setchain(ApplyContext& context) {
    const auto data = data_of<SetChain>(context);
    if (!data || !context.require_authorization(kSystem)) return false;
    if (data->values.empty()) return invalid(context, "setchain has no values");
    BorParameters parameters = context.transaction().parameters();
    for (const ChainValue& value : data->values) {
        if (auto set = parameters.set(value.name, value.value); !set) {
            return invalid(context, set.error().detail);
        }
    }
    context.transaction().set_parameters(parameters);
    return true;
}

}  // namespace chain::native
