#pragma once

#include "base/crypto/keys.hpp"
#include "base/result.hpp"
#include "chain/types/block.hpp"
#include "chain/types/schedule_state.hpp"
#include "chain/types/vote.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <vector>

namespace consensus {

// Checks that a certificate proves what it says under the schedules of the block it certifies: a
// quorum of the active schedule signed and, while another is pending, a quorum of that one too.
// About 28 us a signature; pure, any thread. invalid: the message names what is missing or wrong.
[[nodiscard]] base::Result<void> verify(const chain::Certificate& certificate,
                                        const chain::ScheduleState& schedules,
                                        const base::Hash256& chain_id);

// As verify(), without the signatures: bitmaps, their number, and the quorums.
[[nodiscard]] base::Result<void> check_form(const chain::Certificate& certificate,
                                            const chain::ScheduleState& schedules);

// What a vote of this kind for a block says.
[[nodiscard]] chain::VoteData vote_data(chain::VoteKind kind, const chain::Block& block);

// The keys that signed, in the order of the signatures. The form was checked.
[[nodiscard]] std::vector<base::crypto::PublicKey> signers(const chain::Certificate& certificate,
                                                           const chain::ScheduleState& schedules);

// The votes for one thing, with their signatures, until they are a quorum of the schedules that
// its block is under. What a key signs besides takes nothing away from what was counted here.
class Tally {
  public:
    // Makes room for all votes that can come, so that add() allocates nothing.
    explicit Tally(const chain::ScheduleState& schedules);

    // Counts a vote of this key, whose signature was checked. False: it is in neither schedule,
    // or was counted before.
    bool add(const base::crypto::PublicKey& key,
             const base::crypto::Signature& signature,
             const chain::ScheduleState& schedules);
    // What the votes prove. Nothing: they are no quorum yet.
    [[nodiscard]] std::optional<chain::Certificate> certificate(
        const chain::VoteData& data, const chain::ScheduleState& schedules) const;

  private:
    // By the place in the schedule; only the bytes of a K1 signature, since many are kept.
    struct Votes {
        std::bitset<chain::kProducersMax> voted;
        std::vector<std::array<std::byte, 65>> signatures;

        bool add(const chain::Schedule& schedule,
                 const base::crypto::PublicKey& key,
                 const base::crypto::Signature& signature);
    };

    Votes active_;
    Votes pending_;
};

}  // namespace consensus
