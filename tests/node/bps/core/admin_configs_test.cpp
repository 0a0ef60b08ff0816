// Settings shown and changed, as clients ask for it.
#include "node/bps/core/known_settings.hpp"
#include "tests/node/bps/core/admin_fixture.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using support::AdminFixture;
using support::outcome;
using Settings = std::vector<bps::rows::Setting>;
using Change = bps::IncrementalAlterConfigsRequest::Config;

constexpr std::int8_t kTopic = 2;
constexpr std::int8_t kBroker = 4;

struct ConfigsFixture : AdminFixture {
    void set(Settings all) {
        view.topic({.id = 5,
                    .name = "a.x",
                    .owner = "alice"_n,
                    .partitions = 2,
                    .settings = std::move(all)});
    }
    bps::DescribeConfigsResponse::Resource describe(
        std::int8_t type,
        std::string_view name,
        std::optional<std::vector<std::string_view>> keys = std::nullopt) {
        bps::DescribeConfigsRequest request;
        request.resources = {{type, name, std::move(keys)}};
        request.include_synonyms = true;
        request.include_documentation = true;
        return answer<bps::DescribeConfigsResponse>(4, request).results.at(0);
    }
    std::uint64_t replace(std::vector<bps::AlterConfigsRequest::Config> configs,
                          std::string_view name = "a.x",
                          std::int8_t type = kTopic) {
        bps::AlterConfigsRequest request;
        request.resources = {{type, name, std::move(configs)}};
        return ask(2, request);
    }
    bps::AlterConfigsResponse::Resource replaced(std::uint64_t id) {
        return decoded<bps::AlterConfigsResponse>(id, 2).responses.at(0);
    }
    std::uint64_t change(std::vector<Change> configs) {
        bps::IncrementalAlterConfigsRequest request;
        request.resources = {{kTopic, "a.x", std::move(configs)}};
        return ask(1, request);
    }
    ErrorCode changed(std::uint64_t id) {
        return decoded<bps::IncrementalAlterConfigsResponse>(id, 1).responses.at(0).error_code;
    }
};

}  // namespace

TEST_CASE("the broker accepts the settings that the contract accepts", "[bps][admin]") {
    const std::string abi = BPS_ABI;
    std::ifstream file(abi.substr(0, abi.rfind('/')) + "/settings.cpp");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::erase_if(text, [](char letter) { return letter == ' ' || letter == '\n'; });
    const auto number = [](std::int64_t value) {
        return value == INT64_MAX ? std::string("INT64_MAX") : fmt::format("{}", value);
    };
    const auto known = bps::known_settings();
    CHECK(text.find(fmt::format("std::array<Known,{}>", known.size())) != std::string::npos);
    const std::pair<std::string_view, std::string_view> written[] = {
        {"1'048'588", "1048588"},
        {"1024*1024*1024", "1073741824"},
        {"1024*1024", "1048576"},
        {"60'000", "60000"},
        {"int64_t{kReplicasMax}", "7"},
        {"{kMinInsync,", "{\"min.insync.replicas\","}};
    for (const auto& [as, value] : written) {
        // The longest product holds the others.
        for (auto at = text.find(as); at != std::string::npos; at = text.find(as, at))
            text.replace(at, as.size(), value);
    }
    for (const bps::KnownSetting& each : known) {
        const std::string values = each.values.empty() ? "{}" : fmt::format("\"{}\"", each.values);
        const std::string line = fmt::format(
            "{{\"{}\",{},{},{}}}", each.name, number(each.least), number(each.most), values);
        INFO(line);
        CHECK(text.find(line) != std::string::npos);
        const Settings as_default = {{std::string(each.name), std::string(each.otherwise)}};
        CHECK(bps::check_settings(as_default).has_value());
    }
}

