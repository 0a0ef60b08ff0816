// Who may do what, from rows as the contract packs them.
#include "node/bps/core/rights.hpp"

#include "base/crypto/hash.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using bps::Principal;
using bps::Right;
using chain::Name;

constexpr std::int64_t kNow = 1'800'000'000'000;
constexpr std::uint32_t kNowSeconds = 1'800'000'000;
constexpr Right kAll[] = {Right::produce, Right::consume, Right::admin, Right::see};

const Principal kAlice{"alice"_n, "active"_n};
const Principal kBob{"bob"_n, "active"_n};
const Principal kCarol{"carol"_n, "active"_n};

// The view of broker 1, whose account is broker1, at height 100. alice owns the topics a.one and
// a.two with ids 1 and 2.
struct View {
    View() {
        rights.on_final(100, kNow);
        topic(1, "a.one", "alice"_n);
        topic(2, "a.two", "alice"_n);
    }
    template <class Row>
    void put(const Row& row, std::uint64_t key, Name scope = "bps"_n) {
        const base::Bytes bytes = chain::pack(row);
        REQUIRE(rights.apply({Row::kTable, scope, key}, base::ByteView(bytes)).has_value());
        rights.check_invariants();
    }
    template <class Row>
    void erase(std::uint64_t key, Name scope = "bps"_n) {
        REQUIRE(rights.apply({Row::kTable, scope, key}, std::nullopt).has_value());
        rights.check_invariants();
    }
    void topic(std::uint32_t id,
               const std::string& name,
               Name owner,
               std::vector<bps::rows::Setting> settings = {}) {
        put(bps::rows::Topic{.id = id,
                             .name = name,
                             .owner = owner,
                             .partitions = 3,
                             .settings = std::move(settings)},
            id);
    }
    void grant(const bps::rows::Grant& row, Name owner = "alice"_n) { put(row, row.id, owner); }
    ErrorCode ask(const Principal& who, const std::string& name, Right right) {
        const auto verdict = rights.topic(who, name, right, kNow);
        return verdict ? ErrorCode::none : verdict.error().code;
    }
    bool may(const Principal& who, const std::string& name, Right right) {
        return ask(who, name, right) == ErrorCode::none;
    }
    bool may_group(const Principal& who,
                   const std::string& name,
                   std::optional<Name> owner,
                   Right right = Right::consume) {
        return rights.group(who, name, owner, right, kNow).has_value();
    }

    bps::Rights rights{{.contract = "bps"_n,
                        .broker = 1,
                        .broker_account = "broker1"_n,
                        .anonymous = std::nullopt}};
};

bps::rows::Grant to_bob(std::uint64_t id, bps::rows::Operation operation) {
    bps::rows::Grant grant;
    grant.name = "a.one";
    grant.account = "bob"_n;
    grant.operation = operation;
    grant.id = id;
    return grant;
}

}  // namespace

TEST_CASE("an owner may do all with its topics, others nothing", "[bps][rights]") {
    View view;
    for (const Right right : kAll) {
        CHECK(view.may(kAlice, "a.one", right));
        CHECK_FALSE(view.may(kBob, "a.one", right));
    }
    const auto found = view.rights.topic(kAlice, "a.two", Right::see, kNow);
    CHECK(found->id == 2);
    CHECK(found->partitions == 3);
    CHECK(view.rights.topic_name(2) == "a.two");
    view.erase<bps::rows::Topic>(2);
    CHECK_FALSE(view.rights.topic_name(2).has_value());
    CHECK_FALSE(view.may(kAlice, "a.two", Right::see));
}

TEST_CASE("what is not there and what is forbidden answer alike", "[bps][rights]") {
    View view;
    const auto forbidden = view.rights.topic(kBob, "a.one", Right::see, kNow);
    const auto unknown = view.rights.topic(kBob, "a.six", Right::see, kNow);
    CHECK(forbidden.error().code == unknown.error().code);
    CHECK(forbidden.error().reason == "there is no topic a.one, or you may not do this with it");
    CHECK(unknown.error().reason == "there is no topic a.six, or you may not do this with it");
    // Also where the rows are too old to act on.
    CHECK(view.rights.topic(kBob, "a.one", Right::see, kNow * 2).error().code ==
          view.rights.topic(kBob, "a.six", Right::see, kNow * 2).error().code);
}

