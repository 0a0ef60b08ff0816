#include "chain/execution/apply_context.hpp"
#include "chain/execution/host_groups.hpp"
#include "chain/types/protocol_features.hpp"

#include <algorithm>

namespace chain::host {

namespace {

constexpr std::size_t kAssertBytesMax = 1024;
// Numbers from here on are nodeos' own; this one says that a contract used one of them.
constexpr uint64_t kReservedCodes = 10'000'000'000'000'000'000U;
constexpr uint64_t kRestrictedCode = kReservedCodes + 1;

Result<void> assertion_failed(std::string_view message) {
    return fail(
        Exception::eosio_assert_message_exception,
        "assertion failure with message: " + std::string(message.substr(0, kAssertBytesMax)));
}

Result<void> abort_action(const Call&) {
    return fail(Exception::abort_called, "abort() called");
}
Result<void> eosio_assert(const Call&, bool condition, CString message) {
    return condition ? Result<void>() : assertion_failed(message.text);
}
Result<void> eosio_assert_message(const Call&, bool condition, Input message) {
    return condition ? Result<void>() : assertion_failed(base::as_text(message.bytes));
}

Result<void> eosio_assert_code(const Call& call, bool condition, uint64_t code) {
    if (condition) return {};
    if (code >= kReservedCodes) {
        return done(call.context.fail_with_code(
            Exception::restricted_error_code_exception,
            "eosio_assert_code called with reserved error code: " + std::to_string(code),
            kRestrictedCode));
    }
    return done(
        call.context.fail_with_code(Exception::eosio_assert_code_exception,
                                    "assertion failure with error code: " + std::to_string(code),
                                    code));
}

// Ends the action in success: the one function that stops without an error.
bool eosio_exit(vm::Context& context,
                vm::Memory& /*memory*/,
                vm::Meter& meter,
                const uint64_t* /*slots*/,
                uint64_t* /*result*/) {
    const Price& price = detail::price_of(detail::apply_context(context), Cost::trivial);
    if (!meter.charge(price.base)) return false;
    context.stop = vm::Stop::exit;
    return false;
}

Result<uint64_t> current_time(const Call& call) {
    return static_cast<uint64_t>(call.context.block().time.microseconds);
}
Result<uint32_t> get_block_num(const Call& call) {
    return call.context.block().height;
}

Result<bool> is_feature_activated(const Call&, In<base::Hash256> digest) {
    const std::string text = base::to_hex(digest.value.view());
    return std::ranges::any_of(activated_protocol_features(), [&](const ProtocolFeature& feature) {
        return feature.feature_digest == text;
    });
}

// Activation without a protocol feature digest never came into being.
Result<int32_t> is_feature_active(const Call&, int64_t) {
    return 0;
}
Result<void> activate_feature(const Call&, int64_t) {
    return fail(Exception::unsupported_feature, "Unsupported Hardfork Detected");
}

// Every feature is active from the first block on, and there are no others.
Result<void> preactivate_feature(const Call& call, In<base::Hash256> digest) {
    if (auto allowed = must_write(call, "preactivate_feature"); !allowed) return allowed;
    const std::string text = base::to_hex(digest.value.view());
    const bool known = std::ranges::any_of(
        protocol_features(),
        [&](const ProtocolFeature& feature) { return feature.feature_digest == text; });
    if (!known) {
        return fail(Exception::subjective_block_production_exception,
                    "protocol feature with digest '" + text + "' is unrecognized");
    }
    return fail(Exception::protocol_feature_exception,
                "protocol feature with digest '" + text + "' is already activated");
}

}  // namespace

void add_system(Functions& out) {
    add<&abort_action, Access::anyone, Cost::trivial>(out, "abort");
    add<&eosio_assert, Access::anyone, Cost::text>(out, "eosio_assert");
    add<&eosio_assert_message, Access::anyone, Cost::copy>(out, "eosio_assert_message");
    add<&eosio_assert_code, Access::anyone, Cost::trivial>(out, "eosio_assert_code");
    out.push_back({"eosio_exit", {vm::ValueType::i32}, std::nullopt, &eosio_exit});
    add<&current_time, Access::context_aware, Cost::trivial>(out, "current_time");
    // A transaction is published when its block begins: there are no deferred ones.
    add<&current_time, Access::context_aware, Cost::trivial>(out, "publication_time");
    add<&get_block_num, Access::anyone, Cost::trivial>(out, "get_block_num");
    add<&is_feature_activated, Access::context_aware, Cost::feature>(out, "is_feature_activated");
    add<&is_feature_active, Access::privileged, Cost::trivial>(out, "is_feature_active");
    add<&activate_feature, Access::privileged, Cost::trivial>(out, "activate_feature");
    add<&preactivate_feature, Access::privileged, Cost::feature>(out, "preactivate_feature");
}

}  // namespace chain::host
