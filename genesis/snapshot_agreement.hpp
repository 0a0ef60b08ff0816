#pragma once

#include "chain/chain_manager.hpp"
#include "genesis/snapshot.hpp"
#include "genesis/snapshot_proof.hpp"

#include <vector>

namespace genesis {

// What the agreement needs to go on from the block H of a snapshot (spec 05, "agreement part"): the
// whole blocks from the `final` of header H up to H, and the schedules at the first of them. The
// header that proposed a change which is not in force at H is one of them, or that of a link.
//
// H is final by its proof, and need not have a certificate of its own: the agreement is opened with
// H as its final block (spec 04, "Final by proof").
//
// Everything here is pure; any thread. malformed: does not decode. invalid: names the block and
// what does not hold.

// Of all its blocks, packed. At most so many are between a block and its `final` only where
// finality stood still; then blocks are empty.
inline constexpr std::size_t kAgreementBytesMax = std::size_t{64} * 1024 * 1024;

struct AgreementPart {
    std::vector<chain::BlockPtr> blocks;  // At least H, ascending.
    chain::ScheduleState schedules;       // Of the first.
};

// Part 1 of a snapshot: what shows that H is final, and what the agreement needs.
struct ProofPart {
    SnapshotProof proof;
    AgreementPart agreement;
};
[[nodiscard]] base::Bytes encode_proof_part(const ProofPart& part);
[[nodiscard]] base::Result<ProofPart> decode_proof_part(base::ByteView bytes);

// From what a node stores: `now` has the blocks up to `height` and above, `before` is a storage
// snapshot of a moment when the final block was `height` or lower (of a stopped node both are one).
// not_found: a block is not stored any more; invalid: the blocks are larger than the limit.
[[nodiscard]] base::Result<AgreementPart> make_agreement(const base::StorageView& before,
                                                         const base::StorageView& now,
                                                         chain::Height height);

// What Consensus and ChainManager are opened with.
struct CheckedAgreement {
    chain::AgreementBase base;
    std::vector<chain::BlockPtr> above;  // Of the base, up to H.
    chain::ScheduleState schedules;      // Of H, with what it proposes.
    std::vector<chain::Retime> retimes;  // That the operator knows of.
};
// Whether the blocks lead up to the proved header by `previous`, their transactions are those of
// their roots, and every producer's signature and every certificate in their witnesses is good
// under the schedules that are carried along them from `agreement.schedules` on. That these are
// right is seen from the links and, at H, from the state: check_schedules(). A block that
// is_alone() in its proof must have no change pending. `repetitions`: the genesis file's.
[[nodiscard]] base::Result<CheckedAgreement> check_agreement(const AgreementPart& agreement,
                                                             const SnapshotProof& proof,
                                                             const LinkWalk& walk,
                                                             std::uint32_t repetitions);

// Whether the rows of the state at H say the schedules that the agreement part leads to. Before
// that nothing that is_alone() in its proof is final. Reads Table::global.
[[nodiscard]] base::Result<void> check_schedules(const chain::BlockHeader& header,
                                                 const CheckedAgreement& agreement,
                                                 const chain::StateView& state);

// The last batch of a load; after it the storage holds the chain at H. `state` shows the rows of
// all chunks, each of which was checked, as were their borders and check_manifest(). invalid: the
// rows say other schedules, final blocks or rules than header, agreement part and manifest, or
// other times than the operator knows of.
[[nodiscard]] base::Result<base::Batch> make_loaded(const Manifest& manifest,
                                                    const SnapshotProof& proof,
                                                    const CheckedAgreement& agreement,
                                                    const chain::StateView& state);
// Stored before that: links, in any number of batches.
void append_links(base::Batch& batch, const std::vector<chain::Link>& links);

}  // namespace genesis
