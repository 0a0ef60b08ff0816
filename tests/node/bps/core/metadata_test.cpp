// What clients are told of brokers and topics, and the ids that producers get.
#include "tests/node/bps/core/admin_fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using support::AdminFixture;
using Names = std::set<std::string>;

bps::MetadataResponse metadata(AdminFixture& f,
                               std::optional<std::vector<std::string_view>> names,
                               std::int16_t version = 9) {
    bps::MetadataRequest request;
    if (names) {
        request.topics.emplace();
        for (const std::string_view name : *names)
            request.topics->push_back({name});
    }
    request.include_topic_authorized_operations = version >= 8;
    request.include_cluster_authorized_operations = version >= 8;
    return f.answer<bps::MetadataResponse>(version, request);
}
Names names_of(const bps::MetadataResponse& response) {
    Names names;
    for (const auto& topic : response.topics)
        names.emplace(topic.name);
    return names;
}
bps::InitProducerIdResponse init(AdminFixture& f,
                                 std::optional<std::string_view> transactional = std::nullopt) {
    bps::InitProducerIdRequest request;
    request.transactional_id = transactional;
    return f.answer<bps::InitProducerIdResponse>(4, request);
}
// The lease that was asked for is final, and begins here.
void lease(AdminFixture& f, std::int64_t first) {
    auto row = f.view.broker_row(1);
    row.first_id = first;
    f.view.broker(row);
    f.finish();
}

}  // namespace

TEST_CASE("the versions are those that are listed, also for who asks in a later one",
          "[bps][metadata]") {
    AdminFixture f;
    // Its header is never flexible.
    f.ask(3, bps::ApiVersionsRequest{});
    const base::Bytes body = f.reply(f.number)->response->bytes;
    bps::Decoder in(base::ByteView(body).subspan(8), 3, true);
    bps::ApiVersionsResponse now;
    in.structure(now);
    REQUIRE(in.finish().has_value());
    CHECK(now.error_code == ErrorCode::none);
    CHECK(now.api_keys.size() == 34);
    CHECK(now.api_keys.at(0).api_key == 0);
    CHECK(now.api_keys.at(0).max_version == 9);
    const auto later =
        bps::answer_unlisted({.key = 18, .version = 4, .correlation = 7, .client_id = {}});
    REQUIRE(later.has_value());
    bps::Decoder decoder(base::ByteView(later->bytes).subspan(8), 0, false);
    bps::ApiVersionsResponse response;
    decoder.structure(response);
    REQUIRE(decoder.finish().has_value());
    CHECK(response.error_code == ErrorCode::unsupported_version);
    CHECK(response.api_keys.size() == 34);
    CHECK(later->bytes[7] == std::byte{7});
    CHECK_FALSE(bps::answer_unlisted({.key = 3, .version = 10, .correlation = 7, .client_id = {}})
                    .has_value());
    CHECK_FALSE(bps::answer_unlisted({.key = 24, .version = 0, .correlation = 7, .client_id = {}})
                    .has_value());
    const auto why = [](std::int16_t key, std::int16_t version) {
        return bps::why_unlisted(
            {.key = key, .version = version, .correlation = 7, .client_id = {}});
    };
    CHECK(why(24, 0) == "key 24 version 0 is not listed");
    CHECK(why(3, 100) == "key 3 version 100 is not listed");
    const std::string hint = ": use api.version.request=true, or a newer client";
    CHECK(why(2, 0) == "key 2 version 0 is not listed; versions 1 to 7 are" + hint);
}

