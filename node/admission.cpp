#include "node/admission.hpp"

#include "chain/execution/native_types.hpp"
#include "chain/types/exception.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace node {

using chain::Exception;

namespace {

std::string list_text(const std::set<chain::Name>& names) {
    std::string text;
    for (const chain::Name name : names) {
        text += (text.empty() ? "\"" : ",\"") + name.to_string() + "\"";
    }
    return "[" + text + "]";
}

base::Result<void> check_actors(const AdmissionLists& lists, const std::set<chain::Name>& actors) {
    std::set<chain::Name> found;
    if (!lists.actor_whitelist.empty()) {
        std::ranges::set_difference(
            actors, lists.actor_whitelist, std::inserter(found, found.end()));
        if (found.empty()) return {};
        return chain::fail(Exception::actor_whitelist_exception,
                           "authorizing actor(s) in transaction are not on the actor whitelist: " +
                               list_text(found));
    }
    std::ranges::set_intersection(actors, lists.actor_blacklist, std::inserter(found, found.end()));
    if (found.empty()) return {};
    return chain::fail(
        Exception::actor_blacklist_exception,
        "authorizing actor(s) in transaction are on the actor blacklist: " + list_text(found));
}

base::Result<void> check_action(const AdmissionLists& lists, const chain::Action& action) {
    const std::string contract = action.account.to_string();
    if (!lists.contract_whitelist.empty() && !lists.contract_whitelist.contains(action.account)) {
        return chain::fail(Exception::contract_whitelist_exception,
                           "account '" + contract + "' is not on the contract whitelist");
    }
    if (lists.contract_blacklist.contains(action.account)) {
        return chain::fail(Exception::contract_blacklist_exception,
                           "account '" + contract + "' is on the contract blacklist");
    }
    if (lists.action_blacklist.contains({action.account, action.name})) {
        return chain::fail(
            Exception::action_blacklist_exception,
            fmt::format(
                "action '{}::{}' is on the action blacklist", contract, action.name.to_string()));
    }
    return {};
}

base::Result<void> check_authority(const AdmissionLists& lists, const chain::Authority& authority) {
    for (const auto& entry : authority.keys) {
        if (!lists.key_blacklist.contains(entry.key)) continue;
        return chain::fail(
            Exception::key_blacklist_exception,
            fmt::format("public key '{}' is on the key blacklist", entry.key.to_string()));
    }
    return {};
}

// What does not decode is refused when it is executed.
base::Result<void> check_keys(const AdmissionLists& lists, const chain::Action& action) {
    using chain::literals::operator""_n;
    if (lists.key_blacklist.empty() || action.account != "eosio"_n) return {};
    if (action.name == "newaccount"_n) {
        const auto data = chain::native_data<chain::NewAccount>(action);
        if (!data) return {};
        if (auto good = check_authority(lists, data->owner); !good) return good;
        return check_authority(lists, data->active);
    }
    if (action.name == "updateauth"_n) {
        const auto data = chain::native_data<chain::UpdateAuth>(action);
        if (data) return check_authority(lists, data->authority);
    }
    return {};
}

}  // namespace

AdmissionLists ProducerSettings::lists() const {
    const std::scoped_lock lock(mutex_);
    return lists_;
}

void ProducerSettings::set_lists(AdmissionLists lists) {
    const std::scoped_lock lock(mutex_);
    lists_ = std::move(lists);
}

ProducerSettings::RuntimeOptions ProducerSettings::runtime_options() const {
    const std::scoped_lock lock(mutex_);
    return options_;
}

void ProducerSettings::set_runtime_options(const RuntimeOptions& options) {
    const std::scoped_lock lock(mutex_);
    options_ = options;
}

std::set<chain::Name> ProducerSettings::greylist() const {
    const std::scoped_lock lock(mutex_);
    return greylist_;
}

void ProducerSettings::set_greylist(std::set<chain::Name> accounts) {
    const std::scoped_lock lock(mutex_);
    greylist_ = std::move(accounts);
}

base::Result<void> ProducerSettings::admit(const chain::DecodedTransaction& transaction) const {
    const std::scoped_lock lock(mutex_);
    std::set<chain::Name> actors;
    for (const chain::Action& action : transaction.content.actions) {
        for (const chain::PermissionLevel& level : action.authorization) {
            actors.insert(level.actor);
        }
    }
    if (auto checked = check_actors(lists_, actors); !checked) return checked;
    for (const chain::Action& action : transaction.content.actions) {
        if (auto checked = check_action(lists_, action); !checked) return checked;
        if (auto checked = check_keys(lists_, action); !checked) return checked;
    }
    return {};
}

}  // namespace node
