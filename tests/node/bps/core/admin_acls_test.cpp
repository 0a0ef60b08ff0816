// Access control lists, which stand for grants, as clients ask for them.
#include "node/bps/core/acls.hpp"
#include "tests/node/bps/core/admin_fixture.hpp"

#include <catch2/catch.hpp>

#include <set>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using bps::rows::Operation;
using bps::rows::Resource;
using support::AdminFixture;
using support::outcome;
using Entry = bps::CreateAclsRequest::Acl;

constexpr std::int8_t kTopic = 2;
constexpr std::int8_t kGroup = 3;
constexpr std::int8_t kLiteral = 3;
constexpr std::int8_t kPrefixed = 4;
constexpr std::int8_t kAll = 2;
constexpr std::int8_t kRead = 3;
constexpr std::int8_t kWrite = 4;
constexpr std::int8_t kDelete = 6;
constexpr std::int8_t kAlter = 7;
constexpr std::int8_t kAllow = 3;

Entry entry(std::int8_t operation,
            std::string_view name = "a.x",
            std::int8_t resource = kTopic,
            std::int8_t pattern = kLiteral) {
    return {.resource_type = resource,
            .resource_name = name,
            .resource_pattern_type = pattern,
            .principal = "User:bob",
            .host = "*",
            .operation = operation,
            .permission_type = kAllow};
}

struct AclsFixture : AdminFixture {
    // The topic `a.x` has a grant to bob of each kind, and one to erin that is over.
    AclsFixture() {
        row(1, "a.x", Operation::produce);
        row(2, "a.x", Operation::consume);
        row(3, "a.", Operation::admin, true);
        row(4, "", Operation::consume, true);
        row(5, "g", Operation::admin, false, Resource::group);
        bps::rows::Grant over = made(6, "a.x", Operation::consume);
        over.account = "erin"_n;
        over.last = 99;
        view.put(over, 6, "alice"_n);
    }
    static bps::rows::Grant made(std::uint64_t id,
                                 const std::string& name,
                                 Operation operation,
                                 bool prefixed = false,
                                 Resource resource = Resource::topic) {
        return {.resource = resource,
                .prefixed = prefixed,
                .name = name,
                .account = "bob"_n,
                .permission = {},
                .operation = operation,
                .first = 0,
                .last = 0,
                .id = id};
    }
    void row(std::uint64_t id,
             const std::string& name,
             Operation operation,
             bool prefixed = false,
             Resource resource = Resource::topic) {
        view.put(made(id, name, operation, prefixed, resource), id, "alice"_n);
    }
    std::uint64_t create(const Entry& of) {
        bps::CreateAclsRequest request;
        request.creations = {of};
        return ask(2, request);
    }
    std::pair<ErrorCode, std::string> created(std::uint64_t id) {
        return outcome(decoded<bps::CreateAclsResponse>(id, 2).results.at(0));
    }
    ErrorCode refused(const Entry& of) {
        const auto before = effects.calls.size();
        const ErrorCode code = created(create(of)).first;
        CHECK(effects.calls.size() == before);
        return code;
    }
    // What is shown, each as `resource name pattern principal operation`.
    std::set<std::string> shown(const bps::DescribeAclsRequest& request) {
        const auto response = answer<bps::DescribeAclsResponse>(2, request);
        CHECK(response.error_code == ErrorCode::none);
        std::set<std::string> found;
        for (const auto& resource : response.resources) {
            for (const auto& acl : resource.acls) {
                CHECK(acl.host == "*");
                CHECK(acl.permission_type == kAllow);
                found.insert(fmt::format("{} {} {} {} {}",
                                         resource.resource_type,
                                         resource.resource_name,
                                         resource.pattern_type,
                                         acl.principal,
                                         acl.operation));
            }
        }
        return found;
    }
    static bps::DescribeAclsRequest any() {
        bps::DescribeAclsRequest request;
        request.resource_type_filter = 1;
        request.pattern_type_filter = 1;
        request.operation = 1;
        request.permission_type = 1;
        return request;
    }
    static bps::DeleteAclsRequest::Filter any_to_delete() {
        return {.resource_type_filter = 1,
                .resource_name_filter = {},
                .pattern_type_filter = 1,
                .principal_filter = {},
                .host_filter = {},
                .operation = 1,
                .permission_type = 1};
    }
};

}  // namespace

