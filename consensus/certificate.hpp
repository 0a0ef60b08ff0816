#pragma once

#include "base/crypto/keys.hpp"
#include "base/result.hpp"
#include "chain/types/schedule_state.hpp"
#include "chain/types/vote.hpp"
#include "consensus/vote_history.hpp"

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

// The keys that signed, in the order of the signatures. The form was checked.
[[nodiscard]] std::vector<base::crypto::PublicKey> signers(const chain::Certificate& certificate,
                                                           const chain::ScheduleState& schedules);

// Who voted for one thing, until it is a quorum. Allocates nothing.
class Tally {
  public:
    // Counts a vote of this key. True when it completes the quorums: once.
    [[nodiscard]] bool add(const base::crypto::PublicKey& key,
                           const chain::ScheduleState& schedules);
    [[nodiscard]] bool complete() const { return complete_; }
    [[nodiscard]] std::size_t votes() const { return active_.count(); }
    // Whether this entry of the active, or of the pending schedule has voted.
    [[nodiscard]] bool active(std::size_t entry) const { return active_[entry]; }
    [[nodiscard]] bool pending(std::size_t entry) const { return pending_[entry]; }

  private:
    std::bitset<chain::kProducersMax> active_;
    std::bitset<chain::kProducersMax> pending_;
    bool complete_ = false;
};

// The certificate of a complete tally, with the signatures from `history`. Nothing: some of them
// are not kept any more, and the others are no quorum.
[[nodiscard]] std::optional<chain::Certificate> make_certificate(
    const chain::VoteData& data,
    const Tally& tally,
    const chain::ScheduleState& schedules,
    const VoteHistory& history);

}  // namespace consensus
