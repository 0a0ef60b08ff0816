#pragma once

#include <bor/datastream.hpp>
#include <bor/name.hpp>

#include <tuple>
#include <vector>

namespace bor {

struct PermissionLevel {
    Name actor;
    Name permission;
    constexpr bool operator==(const PermissionLevel&) const = default;
    constexpr auto operator<=>(const PermissionLevel&) const = default;
    BOR_FIELDS(actor, permission)
};

inline void require_auth(Name account) {
    host::require_auth(account.value);
}
inline void require_auth(const PermissionLevel& level) {
    host::require_auth2(level.actor.value, level.permission.value);
}
inline bool has_auth(Name account) {
    return host::has_auth(account.value) != 0;
}
inline bool is_account(Name account) {
    return host::is_account(account.value) != 0;
}
inline Name current_receiver() {
    return Name(host::current_receiver());
}
// The contract that sent this inline action, or the empty name.
inline Name get_sender() {
    return Name(host::get_sender());
}

// Lets each account's contract see this action; a contract that fails, fails the transaction.
template <class... Names>
void require_recipient(Names... accounts) {
    (host::require_recipient(accounts.value), ...);
}

struct Action {
    Name account;
    Name name;
    std::vector<PermissionLevel> authorization;
    Bytes data;
    BOR_FIELDS(account, name, authorization, data)

    // Runs after the current action and before the transaction's next.
    void send() const {
        const Bytes packed = pack(*this);
        host::send_inline(packed.data(), packed.size());
    }
    void send_context_free() const {
        check(authorization.empty(), "context free actions cannot have authorizations");
        const Bytes packed = pack(*this);
        host::send_context_free_inline(packed.data(), packed.size());
    }
};

// An action of `account` with these arguments, by the permission given.
template <class... Arguments>
Action make_action(Name account,
                   Name name,
                   const PermissionLevel& level,
                   const Arguments&... arguments) {
    return Action{account, name, {level}, pack(std::tie(arguments...))};
}

// The data of the current action.
inline Bytes action_data() {
    Bytes data(host::action_data_size());
    if (!data.empty()) host::read_action_data(data.data(), data.size());
    return data;
}
template <class T>
T unpack_action_data() {
    return unpack<T>(action_data());
}

// What the receipt of this action commits to as its result; the last call counts.
inline void set_return_value(const Bytes& packed) {
    host::set_action_return_value(packed.data(), packed.size());
}

}  // namespace bor
