#include "node/bps/core/rights.hpp"

#include "base/check.hpp"
#include "base/crypto/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace bps {

namespace {

constexpr std::string_view kMaxStaleSetting = "bor.max.stale.ms";
constexpr std::string_view kInternalPrefix = "__";
constexpr std::size_t kPrefixBytesMax = 64;  // Of those that are reserved.

// The same for what is not there and for what is not shown.
tl::unexpected<Refusal> no_such_topic(std::string_view name) {
    return refuse(ErrorCode::topic_authorization_failed,
                  fmt::format("there is no topic {}, or you may not do this with it", name));
}

tl::unexpected<Refusal> no_login(std::string reason) {
    return refuse(ErrorCode::sasl_authentication_failed, std::move(reason));
}

bool gives(rows::Operation operation, Right right) {
    if (right == Right::see) return true;
    switch (operation) {
        case rows::Operation::produce:
            return right == Right::produce;
        case rows::Operation::consume:
            return right == Right::consume;
        case rows::Operation::admin:
            return right == Right::admin;
    }
    return false;
}

std::int64_t max_stale_ms(const rows::Topic& topic) {
    return rows::number_setting(topic.settings, kMaxStaleSetting, Rights::kMaxStaleMs);
}

// As the contract makes keys of it.
std::uint64_t key_of_jti(std::string_view jti) {
    const base::Hash256 digest = base::crypto::sha256(base::as_bytes(jti));
    std::uint64_t key = 0;
    for (std::size_t i = sizeof(key); i-- > 0;)
        key = key << 8U | std::to_integer<std::uint64_t>(digest.bytes[i]);
    return key;
}

}  // namespace

bool TokenScope::has(std::string_view topic, Right right) const {
    return std::ranges::any_of(items, [&](const Item& item) {
        const bool is_named = item.prefixed ? topic.starts_with(item.topic) : topic == item.topic;
        return is_named && (right == Right::see || item.rights.contains(right));
    });
}

bool TokenScope::is_whole() const {
    const std::set all{Right::produce, Right::consume, Right::admin};
    return std::ranges::any_of(items, [&](const Item& item) {
        return item.prefixed && item.topic.empty() && item.rights == all;
    });
}

// A scope names topics. Who may read one of them needs a group; to delete groups and what they have
// committed takes a token for everything.
bool TokenScope::has_groups(Right right) const {
    if (right == Right::admin) return is_whole();
    return std::ranges::any_of(
        items, [](const Item& item) { return item.rights.contains(Right::consume); });
}

void Rights::on_final(std::uint32_t height, std::int64_t time) {
    height_ = height;
    time_ = time;
}

bool Rights::is_stale(std::int64_t stale_max, std::int64_t now) const {
    return stale_max >= 0 && age(now) > stale_max;
}

bool Rights::holds(const rows::Grant& grant, const Principal& caller, const Asked& asked) const {
    const bool is_named =
        grant.prefixed ? asked.name.starts_with(grant.name) : asked.name == grant.name;
    return grant.resource == asked.resource && is_named && gives(grant.operation, asked.right) &&
           (grant.permission.empty() || grant.permission == caller.permission) &&
           is_in_force(grant);
}

bool Rights::is_in_force(const rows::Grant& grant) const {
    return grant.first <= height_ && (grant.last == 0 || height_ <= grant.last);
}

bool Rights::is_in_scope(const TokenScope& scope, const Asked& asked) {
    return asked.resource == rows::Resource::topic ? scope.has(asked.name, asked.right)
                                                   : scope.has_groups(asked.right);
}

bool Rights::may(const Principal& caller, chain::Name owner, const Asked& asked) const {
    if (caller.scope != nullptr && !is_in_scope(*caller.scope, asked)) return false;
    if (caller.account == owner) return true;
    const auto at = grants_by_parties_.find({owner, caller.account});
    return at != grants_by_parties_.end() &&
           std::ranges::any_of(
               at->second, [&](const auto& entry) { return holds(*entry.second, caller, asked); });
}

