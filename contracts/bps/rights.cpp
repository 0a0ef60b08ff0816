// Grants, reserved prefixes, and what brokers may do for an owner.
#include "bps.hpp"

#include <algorithm>
#include <array>

namespace bps {

namespace {

// What an owner may let a broker do: all but what costs acknowledged records (unclean), and what
// decides who may do what in its name.
constexpr std::array<Name, 8> kDelegable = {{"createtopic"_n,
                                             "altertopic"_n,
                                             "deletetopic"_n,
                                             "addparts"_n,
                                             "deleterecs"_n,
                                             "reassign"_n,
                                             "grant"_n,
                                             "revoke"_n}};

void check_terms(const Terms& terms) {
    require(terms.resource == Resource::topic || terms.resource == Resource::group,
            "a resource is 0 (topic) or 1 (group), not {}",
            static_cast<uint32_t>(terms.resource));
    require(terms.operation <= Operation::admin,
            "an operation is 0 (produce), 1 (consume) or 2 (admin), not {}",
            static_cast<uint32_t>(terms.operation));
    require(terms.resource == Resource::topic || terms.operation != Operation::produce,
            "nothing is produced to a group: grant 1 (consume) or 2 (admin)");
    if (terms.prefixed) {
        check_beginning(terms.name);
    } else {
        check_name(terms.resource == Resource::topic ? "topic" : "group", terms.name);
    }
    require(is_account(terms.account),
            "there is no account {}: create it first, or grant to another one",
            terms.account);
    const uint32_t height = host::get_block_num();
    require(terms.last == 0 || (terms.first <= terms.last && height <= terms.last),
            "a grant from height {} to {} never holds at height {} or above: choose a later end, "
            "or 0 for none",
            terms.first,
            terms.last,
            height);
}

}  // namespace

// Allows something, or gives what is allowed already other heights.
void Bps::grant(Name by, Name owner, const Terms& terms) {
    check_may(by, owner, "grant"_n, terms.name);
    check_terms(terms);
    Grants grants(self(), owner.value);
    Grant row;
    row.terms = terms;
    auto by_content = grants.index<"bycontent"_n>();
    const auto same = by_content.find(row.by_content());
    if (same != by_content.end()) {
        return by_content.modify(same, by, [&](Grant& each) { each.terms = terms; });
    }
    row.id = next_row();
    grants.emplace(by, [&](Grant& each) { each = row; });
    count(owner, {.rows = 1}, by);
}

void Bps::revoke(Name by, Name owner, const std::vector<uint64_t>& ids) {
    require(!ids.empty() && ids.size() <= kListMax,
            "1 to {} grants are revoked at once, not {}",
            kListMax,
            ids.size());
    Grants grants(self(), owner.value);
    for (const uint64_t id : ids) {
        const auto row = grants.find(id);
        require(grants.found(row), "{} has no grant {}: it may be revoked already", owner, id);
        check_may(by, owner, "revoke"_n, row->terms.name);
        grants.erase(row);
    }
    count(owner, {.rows = -static_cast<int32_t>(ids.size())}, by);
}

// Keeps names that begin so for an owner. So that nobody squats on others' names, a prefix begins
// with its owner's, or the contract's account signs, too.
void Bps::reserve(Name owner, const std::string& prefix) {
    require_auth(owner);
    check_beginning(prefix);
    const bool ends = prefix.ends_with('.') || prefix.ends_with('-') || prefix.ends_with('_');
    require(2 <= prefix.size() && prefix.size() <= kPrefixBytesMax && ends,
            "a reserved prefix has 2 to {} letters, the last of them . - or _, unlike '{}'",
            kPrefixBytesMax,
            shown(prefix));
    const auto around = longest_prefix_of(prefix);
    if (around && around->prefix == prefix) {
        refuse("the prefix '{}' is reserved already, by {}", prefix, around->owner);
    }
    if (!has_auth(self())) {
        const std::string own = owner.to_string();
        require(prefix.starts_with(own) && prefix.find_first_of(".-_", own.size()) == own.size(),
                "a prefix that {} reserves alone begins with '{}.', unlike '{}': choose such a "
                "one, or let {} sign, too",
                owner,
                own,
                prefix,
                self());
        if (around && around->owner != owner) {
            refuse("'{}' lies in '{}' of {}: let {} sign, too",
                   prefix,
                   around->prefix,
                   around->owner,
                   self());
        }
    }
    Prefixes(self(), self().value).emplace(owner, [&](Prefix& row) {
        row.id = next_row();
        row.owner = owner;
        row.prefix = prefix;
    });
    count(owner, {.rows = 1}, owner);
}

void Bps::unreserve(Name owner, const std::string& prefix) {
    require_auth(owner);
    Prefixes prefixes(self(), self().value);
    auto by_prefix = prefixes.index<"byprefix"_n>();
    const auto row = by_prefix.find(sha256(prefix));
    require(row != by_prefix.end() && row->owner == owner,
            "{} has not reserved '{}'",
            owner,
            shown(prefix));
    by_prefix.erase(row);
    count(owner, {.rows = -1}, owner);
}

// Lets a broker do these things in the owner's name, instead of what it may do before.
void Bps::delegate(Name owner,
                   int32_t broker,
                   const std::vector<Name>& actions,
                   const std::string& prefix,
                   TimePointSec until) {
    require_auth(owner);
    const auto to = get_broker(Brokers(self(), self().value), broker);
    check_beginning(prefix);
    require(!actions.empty() && actions.size() <= kDelegable.size(),
            "1 to {} actions are delegated, not {}",
            kDelegable.size(),
            actions.size());
    for (const Name action : actions) {
        require(std::find(kDelegable.begin(), kDelegable.end(), action) != kDelegable.end(),
                "{} is not delegated: the owner signs it itself",
                action);
    }
    require(until.seconds > now_seconds(),
            "a delegation until {} s is over at {} s: choose a later end",
            until.seconds,
            now_seconds());
    Delegations delegations(self(), owner.value);
    const auto set = [&](Delegation& row) {
        row = Delegation{to->account, broker, actions, prefix, until};
    };
    const auto at = delegations.find(to->account.value);
    if (delegations.found(at)) return delegations.modify(at, owner, set);
    delegations.emplace(owner, set);
    count(owner, {.rows = 1}, owner);
}

void Bps::undelegate(Name owner, Name account) {
    require_auth(owner);
    Delegations delegations(self(), owner.value);
    const auto row = delegations.find(account.value);
    require(delegations.found(row), "{} has delegated nothing to {}", owner, account);
    delegations.erase(row);
    count(owner, {.rows = -1}, owner);
}

}  // namespace bps
