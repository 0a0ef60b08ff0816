// Options of the broker: what is wrong, alone or together, is named with its remedy.
#include "node/broker_settings.hpp"

#include <catch2/catch.hpp>

namespace {

node::BrokerSettings good() {
    node::BrokerSettings settings;
    settings.is_on = true;
    settings.id = 1;
    settings.contract = "bps";
    settings.account = "broker1";
    settings.key_file = "broker.key";
    settings.listen = "127.0.0.1:9092";
    settings.directory = "bps";
    return settings;
}

std::string refusal(void (*change)(node::BrokerSettings&)) {
    node::BrokerSettings settings = good();
    change(settings);
    const auto checked = node::check_broker(settings);
    return checked ? "" : checked.error().detail;
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

using Settings = node::BrokerSettings;

}  // namespace

TEST_CASE("a broker has a number, an account and a key") {
    CHECK(node::check_broker(good()));
    CHECK(node::check_broker(node::BrokerSettings()));
    CHECK(has(refusal([](Settings& all) { all.is_on = false; }), "no use without plugin = bps"));
    CHECK(has(refusal([](Settings& all) { all.id = -1; }), "needs bps-broker = ID"));
    CHECK(has(refusal([](Settings& all) { all.id = 1LL << 31U; }), "needs bps-broker = ID"));
    CHECK(has(refusal([](Settings& all) { all.account = ""; }), "needs bps-account ="));
    CHECK(has(refusal([](Settings& all) { all.account = "Broker"; }), "bps-account = Broker:"));
    CHECK(has(refusal([](Settings& all) { all.account = "a@B"; }), "bps-account = a@B:"));
    CHECK(has(refusal([](Settings& all) { all.key_file = ""; }), "needs bps-account-key = FILE"));
    CHECK(has(refusal([](Settings& all) { all.contract = "BPS"; }), "bps-contract = BPS:"));
    CHECK(has(refusal([](Settings& all) { all.anonymous = "@active"; }), "bps-anonymous = @act"));
    CHECK(has(refusal([](Settings& all) { all.anonymous = "a@"; }), "after @ comes a permission"));
}

TEST_CASE("tokens do not go in clear, and clients are told where they can connect") {
    CHECK(has(refusal([](Settings& all) { all.listen = "9092"; }), "bps-listen-endpoint ="));
    CHECK(has(refusal([](Settings& all) { all.listen = "127.0.0.1:0"; }), "from 1 to 65535"));
    CHECK(has(refusal([](Settings& all) { all.listen = "10.0.0.1:9092"; }), "tokens in clear"));
    CHECK(has(refusal([](Settings& all) { all.tls_cert = "c"; }), "belong together"));
    CHECK(has(refusal([](Settings& all) { all.tls_key = "k"; }), "belong together"));
    const auto with_tls = [](Settings& all) {
        all.tls_cert = "c";
        all.tls_key = "k";
        all.listen = "0.0.0.0:9092";
    };
    CHECK(has(refusal(with_tls), "bps-advertised-endpoint = 0.0.0.0:9092: no client can"));
    Settings settings = good();
    with_tls(settings);
    settings.advertised = "broker.example:9092";
    CHECK(node::check_broker(settings));
    CHECK(settings.told_address() == "broker.example:9092");
    CHECK(has(refusal([](Settings& all) { all.advertised = "broker"; }),
              "bps-advertised-endpoint ="));
}

TEST_CASE("an account without a permission means its active one") {
    CHECK(node::principal_from("alice") ==
          chain::PermissionLevel{*chain::Name::from_string("alice"),
                                 *chain::Name::from_string("active")});
    CHECK(node::principal_from("alice@owner")->permission.to_string() == "owner");
    CHECK_FALSE(node::principal_from("alice@owner@x").has_value());
}