TEST_CASE("clients are told of what they may see", "[bps][metadata]") {
    AdminFixture f;
    f.view.topic({.id = 9, .name = "c.x", .owner = "carol"_n, .partitions = 1, .settings = {}});
    CHECK(names_of(metadata(f, std::nullopt)) == Names{"t", "a.x"});
    CHECK(names_of(metadata(f, std::nullopt, 1)) == Names{"t", "a.x"});
    CHECK(names_of(metadata(f, {{}}, 0)) == Names{"t", "a.x"});
    CHECK(metadata(f, {{}}).topics.empty());
    const auto some = metadata(f, {{"c.x", "none", "a.x", "a b", "a.x"}}).topics;
    REQUIRE(some.size() == 4);
    CHECK(some[0].error_code == ErrorCode::topic_authorization_failed);
    CHECK(some[1].error_code == ErrorCode::topic_authorization_failed);
    CHECK(some[0].partitions.empty());
    CHECK(some[2].error_code == ErrorCode::none);
    CHECK(some[2].partitions.size() == 2);
    CHECK(some[2].topic_authorized_operations == 0b1101'1101'1000);
    CHECK(some[0].topic_authorized_operations == bps::kNoOperations);
    CHECK(some[3].error_code == ErrorCode::invalid_topic_exception);
    f.view.revoke("alice"_n, bps::rows::Operation::produce);
    f.view.revoke("alice"_n, bps::rows::Operation::admin);
    CHECK(metadata(f, {{"t"}}).topics.at(0).topic_authorized_operations == 0b0101'0000'1000);
    f.tenant = "dave"_n;
    CHECK(metadata(f, std::nullopt).topics.empty());
    CHECK(metadata(f, std::nullopt).cluster_authorized_operations == 0b1'0101'1010'0000);
}

TEST_CASE("a partition says who leads it, and who has it", "[bps][metadata]") {
    AdminFixture f;
    f.view.broker(2);
    auto away = f.view.broker_row(3);
    away.fenced = true;
    f.view.broker(away);
    f.view.partition({5, 0}, 8, {2, 1, 3});
    bps::rows::Partition row = *f.view.directory.find_partition({5, 0});
    row.replicas[1].generation = 0;  // Of an older log directory.
    f.view.partition(row);
    const auto response = metadata(f, {{"a.x"}});
    REQUIRE(response.brokers.size() == 2);
    CHECK(response.brokers[0].node_id == 1);
    CHECK(response.brokers[0].host == "broker.example");
    CHECK(response.brokers[0].port == 9092);
    CHECK(response.brokers[1].host == "other.example");
    CHECK(response.cluster_id == "chain");
    CHECK(response.controller_id == 1);
    const auto& part = response.topics.at(0).partitions.at(0);
    CHECK(part.error_code == ErrorCode::none);
    CHECK(part.leader_id == 2);
    CHECK(part.leader_epoch == 8);
    CHECK(part.replica_nodes == std::vector<std::int32_t>{2, 1, 3});
    CHECK(part.isr_nodes == std::vector<std::int32_t>{2, 3});
    CHECK(part.offline_replicas == std::vector<std::int32_t>{3});
    // A start after the election, a fence, and a listener that is not there: nobody to ask.
    const auto leader = [&] {
        const auto found = metadata(f, {{"a.x"}}).topics.at(0).partitions.at(0);
        CHECK((found.error_code == ErrorCode::none) == (found.leader_id >= 0));
        return found.leader_id;
    };
    auto other = f.view.broker_row(2);
    other.boot = 2;
    f.view.broker(other);
    CHECK(leader() == -1);
    other = f.view.broker_row(2);
    other.fenced = true;
    f.view.broker(other);
    CHECK(leader() == -1);
    other = f.view.broker_row(2);
    other.listeners = {{"SSL", "x", 1}};
    f.view.broker(other);
    CHECK(leader() == -1);
    f.view.broker(2);
    CHECK(leader() == 2);
    f.view.erase<bps::rows::Partition>(bps::PartitionId{5, 0}.log());
    CHECK(leader() == -1);
}

TEST_CASE("rows that are too old name no leader, and hide nothing", "[bps][metadata]") {
    AdminFixture f;
    bps::MetadataRequest request;
    f.now += 60'001;
    REQUIRE(f.broker->on_request(f.now, f.caller(9), request, {}, f.effects));
    const auto topics = f.decoded<bps::MetadataResponse>(f.number, 9).topics;
    REQUIRE(topics.size() == 2);
    CHECK(topics[0].name == "a.x");
    CHECK(topics[0].error_code == ErrorCode::leader_not_available);
    CHECK(topics[1].error_code == ErrorCode::none);  // Its bor.max.stale.ms is -1.
}

TEST_CASE("the cluster has the live brokers, by the caller's kind of listener", "[bps][metadata]") {
    AdminFixture f;
    f.view.broker(2);
    bps::DescribeClusterRequest request;
    request.include_cluster_authorized_operations = true;
    auto caller = f.caller(1);
    caller.protocol = "SSL";
    REQUIRE(f.broker->on_request(f.now, caller, request, {}, f.effects));
    const auto found = f.decoded<bps::DescribeClusterResponse>(f.number, 1);
    CHECK(found.error_code == ErrorCode::none);
    CHECK(found.cluster_id == "chain");
    CHECK(found.controller_id == 1);
    REQUIRE(found.brokers.size() == 2);
    CHECK(found.brokers[1].broker_id == 2);
    CHECK(found.brokers[1].host == "tls.example");
    CHECK(found.brokers[1].port == 9093);
    CHECK(found.cluster_authorized_operations != bps::kNoOperations);
    // This one is fenced: another is named.
    auto fenced = f.view.broker_row(1);
    fenced.fenced = true;
    f.view.broker(fenced);
    CHECK(f.answer<bps::DescribeClusterResponse>(1, request).controller_id == 2);
    request.endpoint_type = 2;
    CHECK(f.answer<bps::DescribeClusterResponse>(1, request).error_code ==
          ErrorCode::mismatched_endpoint_type);
    request.endpoint_type = 3;
    CHECK(f.answer<bps::DescribeClusterResponse>(1, request).error_code ==
          ErrorCode::unsupported_endpoint_type);
}

TEST_CASE("producers get ids that were leased, each once", "[bps][metadata]") {
    AdminFixture f;
    CHECK(init(f).error_code == ErrorCode::coordinator_load_in_progress);
    CHECK(f.called<bps::actions::LeaseIds>().broker == 1);
    CHECK(f.called<bps::actions::LeaseIds>().boot == 1);
    CHECK(init(f).error_code == ErrorCode::coordinator_load_in_progress);
    CHECK(f.effects.calls.size() == 1);
    lease(f, 5'000);
    for (std::int64_t i = 0; i < 900; ++i) {
        const auto given = init(f);
        CHECK(given.error_code == ErrorCode::none);
        CHECK(given.producer_id == 5'000 + i);
        CHECK(given.producer_epoch == 0);
    }
    CHECK(f.effects.calls.size() == 1);
    // The next lease is asked for before the last id is given.
    f.now += 1'000;
    CHECK(init(f).producer_id == 5'900);
    CHECK(f.effects.calls.size() == 2);
    for (std::int64_t i = 5'901; i < 6'000; ++i)
        CHECK(init(f).producer_id == i);
    CHECK(init(f).error_code == ErrorCode::coordinator_load_in_progress);
    CHECK(f.effects.calls.size() == 2);
    lease(f, 7'000);
    CHECK(init(f).producer_id == 7'000);
    CHECK(f.effects.calls.size() == 2);
}

TEST_CASE("a tenant's producer ids have its number, which it gets once", "[bps][metadata]") {
    AdminFixture f;
    init(f);
    lease(f, 5'000);
    for (const chain::Name tenant : {"dave"_n, "carol"_n, "dave"_n}) {
        f.tenant = tenant;
        CHECK(init(f).error_code == ErrorCode::coordinator_load_in_progress);
    }
    REQUIRE(f.effects.calls.size() == 2);
    CHECK(f.called<bps::actions::AddIdSpaces>().broker == 1);
    CHECK(f.called<bps::actions::AddIdSpaces>().accounts == std::vector{"dave"_n});
    f.view.id_space("dave"_n, 3);
    f.finish();
    CHECK(init(f).producer_id == (std::int64_t{3} << bps::kLeasedIdBits) + 5'000);
    // Those who came meanwhile are asked for together, a second later.
    f.tenant = "erin"_n;
    CHECK(init(f).error_code == ErrorCode::coordinator_load_in_progress);
    CHECK(f.effects.calls.size() == 2);
    f.now += 1'000;
    CHECK(init(f).error_code == ErrorCode::coordinator_load_in_progress);
    CHECK(f.called<bps::actions::AddIdSpaces>().accounts == std::vector{"carol"_n, "erin"_n});
    f.refuse("all 8388607 tenants have producer ids");
    CHECK(init(f).error_code == ErrorCode::coordinator_load_in_progress);
    CHECK(f.effects.calls.size() == 3);  // Not again at once.
    f.now += 1'000;
    CHECK(init(f).error_code == ErrorCode::coordinator_load_in_progress);
    CHECK(f.called<bps::actions::AddIdSpaces>().accounts == std::vector{"erin"_n});
    f.tenant = "alice"_n;
    CHECK(init(f).producer_id == 5'001);
}

TEST_CASE("a lease that the chain refuses, or that gives nothing new, gives no ids",
          "[bps][metadata]") {
    AdminFixture f;
    init(f);
    lease(f, 5'000);
    CHECK(init(f).producer_id == 5'000);
    for (int i = 1; i < 1'000; ++i)
        init(f);
    f.now += 1'000;
    CHECK(init(f).error_code == ErrorCode::coordinator_load_in_progress);
    REQUIRE(f.effects.calls.size() == 2);
    f.refuse("all producer ids are given out");
    CHECK(init(f).error_code == ErrorCode::coordinator_load_in_progress);
    CHECK(f.effects.calls.size() == 2);  // Not again at once.
    f.now += 1'000;
    init(f);
    REQUIRE(f.effects.calls.size() == 3);
    f.finish();  // The row says 5,000 still.
    CHECK(init(f).error_code == ErrorCode::coordinator_load_in_progress);
    CHECK(init(f, "x").error_code == ErrorCode::transactional_id_authorization_failed);
    CHECK(init(f, "").error_code == ErrorCode::transactional_id_authorization_failed);
}

TEST_CASE("all that is listed is answered, but for the two of SASL", "[bps][metadata]") {
    AdminFixture f;
    const auto is_answered = [&](const bps::Request& request, std::int16_t version) {
        return f.broker->on_request(f.now, f.caller(version), request, {}, f.effects);
    };
    std::size_t answered = 0;
    const auto try_all = [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto one = [&](bps::Request request) {
            const auto version =
                std::visit([](const auto& of) { return of.kApi.version_max; }, request);
            answered += is_answered(request, version) ? 1U : 0U;
        };
        (one(bps::Request(std::in_place_index<I>)), ...);
    };
    constexpr std::size_t kListed = std::variant_size_v<bps::Request>;
    try_all(std::make_index_sequence<kListed>{});
    CHECK(answered == kListed - 2);
    CHECK_FALSE(is_answered(bps::SaslHandshakeRequest{}, 1));
    CHECK_FALSE(is_answered(bps::SaslAuthenticateRequest{}, 2));
    f.sync();
    CHECK(f.effects.replies.size() + f.effects.calls.size() >= answered);
}