Verdict<TopicAccess> Rights::topic(const Principal& caller,
                                   std::string_view name,
                                   Right right,
                                   std::int64_t now) const {
    const auto at = topics_by_name_.find(name);
    if (at == topics_by_name_.end()) return no_such_topic(name);
    const rows::Topic& row = topics_.at(at->second);
    if (!may(caller, row.owner, {rows::Resource::topic, name, right})) return no_such_topic(name);
    if (is_stale(max_stale_ms(row), now)) {
        return refuse(ErrorCode::not_leader_or_follower,
                      fmt::format("the last final block is {} ms old; {} of the topic is {}",
                                  age(now),
                                  kMaxStaleSetting,
                                  max_stale_ms(row)));
    }
    return TopicAccess{.id = row.id, .partitions = static_cast<std::int32_t>(row.partitions)};
}

std::optional<std::string> Rights::topic_name(TopicId id) const {
    const rows::Topic* const row = find_topic(id);
    return row == nullptr ? std::nullopt : std::optional(row->name);
}

std::optional<std::uint32_t> Rights::id_space(chain::Name account) const {
    const auto at = id_spaces_.find(account.value);
    return at == id_spaces_.end() ? std::nullopt : std::optional(at->second.number);
}

const rows::Topic* Rights::find_topic(TopicId id) const {
    const auto at = topics_.find(id);
    return at == topics_.end() ? nullptr : &at->second;
}

const rows::Topic* Rights::find_topic(std::string_view name) const {
    const auto at = topics_by_name_.find(name);
    return at == topics_by_name_.end() ? nullptr : &topics_.at(at->second);
}

std::optional<chain::Name> Rights::reserved_by(std::string_view name) const {
    // The contract takes no longer prefix.
    for (std::size_t size = std::min(name.size(), kPrefixBytesMax); size > 0; --size) {
        const auto at = prefixes_by_text_.find(name.substr(0, size));
        if (at != prefixes_by_text_.end()) return prefixes_.at(at->second).owner;
    }
    return std::nullopt;
}

chain::Name Rights::natural_owner(const Principal& caller, std::string_view name) const {
    if (name.starts_with(kInternalPrefix)) return settings_.contract;
    return reserved_by(name).value_or(caller.account);
}

Verdict<chain::Name> Rights::group(const Principal& caller,
                                   std::string_view name,
                                   std::optional<chain::Name> owner,
                                   Right right,
                                   std::int64_t now) const {
    const chain::Name of = owner.value_or(natural_owner(caller, name));
    if (!may(caller, of, {rows::Resource::group, name, right})) {
        return refuse(ErrorCode::group_authorization_failed,
                      fmt::format("the group {} is another tenant's", name));
    }
    if (is_stale(kMaxStaleMs, now)) {
        return refuse(ErrorCode::coordinator_not_available,
                      fmt::format("the last final block is {} ms old", age(now)));
    }
    return of;
}

Verdict<chain::Name> Rights::new_topic_owner(const Principal& caller, std::string_view name) const {
    const chain::Name owner = natural_owner(caller, name);
    if (may(caller, owner, {rows::Resource::topic, name, Right::admin})) return owner;
    return refuse(ErrorCode::topic_authorization_failed,
                  fmt::format("names that begin like {} are reserved for another tenant", name));
}

// Who has a right on one name has none on all that begin so. A token with a scope is for less than
// its principal may; what others may is not in it.
bool Rights::may_change(const Principal& caller,
                        chain::Name owner,
                        const rows::Grant& grant) const {
    if (caller.scope != nullptr) return false;
    if (caller.account == owner) return true;
    const auto at = grants_by_parties_.find({owner, caller.account});
    return at != grants_by_parties_.end() && std::ranges::any_of(at->second, [&](const auto& each) {
               return (each.second->prefixed || !grant.prefixed) &&
                      holds(*each.second, caller, {grant.resource, grant.name, Right::admin});
           });
}

