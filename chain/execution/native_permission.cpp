#include "chain/execution/authorization.hpp"
#include "chain/execution/native_steps.hpp"
#include "chain/state/row_scan.hpp"

namespace chain::native {

namespace {

constexpr Name kActive = "active"_n;
constexpr Name kOwner = "owner"_n;

Authorization authorization_of(ApplyContext& context) {
    return context.transaction().authorization(context.transaction().meter());
}

std::string authority_to_json(const Authority& authority) {
    std::string keys;
    for (const KeyWeight& entry : authority.keys) {
        keys += std::string(keys.empty() ? "" : ",") + "{\"key\":\"" + entry.key.to_string() +
                "\",\"weight\":" + std::to_string(entry.weight) + "}";
    }
    std::string accounts;
    for (const PermissionLevelWeight& entry : authority.accounts) {
        accounts += std::string(accounts.empty() ? "" : ",") +
                    "{\"permission\":" + entry.permission.to_json() +
                    ",\"weight\":" + std::to_string(entry.weight) + "}";
    }
    std::string waits;
    for (const WaitWeight& entry : authority.waits) {
        waits += std::string(waits.empty() ? "" : ",") +
                 "{\"wait_sec\":" + std::to_string(entry.wait_sec) +
                 ",\"weight\":" + std::to_string(entry.weight) + "}";
    }
    return "{\"threshold\":" + std::to_string(authority.threshold) + ",\"keys\":[" + keys +
           "],\"accounts\":[" + accounts + "],\"waits\":[" + waits + "]}";
}

bool check_update(ApplyContext& context, const UpdateAuth& data) {
    if (data.permission.empty()) {
        return invalid(context, "Cannot create authority with empty name");
    }
    if (data.permission.to_string().starts_with("eosio.")) {
        return invalid(context, "Permission names that start with 'eosio.' are reserved");
    }
    if (data.permission == data.parent) {
        return invalid(context, "Cannot set an authority as its own parent");
    }
    if (!data.authority.is_valid()) {
        return invalid(context, "Invalid authority: " + authority_to_json(data.authority));
    }
    if (data.permission == kActive && data.parent != kOwner) {
        return invalid(context, "Cannot change active authority's parent from owner");
    }
    if (data.permission == kOwner && !data.parent.empty()) {
        return invalid(context, "Cannot change owner authority's parent");
    }
    if (data.permission != kOwner && data.parent.empty()) {
        return invalid(context, "Only owner authority can have empty parent");
    }
    const std::uint32_t delay_max = context.transaction().config().max_transaction_delay;
    if (!data.authority.waits.empty() && data.authority.waits.back().wait_sec > delay_max) {
        return invalid(context,
                       "Cannot set delay longer than max_transacton_delay, which is " +
                           std::to_string(delay_max) + " seconds");
    }
    return true;
}

// Charges for a row of a search.
bool pay_for_step(ApplyContext& context) {
    return pay(context, context.transaction().prices()[Cost::iterate].of(0));
}

// Whether a permission of the account has `name` as its parent. False too when no units are
// left: the context has the failure.
bool has_children(ApplyContext& context, PermissionLevel level) {
    StateDelta& state = context.state();
    RowKey from = permission_key({level.actor, Name{}});
    while (auto row = state.at_or_after(Table::permission, from)) {
        if (key_u64(row->key, 0) != level.actor.value || !pay_for_step(context)) return false;
        const Name name{key_u64(row->key, 8)};
        const PermissionPtr child =
            context.transaction().permissions().find(state, {level.actor, name});
        if (child && child->parent == level.permission) return true;
        if (name.value == ~std::uint64_t{0}) return false;
        from = permission_key({level.actor, Name{name.value + 1}});
    }
    return false;
}

// The first action linked to the permission. Nothing too when no units are left.
std::optional<LinkKey> find_link_to(ApplyContext& context, PermissionLevel level) {
    RowScan rows(context.state(), Table::permission_link, account_key(level.actor));
    while (const auto row = rows.next()) {
        if (!pay_for_step(context)) break;
        if (decode_u64(*row->value) == level.permission.value) {
            return LinkKey{level.actor, Name{key_u64(row->key, 8)}, Name{key_u64(row->key, 16)}};
        }
    }
    return std::nullopt;
}

}  // namespace

bool updateauth(ApplyContext& context) {
    const auto data = data_of<UpdateAuth>(context);
    if (!data || !refuse_read_only(context, "updateauth")) return false;
    if (!context.require_authorization(data->account)) return false;
    if (!check_update(context, *data) || !check_references(context, data->authority)) return false;
    const Authorization authorization = authorization_of(context);
    const PermissionLevel level{data->account, data->permission};
    const PermissionPtr old = authorization.find_permission(level);
    if (data->permission != kOwner) {
        auto parent = authorization.get_permission({data->account, data->parent});
        if (!parent) return context.fail(std::move(parent).error());
    }
    if (old && old->parent != data->parent) {
        return invalid(context, "Changing parent authority is not currently supported");
    }
    const PermissionRow row{.parent = data->parent,
                            .last_updated = context.block().time,
                            .last_used = old ? old->last_used : context.block().time,
                            .authority = data->authority};
    if (!pay_for_row(context, context.action().data.size())) return false;
    if (old && !pay_for_entries(context, old->authority)) return false;
    put_permission(context.state(), level, &row);
    const std::int64_t old_bytes =
        old ? ram::kPermission + old->authority.billable_bytes() : std::int64_t{0};
    return context.add_ram_usage(data->account,
                                 ram::kPermission + data->authority.billable_bytes() - old_bytes);
}

bool deleteauth(ApplyContext& context) {
    const auto data = data_of<DeleteAuth>(context);
    if (!data || !refuse_read_only(context, "deleteauth")) return false;
    if (!context.require_authorization(data->account)) return false;
    if (data->permission == kActive) return invalid(context, "Cannot delete active authority");
    if (data->permission == kOwner) return invalid(context, "Cannot delete owner authority");
    const PermissionLevel level{data->account, data->permission};
    if (const auto link = find_link_to(context, level)) {
        return invalid(context,
                       "Cannot delete a linked authority. Unlink the authority first. This "
                       "authority is linked to " +
                           link->code.to_string() + "::" + link->action.to_string() + ".");
    }
    auto permission = authorization_of(context).get_permission(level);
    if (!permission) return context.fail(std::move(permission).error());
    if (has_children(context, level)) {
        return invalid(context, "Cannot remove a permission which has children");
    }
    if (context.has_failed() || !pay_for_entries(context, (*permission)->authority)) return false;
    put_permission(context.state(), level, nullptr);
    return context.add_ram_usage(data->account,
                                 -(ram::kPermission + (*permission)->authority.billable_bytes()));
}

bool linkauth(ApplyContext& context) {
    const auto data = data_of<LinkAuth>(context);
    if (!data || !refuse_read_only(context, "linkauth")) return false;
    if (data->requirement.empty()) {
        return invalid(context, "Required permission cannot be empty");
    }
    if (!context.require_authorization(data->account)) return false;
    if (!context.is_account(data->account)) {
        return context.fail(Exception::account_query_exception,
                            "Failed to retrieve account: " + data->account.to_string());
    }
    if (!context.is_account(data->code)) {
        return context.fail(Exception::account_query_exception,
                            "Failed to retrieve code for account: " + data->code.to_string());
    }
    const PermissionLevel level{data->account, data->requirement};
    if (data->requirement != "eosio.any"_n &&
        !context.transaction().permissions().find(context.state(), level)) {
        return context.fail(Exception::permission_query_exception,
                            "Failed to retrieve permission: " + data->requirement.to_string());
    }
    const RowKey key = link_key({data->account, data->code, data->type});
    const Value old = context.state().find(Table::permission_link, key);
    if (old && decode_u64(*old) == data->requirement.value) {
        return invalid(
            context, "Attempting to update required authority, but new requirement is same as old");
    }
    if (!pay_for_row(context, sizeof(Name))) return false;
    context.state().put(Table::permission_link, key, encode_u64(data->requirement.value));
    return old ? true : context.add_ram_usage(data->account, ram::kLink);
}

bool unlinkauth(ApplyContext& context) {
    const auto data = data_of<UnlinkAuth>(context);
    if (!data || !refuse_read_only(context, "unlinkauth")) return false;
    if (!context.require_authorization(data->account)) return false;
    const RowKey key = link_key({data->account, data->code, data->type});
    if (!context.state().find(Table::permission_link, key)) {
        return invalid(context, "Attempting to unlink authority, but no link found");
    }
    if (!pay_for_row(context, sizeof(Name))) return false;
    context.state().erase(Table::permission_link, key);
    return context.add_ram_usage(data->account, -ram::kLink);
}

}  // namespace chain::native
