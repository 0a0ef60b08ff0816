#pragma once

#include "chain/state/state.hpp"
#include "chain/types/evidence.hpp"
#include "chain/types/schedule.hpp"
#include "chain/types/transaction.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace node {

// What a validator's node says on the chain by itself, with the keys that it votes with (spec 04):
// `ready` while its validator, or its new key, waits for a place in the schedule, `reportbad` with
// the evidence that it has found, `amnesia` when its operator made a lost safety journal vote at
// once.
//
// Each is said again until the final state has it. Bounded in evidence. Pure. Thread: core.
class Duties {
  public:
    static constexpr std::size_t kAccusationsMax = 256;

    // One action to say now, signed with these keys, which chain's Authorization accepts for it.
    struct Due {
        chain::Action action;
        std::vector<base::crypto::PublicKey> keys;
    };
    struct Moment {
        const chain::StateView& state;  // Of the final block.
        chain::Slot slot = 0;           // Of the clock.
        chain::Slot final_slot = 0;     // Of the final block.
        bool is_synced = false;         // The node follows the head.
        std::uint64_t period = 120;     // Of schedules, slots.
        // Keys here that do not vote: lost, a twin's, or stopped for ever.
        std::vector<base::crypto::PublicKey> silent;
    };

    // `named`: whose node this is, as its operator says.
    Duties(std::vector<base::crypto::PublicKey> own, std::vector<chain::Name> named)
        : own_(std::move(own)), named_(std::move(named)) {}

    // False: there is too much already, or nobody here could report it.
    bool accuse(chain::Evidence evidence);
    // What was reported, or cannot be, since the last call: it need not be kept any more.
    [[nodiscard]] std::vector<chain::Evidence> take_settled() {
        return std::exchange(settled_, {});
    }
    void note_amnesia(const base::crypto::PublicKey& key);
    // Whose amnesia the final state has had since the last call: it need not be kept any more.
    [[nodiscard]] std::vector<base::crypto::PublicKey> take_recorded() {
        return std::exchange(recorded_, {});
    }
    // What is due. corrupt: the state does not decode.
    [[nodiscard]] base::Result<std::vector<Due>> due(const Moment& moment);

  private:
    struct Accusation {
        chain::Evidence evidence;
        base::crypto::PublicKey accused;
        chain::Slot next = 0;     // When it is said (again); 0: it was not looked at.
        int said = 0;             // In vain, though blocks became final,
        chain::Slot said_at = 0;  // and last in this slot.
    };

    // The keys with which a producer speaks, and those that it would have in the next schedule.
    struct Producer {
        chain::ScheduleEntry entry;
        chain::ScheduleEntry next;
    };
    [[nodiscard]] base::Result<std::vector<Producer>> producers(
        const Moment& moment, const chain::Schedule& schedule) const;
    void say_ready(const Moment& moment,
                   const chain::Schedule& schedule,
                   const chain::ScheduleEntry& next,
                   std::vector<Due>& out);
    void say_amnesia(const Moment& moment, const chain::ScheduleEntry& ours, std::vector<Due>& out);
    void report(const Moment& moment,
                const chain::Schedule& schedule,
                const chain::ScheduleEntry& ours,
                std::vector<Due>& out);
    [[nodiscard]] bool are_here(const chain::ScheduleEntry& entry) const;
    [[nodiscard]] bool is_ours(const chain::Schedule& schedule, chain::Name producer) const;
    // Both keys are here, and vote.
    [[nodiscard]] bool holds(const Moment& moment, const chain::ScheduleEntry& entry) const;

    std::vector<base::crypto::PublicKey> own_;
    std::vector<chain::Name> named_;
    std::vector<Accusation> accusations_;
    std::vector<chain::Evidence> settled_;
    std::set<base::crypto::PublicKey> forgetful_;  // Whose amnesia is not on chain yet,
    std::vector<base::crypto::PublicKey> recorded_;
    std::map<chain::Name, chain::Slot> amnesia_since_;  // and when that was noticed.
    chain::Slot next_look_ = 0;
    bool is_news_ = false;  // Something was added since the last look.
};

}  // namespace node
