// Access control lists read and changed (acls.hpp says what they stand for).
#include "node/bps/core/acls.hpp"
#include "node/bps/core/admin.hpp"
#include "node/bps/core/request_items.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <tuple>
#include <utility>

namespace bps {

namespace {

constexpr auto kAllow = static_cast<std::int8_t>(AclPermission::allow);

Refusal too_many(std::size_t count) {
    return {ErrorCode::invalid_request,
            fmt::format("the request has {} entries: use at most {}", count, kRequestItemsMax)};
}

bool have_same_content(const rows::Grant& a, const rows::Grant& b) {
    const auto content = [](const rows::Grant& of) {
        return std::tie(of.resource, of.prefixed, of.name, of.account, of.permission, of.operation);
    };
    return content(a) == content(b);
}

// Whether there is such a grant that goes on without an end.
bool is_granted(const Rights& rights, chain::Name owner, const rows::Grant& wanted) {
    const auto& grants = rights.grants();
    for (auto at = grants.lower_bound({owner, 0}); at != grants.end(); ++at) {
        if (at->first.first != owner) break;
        const rows::Grant& grant = at->second;
        if (have_same_content(grant, wanted) && grant.last == 0 && rights.is_in_force(grant)) {
            return true;
        }
    }
    return false;
}

// Adds the entry to the first filter that it matches; nothing: it matches none.
std::optional<ChainAnswer::Place> add_deletion(const std::vector<Verdict<AclFilter>>& filters,
                                               const Acl& acl,
                                               ChainAnswer& answer) {
    auto& items = std::get<DeleteAclsResponse>(answer.response).filter_results;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!filters[i] || !filters[i]->matches(acl)) continue;
        auto& item = items[i].matching_acls.emplace_back();
        item.resource_type = static_cast<std::int8_t>(acl.resource);
        item.resource_name = answer.texts.keep(acl.name);
        item.pattern_type = static_cast<std::int8_t>(acl.pattern);
        item.principal = answer.texts.keep(acl.principal);
        item.host = kAnyHost;
        item.operation = static_cast<std::int8_t>(acl.operation);
        item.permission_type = kAllow;
        return ChainAnswer::Place{i, items[i].matching_acls.size() - 1};
    }
    return std::nullopt;
}

}  // namespace

// One sees what one may change, and what is granted to oneself.
DescribeAclsResponse Admin::describe_acls(const Caller& caller,
                                          const DescribeAclsRequest& request,
                                          Texts& texts) const {
    DescribeAclsResponse response;
    const auto fail = [&](const Refusal& refusal) {
        response.error_code = refusal.code;
        response.error_message = texts.keep(refusal.reason);
    };
    const auto filter = read_filter(request);
    if (!filter) {
        fail(filter.error());
        return response;
    }
    if (caller.principal.scope != nullptr) {
        fail({ErrorCode::cluster_authorization_failed,
              "a token with a scope sees no grants: use one for *:produce,consume,admin"});
        return response;
    }
    for (const auto& [id, grant] : world_.rights.grants()) {
        const bool is_seen = grant.account == caller.principal.account ||
                             world_.rights.may_change(caller.principal, id.first, grant);
        if (!is_seen || !world_.rights.is_in_force(grant)) continue;
        const Acl acl = to_acl(grant);
        if (!filter->matches(acl)) continue;
        auto& resource = response.resources.emplace_back();
        resource.resource_type = static_cast<std::int8_t>(acl.resource);
        resource.resource_name = texts.keep(acl.name);
        resource.pattern_type = static_cast<std::int8_t>(acl.pattern);
        resource.acls.push_back({.principal = texts.keep(acl.principal),
                                 .host = kAnyHost,
                                 .operation = static_cast<std::int8_t>(acl.operation),
                                 .permission_type = kAllow});
    }
    return response;
}

void Admin::create_acls(const Asked& by, const CreateAclsRequest& request, Effects& out) {
    ChainAnswer answer{CreateAclsResponse{}};
    auto& items = std::get<CreateAclsResponse>(answer.response).results;
    const bool is_too_much = request.creations.size() > kRequestItemsMax;
    for (const CreateAclsRequest::Acl& acl : request.creations) {
        items.emplace_back();
        const Place at{items.size() - 1};
        const auto grants =
            is_too_much
                ? Verdict<std::vector<actions::Grant>>(refuse(too_many(request.creations.size())))
                : grants_of(by.caller, acl);
        if (!grants) {
            answer.refuse(at, grants.error());
            continue;
        }
        for (const actions::Grant& grant : *grants)
            answer.parts.push_back(part(grant, {at}));
    }
    chain_.start(by.now, by.caller, kNoTimeoutSaidMs, std::move(answer), out);
}

Verdict<std::vector<actions::Grant>> Admin::grants_of(const Caller& caller,
                                                      const CreateAclsRequest::Acl& acl) const {
    const auto grants = read_grants(acl);
    if (!grants) return refuse(grants.error());
    std::vector<actions::Grant> left;
    for (const rows::Grant& grant : *grants) {
        const auto owner = world_.rights.grant_owner(caller.principal, grant);
        if (!owner) return refuse(owner.error());
        const auto delegated = world_.rights.delegated(*owner, actions::Grant::kName, grant.name);
        if (!delegated) return refuse(delegated.error());
        if (is_granted(world_.rights, *owner, grant)) continue;
        left.push_back({.by = self(), .owner = *owner, .grant = grant});
    }
    return left;
}

// Each entry is taken back by the first filter that it matches. The map of grants has those of one
// owner together, so that they go in one action.
void Admin::delete_acls(const Asked& by, const DeleteAclsRequest& request, Effects& out) {
    ChainAnswer answer{DeleteAclsResponse{}};
    auto& items = std::get<DeleteAclsResponse>(answer.response).filter_results;
    std::vector<Verdict<AclFilter>> filters;
    for (const DeleteAclsRequest::Filter& each : request.filters) {
        filters.push_back(request.filters.size() > kRequestItemsMax
                              ? refuse(too_many(request.filters.size()))
                              : read_filter(each));
        auto& item = items.emplace_back();
        if (filters.back()) continue;
        item.error_code = filters.back().error().code;
        item.error_message = answer.texts.keep(filters.back().error().reason);
    }
    actions::Revoke action;
    std::vector<Place> places;
    const auto finish = [&] {
        if (places.empty()) return;
        answer.parts.push_back(part(std::exchange(action, {}), std::exchange(places, {})));
    };
    for (const auto& [id, grant] : world_.rights.grants()) {
        const bool is_ours = world_.rights.is_in_force(grant) &&
                             world_.rights.may_change(by.caller.principal, id.first, grant);
        const auto at = is_ours ? add_deletion(filters, to_acl(grant), answer) : std::nullopt;
        if (!at) continue;
        const auto delegated =
            world_.rights.delegated(id.first, actions::Revoke::kName, grant.name);
        if (!delegated) {
            answer.refuse(*at, delegated.error());
            continue;
        }
        if (action.owner != id.first || places.size() == actions::kListMax) finish();
        action.by = self();
        action.owner = id.first;
        action.grants.push_back(id.second);
        places.push_back(*at);
    }
    finish();
    chain_.start(by.now, by.caller, kNoTimeoutSaidMs, std::move(answer), out);
}

}  // namespace bps