TEST_CASE("a topic shows what is set and what holds otherwise", "[bps][admin]") {
    ConfigsFixture f;
    f.set({{"retention.ms", "5"}});
    const auto all = f.describe(kTopic, "a.x");
    CHECK(all.error_code == ErrorCode::none);
    REQUIRE(all.configs.size() == 14);
    const auto& retention = all.configs.at(0);
    CHECK(retention.name == "retention.ms");
    CHECK(retention.value == "5");
    CHECK(retention.config_source == 1);
    CHECK(retention.config_type == 5);
    CHECK(retention.documentation == "Age at which records are deleted; -1: never.");
    REQUIRE(retention.synonyms.size() == 2);
    CHECK(retention.synonyms[1].value == "604800000");
    CHECK(retention.synonyms[1].source == 5);
    const auto& policy = all.configs.at(2);
    CHECK(policy.value == "delete");
    CHECK(policy.config_source == 5);
    CHECK(policy.config_type == 7);
    CHECK_FALSE(policy.read_only);
    const auto some = f.describe(kTopic, "a.x", {{"flush.ms", "none.such"}});
    REQUIRE(some.configs.size() == 1);
    CHECK(some.configs[0].name == "flush.ms");
    bps::DescribeConfigsRequest plain;
    plain.resources = {{kTopic, "a.x", std::nullopt}};
    const auto old = f.answer<bps::DescribeConfigsResponse>(0, plain).results.at(0);
    CHECK_FALSE(old.configs.at(0).is_default);
    CHECK(old.configs.at(1).is_default);
    CHECK(f.describe(kTopic, "none").error_code == ErrorCode::topic_authorization_failed);
    CHECK(f.describe(3, "a.x").error_code == ErrorCode::invalid_request);
}

TEST_CASE("a broker shows what clients look for", "[bps][admin]") {
    ConfigsFixture f;
    const auto found = f.describe(kBroker, "1", {{"auto.create.topics.enable", "broker.id"}});
    REQUIRE(found.configs.size() == 2);
    CHECK(found.configs[0].value == "1");
    CHECK(found.configs[1].value == "false");
    CHECK(found.configs[1].read_only);
    CHECK(f.describe(kBroker, "2").error_code == ErrorCode::invalid_request);
    CHECK(f.describe(kBroker, "").error_code == ErrorCode::invalid_request);
    CHECK(f.describe(kBroker, "1x").error_code == ErrorCode::invalid_request);
    // A topic and a broker of one name are two things; one that is named twice is not.
    f.view.topic({.id = 6, .name = "1", .owner = "alice"_n, .partitions = 1, .settings = {}});
    bps::DescribeConfigsRequest request;
    request.resources = {{kTopic, "1", {}}, {kBroker, "1", {}}};
    for (const auto& each : f.answer<bps::DescribeConfigsResponse>(4, request).results)
        CHECK(each.error_code == ErrorCode::none);
    request.resources = {{kTopic, "1", {}}, {kTopic, "1", {}}};
    for (const auto& each : f.answer<bps::DescribeConfigsResponse>(4, request).results)
        CHECK(each.error_code == ErrorCode::invalid_request);
}

