#pragma once

#include "chain/state/state.hpp"
#include "genesis/recovery.hpp"

namespace node {

// What the state of the block from which a recovery begins says of it: the schedules that it
// replaces, the times of the chain, and the members, each with its active permission.
struct RecoveryOrigin {
    std::vector<chain::Schedule> replaced;
    std::vector<chain::Retime> retimes;
    std::vector<genesis::RecoveryMember> members;  // Ascending names.
};

// invalid: a member has no active permission.
[[nodiscard]] base::Result<RecoveryOrigin> origin_of(const chain::StateView& state);

// Whether the members that it names, each with its active permission, and the schedules that it
// replaces are those of this state, which is that of the block it begins from. invalid: says which
// is not.
[[nodiscard]] base::Result<void> check_origin(const genesis::Recovery& recovery,
                                              const chain::StateView& state);

}  // namespace node
