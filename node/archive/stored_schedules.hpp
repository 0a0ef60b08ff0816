#pragma once

#include "base/storage.hpp"
#include "chain/state/proof.hpp"
#include "chain/types/schedule_state.hpp"

#include <map>
#include <memory>
#include <vector>

namespace node {

// The schedules of a whole chain by their versions, from the links that each node keeps. Thread:
// one. not_found: a link is not stored; corrupt, unavailable: it cannot be read.
class StoredSchedules {
  public:
    // `storage` outlives this. `first`: of the genesis file.
    [[nodiscard]] static base::Result<StoredSchedules> open(const base::StorageView& storage,
                                                            const chain::Schedule& first);

    // Of a final block, if no change is on its way there, so that its header says all; nothing:
    // one is.
    [[nodiscard]] base::Result<std::optional<chain::ScheduleState>> of_settled(
        const chain::BlockHeader& header);
    // The recoveries that begin from a block of these heights.
    [[nodiscard]] std::vector<chain::ScheduleReset> recoveries(chain::Height from,
                                                               chain::Height to) const;

  private:
    struct Known {
        std::shared_ptr<const chain::Schedule> schedule;
        chain::Height proposed_at = 0;
    };
    explicit StoredSchedules(const base::StorageView& storage) : storage_(&storage) {}
    // Null: no schedule of this version is linked.
    [[nodiscard]] base::Result<const Known*> find(std::uint32_t version);

    const base::StorageView* storage_;
    std::map<std::uint32_t, Known> known_;
    std::vector<chain::RecoveryLink> recoveries_;
};

}  // namespace node
