// Runs the contract intrinsics on the interpreter and compares its console, result or failure with
// expected.json, which Python's own arithmetic made.
#include "ledger.hpp"
#include "tests/support/paths.hpp"

#include <nlohmann/json.hpp>

namespace {

using support::Arguments;
using support::Ledger;
using namespace chain::literals;  // NOLINT(google-build-using-namespace): for names.

constexpr chain::Name kAccount = "intrinsics"_n;

nlohmann::json expectations() {
    std::ifstream in(tests::data_dir() + "/contracts/intrinsics/expected.json");
    return nlohmann::json::parse(in);
}

chain::Name name_of(const nlohmann::json& text) {
    return chain::Name::from_string(text.get<std::string>()).value();
}

void check_error(const nlohmann::json& expected, const chain::TransactionTrace& trace) {
    REQUIRE(trace.except.has_value());
    const std::string message = Ledger::failure(trace);
    CHECK(message.find("the host let it pass") == std::string::npos);
    CHECK(message.find("no such case") == std::string::npos);
    if (expected.contains("message")) CHECK(message == expected["message"].get<std::string>());
    if (expected.contains("code")) {
        CHECK(static_cast<std::uint32_t>(trace.except->code) ==
              expected["code"].get<std::uint32_t>());
    }
}

void check_entry(Ledger& ledger, const nlohmann::json& entry) {
    INFO(entry["name"].get<std::string>());
    const base::Bytes data = base::from_hex(entry["data"].get<std::string>()).value();
    const chain::TransactionTrace trace =
        ledger.push(kAccount, name_of(entry["action"]), kAccount, data);
    if (entry.contains("error")) {
        check_error(entry["error"], trace);
        return;
    }
    INFO(Ledger::failure(trace));
    REQUIRE_FALSE(trace.except.has_value());
    const chain::ActionTrace& action = trace.action_traces.at(0);
    if (entry.contains("console")) CHECK(action.console == entry["console"].get<std::string>());
    if (entry.contains("result")) {
        CHECK(base::to_hex(action.return_value) == entry["result"].get<std::string>());
    }
}

}  // namespace

TEST_CASE("host functions do what Antelope's do") {
    Ledger ledger;
    ledger.deploy(kAccount, "intrinsics");
    for (const nlohmann::json& entry : expectations())
        check_entry(ledger, entry);
}

TEST_CASE("inline actions run after their sender, in its name, four levels deep") {
    Ledger ledger;
    ledger.deploy(kAccount, "intrinsics");
    const auto trace =
        ledger.push(kAccount, "sendinline"_n, kAccount, Arguments().integer(std::uint32_t{3}));
    Ledger::require_success(trace);
    REQUIRE(trace.action_traces.size() == 4);
    CHECK(trace.action_traces[3].console == "depth 0\n");
    CHECK(trace.action_traces[3].creator_action_ordinal == 3);
    const auto deep =
        ledger.push(kAccount, "sendinline"_n, kAccount, Arguments().integer(std::uint32_t{9}));
    CHECK(Ledger::failure(deep).find("max inline action depth") != std::string::npos);
}

TEST_CASE("a context-free inline action runs without authorization") {
    Ledger ledger;
    ledger.deploy(kAccount, "intrinsics");
    // actioninfo asks for the sender, which context-free actions may.
    const auto trace = ledger.push(kAccount, "sendcfa"_n, kAccount, Arguments().text("free"));
    INFO(Ledger::failure(trace));
    REQUIRE(trace.action_traces.size() == 2);
    CHECK(trace.action_traces[1].context_free);
}

TEST_CASE("each notified account is notified once") {
    Ledger ledger;
    ledger.deploy(kAccount, "intrinsics");
    ledger.create("alice"_n);
    ledger.create("bob"_n);
    const auto trace =
        ledger.push(kAccount, "notify"_n, kAccount, Arguments().name("alice"_n).name("bob"_n));
    Ledger::require_success(trace);
    REQUIRE(trace.action_traces.size() == 3);
    CHECK(trace.action_traces[1].receiver == "alice"_n);
    CHECK(trace.action_traces[2].receiver == "bob"_n);
}

TEST_CASE("a deferred transaction is not sent, and its sender goes on") {
    Ledger ledger;
    ledger.deploy(kAccount, "intrinsics");
    const auto trace = ledger.push(kAccount, "deferred"_n, kAccount, {});
    Ledger::require_success(trace);
    CHECK(trace.action_traces.size() == 1);
}

TEST_CASE("privileged functions are for privileged accounts") {
    Ledger ledger;
    ledger.deploy(kAccount, "intrinsics");
    const base::Bytes of_self = Arguments().name(kAccount);
    CHECK_FALSE(Ledger::failure(ledger.push(kAccount, "limits"_n, kAccount, of_self)).empty());
    CHECK_FALSE(Ledger::failure(ledger.push(kAccount, "params"_n, kAccount, {})).empty());

    ledger.make_privileged(kAccount);
    const auto limits = ledger.push(kAccount, "limits"_n, kAccount, of_self);
    Ledger::require_success(limits);
    CHECK(limits.action_traces[0].console == "privileged true -1 -1 -1\n");
    const auto params = ledger.push(kAccount, "params"_n, kAccount, {});
    Ledger::require_success(params);
    CHECK(params.action_traces[0].console ==
          "authority depth 6 wasm 48 return value 011100010000\n");
}

TEST_CASE("a permission is satisfied by the permissions it names") {
    Ledger ledger;
    ledger.deploy(kAccount, "intrinsics");
    const auto permitted = [&](chain::Name permission) {
        const auto trace = ledger.push(kAccount,
                                       "permitted"_n,
                                       kAccount,
                                       Arguments()
                                           .name(kAccount)
                                           .name("active"_n)
                                           .integer(std::uint8_t{0})
                                           .integer(std::uint8_t{1})
                                           .name(kAccount)
                                           .name(permission)
                                           .integer(std::uint64_t{0}));
        Ledger::require_success(trace);
        return base::to_hex(trace.action_traces[0].return_value);
    };
    CHECK(permitted("eosio.code"_n) == "01");
    CHECK(permitted("other"_n) == "00");
}
