// Topics made, deleted and given more partitions, as clients ask for it.
#include "tests/node/bps/core/admin_fixture.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using support::AdminFixture;
using support::outcome;
using Topic = bps::CreateTopicsRequest::Topic;

Topic topic_of(std::string_view name, std::int32_t partitions = -1, std::int16_t factor = -1) {
    return {.name = name,
            .num_partitions = partitions,
            .replication_factor = factor,
            .assignments = {},
            .configs = {}};
}
std::vector<std::string> names_of(int count) {
    std::vector<std::string> names;
    names.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
        names.push_back("a." + std::to_string(i));
    return names;
}
// They borrow the names.
std::vector<Topic> topics_of(const std::vector<std::string>& names) {
    std::vector<Topic> topics;
    topics.reserve(names.size());
    for (const std::string& name : names)
        topics.push_back(topic_of(name));
    return topics;
}
bps::CreateTopicsRequest create(std::vector<Topic> topics) {
    bps::CreateTopicsRequest request;
    request.timeout_ms = 1'000;
    request.topics = std::move(topics);
    return request;
}
// What a topic is refused with at once.
std::pair<ErrorCode, std::string> refusal(AdminFixture& f, const Topic& topic) {
    const auto calls = f.effects.calls.size();
    const auto response = f.answer<bps::CreateTopicsResponse>(5, create({topic}));
    CHECK(f.effects.calls.size() == calls);
    CHECK(response.topics.at(0).num_partitions == -1);
    CHECK_FALSE(response.topics.at(0).configs.has_value());
    return outcome(response.topics.at(0));
}
ErrorCode code(AdminFixture& f, const Topic& topic) {
    return refusal(f, topic).first;
}
bps::CreatePartitionsResponse::Topic more(AdminFixture& f,
                                          std::string_view name,
                                          std::int32_t count,
                                          bool only_validates = false) {
    bps::CreatePartitionsRequest request;
    request.topics = {{name, count, std::nullopt}};
    request.timeout_ms = 1'000;
    request.validate_only = only_validates;
    return f.answer<bps::CreatePartitionsResponse>(3, request).results.at(0);
}

}  // namespace

TEST_CASE("a topic is made once the chain says so", "[bps][admin]") {
    AdminFixture f;
    f.view.broker(2);
    Topic topic = topic_of("a.new", 3, 2);
    topic.configs = {{"retention.ms", "5"}, {"flush.ms", "1"}};
    const auto id = f.ask(5, create({topic}));
    CHECK_FALSE(f.reply(id).has_value());
    const auto action = f.called<bps::actions::CreateTopic>();
    CHECK(action.by == "broker1"_n);
    CHECK(action.owner == "alice"_n);
    CHECK(action.name == "a.new");
    CHECK(action.settings ==
          std::vector<bps::rows::Setting>{{"retention.ms", "5"}, {"flush.ms", "1"}});
    CHECK(action.assignment == bps::actions::Assignment{{{1, 2}}, {{2, 1}}, {{1, 2}}});
    f.finish();
    const auto made = f.decoded<bps::CreateTopicsResponse>(id, 5).topics.at(0);
    CHECK(outcome(made) == std::pair{ErrorCode::none, std::string()});
    CHECK(made.num_partitions == 3);
    CHECK(made.replication_factor == 2);
    REQUIRE((made.configs && made.configs->size() == 14));
    CHECK(made.configs->at(0).name == "retention.ms");
    CHECK(made.configs->at(0).value == "5");
    CHECK(made.configs->at(0).config_source == 1);
    CHECK(made.configs->at(1).value == "-1");
    CHECK(made.configs->at(1).config_source == 5);
    CHECK_FALSE(f.broker->next_time().has_value());
    CHECK(f.broker->admin().chain().waiting() == 0);
}