TEST_CASE("a grant gives its right, and seeing, on its names and to its account", "[bps][rights]") {
    using bps::rows::Operation;
    for (const auto& [operation, right] : {std::pair(Operation::produce, Right::produce),
                                           std::pair(Operation::consume, Right::consume),
                                           std::pair(Operation::admin, Right::admin)}) {
        View view;
        view.grant(to_bob(7, operation));
        for (const Right each : kAll)
            CHECK(view.may(kBob, "a.one", each) == (each == right || each == Right::see));
        CHECK_FALSE(view.may(kBob, "a.two", right));
        CHECK_FALSE(view.may(kCarol, "a.one", right));
        view.erase<bps::rows::Grant>(7, "alice"_n);
        CHECK_FALSE(view.may(kBob, "a.one", right));
    }
}

TEST_CASE("a grant is on names that begin so, and of its owner only", "[bps][rights]") {
    View view;
    auto grant = to_bob(1, bps::rows::Operation::consume);
    grant.name = "a.o";
    view.grant(grant);
    CHECK_FALSE(view.may(kBob, "a.one", Right::consume));
    grant.prefixed = true;
    view.grant(grant);
    CHECK(view.may(kBob, "a.one", Right::consume));
    CHECK_FALSE(view.may(kBob, "a.two", Right::consume));
    grant.name = "";
    view.grant(grant);
    CHECK(view.may(kBob, "a.two", Right::consume));
    view.topic(3, "a.three", "carol"_n);
    CHECK_FALSE(view.may(kBob, "a.three", Right::consume));
    // carol cannot grant what is alice's.
    View other;
    grant.name = "a.one";
    other.grant(grant, "carol"_n);
    CHECK_FALSE(other.may(kBob, "a.one", Right::consume));
}

TEST_CASE("a grant is to one permission, and at its heights", "[bps][rights]") {
    View view;
    auto grant = to_bob(1, bps::rows::Operation::consume);
    grant.permission = "sensor"_n;
    view.grant(grant);
    CHECK_FALSE(view.may(kBob, "a.one", Right::consume));
    CHECK(view.may({"bob"_n, "sensor"_n}, "a.one", Right::consume));
    grant.permission = {};
    grant.first = 101;
    grant.last = 102;
    view.grant(grant);
    for (const std::uint32_t height : {100U, 101U, 102U, 103U}) {
        view.rights.on_final(height, kNow);
        CHECK(view.may(kBob, "a.one", Right::consume) == (height == 101 || height == 102));
    }
}

TEST_CASE("a grant to another account takes the place of the old one", "[bps][rights]") {
    View view;
    auto grant = to_bob(1, bps::rows::Operation::consume);
    view.grant(grant);
    grant.account = "carol"_n;
    view.grant(grant);
    CHECK_FALSE(view.may(kBob, "a.one", Right::consume));
    CHECK(view.may(kCarol, "a.one", Right::consume));
}

TEST_CASE("a token may be for less than its principal", "[bps][rights]") {
    View view;
    Principal scoped = kAlice;
    scoped.scope = std::make_shared<bps::TokenScope>(
        bps::TokenScope{{{.prefixed = true, .topic = "a.o", .rights = {Right::consume}}}});
    CHECK(view.may(scoped, "a.one", Right::consume));
    CHECK(view.may(scoped, "a.one", Right::see));
    CHECK_FALSE(view.may(scoped, "a.one", Right::produce));
    CHECK_FALSE(view.may(scoped, "a.two", Right::consume));
    CHECK_FALSE(view.may(scoped, "a.two", Right::see));
}

