#include "chain/execution/native_actions.hpp"

#include "chain/execution/native_steps.hpp"

#include <algorithm>
#include <array>

namespace chain {

namespace {

struct Entry {
    Name name;
    bool (*apply)(ApplyContext&);
    bool always;  // Also while a contract is set on eosio; it then runs after.
};

constexpr auto kEntries = std::to_array<Entry>({
    {"newaccount"_n, native::newaccount, true},  {"setcode"_n, native::setcode, true},
    {"setabi"_n, native::setabi, true},          {"updateauth"_n, native::updateauth, true},
    {"deleteauth"_n, native::deleteauth, true},  {"linkauth"_n, native::linkauth, true},
    {"unlinkauth"_n, native::unlinkauth, true},  {"setpriv"_n, native::setpriv, false},
    {"setalimits"_n, native::setalimits, false}, {"setparams"_n, native::setparams, false},
    {"setprods"_n, native::setprods, false},     {"reqauth"_n, native::reqauth, false},
    {"activate"_n, native::activate, false},     {"regproducer"_n, native::regproducer, false},
    {"unregprod"_n, native::unregprod, false},   {"voteproducer"_n, native::voteproducer, false},
    {"regproxy"_n, native::regproxy, false},     {"setvotekey"_n, native::setvotekey, false},
    {"ready"_n, native::ready, false},           {"addmember"_n, native::addmember, false},
    {"rmmember"_n, native::rmmember, false},     {"setweight"_n, native::setweight, false},
    {"allow"_n, native::allow, false},           {"regnode"_n, native::regnode, false},
    {"rmnode"_n, native::rmnode, false},         {"rotatekey"_n, native::rotatekey, false},
    {"reportbad"_n, native::reportbad, false},   {"setrules"_n, native::setrules, false},
    {"setchain"_n, native::setchain, false},     {"amnesia"_n, native::amnesia, false},
});

}  // namespace

bool run_native_action(ApplyContext& context) {
    const auto* entry = std::ranges::find(kEntries, context.action().name, &Entry::name);
    if (entry == kEntries.end()) return true;
    const std::uint64_t price =
        context.transaction().prices()[Cost::native].of(context.action().data.size());
    if (entry->always) return native::pay(context, price) && entry->apply(context);
    const AccountRow* system = context.transaction().find_account(context.receiver());
    if (!system->code_hash.is_zero()) return true;
    if (!native::refuse_read_only(context, entry->name.to_string())) return false;
    return native::pay(context, price) && entry->apply(context);
}

}  // namespace chain
