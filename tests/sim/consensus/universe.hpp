#pragma once

#include "chain/types/block.hpp"
#include "chain/types/evidence.hpp"
#include "chain/types/schedule_state.hpp"
#include "tests/sim/chance.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

namespace sim {

// What a seed decides before the first event.
struct Plan {
    std::uint64_t seed = 0;
    chain::Slot chaos_until = 140;  // Slots with faults.
    chain::Slot end = 200;
    std::size_t faults_beyond = 0;  // Byzantine members above f.
    // Disks are replaced, and rows of earlier ones come back; journals are short.
    bool renews_disks = false;
};

// A possible validator. It has two vote keys, or more after a recovery: schedules differ in which
// one is named.
struct Member {
    chain::Name name;
    base::crypto::PublicKey signing_key;
    std::vector<base::crypto::PublicKey> vote_keys;
    bool byzantine = false;
    // Its disk may be put back as it was: then it counts as Byzantine, and goes by the rules.
    bool copied = false;
};

// Who there is, and which schedules the chain may choose.
struct Universe {
    chain::SlotTimes times{.initial = {1'700'000'000'000'000}, .interval_milliseconds = 500};
    std::uint32_t repetitions = 1;
    std::uint64_t period = 16;
    std::vector<Member> members;
    std::vector<std::vector<chain::ScheduleEntry>> choices;  // The first is genesis'.
    chain::BlockPtr genesis;

    [[nodiscard]] const Member* owner(const base::crypto::PublicKey& key) const;
    // What the ledger would propose after this parent; a function of its id alone.
    [[nodiscard]] std::optional<chain::Schedule> proposal(const chain::BlockId& parent,
                                                          const chain::Schedule& active) const;
    [[nodiscard]] base::Timestamp at(chain::Slot slot) const {
        return times.time_of(slot).to_timestamp();
    }
    // Where the members that count as Byzantine, or are named in `silent`, exceed f of a schedule.
    [[nodiscard]] bool overwhelmed(const std::vector<char>& silent) const;
};

[[nodiscard]] Universe make_universe(const Plan& plan, Chance& chance);

// Signatures that cost nothing: only who holds the key makes them, as the simulator is built.
[[nodiscard]] base::crypto::Signature sign(const base::crypto::PublicKey& key,
                                           const chain::VoteData& data);
// Whether it is what sign() makes of these.
[[nodiscard]] bool is_signed(const base::crypto::Signature& signature,
                             const base::crypto::PublicKey& key,
                             const chain::VoteData& data);

// For tables of blocks by their ids, which are as good as random behind the height.
struct IdHash {
    std::size_t operator()(const chain::BlockId& id) const {
        std::size_t value = 0;
        std::memcpy(&value, id.bytes.data() + sizeof value, sizeof value);
        return value;
    }
};
struct IdEqual {
    bool operator()(const chain::BlockId& a, const chain::BlockId& b) const {
        return std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
    }
};
template <class Value>
using ById = std::unordered_map<chain::BlockId, Value, IdHash, IdEqual>;

}  // namespace sim
