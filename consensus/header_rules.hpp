#pragma once

#include "base/result.hpp"
#include "base/time.hpp"
#include "chain/types/block.hpp"
#include "chain/types/schedule_state.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace consensus {

// What a header is checked against.
struct HeaderContext {
    const chain::BlockHeader& parent;
    const chain::BlockId& parent_id;
    // chain::schedules_below() of the parent: the header's, before what it proposes.
    const chain::ScheduleState& schedules;
    std::uint32_t repetitions = 1;
    std::uint64_t schedule_period = 120;
    chain::Slot full_within = 120;     // full_within() of the chain's times.
    bool justify_is_ancestor = false;  // The caller looked it up; the parent counts.
    bool final_is_ancestor = false;
};

// How many slots above the final block that its header names a block may have transactions: 120,
// but no less than those of 7 s and no more than those of a minute. Honest producers make empty
// blocks after 6 s without a final one; who does not could fill the memory of all others with
// blocks that nobody can drop.
[[nodiscard]] chain::Slot full_within(const chain::SlotTimes& times);

// The validity of a header that follows from its parent's alone (spec 04, "Blocks and their
// validity"). invalid: names the field. What execution decides (roots, digests, the proposed
// schedule's entries) is not checked here, nor the signature, nor certificates.
[[nodiscard]] base::Result<void> check_header(const chain::BlockHeader& header,
                                              const HeaderContext& context);

// A certificate and the schedules under which verify() must find it good.
struct ToVerify {
    chain::Certificate certificate;
    chain::ScheduleState schedules;
};

// What to do with a block that came.
struct HeaderVerdict {
    enum class Fate : std::uint8_t {
        good,         // Verify `certificates` and the signature, execute, adopt.
        early,        // Hold it until `ready_at`, one a producer, and ask again.
        too_early,    // Refused now, however good: its producer's clock or ours is wrong.
        unlinkable,   // Its parent is not here: ask for that.
        stale,        // Here already, or cut off by the final block. Nobody's fault.
        bad_witness,  // The sender's fault; another's copy of the block may be good.
        invalid,      // The producer's fault, and the sender's.
    };
    Fate fate = Fate::invalid;
    std::string reason;  // Of a fault, for people.
    base::Timestamp ready_at{};
    std::vector<ToVerify> certificates;
};

}  // namespace consensus