TEST_CASE("rows that are too old are not acted on", "[bps][rights]") {
    View view;
    view.topic(3, "fast", "alice"_n, {{"bor.max.stale.ms", "5000"}});
    view.topic(4, "never", "alice"_n, {{"bor.max.stale.ms", "-1"}});
    const auto at = [&](const std::string& name, std::int64_t age) {
        const auto verdict = view.rights.topic(kAlice, name, Right::consume, kNow + age);
        return verdict ? ErrorCode::none : verdict.error().code;
    };
    CHECK(at("a.one", 60'000) == ErrorCode::none);
    CHECK(at("a.one", 60'001) == ErrorCode::not_leader_or_follower);
    CHECK(at("fast", 5'001) == ErrorCode::not_leader_or_follower);
    CHECK(at("never", 86'400'000) == ErrorCode::none);
    CHECK(view.rights.group(kAlice, "g", {}, Right::consume, kNow + 60'001).error().code ==
          ErrorCode::coordinator_not_available);
    view.rights.on_final(101, kNow + 60'001);
    CHECK(at("a.one", 60'001) == ErrorCode::none);
    // The clock was set back by 1,000 s, and the times that are given were not.
    view.rights.set_ahead(1'000'000);
    CHECK(at("a.one", 1'120'001) == ErrorCode::none);
    CHECK(at("a.one", 1'120'002) == ErrorCode::not_leader_or_follower);
}

TEST_CASE("a group is its owner's, and whose he lets in", "[bps][rights]") {
    View view;
    CHECK(*view.rights.group(kBob, "g", {}, Right::consume, kNow) == "bob"_n);
    CHECK(view.may_group(kAlice, "g", "alice"_n));
    CHECK_FALSE(view.may_group(kBob, "g", "alice"_n));
    auto grant = to_bob(1, bps::rows::Operation::consume);
    grant.name = "g";
    view.grant(grant);  // On a topic.
    CHECK_FALSE(view.may_group(kBob, "g", "alice"_n));
    grant.resource = bps::rows::Resource::group;
    view.grant(grant);
    CHECK(view.may_group(kBob, "g", "alice"_n));
    CHECK(*view.rights.group(kBob, "g", "alice"_n, Right::see, kNow) == "alice"_n);
    CHECK_FALSE(view.may_group(kBob, "g", "alice"_n, Right::admin));
    CHECK_FALSE(view.may(kBob, "g", Right::consume));
}

TEST_CASE("reserved names belong to who reserved them", "[bps][rights]") {
    View view;
    view.put(bps::rows::Prefix{.id = 1, .owner = "alice"_n, .prefix = "alice."}, 1);
    view.put(bps::rows::Prefix{.id = 2, .owner = "carol"_n, .prefix = "alice.c."}, 2);
    CHECK(*view.rights.new_topic_owner(kAlice, "alice.x") == "alice"_n);
    CHECK(view.rights.new_topic_owner(kBob, "alice.x").error().code ==
          ErrorCode::topic_authorization_failed);
    CHECK(*view.rights.new_topic_owner(kBob, "other") == "bob"_n);
    CHECK_FALSE(view.rights.new_topic_owner(kAlice, "alice.c.x").has_value());
    CHECK(*view.rights.new_topic_owner(kCarol, "alice.c.x") == "carol"_n);
    CHECK_FALSE(view.rights.new_topic_owner(kAlice, "__consumer_offsets").has_value());
    CHECK_FALSE(view.may_group(kBob, "alice.g", {}));
    CHECK(view.may_group(kAlice, "alice.g", {}));
    // One with the right makes it in the owner's name.
    auto grant = to_bob(3, bps::rows::Operation::admin);
    grant.prefixed = true;
    grant.name = "alice.";
    view.grant(grant);
    CHECK(*view.rights.new_topic_owner(kBob, "alice.x") == "alice"_n);
    view.erase<bps::rows::Prefix>(1);
    CHECK(*view.rights.new_topic_owner(kBob, "alice.x") == "bob"_n);
}

TEST_CASE("a broker acts for an owner as far as it lets it", "[bps][rights]") {
    View view;
    const auto may = [&](Name action, const std::string& topic) {
        return view.rights.delegated("alice"_n, action, topic).has_value();
    };
    const auto refused = view.rights.delegated("alice"_n, "createtopic"_n, "a.x");
    CHECK(refused.error().code == ErrorCode::policy_violation);
    CHECK(refused.error().reason ==
          "alice has not delegated createtopic of a.x to broker 1: type bor-cli bps delegate alice "
          "1 createtopic --prefix a.x");
    bps::rows::Delegation row{.account = "broker1"_n,
                              .broker = 1,
                              .actions = {"createtopic"_n, "grant"_n},
                              .prefix = "a.",
                              .until = {kNowSeconds}};
    const auto put = [&] { view.put(row, row.account.value, "alice"_n); };
    put();
    CHECK(may("createtopic"_n, "a.x"));
    CHECK(may("grant"_n, "a.x"));
    CHECK_FALSE(may("deletetopic"_n, "a.x"));
    CHECK_FALSE(may("createtopic"_n, "b.x"));
    view.rights.on_final(101, kNow + 1'000);
    CHECK_FALSE(may("createtopic"_n, "a.x"));
    row.until = {kNowSeconds + 1};
    row.broker = 2;
    put();
    CHECK_FALSE(may("createtopic"_n, "a.x"));
    row.broker = 1;
    put();
    CHECK(may("createtopic"_n, "a.x"));
    view.erase<bps::rows::Delegation>(row.account.value, "alice"_n);
    CHECK_FALSE(may("createtopic"_n, "a.x"));
}

TEST_CASE("a token holds until it expires by either clock, or is revoked", "[bps][rights]") {
    View view;
    bps::TokenClaims claims{.account = "alice"_n,
                            .jti = "token-1",
                            .issued_at = kNowSeconds - 10,
                            .not_before = kNowSeconds - 10,
                            .expires_at = kNowSeconds + 10};
    const auto holds = [&](std::int64_t now = kNow) {
        const auto verdict = view.rights.token(claims, now);
        if (!verdict) CHECK(verdict.error().code == ErrorCode::sasl_authentication_failed);
        return verdict.has_value();
    };
    CHECK(holds());
    CHECK(holds(kNow + 9'999));
    CHECK_FALSE(holds(kNow + 10'000));
    // The clock of the machine lags, the chain does not.
    view.rights.on_final(101, kNow + 10'000);
    CHECK_FALSE(holds(kNow));
    view.rights.on_final(101, kNow);
    claims.not_before = kNowSeconds + 1;
    CHECK_FALSE(holds());
    CHECK(holds(kNow + 1'000));
    claims.not_before = claims.issued_at;
    claims.expires_at = claims.issued_at + 86'400;
    CHECK(holds());
    claims.expires_at = claims.issued_at + 86'401;
    CHECK_FALSE(holds());
    claims.expires_at = claims.issued_at;
    CHECK_FALSE(holds());
    claims.expires_at = kNowSeconds + 10;

    const base::Hash256 digest = base::crypto::sha256(base::as_bytes(claims.jti));
    bps::rows::Revocation revoked{.key = 0, .jti = claims.jti, .until = {kNowSeconds + 100}};
    for (std::size_t i = 8; i-- > 0;)
        revoked.key = revoked.key << 8U | std::to_integer<std::uint64_t>(digest.bytes[i]);
    view.put(revoked, revoked.key, "bob"_n);  // Another account's.
    CHECK(holds());
    view.put(revoked, revoked.key, "alice"_n);
    CHECK_FALSE(holds());
    view.erase<bps::rows::Revocation>(revoked.key, "alice"_n);
    CHECK(holds());
    view.put(bps::rows::NotBefore{.account = "alice"_n, .time = {claims.issued_at}},
             ("alice"_n).value);
    CHECK(holds());
    view.put(bps::rows::NotBefore{.account = "alice"_n, .time = {claims.issued_at + 1}},
             ("alice"_n).value);
    CHECK_FALSE(holds());
}

TEST_CASE("a certificate says who comes, and bps-anonymous who comes without login",
          "[bps][rights]") {
    View view;
    const base::Hash256 hash = base::crypto::sha256(base::as_bytes("key"));
    CHECK_FALSE(view.rights.certificate(hash).has_value());
    view.put(bps::rows::Cert{.id = 5, .hash = hash, .account = "bob"_n, .permission = "tls"_n}, 5);
    const auto found = view.rights.certificate(hash);
    REQUIRE(found.has_value());
    CHECK(found->account == "bob"_n);
    CHECK(found->permission == "tls"_n);
    view.erase<bps::rows::Cert>(5);
    CHECK_FALSE(view.rights.certificate(hash).has_value());

    CHECK_FALSE(view.rights.anonymous(true).has_value());
    const bps::Rights open(
        {.contract = "bps"_n, .broker = 1, .broker_account = "broker1"_n, .anonymous = kAlice});
    CHECK(open.anonymous(true)->account == "alice"_n);
    CHECK(open.anonymous(false).error().code == ErrorCode::sasl_authentication_failed);
}

TEST_CASE("what is made again in the same block keeps its name", "[bps][rights]") {
    View view;
    view.topic(9, "a.one", "carol"_n);
    view.erase<bps::rows::Topic>(1);
    CHECK(view.rights.topic(kCarol, "a.one", Right::see, kNow)->id == 9);
    CHECK_FALSE(view.may(kAlice, "a.one", Right::see));
}

TEST_CASE("a row that the contract does not write is refused", "[bps][rights]") {
    View view;
    base::Bytes bytes = chain::pack(to_bob(1, bps::rows::Operation::consume));
    const bps::RowId id{bps::rows::Grant::kTable, "alice"_n, 1};
    CHECK_FALSE(view.rights.apply({id.table, id.scope, 2}, base::ByteView(bytes)).has_value());
    CHECK_FALSE(view.rights.apply(id, base::ByteView(bytes).first(bytes.size() - 1)).has_value());
    bytes[0] = std::byte{2};
    const auto refused = view.rights.apply(id, base::ByteView(bytes));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().detail.starts_with("table grants, scope alice, key 1: "));
    CHECK_FALSE(view.may(kBob, "a.one", Right::consume));
    // Tables that decide nothing here.
    CHECK(view.rights.apply({"anchors"_n, "bps"_n, 1}, base::ByteView(bytes)).has_value());
}
