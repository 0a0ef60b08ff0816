#pragma once

#include "chain/types/vote.hpp"
#include "consensus/safety_journal.hpp"

namespace consensus {

// Whether this vote of an own key says that the key has promised more than its journal knows. All
// others bind nobody: their signatures need not be looked at for that.
[[nodiscard]] bool says_more(const KeySafety& safety, const chain::VoteData& vote);

}  // namespace consensus
