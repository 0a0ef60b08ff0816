#pragma once

#include "base/crypto/keys.hpp"
#include "chain/types/schedule_reset.hpp"
#include "chain/types/schedule_state.hpp"
#include "chain/types/vote.hpp"
#include "genesis/genesis.hpp"

#include <functional>
#include <optional>
#include <set>
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

// A validator that is left tells the highest certificate that it holds, of either kind. Its key
// has signed all that it ever will: that is durable before the answer is signed (spec 04).
struct RecoveryAnswer {
    base::crypto::PublicKey key;  // That it votes with.
    chain::Slot slot = 0;         // Of the certificate; 0, and the genesis block: it holds none.
    chain::BlockId block{};
    base::crypto::Signature signature{};

    friend bool operator==(const RecoveryAnswer&, const RecoveryAnswer&) = default;
};
inline constexpr std::string_view kAnswerPrefix = "BoR answer 1";
// What follows the prefix in what is signed: chain id, key, slot, block.
[[nodiscard]] base::Bytes answer_bytes(const RecoveryAnswer& answer,
                                       const chain::ChainId& chain_id);
// SHA-256 of the prefix and those bytes.
[[nodiscard]] base::Hash256 answer_digest(const RecoveryAnswer& answer,
                                          const chain::ChainId& chain_id);

// What members do with a chain that cannot go on by itself (spec 04, `bor-cli recover`): a new
// first schedule from a block on, for when more than a third of the validators are lost for ever,
// or other times, for when what is final is dated ahead of the clock. Its id is what every
// operator confirms.
//
// The block of a new schedule is that of the highest certificate among the answers of at least
// n - q + 1 validators, so that nothing that was final anywhere lies beside or above it. Without
// so many answers the recovery says that it gives up what may be final.
struct Recovery {
    chain::ChainId chain_id{};
    chain::ScheduleReset reset;                     // Without validators: it stays as it is.
    std::vector<chain::Schedule> replaced;          // In force at the block, then the pending one.
    std::vector<chain::Retime> retimes;             // All of the chain, ascending.
    std::vector<RecoveryMember> members;            // Ascending names.
    std::optional<chain::Certificate> certificate;  // The highest of the answers: of the block.
    std::vector<RecoveryAnswer> answers;
    std::vector<base::crypto::Signature> signatures;  // Of keys of members, over id().

    friend bool operator==(const Recovery&, const Recovery&) = default;

    // SHA-256("BoR recovery 2" || chain id || id of the block || packed schedule || whether it
    // gives up what is final || packed lists of what it replaces, retimes and members).
    [[nodiscard]] base::Hash256 id() const;
};

// What a chain goes on by, with the recovery beside it for those who follow the schedules. Nothing:
// the recovery sets the time back, and leaves the schedules as they are.
[[nodiscard]] std::optional<chain::ScheduleReset> reset_of(const Recovery& recovery);

// Its name in a node's data directory.
inline constexpr const char* kRecoveryFile = "recovery.txt";

// A file of lines: "BoR recovery 2", then chain, from, version, gives-up-final, certificate and,
// once for each, validator (name, signing key, vote key), replaces (version, name, signing key,
// vote key), retime (final block, slot, time), member (name, its packed authority), answer (key,
// slot, block, signature) and signature. Strict. malformed: names the line.
[[nodiscard]] base::Result<Recovery> recovery_from_text(std::string_view text);
[[nodiscard]] std::string to_text(const Recovery& recovery);

// What the answers of several nodes say together: what the one says that knows the highest
// certificate and its block, with the answers of all keys. At least one is given. invalid: they are
// of several chains; not_found: none of these nodes has the block.
[[nodiscard]] base::Result<Recovery> merge_answers(const std::vector<Recovery>& all);
// The version of the schedule of these entries that begins anew below `replaced`: above every one
// that was proposed and is not in force yet, and another one for other entries, so that who follows
// one recovery refuses another from the same block.
[[nodiscard]] std::uint32_t version_after(const std::vector<chain::Schedule>& replaced,
                                          const std::vector<chain::ScheduleEntry>& entries);

// The keys of its signatures.
[[nodiscard]] std::set<base::crypto::PublicKey> signing_keys(const Recovery& recovery);
// The members whose authority its signatures satisfy. `looked_at`: at how many authorities, one
// that was looked at again counted again; bounded by the members, however they name each other.
[[nodiscard]] std::vector<chain::Name> signers_of(const Recovery& recovery,
                                                  std::size_t* looked_at = nullptr);
// consensus::verify(): whether a certificate is good under these schedules.
using CheckCertificate =
    std::function<base::Result<void>(const chain::Certificate&, const chain::ScheduleState&)>;
// Whether enough validators of what it replaces have answered, and it begins from the highest
// block of which they tell; nothing is asked of one without a new schedule. invalid: says what is
// missing.
[[nodiscard]] base::Result<void> check_answers(const Recovery& recovery,
                                               const CheckCertificate& check_certificate);
// Whether a recovery can name these members, and be signed by them. invalid: says why not.
[[nodiscard]] base::Result<void> check_members(const std::vector<RecoveryMember>& members);
// Whether it has a schedule or times that can be, members, the version that follows, and answers
// that are good: all that members should see before they sign. invalid: says what is missing.
[[nodiscard]] base::Result<void> check_content(const Recovery& recovery,
                                               const CheckCertificate& check_certificate);
// Of its members: more than two thirds.
[[nodiscard]] std::size_t signers_needed(const Recovery& recovery);
// check_content(), and whether it is of this chain and enough members have signed it. That these
// are the members, and what is replaced, is for those to say who have the state of the block.
// invalid: says what is missing.
[[nodiscard]] base::Result<void> check(const Recovery& recovery,
                                       const chain::ChainId& chain_id,
                                       const CheckCertificate& check_certificate);

}  // namespace genesis