TEST_CASE("who leaves it to the broker gets one partition on the live brokers with the fewest",
          "[bps][admin]") {
    AdminFixture f;
    f.ask(5, create({topic_of("a.new")}));
    CHECK(f.called<bps::actions::CreateTopic>().assignment == bps::actions::Assignment{{{1}}});
    for (const std::int32_t id : {2, 3, 4, 5, 6})
        f.view.broker(id);
    auto full = f.view.broker_row(2);
    full.replicas = 7;
    f.view.broker(full);
    auto away = f.view.broker_row(3);
    away.fenced = true;
    f.view.broker(away);
    auto leaving = f.view.broker_row(4);
    leaving.draining = true;
    f.view.broker(leaving);
    f.ask(5, create({topic_of("a.newer", 2)}));
    CHECK(f.called<bps::actions::CreateTopic>().assignment ==
          bps::actions::Assignment{{{1}}, {{5}}});
}

TEST_CASE("what the chain says, or does not say in time, is the answer", "[bps][admin]") {
    AdminFixture f;
    const auto refused = f.ask(5, create({topic_of("a.one")}));
    f.refuse("alice would have 10001 topics");
    CHECK(outcome(f.decoded<bps::CreateTopicsResponse>(refused, 5).topics.at(0)) ==
          std::pair{ErrorCode::policy_violation, std::string("alice would have 10001 topics")});
    const auto late = f.ask(5, create({topic_of("a.two"), topic_of("bad/name")}));
    f.pass(999);
    CHECK_FALSE(f.reply(late).has_value());
    f.pass(1);
    const auto topics = f.decoded<bps::CreateTopicsResponse>(late, 5).topics;
    CHECK(topics.at(0).error_code == ErrorCode::request_timed_out);
    CHECK(topics.at(1).error_code == ErrorCode::invalid_topic_exception);
    CHECK(f.broker->admin().chain().in_flight() == 1);
    f.finish();  // Nobody waits for it.
    CHECK(f.broker->admin().chain().in_flight() == 0);
    f.ask(5, create({topic_of("a.three")}));
    f.broker->on_closed(f.now, 1);
    f.broker->check_invariants();
    f.finish();
    CHECK(f.effects.replies.empty());
    CHECK_FALSE(f.broker->next_time().has_value());
}

TEST_CASE("two who make the same topic at once: one makes it, the other finds it", "[bps][admin]") {
    AdminFixture f;
    const auto first = f.ask(5, create({topic_of("a.new")}));
    const auto second = f.ask(5, create({topic_of("a.new"), topic_of("a.other")}));
    REQUIRE(f.effects.calls.size() == 2);
    f.finish(f.effects.calls[0].ticket);
    CHECK(f.decoded<bps::CreateTopicsResponse>(first, 5).topics.at(0).error_code ==
          ErrorCode::none);
    CHECK_FALSE(f.reply(second).has_value());
    f.finish(f.effects.calls[1].ticket);
    const auto topics = f.decoded<bps::CreateTopicsResponse>(second, 5).topics;
    CHECK(topics.at(0).error_code == ErrorCode::topic_already_exists);
    CHECK(topics.at(1).error_code == ErrorCode::none);
    // One that is refused is refused for both.
    const auto third = f.ask(5, create({topic_of("a.third")}));
    const auto fourth = f.ask(5, create({topic_of("a.third")}));
    f.refuse("no");
    for (const auto id : {third, fourth}) {
        CHECK(f.decoded<bps::CreateTopicsResponse>(id, 5).topics.at(0).error_code ==
              ErrorCode::policy_violation);
    }
}

