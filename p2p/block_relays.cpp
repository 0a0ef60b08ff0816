#include "p2p/block_relays.hpp"

#include "chain/types/rule.hpp"

#include <algorithm>

namespace p2p {

BlockRelays::BlockRelays(std::uint32_t interval_milliseconds)
    : recent_(2 * slots_of_second(interval_milliseconds)),
      blocks_(relayed_blocks(slots_of_second(interval_milliseconds))),
      bytes_(kRelayedBlockBytes) {}

void BlockRelays::note(chain::Slot slot) {
    newest_ = std::max(newest_, slot);
}

bool BlockRelays::may_go(base::Timestamp now,
                         const TwoOfSlot::Key& key,
                         const chain::BlockId& id,
                         std::size_t bytes) {
    if (chain::is_left_out(chain::Rule::few_blocks_go_on)) return true;
    return key.slot + recent_ >= newest_ && two_.take(key, id) && blocks_.take(now, 1) &&
           bytes_.take(now, bytes);
}

}  // namespace p2p
