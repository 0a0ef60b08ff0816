#pragma once

#include "base/pinned.hpp"
#include "base/time.hpp"
#include "chain/pool.hpp"
#include "chain/types/block.hpp"
#include "chain/types/schedule_state.hpp"
#include "transport/types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace node {

// A block of somebody else on its way into the ledger.
struct Arrival {
    chain::BlockPtr block;
    chain::ScheduleState schedules;  // That it is under: its producer and signature are checked.
    transport::ChannelId channel;    // Who gets the judgement.
    bool is_sync = false;            // Final for who sent it, and asked for by height.
    std::uint64_t ticket = 0;        // Of the effect::Recover under way; 0: recovered.
    std::vector<chain::PooledTransaction> transactions;
    // Only executed blocks have proposed who makes this block and who votes for it. Where an
    // unchecked header has, its producer may have given itself the names of others, and the voters
    // of its choice. Since when a proposal is in force an unchecked header may say.
    bool is_schedule_known = false;
    bool is_certified = false;     // A certificate names it, or a block above it.
    base::Timestamp not_before{};  // It came before its slot.
    // A third block of its slot: until then it waits for what names it, and nothing is done with
    // it.
    std::optional<base::Timestamp> gives_up_at{};
};

// The blocks that came and are not executed yet, by height and id, and the ids of those that
// were refused, so that nobody makes us execute one twice.
//
// Bounded in bytes, of which each block counts for kBlockBytes at least, where no producer keeps
// out the blocks of others; for those before their slot to one a producer, and to two of one
// producer and slot: two are evidence, a further one needs a certificate that names it or a block
// above it, or another producer's block on top of it: a liar may have given other two to that one.
// Thread: core.
class Arrivals : base::Pinned {
  public:
    static constexpr std::size_t kBytesMax = std::size_t{64} << 20U;
    static constexpr std::size_t kBlockBytes = std::size_t{16} << 10U;  // Without its transactions.
    static constexpr std::size_t kRefusedMax = 4'096;
    static constexpr std::size_t kSlotsMax = 16'384;  // Whose blocks are counted.
    static constexpr std::size_t kThirdsLeast = 16;   // See the constructor.

    using Key = std::pair<chain::Height, chain::BlockId>;
    using Entries = std::map<Key, Arrival>;

    // With so many slots in a row for each producer. So many blocks of a producer may wait to be
    // named from each peer, but for a sync: what it gave to another in its turn is a chain of one a
    // slot, and no good without its beginning; and as many beside. Blocks and bytes bound these,
    // too.
    explicit Arrivals(std::uint64_t repetitions)
        : thirds_max_(std::max<std::size_t>(kThirdsLeast, 2 * repetitions)) {}

    [[nodiscard]] bool has_room_for(const chain::Block& block) const;
    // Which has to give way to this block, when there is no room: the highest of the producer
    // whose blocks take most. Nothing: that is the producer of this one.
    [[nodiscard]] std::optional<Key> in_the_way_of(const chain::Block& block) const;
    // Which has to give way to this third block of a slot: when too many of its producer from this
    // peer wait as it will, the first of these; when there is no room, the first of the peer that
    // has most of them here. Nothing: none.
    [[nodiscard]] std::optional<Key> third_in_the_way_of(const chain::Block& block,
                                                         transport::ChannelId from) const;
    // Needs room.
    void add(Arrival arrival);
    [[nodiscard]] Arrival take(const Key& key);
    [[nodiscard]] bool contains(const chain::Block& block) const {
        return entries_.contains(key_of(block));
    }
    // Waits for a block before its slot. False: its producer has one already.
    [[nodiscard]] bool hold(const Key& key, base::Timestamp until);
    // Null: it is not here.
    [[nodiscard]] const Arrival* find(const Key& key) const;
    // Those that wait to be named among this one and what is below it, as far as it is here.
    [[nodiscard]] std::vector<Key> uncertified(const Key& key) const;
    // It waits no more. `ticket`: of its effect::Recover; 0: none.
    void release(const Key& key, std::uint64_t ticket);
    // A certificate names it: it and what is below it have the first turn. False: they had it, or
    // are not here.
    bool mark_certified(const Key& key);
    // In which order they are executed. Ranks: what is certified, what is of a slot from `recent`
    // on, the rest; parents before children in each.
    enum class Rank : std::uint8_t { certified, recent, old };
    struct Turn {
        Rank rank;
        Key key;
    };
    [[nodiscard]] std::vector<Turn> in_turn(chain::Slot recent) const;
    // Whether two other blocks of this producer and slot were let in. `is_schedule_known`: as in
    // Arrival; the two kinds are counted apart.
    [[nodiscard]] bool has_twins(const chain::BlockHeader& header,
                                 const chain::BlockId& id,
                                 bool is_schedule_known) const;
    // Its signature is good: it counts as one of its slot.
    void let_in(const chain::BlockHeader& header, const chain::BlockId& id, bool is_schedule_known);
    void forget_slots_up_to(chain::Slot slot);
    // Ascending heights: parents before children.
    [[nodiscard]] Entries& entries() { return entries_; }
    // Null: not one of ours any more.
    [[nodiscard]] Arrival* find_ticket(std::uint64_t ticket);

    void refuse(const chain::BlockId& id, const std::string& reason);
    // Why it was refused; null: it was not, or that was long ago.
    [[nodiscard]] const std::string* find_refused(const chain::BlockId& id) const;

    // What it takes to execute it, by its own words: it is refused if they are wrong.
    [[nodiscard]] static base::Duration cost_of(const chain::Block& block);
    [[nodiscard]] static Key key_of(const chain::Block& block) {
        return {block.header.height, block.id};
    }

  private:
    [[nodiscard]] static std::size_t bytes_of(const chain::Block& block);

    const std::size_t thirds_max_;
    Entries entries_;
    std::map<std::uint64_t, Key> tickets_;
    std::size_t bytes_ = 0;
    std::map<chain::Name, std::size_t> bytes_of_producer_;
    using OfSlots = std::map<std::pair<chain::Slot, chain::Name>, std::vector<chain::BlockId>>;
    std::array<OfSlots, 2> let_in_;  // Of schedules that are not known; of those that are.
    std::map<chain::BlockId, std::string> refused_;
    std::deque<chain::BlockId> refused_order_;
};

}  // namespace node
