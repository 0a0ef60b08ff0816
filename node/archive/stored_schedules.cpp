#include "node/archive/stored_schedules.hpp"

#include "chain/state/proof_store.hpp"

#include <fmt/format.h>

#include <utility>

namespace node {

using base::Errc;
using base::fail;

base::Result<StoredSchedules> StoredSchedules::open(const base::StorageView& storage,
                                                    const chain::Schedule& first) {
    StoredSchedules made(storage);
    auto recoveries = chain::stored_recoveries(storage);
    if (!recoveries) return fail(std::move(recoveries).error());
    made.recoveries_ = *std::move(recoveries);
    made.known_[first.version] = {std::make_shared<const chain::Schedule>(first)};
    for (const chain::RecoveryLink& link : made.recoveries_) {
        const chain::Schedule& schedule = link.reset.schedule;
        made.known_[schedule.version] = {std::make_shared<const chain::Schedule>(schedule)};
    }
    return made;
}

base::Result<const StoredSchedules::Known*> StoredSchedules::find(std::uint32_t version) {
    const auto known = known_.find(version);
    if (known != known_.end()) return &known->second;
    auto link = chain::stored_link(*storage_, version);
    if (!link) return fail(std::move(link).error());
    if (!*link) return nullptr;
    const chain::BlockHeader& proposing = (*link)->proposing;
    return &known_
                .insert_or_assign(
                    version,
                    Known{std::make_shared<const chain::Schedule>(*proposing.schedule_change),
                          proposing.height})
                .first->second;
}

base::Result<std::optional<chain::ScheduleState>> StoredSchedules::of_settled(
    const chain::BlockHeader& header) {
    using Found = std::optional<chain::ScheduleState>;
    const auto active = find(header.schedule_version);
    if (!active) return fail(active.error());
    if (*active == nullptr) {
        return fail(Errc::not_found,
                    fmt::format("the link to schedule {}, of block {}, is not stored",
                                header.schedule_version,
                                header.height));
    }
    const auto next = find(header.schedule_version + 1);
    if (!next) return fail(next.error());
    const bool is_on_its_way =
        *next != nullptr && (*next)->proposed_at != 0 && (*next)->proposed_at <= header.height;
    if (is_on_its_way) return Found();
    return Found(chain::first_schedules(*(*active)->schedule));
}

std::vector<chain::ScheduleReset> StoredSchedules::recoveries(chain::Height from,
                                                              chain::Height to) const {
    std::vector<chain::ScheduleReset> found;
    for (const chain::RecoveryLink& link : recoveries_) {
        if (link.from.height >= from && link.from.height <= to) found.push_back(link.reset);
    }
    return found;
}

}  // namespace node
