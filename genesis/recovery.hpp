#pragma once

#include "base/crypto/keys.hpp"
#include "chain/types/schedule_reset.hpp"
#include "genesis/genesis.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace genesis {

// A new first schedule from a final block on, for when more than a third of the validators are
// lost for ever (spec 04, `bor-cli recover`). Its id is what every operator confirms.
struct Recovery {
    chain::ChainId chain_id;
    chain::ScheduleReset reset;
    std::vector<base::crypto::Signature> signatures;  // Of keys of members, over id().

    friend bool operator==(const Recovery&, const Recovery&) = default;

    // SHA-256("BoR recovery 1" || chain id || id of the final block || packed schedule).
    [[nodiscard]] base::Hash256 id() const;
};

// Its name in a node's data directory.
inline constexpr const char* kRecoveryFile = "recovery.txt";

// A file of lines: "BoR recovery 1", then chain, from, version and, once for each, validator (name,
// signing key, vote key) and signature. Strict. malformed: names the line.
[[nodiscard]] base::Result<Recovery> recovery_from_text(std::string_view text);
[[nodiscard]] std::string to_text(const Recovery& recovery);

// The members of the genesis file whose authority its signatures satisfy.
[[nodiscard]] std::vector<chain::Name> signers_of(const Recovery& recovery, const Genesis& genesis);
// Whether it is of this chain, has a schedule that can be, and more than two thirds of the members
// have signed it. invalid: says what is missing.
[[nodiscard]] base::Result<void> check(const Recovery& recovery, const Genesis& genesis);

}  // namespace genesis
