#include "chain/execution/apply_context.hpp"
#include "chain/execution/authorization.hpp"
#include "chain/execution/host_groups.hpp"

#include <algorithm>
#include <limits>

namespace chain::host {

namespace {

constexpr std::size_t kProvidedMax = 4096;  // Keys or permissions in one call.

Authorization authorization_of(const Call& call) {
    return call.context.transaction().authorization(call.meter);
}

// A packed set of nodeos': sorted here, and a value twice is the same as once.
template <class T>
Result<std::vector<T>> unpack_set(base::ByteView bytes, ListLimit limit, std::string_view field) {
    std::vector<T> items;
    if (bytes.empty()) return items;
    base::Reader in(bytes);
    decode_list(in, items, limit, field);
    if (auto status = in.status(); !status) return base::fail(std::move(status).error());
    std::ranges::sort(items);
    const auto rest = std::ranges::unique(items);
    items.erase(rest.begin(), rest.end());
    return items;
}

Result<Provided> unpack_provided(Input keys, Input permissions) {
    auto key_set = unpack_set<PublicKey>(keys.bytes, {kProvidedMax, 34}, "keys");
    if (!key_set) return base::fail(std::move(key_set).error());
    auto level_set =
        unpack_set<PermissionLevel>(permissions.bytes, {kProvidedMax, 16}, "permissions");
    if (!level_set) return base::fail(std::move(level_set).error());
    return Provided{.keys = *std::move(key_set), .permissions = *std::move(level_set)};
}

// nodeos answers 0 for whatever its authority rules refuse, and passes other errors on.
Result<bool> answer(const Result<void>& checked) {
    if (checked) return true;
    const auto number = static_cast<std::uint32_t>(exception_of(checked.error()));
    constexpr auto kFirst = static_cast<std::uint32_t>(Exception::authorization_exception);
    constexpr auto kEnd = static_cast<std::uint32_t>(Exception::misc_exception);
    if (number >= kFirst && number < kEnd) return false;
    return base::fail(checked.error());
}

Result<bool> check_transaction_authorization(const Call& call,
                                             Input packed,
                                             Input keys,
                                             Input permissions) {
    const auto transaction = unpack_start<Transaction>(packed.bytes, "transaction");
    if (!transaction) return base::fail(transaction.error());
    Result<Provided> provided = unpack_provided(keys, permissions);
    if (!provided) return base::fail(std::move(provided).error());
    provided->delay_seconds = transaction->delay_sec;
    return answer(authorization_of(call).check(transaction->actions, *provided, {.brief = true}));
}

// NOLINTNEXTLINE(readability-function-size): the parameters of the intrinsic.
Result<bool> check_permission_authorization(const Call& call,
                                            uint64_t account,
                                            uint64_t permission,
                                            Input keys,
                                            Input permissions,
                                            uint64_t delay_microseconds) {
    constexpr uint64_t kDelayMax = std::numeric_limits<int64_t>::max();
    if (delay_microseconds > kDelayMax) {
        return fail(Exception::action_validate_exception, "provided delay is too large");
    }
    Result<Provided> provided = unpack_provided(keys, permissions);
    if (!provided) return base::fail(std::move(provided).error());
    provided->delay_seconds = delay_microseconds / 1'000'000;
    const PermissionLevel level{Name{account}, Name{permission}};
    return answer(authorization_of(call).check_permission(level, *provided));
}

Result<int64_t> get_permission_last_used(const Call& call, uint64_t account, uint64_t permission) {
    const PermissionLevel level{Name{account}, Name{permission}};
    const Result<PermissionPtr> found = authorization_of(call).get_permission(level);
    if (!found) return base::fail(found.error());
    const AccountRow* row = call.context.transaction().find_account(level.actor);
    // Of `active` it is kept with the account.
    const bool with_account = level.permission == "active"_n && row != nullptr;
    return (with_account ? row->active_last_used : (*found)->last_used).microseconds;
}

Result<int64_t> get_account_creation_time(const Call& call, uint64_t account) {
    const AccountRow* row = call.context.transaction().find_account(Name{account});
    if (row != nullptr) return row->created.microseconds;
    return fail(Exception::action_validate_exception,
                "account '" + Name{account}.to_string() + "' does not exist");
}

}  // namespace

void add_permission(Functions& out) {
    add<&check_transaction_authorization, Access::context_aware, Cost::check_authority>(
        out, "check_transaction_authorization");
    add<&check_permission_authorization, Access::context_aware, Cost::check_authority>(
        out, "check_permission_authorization");
    add<&get_permission_last_used, Access::context_aware, Cost::state>(out,
                                                                       "get_permission_last_used");
    add<&get_account_creation_time, Access::context_aware, Cost::state>(
        out, "get_account_creation_time");
}

}  // namespace chain::host
