#pragma once

#include "chain/execution/apply_context.hpp"
#include "chain/execution/native_types.hpp"

namespace chain::native {

inline constexpr Name kSystem = "eosio"_n;

// The native actions by group; each returns what run_native_action() passes on.
// native_account.cpp
bool newaccount(ApplyContext& context);
bool setcode(ApplyContext& context);
bool setabi(ApplyContext& context);
// native_permission.cpp
bool updateauth(ApplyContext& context);
bool deleteauth(ApplyContext& context);
bool linkauth(ApplyContext& context);
bool unlinkauth(ApplyContext& context);
// native_bios.cpp
bool setpriv(ApplyContext& context);
bool setalimits(ApplyContext& context);
bool setparams(ApplyContext& context);
bool setprods(ApplyContext& context);
bool reqauth(ApplyContext& context);
bool activate(ApplyContext& context);
bool regproducer(ApplyContext& context);
bool unregprod(ApplyContext& context);
bool voteproducer(ApplyContext& context);
bool regproxy(ApplyContext& context);
// native_governance.cpp
bool setvotekey(ApplyContext& context);
bool ready(ApplyContext& context);
bool amnesia(ApplyContext& context);
bool addmember(ApplyContext& context);
bool rmmember(ApplyContext& context);
bool setweight(ApplyContext& context);
bool allow(ApplyContext& context);
bool regnode(ApplyContext& context);
bool rmnode(ApplyContext& context);
bool rotatekey(ApplyContext& context);
bool reportbad(ApplyContext& context);
bool setrules(ApplyContext& context);
bool setchain(ApplyContext& context);

// The action's data; without a value the context has the failure.
template <class T>
[[nodiscard]] std::optional<T> data_of(ApplyContext& context) {
    auto data = native_data<T>(context.action());
    if (data) return std::move(*data);
    context.fail(std::move(data).error());
    return std::nullopt;
}

// Fails with action_validate_exception.
inline bool invalid(ApplyContext& context, std::string text) {
    return context.fail(Exception::action_validate_exception, std::move(text));
}

// Fails in a read-only transaction, as nodeos does.
[[nodiscard]] inline bool refuse_read_only(ApplyContext& context, std::string_view action) {
    if (!context.read_only()) return true;
    return invalid(context, std::string(action) + " not allowed in read-only transaction");
}

// Charges; false: no units are left, the context has the failure.
[[nodiscard]] inline bool pay(ApplyContext& context, std::uint64_t units) {
    return context.transaction().pay(units);
}
// For writing or erasing a row of so many bytes, or reading one.
[[nodiscard]] inline bool pay_for_row(ApplyContext& context, std::size_t bytes) {
    return pay(context, context.transaction().prices()[Cost::row_write].of(bytes));
}
// For the rows that find a permission by the entries of its authority, new or old.
[[nodiscard]] bool pay_for_entries(ApplyContext& context, const Authority& authority);

// Whether the accounts and permissions that an authority names exist; charges for the entries.
[[nodiscard]] bool check_references(ApplyContext& context, const Authority& authority);

}  // namespace chain::native
