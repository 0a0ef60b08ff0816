// Fails on every notification and action. On the account eosio it lets pass what is needed to get
// rid of it: making the account rejectall, and setting code on eosio while that does not exist.
#include <bor/bor.hpp>

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    check(receiver == code, "rejecting all notifications");
    const Name system = "eosio"_n;
    const Name escape = "rejectall"_n;
    if (code == system.value && action == "setcode"_n.value) {
        if (unpack_action_data<Name>() == system && !is_account(escape)) return;
    }
    if (code == system.value && action == "newaccount"_n.value) {
        if (unpack_action_data<std::pair<Name, Name>>().second == escape) return;
    }
    check(false, "rejecting all actions");
}
