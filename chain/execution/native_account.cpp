#include "base/check.hpp"
#include "base/crypto/hash.hpp"
#include "chain/execution/authority_checker.hpp"
#include "chain/execution/native_steps.hpp"
#include "chain/vm/vm.hpp"

#include <fmt/format.h>

namespace chain::native {

namespace {

bool is_allowed(ApplyContext& context, Name account, std::uint8_t what) {
    if (context.has_authorization(kSystem)) return true;
    const AccountRow* row = context.transaction().find_account(account);
    if (row != nullptr && row->privileged) return true;
    const Value allowed = context.state().find(Table::allowed, account_key(account));
    return allowed && !allowed->empty() &&
           (std::to_integer<std::uint8_t>((*allowed)[0]) & what) != 0;
}

bool check_name(ApplyContext& context, const NewAccount& data) {
    const std::string name = data.name.to_string();
    if (data.name.empty()) {
        return invalid(context, "account name cannot be empty");
    }
    if (name.size() > 12) {
        return invalid(context, "account names can only be 12 chars long");
    }
    if (!context.is_account(data.creator)) {
        return context.fail(Exception::account_query_exception,
                            "creator " + data.creator.to_string() + " does not exist");
    }
    if (!context.transaction().find_account(data.creator)->privileged &&
        name.starts_with("eosio.")) {
        return invalid(context, "only privileged accounts can have names that start with 'eosio.'");
    }
    if (context.is_account(data.name)) {
        return context.fail(
            Exception::account_name_exists_exception,
            "Cannot create account named " + name + ", as that name is already taken");
    }
    return true;
}

void create_permission(ApplyContext& context,
                       PermissionLevel level,
                       Name parent,
                       const Authority& authority) {
    const PermissionRow row{.parent = parent,
                            .last_updated = context.block().time,
                            .last_used = context.block().time,
                            .authority = authority};
    put_permission(context.state(), level, &row);
}

// Takes one user away from stored code; the last one takes it along.
void release_code(ApplyContext& context, const base::Hash256& hash) {
    const Value row = context.state().find(Table::code, code_key(hash));
    CHECK(row);
    const std::uint32_t users = code_users(*row);
    if (users <= 1) {
        context.state().erase(Table::code, code_key(hash));
    } else {
        context.state().put(Table::code, code_key(hash), encode_code(users - 1, code_bytes(*row)));
    }
}

void use_code(ApplyContext& context, const base::Hash256& hash, base::ByteView code) {
    const Value row = context.state().find(Table::code, code_key(hash));
    const std::uint32_t users = row ? code_users(*row) : 0;
    context.state().put(Table::code, code_key(hash), encode_code(users + 1, code));
}

bool validate_code(ApplyContext& context, base::ByteView code) {
    if (!pay(context, context.transaction().prices()[Cost::load].of(code.size()))) return false;
    const vm::Limits limits = vm_limits(context.transaction().wasm_config());
    auto valid = vm::validate(code, limits, context.transaction().hosts());
    if (valid) return true;
    return context.fail(std::move(valid).error());
}

}  // namespace

bool pay_for_entries(ApplyContext& context, const Authority& authority) {
    const std::uint64_t entries = authority.keys.size() + authority.accounts.size();
    return pay(context, context.transaction().prices()[Cost::row_write].base * entries);
}

bool check_references(ApplyContext& context, const Authority& authority) {
    if (!pay_for_entries(context, authority)) return false;
    // A recovery carries the authority of each member (spec 04): one or two members must not make
    // it larger than a node reads. About 460 keys of 34 bytes fit.
    constexpr std::size_t kAuthorityBytesMax = std::size_t{16} * 1024;
    if (const std::size_t size = pack(authority).size(); size > kAuthorityBytesMax) {
        return invalid(context,
                       fmt::format("an authority of {} bytes; it has at most {}: name an account "
                                   "in the place of keys",
                                   size,
                                   kAuthorityBytesMax));
    }
    // An account and a permission to look up for each.
    const std::uint64_t look_up = 2 * context.transaction().prices()[Cost::state].of(0);
    if (!pay(context, look_up * authority.accounts.size())) return false;
    for (const PermissionLevelWeight& entry : authority.accounts) {
        const PermissionLevel level = entry.permission;
        if (!context.is_account(level.actor)) {
            return invalid(context, "account '" + level.actor.to_string() + "' does not exist");
        }
        if (level.permission == "owner"_n || level.permission == "active"_n ||
            level.permission == "eosio.code"_n) {
            continue;
        }
        if (!context.transaction().permissions().find(context.state(), level)) {
            return invalid(context, "permission '" + level.to_json() + "' does not exist");
        }
    }
    return true;
}

bool newaccount(ApplyContext& context) {
    const auto data = data_of<NewAccount>(context);
    if (!data || !refuse_read_only(context, "newaccount")) return false;
    if (!context.require_authorization(data->creator)) return false;
    if (context.transaction().parameters().open_accounts == 0 &&
        !is_allowed(context, data->creator, kAllowedAccounts)) {
        return invalid(context,
                       "account " + data->creator.to_string() +
                           " may not create accounts here: open_accounts is 0; let eosio run "
                           "allow for it, or create the account as eosio");
    }
    if (!data->owner.is_valid()) {
        return invalid(context, "Invalid owner authority");
    }
    if (!data->active.is_valid()) {
        return invalid(context, "Invalid active authority");
    }
    if (!check_name(context, *data)) return false;
    AccountRow row;
    row.created = context.block().time;
    row.active_last_used = context.block().time;
    context.transaction().create_account(data->name, row);
    if (!check_references(context, data->owner) || !check_references(context, data->active)) {
        return false;
    }
    if (!pay_for_row(context, context.action().data.size())) return false;
    create_permission(context, {data->name, "owner"_n}, Name{}, data->owner);
    create_permission(context, {data->name, "active"_n}, "owner"_n, data->active);
    return context.add_ram_usage(data->name,
                                 ram::kAccount + 2 * ram::kPermission +
                                     data->owner.billable_bytes() + data->active.billable_bytes());
}

bool setcode(ApplyContext& context) {
    const auto data = data_of<SetCode>(context);
    if (!data || !refuse_read_only(context, "setcode")) return false;
    if (!context.require_authorization(data->account)) return false;
    if (context.transaction().parameters().open_contracts == 0 &&
        !is_allowed(context, data->account, kAllowedContracts)) {
        return invalid(context,
                       "account " + data->account.to_string() +
                           " may not set code here: open_contracts is 0; let eosio run allow "
                           "for it, or authorize the action as eosio too");
    }
    if (data->vm_type != 0) {
        return context.fail(Exception::invalid_contract_vm_type, "code should be 0");
    }
    if (data->vm_version != 0) {
        return context.fail(Exception::invalid_contract_vm_version, "version should be 0");
    }
    // What is set is a row, and so is what it replaces.
    if (!pay_for_row(context, data->code.size())) return false;
    if (!data->code.empty() && !validate_code(context, data->code)) return false;
    const base::Hash256 hash =
        data->code.empty() ? base::Hash256{} : base::crypto::sha256(data->code);
    AccountRow& account = context.transaction().change_account(data->account);
    if (data->code.empty() && account.code_hash.is_zero()) {
        return context.fail(Exception::set_exact_code, "contract is already cleared");
    }
    std::int64_t old_bytes = 0;
    if (!account.code_hash.is_zero()) {
        if (account.code_hash == hash) {
            return context.fail(Exception::set_exact_code,
                                "contract is already running this version of code");
        }
        if (!pay_for_row(context, account.code_bytes)) return false;
        old_bytes = account.code_bytes;
        release_code(context, account.code_hash);
    }
    if (!data->code.empty()) {
        use_code(context, hash, data->code);
        // Compiled now, as it is paid. The verdict was validate()'s: rules that this transaction
        // changed are not the engine's yet.
        static_cast<void>(context.transaction().engine().prepare(hash, data->code));
    }
    account.code_sequence += 1;
    account.code_hash = hash;
    account.code_bytes = static_cast<std::uint32_t>(data->code.size());
    account.last_code_update = context.block().time;
    const auto new_bytes = static_cast<std::int64_t>(data->code.size());
    return context.add_ram_usage(data->account, (new_bytes - old_bytes) * ram::kCodeFactor);
}

bool setabi(ApplyContext& context) {
    const auto data = data_of<SetAbi>(context);
    if (!data || !refuse_read_only(context, "setabi")) return false;
    if (!context.require_authorization(data->account)) return false;
    if (!pay_for_row(context, data->abi.size())) return false;
    const Value old = context.state().find(Table::abi, abi_key(data->account));
    const auto old_bytes = old ? static_cast<std::int64_t>(old->size()) : 0;
    if (old && !pay_for_row(context, old->size())) return false;
    if (data->abi.empty()) {
        if (old) context.state().erase(Table::abi, abi_key(data->account));
    } else {
        context.state().put(Table::abi, abi_key(data->account), base::to_bytes(data->abi));
    }
    context.transaction().change_account(data->account).abi_sequence += 1;
    return context.add_ram_usage(data->account,
                                 static_cast<std::int64_t>(data->abi.size()) - old_bytes);
}

}  // namespace chain::native