TEST_CASE("a topic that cannot be is refused before the chain is asked", "[bps][admin]") {
    AdminFixture f;
    CHECK(code(f, topic_of("")) == ErrorCode::invalid_topic_exception);
    CHECK(code(f, topic_of("..")) == ErrorCode::invalid_topic_exception);
    CHECK(code(f, topic_of("a b")) == ErrorCode::invalid_topic_exception);
    CHECK(code(f, topic_of(std::string(250, 'a'))) == ErrorCode::invalid_topic_exception);
    CHECK(code(f, topic_of("a.x")) == ErrorCode::topic_already_exists);
    CHECK(code(f, topic_of("t")) == ErrorCode::topic_already_exists);
    CHECK(code(f, topic_of("a.n", 0)) == ErrorCode::invalid_partitions);
    CHECK(code(f, topic_of("a.n", -2)) == ErrorCode::invalid_partitions);
    CHECK(refusal(f, topic_of("a.n", 257)) ==
          std::pair{ErrorCode::invalid_partitions,
                    std::string("a topic has 1 to 256 partitions, not 257")});
    CHECK(code(f, topic_of("a.n", 1, 0)) == ErrorCode::invalid_replication_factor);
    CHECK(code(f, topic_of("a.n", 1, 2)) == ErrorCode::invalid_replication_factor);
    CHECK(code(f, topic_of("__a")) == ErrorCode::topic_authorization_failed);
    f.view.topic({.id = 9, .name = "c.x", .owner = "carol"_n, .partitions = 1, .settings = {}});
    CHECK(code(f, topic_of("c.x")) == ErrorCode::topic_authorization_failed);
    f.view.put(bps::rows::Prefix{.id = 1, .owner = "carol"_n, .prefix = "carol."}, 1);
    CHECK(code(f, topic_of("carol.x")) == ErrorCode::topic_authorization_failed);
    f.tenant = "carol"_n;
    CHECK(refusal(f, topic_of("carol.x")) ==
          std::pair{ErrorCode::policy_violation,
                    std::string("carol has not delegated createtopic of carol.x to broker 1: type "
                                "bor-cli bps delegate carol 1 createtopic --prefix "
                                "carol.x")});
    // Some clients show the code alone; who reads the log sees why.
    const auto reply = f.reply(f.ask(5, create({topic_of("carol.x")})));
    REQUIRE(reply);
    CHECK(reply->refusal.starts_with("carol has not delegated createtopic of carol.x"));
}

TEST_CASE("settings that are not carried out are no settings", "[bps][admin]") {
    AdminFixture f;
    const auto with = [&](std::string_view name, std::optional<std::string_view> value) {
        Topic topic = topic_of("a.n");
        topic.configs = {{name, value}};
        return refusal(f, topic);
    };
    CHECK(with("preallocate", "true") ==
          std::pair{ErrorCode::invalid_config,
                    std::string("the setting 'preallocate' is not one that the broker carries "
                                "out: leave it out")});
    CHECK(with("retention.ms", "05").first == ErrorCode::invalid_config);
    CHECK(with("retention.ms", "-2").first == ErrorCode::invalid_config);
    CHECK(with("retention.ms", "").first == ErrorCode::invalid_config);
    CHECK(with("retention.ms", std::nullopt).first == ErrorCode::invalid_config);
    CHECK(with("cleanup.policy", "delete|compact").first == ErrorCode::invalid_config);
    CHECK(with("min.insync.replicas", "8").first == ErrorCode::invalid_config);
    CHECK(with("bor.acks", "final").first == ErrorCode::invalid_config);
    Topic twice = topic_of("a.n");
    twice.configs = {{"retention.ms", "1"}, {"retention.ms", "1"}};
    CHECK(code(f, twice) == ErrorCode::invalid_config);
}

