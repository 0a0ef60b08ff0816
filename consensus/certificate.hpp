#pragma once

#include "base/crypto/keys.hpp"
#include "base/result.hpp"
#include "chain/types/schedule.hpp"
#include "chain/types/vote.hpp"

#include <map>
#include <optional>
#include <vector>

namespace consensus {

// Checks that a certificate proves what it says: the version is that of `schedule`, a quorum of
// its vote keys signed, each once. About 28 us a signature; pure, any thread.
// invalid: the message names what is missing or wrong.
[[nodiscard]] base::Result<void> verify(const chain::Certificate& certificate,
                                        const chain::Schedule& schedule,
                                        const base::Hash256& chain_id);

// Collects the votes for one VoteData until they are a quorum.
class VoteCollector {
  public:
    // Adds a vote whose signature the caller checked. Votes of strangers and repeated votes
    // change nothing. Returns the certificate when this vote completes the quorum.
    [[nodiscard]] std::optional<chain::Certificate> add(const chain::Vote& vote,
                                                        const chain::Schedule& schedule);

    // Drops votes for blocks at or below this slot: they can decide nothing any more.
    void forget_up_to(chain::Slot slot);

  private:
    // Votes by entry of the schedule, for each thing voted for.
    std::map<chain::VoteData, std::map<std::size_t, base::crypto::Signature>> votes_;
};

}  // namespace consensus
