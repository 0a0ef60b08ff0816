#pragma once

#include <bor/intrinsics.hpp>

#include <string_view>

namespace bor {

// Fails the transaction with `message` unless `condition` holds.
inline void check(bool condition, const char* message) {
    if (!condition) host::eosio_assert(0, message);
}
inline void check(bool condition, std::string_view message) {
    if (!condition) host::eosio_assert_message(0, message.data(), message.size());
}

// Fails the transaction with a number, which an ABI's `error_messages` may explain.
inline void check(bool condition, uint64_t code) {
    if (!condition) host::eosio_assert_code(0, code);
}

}  // namespace bor
