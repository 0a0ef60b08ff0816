#include "node/core/recovery_origin.hpp"

#include "chain/execution/membership.hpp"
#include "chain/execution/rows.hpp"
#include "chain/execution/schedule_rows.hpp"

#include <algorithm>
#include <utility>

namespace node {

base::Result<RecoveryOrigin> origin_of(const chain::StateView& state) {
    RecoveryOrigin origin;
    auto schedules = chain::load_schedules(state);
    if (!schedules) return base::fail(std::move(schedules).error());
    origin.replaced.push_back(*schedules->active);
    if (schedules->pending() != nullptr) origin.replaced.push_back(*schedules->pending());
    auto retimes = chain::load_retimes(state);
    if (!retimes) return base::fail(std::move(retimes).error());
    origin.retimes = std::move(retimes->retimes);
    for (const chain::MemberEntry& member : chain::members(state)) {
        const chain::Value row =
            state.find(chain::Table::permission,
                       chain::permission_key({member.name, *chain::Name::from_string("active")}));
        if (!row) {
            return base::fail(base::Errc::invalid,
                              member.name.to_string() + " has no active permission");
        }
        auto permission = chain::decode_row<chain::PermissionRow>(*row);
        if (!permission) return base::fail(std::move(permission).error());
        origin.members.push_back({member.name, std::move(permission->authority)});
    }
    std::ranges::sort(origin.members, {}, &genesis::RecoveryMember::name);
    return origin;
}

base::Result<void> check_origin(const genesis::Recovery& recovery, const chain::StateView& state) {
    const auto invalid = [](const std::string& reason) {
        return base::fail(base::Errc::invalid, "recover-from: the recovery " + reason);
    };
    const auto origin = origin_of(state);
    if (!origin) return base::fail(origin.error());
    for (const genesis::RecoveryMember& member : origin->members) {
        const auto named =
            std::ranges::find(recovery.members, member.name, &genesis::RecoveryMember::name);
        const std::string name = member.name.to_string();
        if (named == recovery.members.end()) return invalid("does not name the member " + name);
        if (named->authority != member.authority) {
            return invalid("has another authority of " + name + " than the chain");
        }
    }
    if (origin->members.size() != recovery.members.size()) {
        return invalid("names somebody who is no member");
    }
    const bool is_of_schedule = !recovery.reset.schedule.entries.empty();
    if (is_of_schedule && origin->replaced != recovery.replaced) {
        return invalid("replaces another schedule than that in force at its block");
    }
    return {};
}

}  // namespace node
