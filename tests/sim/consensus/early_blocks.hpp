#pragma once

#include "base/time.hpp"
#include "chain/types/block.hpp"

#include <map>
#include <vector>

namespace consensus {

// Blocks that came before their slot, one for each producer (spec 04, "Blocks and their
// validity"). Bounded by the schedule: the caller lets only its producers in.
class EarlyBlocks {
  public:
    // Holds a block until `ready_at`. The first of a producer stays; false: it has one.
    bool hold(chain::BlockPtr block, base::Timestamp ready_at) {
        const chain::Name producer = block->header.producer;
        return held_.try_emplace(producer, Held{std::move(block), ready_at}).second;
    }
    // Removes and returns the blocks whose time has come.
    [[nodiscard]] std::vector<chain::BlockPtr> take_ready(base::Timestamp now) {
        std::vector<chain::BlockPtr> ready;
        std::erase_if(held_, [&](auto& entry) {
            if (entry.second.ready_at > now) return false;
            ready.push_back(std::move(entry.second.block));
            return true;
        });
        return ready;
    }

  private:
    struct Held {
        chain::BlockPtr block;
        base::Timestamp ready_at;
    };
    std::map<chain::Name, Held> held_;
};

}  // namespace consensus
