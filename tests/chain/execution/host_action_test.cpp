// What an action learns of itself, and whose authority it asks for.
#include "base/crypto/hash.hpp"
#include "host_fixture.hpp"

using chain::Exception;
using host_test::failed;
using host_test::Host;
using namespace chain::literals;

namespace {

using std::uint32_t;
using std::uint64_t;

constexpr uint32_t kOut = 2000;
constexpr uint64_t kAlice = ("alice"_n).value;
constexpr uint64_t kActive = ("active"_n).value;

chain::Action with_data(std::string_view data) {
    return {"contract"_n, "act"_n, {{"alice"_n, "active"_n}}, base::to_bytes(base::as_bytes(data))};
}

}  // namespace

TEST_CASE("action data is copied as far as there is room") {
    Host host({.action = with_data("payload")});
    CHECK(host.i32("action_data_size") == 7);
    CHECK(host.i32("read_action_data", {kOut, 0}) == 7);
    CHECK(host.i32("read_action_data", {kOut, 3}) == 3);
    CHECK(host.hex(kOut, 4) == "70617900");
    CHECK(host.i32("read_action_data", {kOut, 100}) == 7);
    CHECK(host.hex(kOut, 8) == "7061796c6f616400");
    Host empty;
    CHECK(empty.i32("action_data_size") == 0);
    CHECK(empty.i32("read_action_data", {kOut, 100}) == 0);
}

TEST_CASE("action data wants a place that exists") {
    Host host({.action = with_data("payload")});
    CHECK_FALSE(host.call("read_action_data", {Host::kMemory - 3, 4}).has_value());
    CHECK(host.failure() == failed(Exception::wasm_execution_error, "access violation"));
}

TEST_CASE("the receiver is whose code runs, the sender whose action this is") {
    Host host({.receiver = "other"_n});
    CHECK(host.call("current_receiver") == ("other"_n).value);
    CHECK(host.call("get_sender") == uint64_t{0});
}

TEST_CASE("an inline action knows its sender") {
    Host host;
    const uint32_t ordinal =
        host.transaction->schedule_action({"other"_n, "act"_n, {}, {}}, "other"_n, false, 1, 1);
    chain::ApplyContext inner(*host.transaction, ordinal, 1);
    const auto& table = chain::host_table();
    uint64_t sender = 0;
    REQUIRE(
        table.at(*table.find("get_sender")).call(inner, host.memory, host.meter, nullptr, &sender));
    CHECK(sender == ("contract"_n).value);
}

TEST_CASE("authority that the action declares is there") {
    Host host;
    CHECK(host.call("require_auth", {kAlice}).has_value());
    CHECK(host.call("require_auth2", {kAlice, kActive}).has_value());
    CHECK(host.i32("has_auth", {kAlice}) == 1);
    CHECK(host.i32("has_auth", {("bob"_n).value}) == 0);
}

TEST_CASE("authority that it does not declare is missing") {
    Host host;
    CHECK_FALSE(host.call("require_auth", {("bob"_n).value}).has_value());
    CHECK(host.failure() == failed(Exception::missing_auth_exception, "missing authority of bob"));
    Host other;
    CHECK_FALSE(other.call("require_auth2", {kAlice, ("owner"_n).value}).has_value());
    CHECK(other.failure() ==
          failed(Exception::missing_auth_exception, "missing authority of alice/owner"));
}

TEST_CASE("accounts exist or not") {
    Host host;
    CHECK(host.i32("is_account", {kAlice}) == 1);
    CHECK(host.i32("is_account", {("nobody"_n).value}) == 0);
}

TEST_CASE("a recipient is notified once") {
    Host host;
    REQUIRE(host.call("require_recipient", {("bob"_n).value}).has_value());
    REQUIRE(host.call("require_recipient", {("bob"_n).value}).has_value());
    CHECK(host.context->has_recipient("bob"_n));
    CHECK(host.transaction->trace_of(2).receiver == "bob"_n);
}

TEST_CASE("the hash of code comes with how often it changed") {
    Host host;
    chain::AccountRow& row = host.transaction->change_account("other"_n);
    row.code_sequence = 3;
    row.code_hash = base::crypto::sha256(base::as_bytes("code"));
    const uint64_t other = ("other"_n).value;
    CHECK(host.i32("get_code_hash", {other, 0, kOut, 43}) == 43);
    CHECK(host.hex(kOut, 43) == "000300000000000000" + base::to_hex(row.code_hash.view()) + "0000");
    // Too small a place: nothing is written, the size is still told.
    CHECK(host.i32("get_code_hash", {other, 0, kOut + 100, 42}) == 43);
    CHECK(host.hex(kOut + 100, 42) == std::string(84, '0'));
    // Whatever version is asked for, there is one.
    CHECK(host.i32("get_code_hash", {("nobody"_n).value, 99, kOut + 200, 43}) == 43);
    CHECK(host.hex(kOut + 200, 43) == std::string(86, '0'));
}

TEST_CASE("a return value has a largest size") {
    Host host;
    CHECK(host.call("set_action_return_value", {100, 256}).has_value());
    CHECK_FALSE(host.call("set_action_return_value", {100, 257}).has_value());
    CHECK(host.failure() == failed(Exception::action_return_value_exception,
                                   "action return value size must be less or equal to 256 bytes"));
    // What only reads may return more.
    Host reader({.read_only = true});
    CHECK(reader.call("set_action_return_value", {100, 257}).has_value());
}

TEST_CASE("a context-free action has no authority, no accounts and no return value") {
    const std::string expected =
        failed(Exception::unaccessible_api, "only context free api's can be used in this context");
    const auto after = [](std::string_view name, std::initializer_list<uint64_t> args) {
        Host host({.context_free = true});
        CHECK_FALSE(host.call(name, args).has_value());
        return host.failure();
    };
    CHECK(after("require_auth", {kAlice}) == expected);
    CHECK(after("require_auth2", {kAlice, kActive}) == expected);
    CHECK(after("has_auth", {kAlice}) == expected);
    CHECK(after("is_account", {kAlice}) == expected);
    CHECK(after("require_recipient", {kAlice}) == expected);
    CHECK(after("get_code_hash", {kAlice, 0, kOut, 43}) == expected);
    CHECK(after("get_sender", {}) == expected);
    CHECK(after("set_action_return_value", {kOut, 1}) == expected);
    Host host({.context_free = true});
    CHECK(host.call("current_receiver").has_value());
    CHECK(host.call("action_data_size").has_value());
}
