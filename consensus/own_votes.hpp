#pragma once

#include "chain/types/vote.hpp"
#include "consensus/safety_journal.hpp"

namespace consensus {

// Whether this vote of an own key says that the key has promised more than its journal knows. A
// vote that says no more binds nobody, so its signature need not be looked at.
[[nodiscard]] bool says_more(const KeySafety& safety, const chain::VoteData& vote);

}  // namespace consensus