TEST_CASE("replicas that are given are those of brokers that take them", "[bps][admin]") {
    AdminFixture f;
    f.view.broker(2);
    auto draining = f.view.broker_row(3);
    draining.draining = true;
    f.view.broker(draining);
    const auto with = [&](std::vector<bps::CreateTopicsRequest::Assignment> replicas,
                          std::int32_t partitions = -1) {
        Topic topic = topic_of("a.n", partitions);
        topic.assignments = std::move(replicas);
        return topic;
    };
    CHECK(code(f, with({{0, {1}}}, 1)) == ErrorCode::invalid_request);
    CHECK(code(f, with({{1, {1}}})) == ErrorCode::invalid_replica_assignment);
    CHECK(code(f, with({{0, {1}}, {0, {1}}})) == ErrorCode::invalid_replica_assignment);
    CHECK(code(f, with({{0, {}}})) == ErrorCode::invalid_replica_assignment);
    CHECK(code(f, with({{0, {1, 1}}})) == ErrorCode::invalid_replica_assignment);
    CHECK(code(f, with({{0, {7}}})) == ErrorCode::invalid_replica_assignment);
    CHECK(code(f, with({{0, {3}}})) == ErrorCode::invalid_replica_assignment);
    CHECK(code(f, with({{0, {1, 2, 3, 4, 5, 6, 7, 8}}})) == ErrorCode::invalid_replica_assignment);
    f.ask(5, create({with({{1, {2}}, {0, {1, 2}}})}));
    CHECK(f.called<bps::actions::CreateTopic>().assignment ==
          bps::actions::Assignment{{{1, 2}}, {{2}}});
}

TEST_CASE("who only asks whether it could be changes nothing", "[bps][admin]") {
    AdminFixture f;
    auto request = create({topic_of("a.n", 2), topic_of("a.x")});
    request.validate_only = true;
    const auto topics = f.answer<bps::CreateTopicsResponse>(5, request).topics;
    CHECK(topics.at(0).error_code == ErrorCode::none);
    CHECK(topics.at(0).num_partitions == 2);
    CHECK(topics.at(1).error_code == ErrorCode::topic_already_exists);
    CHECK(more(f, "a.x", 3, true).error_code == ErrorCode::none);
    CHECK(f.effects.calls.empty());
}

