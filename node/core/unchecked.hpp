#pragma once

#include "base/storage.hpp"
#include "chain/types/block.hpp"
#include "chain/types/schedule_state.hpp"
#include "node/core/branch_walk.hpp"
#include "transport/types.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace node {

// Final blocks that follow each other, whose signatures and witnesses are not checked yet, and from
// where to follow the schedules up to them.
struct Stretch {
    chain::Height from = 0;
    chain::Height to = 0;
    chain::Height base_height = 0;  // A final block below, whose schedules are `base`.
    chain::ScheduleState base{};
};

// A stored block whose signature or witness is wrong: its id says what it is, and another copy of
// it may be good.
struct WrongCopy {
    chain::Height height = 0;
    chain::BlockId id;
    std::string text;  // What is wrong.
};

// Looks at the stored blocks of a stretch. What is pruned meanwhile counts as good. With `copy`, at
// that in the place of the only block of it. corrupt: what is stored does not fit together. Pure
// reads; any thread.
[[nodiscard]] base::Result<std::vector<WrongCopy>> check_stretch(
    const base::StorageView& storage,
    const Stretch& stretch,
    const BranchWalk::Rules& rules,
    const chain::BlockPtr& copy = nullptr);
// The stretch that has this height; nothing: it is checked, or not stored.
[[nodiscard]] base::Result<std::optional<Stretch>> stretch_of(const base::StorageView& storage,
                                                              chain::Height height);

// Which stored blocks are not checked (spec 05, trust = certified). Its rows lie in Family::meta
// and are written with the blocks, so that a restart goes on.
class Unchecked {
  public:
    struct Entry {
        Stretch stretch;
        transport::ChannelId channel;  // Who sent them; of a former life: nobody.
        // Its only block is wrong: another copy of it, with this id, is asked for.
        std::optional<chain::BlockId> wrong{};
    };

    [[nodiscard]] base::Result<void> load(const base::StorageView& storage);
    void add(const Stretch& stretch, transport::ChannelId channel, base::Batch& batch);
    // It was looked at: only these are left of it.
    void settle(const Stretch& stretch, const std::vector<WrongCopy>& wrong, base::Batch& batch);

    // The next one to look at, up to this height; null: there is none.
    [[nodiscard]] const Entry* next(chain::Height up_to) const;
    // Null: it is good, or its copy is not known to be wrong.
    [[nodiscard]] const Entry* find_wrong(const chain::BlockId& id) const;
    [[nodiscard]] const Entry* find(chain::Height height) const;
    [[nodiscard]] bool empty() const { return entries_.empty(); }
    // From here on all are checked.
    [[nodiscard]] chain::Height checked_from() const {
        return entries_.empty() ? 1 : entries_.rbegin()->first + 1;
    }
    [[nodiscard]] chain::Height blocks() const;
    [[nodiscard]] std::vector<chain::BlockId> wrong() const;

  private:
    std::map<chain::Height, Entry> entries_;  // By the last height.
};

}  // namespace node
