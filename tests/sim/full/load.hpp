#pragma once

#include "base/bytes.hpp"
#include "base/crypto/keys.hpp"
#include "chain/types/name.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sim::full {

// The name of the account of this number, after a few letters.
[[nodiscard]] chain::Name account_name(std::string_view letters, std::uint64_t number);
// Whose first key every account that is made has.
inline constexpr std::size_t kAccountsKey = 0;
// What `newaccount` takes.
[[nodiscard]] base::Bytes packed_account(chain::Name creator, chain::Name name);
// What `regproducer` takes, and `voteproducer` of who has no proxy. `chosen` ascends.
[[nodiscard]] base::Bytes packed_producer(chain::Name name, const base::crypto::PublicKey& key);
[[nodiscard]] base::Bytes packed_votes(chain::Name voter, const std::vector<chain::Name>& chosen);

}  // namespace sim::full