TEST_CASE("AlterConfigs replaces all settings", "[bps][admin]") {
    ConfigsFixture f;
    f.set({{"retention.ms", "5"}, {"segment.bytes", "1048576"}});
    const auto id = f.replace({{"cleanup.policy", "compact"}});
    const auto action = f.called<bps::actions::AlterTopic>();
    CHECK(action.by == "broker1"_n);
    CHECK(action.topic == 5);
    CHECK(action.settings == Settings{{"cleanup.policy", "compact"}});
    // What starts from the same settings waits its turn.
    CHECK(f.replaced(f.replace({})).error_code == ErrorCode::request_timed_out);
    f.finish();
    const auto done = f.replaced(id);
    CHECK(done.error_code == ErrorCode::none);
    CHECK(done.resource_type == kTopic);
    CHECK(done.resource_name == "a.x");
    // What is so already is no action.
    CHECK(f.replaced(f.replace({{"segment.bytes", "1048576"}, {"retention.ms", "5"}})).error_code ==
          ErrorCode::none);
    CHECK(f.effects.calls.size() == 1);
    const auto late = f.replace({});
    f.pass(24'999);
    CHECK_FALSE(f.reply(late).has_value());
    f.pass(1);
    CHECK(f.replaced(late).error_code == ErrorCode::request_timed_out);
}

TEST_CASE("settings that cannot be are refused before the chain is asked", "[bps][admin]") {
    ConfigsFixture f;
    CHECK(f.replaced(f.replace({{"flush.ms", std::nullopt}})).error_code ==
          ErrorCode::invalid_config);
    CHECK(f.replaced(f.replace({{"segment.index.bytes", "1"}})).error_code ==
          ErrorCode::invalid_config);
    CHECK(f.replaced(f.replace({}, "none")).error_code == ErrorCode::topic_authorization_failed);
    CHECK(f.replaced(f.replace({}, "1", kBroker)).error_code == ErrorCode::invalid_request);
    f.view.delegate("alice"_n, {"grant"_n});
    CHECK(outcome(f.replaced(f.replace({{"flush.ms", "1"}}))).second ==
          "alice has not delegated altertopic of a.x to broker 1: type bor-cli bps delegate alice "
          "1 altertopic --prefix a.x");
    f.tenant = "bob"_n;
    CHECK(f.replaced(f.replace({{"flush.ms", "1"}})).error_code ==
          ErrorCode::topic_authorization_failed);
    CHECK(f.effects.calls.empty());
}

TEST_CASE("IncrementalAlterConfigs changes what it names", "[bps][admin]") {
    ConfigsFixture f;
    f.set({{"retention.ms", "5"}, {"segment.bytes", "1048576"}});
    const auto settings_after = [&](std::vector<Change> changes) {
        const auto id = f.change(std::move(changes));
        const auto action = f.called<bps::actions::AlterTopic>();
        f.finish();
        CHECK(f.changed(id) == ErrorCode::none);
        f.set(action.settings);
        return action.settings;
    };
    CHECK(settings_after({{"retention.ms", 0, "6"}, {"segment.bytes", 1, {}}}) ==
          Settings{{"retention.ms", "6"}});
    CHECK(settings_after({{"cleanup.policy", 2, "compact"}}) ==
          Settings{{"retention.ms", "6"}, {"cleanup.policy", "compact,delete"}});
    CHECK(settings_after({{"cleanup.policy", 3, "delete"}, {"retention.ms", 1, {}}}) ==
          Settings{{"cleanup.policy", "compact"}});
    const auto calls = f.effects.calls.size();
    CHECK(f.changed(f.change({{"cleanup.policy", 2, "compact"}})) == ErrorCode::none);
    CHECK(f.changed(f.change({{"cleanup.policy", 3, "compact"}})) == ErrorCode::invalid_config);
    CHECK(f.changed(f.change({{"retention.ms", 2, "1"}})) == ErrorCode::invalid_config);
    CHECK(f.changed(f.change({{"retention.ms", 0, {}}})) == ErrorCode::invalid_config);
    CHECK(f.changed(f.change({{"retention.ms", 4, "1"}})) == ErrorCode::invalid_request);
    CHECK(f.changed(f.change({{"retention.ms", -1, "1"}})) == ErrorCode::invalid_request);
    CHECK(f.changed(f.change({{"none.such", 1, {}}})) == ErrorCode::invalid_config);
    CHECK(f.changed(f.change({{"none.such", 2, "a"}})) == ErrorCode::invalid_config);
    CHECK(f.changed(f.change({{"flush.ms", 0, "1"}, {"flush.ms", 1, {}}})) ==
          ErrorCode::invalid_request);
    CHECK(f.effects.calls.size() == calls);
    bps::IncrementalAlterConfigsRequest request;
    request.resources = {{kTopic, "a.x", {{"flush.ms", 0, "1"}}}};
    request.validate_only = true;
    CHECK(f.changed(f.ask(1, request)) == ErrorCode::none);
    CHECK(f.effects.calls.size() == calls);
}
