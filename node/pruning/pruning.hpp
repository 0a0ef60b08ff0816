#pragma once

#include "base/pinned.hpp"
#include "base/time.hpp"
#include "chain/pruning.hpp"
#include "node/disk/rocksdb_storage.hpp"

#include <array>
#include <functional>
#include <memory>
#include <optional>

namespace node {

// Prunes the history of one storage: plan() says from where on there is to be one, raise() makes
// that durable, and reclaim() gives the bytes below it back. What a crash cuts short is done after
// the next start.
//
// Thread: one, beside those that read and commit.
class Pruning : base::Pinned {
  public:
    // `storage` outlives this. Rows that an earlier process pruned may vanish from now on.
    [[nodiscard]] static base::Result<std::unique_ptr<Pruning>> open(
        RocksDbStorage& storage, const chain::PruningRules& rules);

    [[nodiscard]] const chain::HistoryFloor& floor() const { return floor_; }
    // As high as the rules allow now. `snapshot`: the newest one of this node.
    [[nodiscard]] base::Result<chain::HistoryFloor> plan(
        std::optional<chain::Height> snapshot) const;
    // `to` was planned since the start; nothing happens where it is the floor already.
    base::Result<void> raise(const chain::HistoryFloor& to);

    // Called between pieces of work; false: no more of it.
    using Pause = std::function<bool()>;
    // Files that hold nothing else go at once; others are written anew when that is worth while:
    // when an eighth of what is stored was pruned since the last time, or after kPatience. True:
    // something was.
    base::Result<bool> reclaim(base::Timestamp now, const Pause& pause);

  private:
    Pruning(RocksDbStorage& storage, const chain::PruningRules& rules)
        : storage_(storage), rules_(rules) {}
    struct Heights {
        chain::Height begin = 0;
        chain::Height end = 0;  // Not included.
    };
    void tell_needless();
    [[nodiscard]] Heights step_of(base::Family family, chain::Height from, chain::Height to) const;
    [[nodiscard]] base::Result<bool> drop_files(base::Family family,
                                                chain::Height to,
                                                const Pause& pause);
    // The lowest block that is still there and below the floor; nothing: none is.
    [[nodiscard]] base::Result<std::optional<chain::Height>> lowest_past(base::Family family) const;
    [[nodiscard]] base::Result<bool> rewrite(base::Family family,
                                             chain::Height to,
                                             base::Timestamp now);
    [[nodiscard]] base::Result<bool> sweep_index(const Pause& pause);
    [[nodiscard]] base::Result<bool> is_worth_while(chain::Height pruned) const;

    RocksDbStorage& storage_;
    const chain::PruningRules rules_;
    chain::HistoryFloor floor_;
    std::array<chain::Height, base::kFamilies> dropped_{};  // Up to where files were looked for.
    std::array<chain::Height, base::kFamilies>
        rewritten_{};                                       // Up to where files were written anew.
    std::array<base::Timestamp, base::kFamilies> since_{};  // When needless rows were seen first.
};

}  // namespace node
