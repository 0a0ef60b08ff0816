#pragma once

#include "base/crypto/keys.hpp"
#include "chain/types/schedule_reset.hpp"
#include "genesis/genesis.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace genesis {

// A member in the state of the block that a recovery begins from.
struct RecoveryMember {
    chain::Name name;
    chain::Authority authority;  // Of its active permission.

    friend bool operator==(const RecoveryMember&, const RecoveryMember&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.name, self.authority); }
};
inline constexpr std::size_t kRecoveryMembersMax = 1'024;

// What members do with a chain that cannot go on by itself (spec 04, `bor-cli recover`): a new
// first schedule from a final block on, for when more than a third of the validators are lost for
// ever, or other times, for when what is final is dated ahead of the clock. Its id is what every
// operator confirms.
struct Recovery {
    chain::ChainId chain_id;
    chain::ScheduleReset reset;                       // Without validators: it stays as it is.
    std::vector<chain::Retime> retimes;               // All of the chain, ascending.
    std::vector<RecoveryMember> members;              // Ascending names.
    std::vector<base::crypto::Signature> signatures;  // Of keys of members, over id().

    friend bool operator==(const Recovery&, const Recovery&) = default;

    // SHA-256("BoR recovery 1" || chain id || id of the final block || packed schedule || packed
    // list of retimes || packed list of members).
    [[nodiscard]] base::Hash256 id() const;
};

// Its name in a node's data directory.
inline constexpr const char* kRecoveryFile = "recovery.txt";

// A file of lines: "BoR recovery 1", then chain, from, version and, once for each, validator (name,
// signing key, vote key), retime (final block, slot, time), member (name, its packed authority) and
// signature. Strict. malformed: names the line.
[[nodiscard]] base::Result<Recovery> recovery_from_text(std::string_view text);
[[nodiscard]] std::string to_text(const Recovery& recovery);

// The members whose authority its signatures satisfy.
[[nodiscard]] std::vector<chain::Name> signers_of(const Recovery& recovery);
// Whether it is of this chain, has a schedule or times that can be, and more than two thirds of
// its members have signed it. That these are the members is for those to say who have the state of
// the block. invalid: says what is missing.
[[nodiscard]] base::Result<void> check(const Recovery& recovery, const chain::ChainId& chain_id);

}  // namespace genesis
