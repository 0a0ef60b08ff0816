#pragma once

#include "chain/state/merkle.hpp"
#include "chain/types/block.hpp"
#include "chain/types/schedule_reset.hpp"
#include "chain/types/schedule_state.hpp"
#include "chain/types/trace.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

namespace chain {

// Proofs that need nothing but the first schedule: receipt -> root of its block's header ->
// mountain range of final ids -> a header with a COMMIT certificate -> the schedules that led there
// from the one that is trusted, which is the genesis file's (spec 03, "Formats").

// What a proof may hold, for who reads one of a stranger.
inline constexpr std::size_t kProofLinksMax = 1'024;
// A part of the links ends after this; a client takes parts where one proof cannot hold all.
inline constexpr std::size_t kLinksPartBytes = std::size_t{512} * 1024;

// That a block is final under a schedule: a path leads to it from the finality_root of a header
// above, for which a quorum of that schedule has voted COMMIT. More than f of these are honest and
// have checked that header: what it calls final is, and its root is right.
//
// Of a certificate under two schedules only the active one's part is kept, so it does not prove the
// certified block itself. While a change is pending a quorum of both has to vote, since members who
// leave take their locks along; whether one is pending no header shows, nor do the links.
struct FinalityProof {
    BlockHeader certified;
    Certificate certificate;              // One bitmap.
    std::optional<MerkleProof> ancestor;  // In certified.finality_root; absent only in snapshots.

    friend bool operator==(const FinalityProof&, const FinalityProof&) = default;
};

// That a schedule was followed by another: the header that proposed it is final under the one
// before.
struct ScheduleLink {
    BlockHeader proposing;
    FinalityProof finality;

    friend bool operator==(const ScheduleLink&, const ScheduleLink&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.proposing, self.finality); }
};

// That a schedule was followed by that of a recovery, whatever the numbers between, which counts
// for who knows the recovery by its id (spec 04, `bor-cli recover`). Whether it was signed is not
// for this folder to say: `reset.record` is opaque here.
struct RecoveryLink {
    BlockHeader from;     // The block that it begins from; it makes that final.
    ScheduleReset reset;  // Its `from` is that block.

    friend bool operator==(const RecoveryLink&, const RecoveryLink&) = default;
};
inline constexpr std::size_t kRecoveryRecordBytesMax = std::size_t{1} * 1024 * 1024;

// A step from one schedule to the next.
using Link = std::variant<ScheduleLink, RecoveryLink>;
// Of the schedule that a link leads to; a ScheduleLink without a change leads nowhere: 0.
[[nodiscard]] std::uint32_t version_of(const Link& link);

enum class ProofSubject : std::uint8_t { block = 0, transaction = 1, action = 2 };

// That a block, a transaction in it or an action executed in it is final.
struct Proof {
    std::vector<ScheduleLink> links;  // By version, from the one after the trusted schedule.
    BlockHeader header;               // Of the block.
    FinalityProof finality;
    ProofSubject subject = ProofSubject::block;
    std::optional<TransactionReceipt> transaction;  // If the subject is one,
    std::optional<ActionReceipt> action;            // or the other,
    MerkleProof path;                               // in the header's root; else empty.

    friend bool operator==(const Proof&, const Proof&) = default;
};

void encode(base::Writer& out, const FinalityProof& proof);
void encode(base::Writer& out, const Proof& proof);
void decode(base::Reader& in, FinalityProof& proof, std::string_view field);
void encode(base::Writer& out, const RecoveryLink& link);
void decode(base::Reader& in, RecoveryLink& link, std::string_view field);
// A byte before each: 0 a ScheduleLink, 1 a RecoveryLink.
void encode(base::Writer& out, const Link& link);
void decode(base::Reader& in, Link& link, std::string_view field);
// Strict, with the limits above. Checks the form only.
void decode(base::Reader& in, Proof& proof, std::string_view field);

// consensus::verify(): whether a certificate is good under schedules of which only `active` is set.
using CertificateCheck =
    std::function<base::Result<void>(const Certificate& certificate, const ScheduleState&)>;

// The number of ids that the finality_root of a header is over.
[[nodiscard]] std::uint64_t ids_below(const BlockHeader& header);
// Whether a quorum of this schedule has voted COMMIT for the certified header. Then the header is
// good and what it calls final is; that itself is final only who knows all of its schedules can
// see.
[[nodiscard]] base::Result<void> check_certified(const FinalityProof& proof,
                                                 const Schedule& schedule,
                                                 const CertificateCheck& check);
// Whether a block is final under this schedule. invalid: names the step that does not hold; without
// a path none does.
[[nodiscard]] base::Result<void> check_finality(const BlockHeader& header,
                                                const FinalityProof& proof,
                                                const Schedule& schedule,
                                                const CertificateCheck& check);
// Whether a link leads on from `schedule`: the header that proposes the next one is final under it.
[[nodiscard]] base::Result<void> check_link(const ScheduleLink& link,
                                            const Schedule& schedule,
                                            const CertificateCheck& check);

// What follows if `schedule` is trusted: the whole chain of reasons is checked, signatures by
// `check`. invalid: names the step that does not hold. Pure; any thread.
[[nodiscard]] base::Result<void> verify(const Proof& proof,
                                        const Schedule& schedule,
                                        const CertificateCheck& check);
// The same for the schedules alone: the last one, to which the links lead. For who follows the
// chain from its first schedule on, as snapshots do.
[[nodiscard]] base::Result<Schedule> follow(const std::vector<ScheduleLink>& links,
                                            const Schedule& schedule,
                                            const CertificateCheck& check);

// The certificate with the votes of its active schedule only.
[[nodiscard]] Certificate active_part(const Certificate& certificate);

}  // namespace chain