TEST_CASE("what is named twice, or with too many others, is refused", "[bps][admin]") {
    AdminFixture f;
    const auto id = f.ask(5, create({topic_of("a.n"), topic_of("a.m"), topic_of("a.n")}));
    f.finish();
    const auto topics = f.decoded<bps::CreateTopicsResponse>(id, 5).topics;
    CHECK(topics.at(0).error_code == ErrorCode::invalid_request);
    CHECK(topics.at(1).error_code == ErrorCode::none);
    CHECK(topics.at(2).error_code == ErrorCode::invalid_request);
    CHECK(f.effects.calls.size() == 1);
    const std::vector<std::string> names = names_of(1'001);
    const std::vector<Topic> many = topics_of(names);
    const auto all = f.answer<bps::CreateTopicsResponse>(5, create(many)).topics;
    REQUIRE(all.size() == 1'001);
    for (const auto& topic : all)
        CHECK(topic.error_code == ErrorCode::invalid_request);
}

TEST_CASE("a tenant fills its share of what waits for the chain, and no more", "[bps][admin]") {
    AdminFixture f;
    const std::vector<std::string> names = names_of(300);
    const std::vector<Topic> many = topics_of(names);
    const auto id = f.ask(5, create(many));
    CHECK(f.effects.calls.size() == 256);
    CHECK(code(f, topic_of("a.more")) == ErrorCode::request_timed_out);
    f.tenant = "bob"_n;
    f.view.delegate("bob"_n, {"createtopic"_n});
    f.ask(5, create({topic_of("bobs")}));
    CHECK(f.effects.calls.size() == 257);
    for (std::size_t i = 0; i < 256; ++i)
        f.finish(f.effects.calls[i].ticket);
    const auto topics = f.decoded<bps::CreateTopicsResponse>(id, 5).topics;
    CHECK(topics.at(255).error_code == ErrorCode::none);
    CHECK(topics.at(256).error_code == ErrorCode::request_timed_out);
    // When the request is over, what it asked for still counts until the chain has said.
    f.tenant = "alice"_n;
    f.ask(5, create(many));
    f.pass(1'000);
    CHECK(code(f, topic_of("a.more")) == ErrorCode::request_timed_out);
    f.finish();
    f.ask(5, create({topic_of("a.more")}));
    CHECK(f.called<bps::actions::CreateTopic>().name == "a.more");
}

TEST_CASE("a topic is deleted by who may, and there is no telling what else there is",
          "[bps][admin]") {
    AdminFixture f;
    bps::DeleteTopicsRequest request;
    request.topic_names = {"a.x", "none", "c.x", "t"};
    request.timeout_ms = 1'000;
    f.view.topic({.id = 9, .name = "c.x", .owner = "carol"_n, .partitions = 1, .settings = {}});
    f.view.revoke("alice"_n, bps::rows::Operation::admin);
    const auto id = f.ask(5, request);
    REQUIRE(f.effects.calls.size() == 1);
    CHECK(f.called<bps::actions::DeleteTopic>().topic == 5);
    CHECK(f.called<bps::actions::DeleteTopic>().by == "broker1"_n);
    f.finish();
    const auto items = f.decoded<bps::DeleteTopicsResponse>(id, 5).responses;
    CHECK(items.at(0).error_code == ErrorCode::none);
    CHECK(outcome(items.at(1)) ==
          std::pair{ErrorCode::topic_authorization_failed,
                    std::string("there is no topic none, or you may not do this with it")});
    CHECK(outcome(items.at(2)) ==
          std::pair{ErrorCode::topic_authorization_failed,
                    std::string("there is no topic c.x, or you may not do this with it")});
    CHECK(items.at(3).error_code == ErrorCode::topic_authorization_failed);
    f.view.delegate("alice"_n, {"createtopic"_n});
    request.topic_names = {"a.x"};
    CHECK(f.answer<bps::DeleteTopicsResponse>(5, request).responses.at(0).error_code ==
          ErrorCode::policy_violation);
    request.topic_names = {"a.x", "a.x"};
    CHECK(f.answer<bps::DeleteTopicsResponse>(5, request).responses.at(1).error_code ==
          ErrorCode::invalid_request);
}

TEST_CASE("a topic gets more partitions, never fewer", "[bps][admin]") {
    AdminFixture f;
    f.view.broker(2);
    f.view.partition({5, 0}, 3, {1, 2});
    CHECK(more(f, "a.x", 2).error_code == ErrorCode::invalid_partitions);
    CHECK(outcome(more(f, "a.x", 1)) ==
          std::pair{ErrorCode::invalid_partitions,
                    std::string("a.x has 2 partitions; it can have more, up to 256, but not 1")});
    CHECK(more(f, "a.x", 257).error_code == ErrorCode::invalid_partitions);
    CHECK(more(f, "none", 3).error_code == ErrorCode::topic_authorization_failed);
    bps::CreatePartitionsRequest request;
    request.topics = {{"a.x", 3, {{{{1}}, {{2}}}}}};
    CHECK(f.answer<bps::CreatePartitionsResponse>(3, request).results.at(0).error_code ==
          ErrorCode::invalid_replica_assignment);
    request.topics = {{"a.x", 3, {{{{9}}}}}};
    CHECK(f.answer<bps::CreatePartitionsResponse>(3, request).results.at(0).error_code ==
          ErrorCode::invalid_replica_assignment);
    request.topics = {{"a.x", 4, std::nullopt}};
    request.timeout_ms = 1'000;
    const auto id = f.ask(3, request);
    const auto action = f.called<bps::actions::AddParts>();
    CHECK(action.topic == 5);
    CHECK(action.assignment == bps::actions::Assignment{{{1, 2}}, {{2, 1}}});
    // It says how many more: a second one now would come on top.
    CHECK(more(f, "a.x", 4).error_code == ErrorCode::request_timed_out);
    f.finish();
    CHECK(f.decoded<bps::CreatePartitionsResponse>(id, 3).results.at(0).error_code ==
          ErrorCode::none);
    request.topics = {{"a.x", 3, {{{{2}}}}}};
    f.ask(3, request);
    CHECK(f.called<bps::actions::AddParts>().assignment == bps::actions::Assignment{{{2}}});
}