Verdict<chain::Name> Rights::grant_owner(const Principal& caller, const rows::Grant& grant) const {
    const bool is_topic = grant.resource == rows::Resource::topic && !grant.prefixed;
    const rows::Topic* const topic = is_topic ? find_topic(grant.name) : nullptr;
    // Grants on another's topic have no effect: one that the caller may not see answers as none.
    if (topic != nullptr && may_change(caller, topic->owner, grant)) return topic->owner;
    const chain::Name owner = natural_owner(caller, grant.name);
    if (may_change(caller, owner, grant)) return owner;
    if (caller.scope != nullptr) {
        return refuse(
            ErrorCode::cluster_authorization_failed,
            "a token with a scope changes no grants: use one for *:produce,consume,admin");
    }
    return refuse(
        ErrorCode::cluster_authorization_failed,
        fmt::format("names that begin like '{}' are reserved for another tenant, who must "
                    "grant you ADMIN",
                    grant.name));
}

Verdict<void> Rights::delegated(chain::Name owner,
                                chain::Name action,
                                std::string_view topic) const {
    if (owner == settings_.broker_account) return {};
    const auto at = delegations_.find({owner, settings_.broker_account.value});
    const bool is_delegated =
        at != delegations_.end() && at->second.broker == settings_.broker &&
        std::ranges::find(at->second.actions, action) != at->second.actions.end() &&
        topic.starts_with(at->second.prefix) &&
        time_ / 1'000 <= std::int64_t{at->second.until.seconds};
    if (is_delegated) return {};
    return refuse(ErrorCode::policy_violation,
                  fmt::format("{} has not delegated {} of {} to broker {}: type bor-cli bps "
                              "delegate {} {} {} --prefix {}",
                              owner.to_string(),
                              action.to_string(),
                              topic,
                              settings_.broker,
                              owner.to_string(),
                              settings_.broker,
                              action.to_string(),
                              topic));
}

// By the later of both clocks: neither a chain that stands still nor a clock that lags prolongs it.
Verdict<void> Rights::token(const TokenClaims& claims, std::int64_t now) const {
    const std::int64_t seconds = std::max(local(now), time_) / 1'000;
    if (claims.expires_at <= claims.issued_at ||
        claims.expires_at - claims.issued_at > kTokenSecondsMax) {
        return no_login(fmt::format("a token from {} to {} s; it lasts {} s at most",
                                    claims.issued_at,
                                    claims.expires_at,
                                    kTokenSecondsMax));
    }
    // The owner of the token finds it by its id, which is no secret.
    const auto named = [&] {
        return fmt::format("the token {} of {}", claims.jti, claims.account.to_string());
    };
    if (seconds >= std::int64_t{claims.expires_at}) {
        return no_login(fmt::format("{} has expired: it held until {} s, and it is {} s",
                                    named(),
                                    claims.expires_at,
                                    seconds));
    }
    if (seconds < std::int64_t{claims.not_before}) {
        return no_login(fmt::format(
            "{} holds from {} s on, and it is {} s", named(), claims.not_before, seconds));
    }
    const auto before = not_before_.find(claims.account.value);
    if (before != not_before_.end() && claims.issued_at < before->second.time.seconds) {
        return no_login(fmt::format("tokens of {} from before {} s are revoked",
                                    claims.account.to_string(),
                                    before->second.time.seconds));
    }
    const auto revoked = revocations_.find({claims.account, key_of_jti(claims.jti)});
    if (revoked != revocations_.end() && revoked->second.jti == claims.jti) {
        return no_login(named() + " is revoked");
    }
    return {};
}

std::optional<Principal> Rights::certificate(const base::Hash256& hash) const {
    const auto at = certs_by_hash_.find(hash);
    if (at == certs_by_hash_.end()) return std::nullopt;
    const rows::Cert& row = certs_.at(at->second);
    return Principal{.account = row.account, .permission = row.permission};
}

Verdict<Principal> Rights::anonymous(bool from_loopback) const {
    if (!from_loopback) return no_login("a login is needed");
    if (!settings_.anonymous) {
        return no_login(
            "a login is needed; on loopback bps-anonymous = ACCOUNT@PERMISSION may say "
            "who comes without");
    }
    return *settings_.anonymous;
}

}  // namespace bps