TEST_CASE("grants in force are shown as entries, to who gives and to who has them",
          "[bps][admin]") {
    AclsFixture f;
    const std::set<std::string> all = {"2 a.x 3 User:bob 4",
                                       "2 a.x 3 User:bob 3",
                                       "2 a. 4 User:bob 7",
                                       "2 * 3 User:bob 3",
                                       "3 g 3 User:bob 6"};
    f.view.revoke("alice"_n, Operation::produce);
    f.view.revoke("alice"_n, Operation::consume);
    f.view.revoke("alice"_n, Operation::admin);
    CHECK(f.shown(AclsFixture::any()) == all);
    f.tenant = "erin"_n;  // Her grant is over.
    CHECK(f.shown(AclsFixture::any()).empty());
    f.view.revoke("bob"_n, Operation::produce);
    f.view.revoke("bob"_n, Operation::consume);
    f.view.revoke("bob"_n, Operation::admin);
    f.tenant = "bob"_n;
    CHECK(f.shown(AclsFixture::any()) == all);
    auto with_permission = AclsFixture::made(7, "a.x", Operation::consume);
    with_permission.permission = "app"_n;
    f.view.put(with_permission, 7, "alice"_n);
    CHECK(f.shown(AclsFixture::any()).contains("2 a.x 3 User:bob@app 3"));
}

TEST_CASE("a filter selects entries", "[bps][admin]") {
    AclsFixture f;
    f.view.revoke("alice"_n, Operation::produce);
    f.view.revoke("alice"_n, Operation::consume);
    f.view.revoke("alice"_n, Operation::admin);
    const auto count = [&](auto&& change) {
        bps::DescribeAclsRequest request = AclsFixture::any();
        change(request);
        return f.shown(request).size();
    };
    CHECK(count([](auto& r) { r.resource_type_filter = kGroup; }) == 1);
    CHECK(count([](auto& r) { r.resource_type_filter = 4; }) == 0);
    CHECK(count([](auto& r) { r.resource_name_filter = "a.x"; }) == 2);
    CHECK(count([](auto& r) { r.pattern_type_filter = kLiteral; }) == 4);
    CHECK(count([](auto& r) { r.pattern_type_filter = kPrefixed; }) == 1);
    const auto match = [](auto& r) {
        r.pattern_type_filter = 2;
        r.resource_name_filter = "a.x";
    };
    CHECK(count(match) == 4);
    CHECK(count([](auto& r) { r.principal_filter = "User:bob"; }) == 5);
    CHECK(count([](auto& r) { r.principal_filter = "User:bo"; }) == 0);
    CHECK(count([](auto& r) { r.host_filter = "*"; }) == 5);
    CHECK(count([](auto& r) { r.host_filter = "10.0.0.1"; }) == 0);
    CHECK(count([](auto& r) { r.operation = kRead; }) == 2);
    CHECK(count([](auto& r) { r.operation = kAll; }) == 5);
    CHECK(count([](auto& r) { r.operation = 8; }) == 0);
    CHECK(count([](auto& r) { r.permission_type = 2; }) == 0);
    CHECK(count([](auto& r) { r.permission_type = kAllow; }) == 5);
    bps::DescribeAclsRequest unknown = AclsFixture::any();
    unknown.operation = 0;
    CHECK(f.answer<bps::DescribeAclsResponse>(2, unknown).error_code == ErrorCode::invalid_request);
}

TEST_CASE("an entry that is made is a grant", "[bps][admin]") {
    AclsFixture f;
    Entry of = entry(kWrite, "a.new");
    of.principal = "User:bob@app";
    const auto id = f.create(of);
    const auto action = f.called<bps::actions::Grant>();
    CHECK(action.by == "broker1"_n);
    CHECK(action.owner == "alice"_n);
    CHECK(action.grant.resource == Resource::topic);
    CHECK_FALSE(action.grant.prefixed);
    CHECK(action.grant.name == "a.new");
    CHECK(action.grant.account == "bob"_n);
    CHECK(action.grant.permission == "app"_n);
    CHECK(action.grant.operation == Operation::produce);
    CHECK(action.grant.first == 0);
    CHECK(action.grant.last == 0);
    f.finish();
    CHECK(f.created(id).first == ErrorCode::none);
    // What is granted already is no action; one that ends is made endless.
    CHECK(f.refused(entry(kWrite)) == ErrorCode::none);
    of = entry(kRead);
    of.principal = "User:erin";
    f.create(of);
    CHECK(f.called<bps::actions::Grant>().grant.account == "erin"_n);
    f.create(entry(kDelete, "g2", kGroup, kPrefixed));
    CHECK(f.called<bps::actions::Grant>().grant.resource == Resource::group);
    CHECK(f.called<bps::actions::Grant>().grant.prefixed);
    CHECK(f.called<bps::actions::Grant>().grant.operation == Operation::admin);
    // All names.
    f.create(entry(kWrite, "*"));
    CHECK(f.called<bps::actions::Grant>().grant.prefixed);
    CHECK(f.called<bps::actions::Grant>().grant.name.empty());
}

