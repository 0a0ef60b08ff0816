#pragma once

#include "tests/sim/full/fleet.hpp"

#include <cstdint>
#include <set>

namespace sim::full {

// Byzantine members that fill the free places of the schedule with accounts of their own: they
// create them, register them, say for them that their nodes are ready, and vote for nobody else,
// as soon as all members have voted. Nobody runs these nodes.
class Candidates {
  public:
    explicit Candidates(Fleet& fleet);

    // Whether the Byzantine members of this seed do that. Where they do, the schedule has free
    // places and each member votes for all and weighs as much as another.
    [[nodiscard]] static bool is_in(const World& world, std::uint64_t seed);

    void became_final(const chain::ExecutedBlockPtr& block);
    // From time to time, to the end.
    void act();

    // Of which `ready` was said.
    [[nodiscard]] std::size_t ready() const { return ready_.size(); }

  private:
    void note(const chain::Action& action);
    void enter(std::size_t number);
    void vote();

    Fleet& fleet_;
    const std::size_t liar_;
    base::Timestamp next_{};
    // Whose action of that kind is final: members, and accounts of their own.
    std::set<chain::Name> voters_;
    std::set<chain::Name> registered_;
    std::set<chain::Name> created_;  // Of their own alone, as the next.
    std::set<chain::Name> ready_;
};

}  // namespace sim::full
