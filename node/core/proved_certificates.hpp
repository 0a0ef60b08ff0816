#pragma once

#include "chain/types/schedule_state.hpp"
#include "chain/types/vote.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace node {

// What is certified, each with the first certificate of it whose signatures were all looked at.
//
// A peer that has more votes than a quorum can make countless certificates of them, without any
// key. Of those that follow the first, only signatures of validators that had not signed before are
// looked at. So all certificates of a block and kind cost the first one, and at most one signature
// more for each validator.
//
// Bounded: the newest kMax. Thread: core.
class ProvedCertificates {
  public:
    static constexpr std::size_t kMax = 1'024;

    struct Entry {
        chain::Certificate certificate;
        chain::ScheduleState schedules;  // That it is good under: others may ask for more votes.
        std::vector<base::crypto::PublicKey> signers;  // Of all that were seen.
    };

    // Null: none, or under other schedules.
    [[nodiscard]] Entry* find(const chain::VoteData& data, const chain::ScheduleState& schedules);
    // One that is good; the first stays.
    void add(const chain::Certificate& certificate, const chain::ScheduleState& schedules);

  private:
    using Key = std::pair<chain::BlockId, chain::VoteKind>;

    std::map<Key, Entry> entries_;
    std::deque<Key> order_;
};

}  // namespace node