TEST_CASE("ALL is every right, and the answer waits for each", "[bps][admin]") {
    AclsFixture f;
    const auto id = f.create(entry(kAll, "a.y"));
    REQUIRE(f.effects.calls.size() == 3);
    f.finish(f.effects.calls[0].ticket);
    f.finish(f.effects.calls[2].ticket);
    CHECK_FALSE(f.reply(id).has_value());
    f.broker->on_called(f.effects.calls[1].ticket,
                        bps::refuse(ErrorCode::policy_violation, "there is no account bob"),
                        f.effects);
    CHECK(f.created(id) ==
          std::pair{ErrorCode::policy_violation, std::string("there is no account bob")});
    f.create(entry(kAll, "g3", kGroup));
    CHECK(f.effects.calls.size() == 5);
    f.create(entry(kAll));  // One of them is left.
    CHECK(f.effects.calls.size() == 6);
    CHECK(f.called<bps::actions::Grant>().grant.operation == Operation::admin);
}

TEST_CASE("what no grant says is refused", "[bps][admin]") {
    AclsFixture f;
    const auto with = [&](auto&& change) {
        Entry of = entry(kRead, "a.new");
        change(of);
        return f.refused(of);
    };
    CHECK(with([](Entry& of) { of.permission_type = 2; }) == ErrorCode::invalid_request);
    CHECK(f.created(f.create({.resource_type = kTopic,
                              .resource_name = "a.x",
                              .principal = "User:bob",
                              .host = "*",
                              .operation = kRead,
                              .permission_type = 2}))
              .second == "only ALLOW is served: instead of a DENY, take the grant back");
    CHECK(with([](Entry& of) { of.host = "10.0.0.1"; }) == ErrorCode::invalid_request);
    for (const char* who : {"bob", "User:", "User:*", "User:Bob", "User:bob@", "User:@app"})
        CHECK(with([&](Entry& of) { of.principal = who; }) == ErrorCode::invalid_request);
    for (const int type : {0, 1, 4, 5}) {
        CHECK(with([&](Entry& of) { of.resource_type = static_cast<std::int8_t>(type); }) ==
              ErrorCode::invalid_request);
    }
    for (const int pattern : {0, 1, 2}) {
        CHECK(with([&](Entry& of) {
                  of.resource_pattern_type = static_cast<std::int8_t>(pattern);
              }) == ErrorCode::invalid_request);
    }
    for (const int operation : {0, 1, 5, 6, 8, 9, 10, 11, 12}) {
        CHECK(with([&](Entry& of) { of.operation = static_cast<std::int8_t>(operation); }) ==
              ErrorCode::invalid_request);
    }
    CHECK(with([](Entry& of) { of.resource_name = "a b"; }) == ErrorCode::invalid_request);
    CHECK(f.refused(entry(kWrite, "g", kGroup)) == ErrorCode::invalid_request);
    CHECK(f.refused(entry(kAlter, "g", kGroup)) == ErrorCode::invalid_request);
    bps::CreateAclsRequest many;
    many.creations.assign(1'001, entry(kRead, "a.new"));
    for (const auto& each : f.answer<bps::CreateAclsResponse>(2, many).results)
        CHECK(each.error_code == ErrorCode::invalid_request);
}

TEST_CASE("only who owns a name, or administers it, says who may", "[bps][admin]") {
    AclsFixture f;
    // bob has ADMIN on all that begins with "a.", so in alice's name.
    f.tenant = "bob"_n;
    Entry to_dave = entry(kRead);
    to_dave.principal = "User:dave";
    f.create(to_dave);
    CHECK(f.called<bps::actions::Grant>().owner == "alice"_n);
    f.view.delegate("alice"_n, {"revoke"_n});
    const auto undelegated = f.created(f.create(to_dave));
    CHECK(undelegated.first == ErrorCode::policy_violation);
    CHECK(undelegated.second.ends_with("grant --prefix a.x"));
    // With ADMIN on one name he says nothing of others that begin so.
    f.row(3, "a.x", Operation::admin);
    f.view.put(bps::rows::Prefix{.id = 1, .owner = "alice"_n, .prefix = "a."}, 1);
    CHECK(f.refused(entry(kRead, "a.x", kTopic, kPrefixed)) ==
          ErrorCode::cluster_authorization_failed);
    CHECK(f.refused(entry(kRead, "a.new")) == ErrorCode::cluster_authorization_failed);
    // A token with a scope does not say either.
    auto caller = f.caller(2);
    caller.principal.scope = std::make_shared<bps::TokenScope>(
        bps::TokenScope{.items = {{.prefixed = true, .topic = "", .rights = {bps::Right::admin}}}});
    bps::CreateAclsRequest request;
    request.creations = {entry(kRead, "bobs")};
    REQUIRE(f.broker->on_request(f.now, caller, request, {}, f.effects));
    CHECK(f.created(caller.id.number).first == ErrorCode::cluster_authorization_failed);
    caller.id.number = ++f.number;
    REQUIRE(f.broker->on_request(f.now, caller, AclsFixture::any(), {}, f.effects));
    CHECK(f.decoded<bps::DescribeAclsResponse>(caller.id.number, 2).error_code ==
          ErrorCode::cluster_authorization_failed);
}

TEST_CASE("entries that are deleted are grants taken back, those of an owner at once",
          "[bps][admin]") {
    AclsFixture f;
    f.view.revoke("alice"_n, Operation::admin);
    bps::DeleteAclsRequest request;
    request.filters = {AclsFixture::any_to_delete(), AclsFixture::any_to_delete()};
    request.filters[0].operation = kRead;
    const auto id = f.ask(2, request);
    REQUIRE(f.effects.calls.size() == 1);
    const auto action = f.called<bps::actions::Revoke>();
    CHECK(action.by == "broker1"_n);
    CHECK(action.owner == "alice"_n);
    CHECK(action.grants == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
    f.finish();
    const auto results = f.decoded<bps::DeleteAclsResponse>(id, 2).filter_results;
    REQUIRE(results.size() == 2);
    CHECK(results[0].matching_acls.size() == 2);
    CHECK(results[1].matching_acls.size() == 3);
    CHECK(results[0].matching_acls[0].error_code == ErrorCode::none);
    CHECK(results[0].matching_acls[0].resource_name == "a.x");
    CHECK(results[0].matching_acls[0].principal == "User:bob");
    // What the chain refuses, and what is not delegated, is refused for each.
    f.ask(2, request);
    f.refuse("alice has no grant 1");
    const auto refused = f.decoded<bps::DeleteAclsResponse>(f.number, 2).filter_results;
    CHECK(outcome(refused[1].matching_acls.at(2)) ==
          std::pair{ErrorCode::policy_violation, std::string("alice has no grant 1")});
    f.view.delegate("alice"_n, {"grant"_n});
    const auto undelegated = f.answer<bps::DeleteAclsResponse>(2, request).filter_results;
    CHECK(undelegated[0].matching_acls.at(0).error_code == ErrorCode::policy_violation);
    // Who only has them takes none back: one's own, but for what bob administers.
    f.view.delegate("alice"_n, {"revoke"_n});
    f.tenant = "erin"_n;
    const auto none = f.answer<bps::DeleteAclsResponse>(2, request).filter_results;
    CHECK(none[0].matching_acls.empty());
    request.filters[0].permission_type = 0;
    CHECK(f.answer<bps::DeleteAclsResponse>(2, request).filter_results[0].error_code ==
          ErrorCode::invalid_request);
    request.filters.assign(1'001, AclsFixture::any_to_delete());
    for (const auto& each : f.answer<bps::DeleteAclsResponse>(2, request).filter_results)
        CHECK(each.error_code == ErrorCode::invalid_request);
}
