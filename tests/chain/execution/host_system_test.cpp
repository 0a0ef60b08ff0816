// Assertions, time, block and features.
#include "chain/types/protocol_features.hpp"
#include "host_fixture.hpp"

using chain::Exception;
using host_test::failed;
using host_test::Host;
using namespace chain::literals;

namespace {

using std::uint32_t;
using std::uint64_t;

constexpr uint32_t kText = 1000;

}  // namespace

TEST_CASE("an assertion that holds does nothing") {
    Host host;
    host.write_text(kText, "not this");
    CHECK(host.call("eosio_assert", {1, kText}).has_value());
    CHECK(host.call("eosio_assert", {0x8000'0000, kText}).has_value());
    CHECK(host.call("eosio_assert_message", {1, kText, 8}).has_value());
    CHECK(host.call("eosio_assert_code", {1, 5}).has_value());
    CHECK(host.failure().empty());
}

TEST_CASE("an assertion that does not hold fails with its message") {
    Host host;
    host.write_text(kText, "overdrawn balance");
    CHECK_FALSE(host.call("eosio_assert", {0, kText}).has_value());
    CHECK(host.failure() == failed(Exception::eosio_assert_message_exception,
                                   "assertion failure with message: overdrawn balance"));
    CHECK(host.context->stop == chain::vm::Stop::error);
    Host counted;
    counted.write_text(kText, "overdrawn balance");
    CHECK_FALSE(counted.call("eosio_assert_message", {0, kText, 9}).has_value());
    CHECK(counted.failure() == failed(Exception::eosio_assert_message_exception,
                                      "assertion failure with message: overdrawn"));
}

TEST_CASE("a message is cut at 1,024 bytes") {
    const std::string expected =
        failed(Exception::eosio_assert_message_exception, "assertion failure with message: ") +
        std::string(1024, 'x');
    for (const bool counted : {true, false}) {
        Host host;
        host.write_text(kText, std::string(1500, 'x'));
        CHECK_FALSE((counted ? host.call("eosio_assert_message", {0, kText, 1500})
                             : host.call("eosio_assert", {0, kText}))
                        .has_value());
        CHECK(host.failure() == expected);
    }
}

TEST_CASE("a message must be in the memory even when nobody reads it") {
    Host host;
    CHECK_FALSE(host.call("eosio_assert", {1, Host::kMemory}).has_value());
    CHECK(host.failure() == failed(Exception::wasm_execution_error, "access violation"));
}

TEST_CASE("an assertion can fail with a number") {
    Host host;
    CHECK_FALSE(host.call("eosio_assert_code", {0, 42}).has_value());
    CHECK(host.failure() ==
          failed(Exception::eosio_assert_code_exception, "assertion failure with error code: 42"));
    CHECK(host.transaction->error_code() == uint64_t{42});
}

TEST_CASE("the numbers of the system are not for contracts") {
    Host host;
    CHECK_FALSE(host.call("eosio_assert_code", {0, 10'000'000'000'000'000'000U}).has_value());
    CHECK(host.failure() ==
          failed(Exception::restricted_error_code_exception,
                 "eosio_assert_code called with reserved error code: 10000000000000000000"));
    CHECK(host.transaction->error_code() == uint64_t{10'000'000'000'000'000'001U});
    Host largest;
    CHECK_FALSE(largest.call("eosio_assert_code", {0, 9'999'999'999'999'999'999U}).has_value());
    CHECK(largest.transaction->error_code() == uint64_t{9'999'999'999'999'999'999U});
}

TEST_CASE("abort fails, exit ends well") {
    Host host;
    CHECK_FALSE(host.call("abort").has_value());
    CHECK(host.failure() == failed(Exception::abort_called, "abort() called"));
    Host other;
    CHECK_FALSE(other.call("eosio_exit", {7}).has_value());
    CHECK(other.failure().empty());
    CHECK(other.context->stop == chain::vm::Stop::exit);
}

TEST_CASE("time and number are those of the block") {
    Host host;
    CHECK(host.call("current_time") == uint64_t{1'800'000'000'500'000});
    CHECK(host.call("publication_time") == uint64_t{1'800'000'000'500'000});
    CHECK(host.call("get_block_num") == uint64_t{77});
}

TEST_CASE("Leap's features are active, others are not") {
    for (const chain::ProtocolFeature& feature : chain::protocol_features()) {
        Host host;
        host.write_bytes(kText, *base::from_hex(feature.feature_digest));
        CHECK(host.i32("is_feature_activated", {kText}) == 1);
        host.write<std::uint8_t>(kText, 0x55);
        CHECK(host.i32("is_feature_activated", {kText}) == 0);
    }
}

TEST_CASE("features cannot be activated again") {
    Host host({.privileged = true});
    const std::string known(chain::protocol_features().front().feature_digest);
    host.write_bytes(kText, *base::from_hex(known));
    CHECK_FALSE(host.call("preactivate_feature", {kText}).has_value());
    CHECK(host.failure() ==
          failed(Exception::protocol_feature_exception,
                 "protocol feature with digest '" + known + "' is already activated"));
    Host unknown({.privileged = true});
    CHECK_FALSE(unknown.call("preactivate_feature", {kText}).has_value());
    CHECK(unknown.failure() ==
          failed(Exception::subjective_block_production_exception,
                 "protocol feature with digest '" + std::string(64, '0') + "' is unrecognized"));
    Host old({.privileged = true});
    CHECK(old.i32("is_feature_active", {5}) == 0);
    CHECK_FALSE(old.call("activate_feature", {5}).has_value());
    CHECK(old.failure() == failed(Exception::unsupported_feature, "Unsupported Hardfork Detected"));
}

TEST_CASE("context-free actions may assert and not ask for the time") {
    Host host({.context_free = true});
    CHECK(host.call("eosio_assert", {1, kText}).has_value());
    CHECK(host.call("get_block_num").has_value());
    CHECK_FALSE(host.call("current_time").has_value());
    CHECK(host.failure() == failed(Exception::unaccessible_api,
                                   "only context free api's can be used in this context"));
}
