#pragma once

#include "chain/abi/serializer.hpp"
#include "chain/abi/transaction_json.hpp"

#include <string>

// The recorded vectors of tests/vectors, for tests.
namespace vectors {

// The JSON of a file below tests/vectors; ends the test when it is not there.
[[nodiscard]] chain::abi::Json load(const std::string& path);
// The serializer of an ABI in JSON form; ends the test when it is refused.
[[nodiscard]] chain::abi::SerializerPtr serializer(const chain::abi::Json& abi);
// By account: eosio, eosio.token, types; null for others.
[[nodiscard]] chain::abi::Resolver resolver();
[[nodiscard]] base::Bytes hex(const chain::abi::Json& text);

}  // namespace vectors
