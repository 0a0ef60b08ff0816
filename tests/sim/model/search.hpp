#pragma once

#include "tests/sim/model/automaton.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sim::model {

// What a search came to.
struct Result {
    std::string failure;            // Empty: none.
    std::uint64_t states = 0;       // Of the three honest members together.
    std::uint64_t transitions = 0;  // Between those.
    std::uint64_t said = 0;         // Different in what the members have said.
    std::uint64_t member_states = 0;
    std::uint64_t member_transitions = 0;
    std::uint64_t merges_checked = 0;
    std::uint64_t finals = 0;  // States in which a COMMIT certificate can exist.
    std::size_t blocks = 0;
    bool is_whole = true;  // Nothing was left out at the limit of states.
};

// All that can happen within the bounds, in whatever order messages come, if they come.
//
// What reduces it, and leaves nothing out:
// - A message that was sent can come at any time from then on, or never, and as often as it likes
//   (a second time it changes nothing). So a state is the states of the members: what is under way
//   follows from what each has said.
// - What a member does without saying anything concerns nobody else, and more can come later, not
//   less. So it is put off until just before the step in which the member says something: states
//   between are its own matter (Automaton::next), and not combined with those of the others. If it
//   may say it before or after it has heard something, and comes into the same state, then before.
// - Each member has its own clock, which goes at its own pace: what holds here holds for any skew.
// - The Byzantine member has signed whatever it may sign from the beginning. So a certificate can
//   exist when two honest members have cast its votes; which two does not matter to any rule.
// - Votes that are no quorum change no promise, so the votes of a certificate come together.
// Left out are schedule changes, honest members that miss their own slot, lost journals, and
// headers of the Byzantine member that name another final block than their parent.
class Search {
  public:
    Search(const Bounds& bounds, std::size_t states_max);
    [[nodiscard]] Result run();

  private:
    static constexpr std::size_t kHonest = 3;
    using Place = std::array<StateId, kHonest>;

    void expand(const Place& place);
    void visit(const Place& place);
    [[nodiscard]] std::uint64_t& place_of(std::uint64_t key);
    void grow();
    [[nodiscard]] BlockSet certifiable(const Place& place, chain::VoteKind kind) const;
    [[nodiscard]] Offer offer(const Place& place) const;
    void check(const Place& place);
    [[nodiscard]] bool is_explained(const Place& place, const BlockSet& finals) const;
    [[nodiscard]] std::string describe(const Place& place) const;

    Blocks blocks_;
    std::size_t states_max_;
    std::vector<std::unique_ptr<Automaton>> members_;
    std::vector<std::uint64_t> seen_;  // Open addressing; 0: free.
    std::vector<Place> open_;
    std::map<Offer, std::uint32_t> offers_;
    std::set<std::array<Said, kHonest>> said_;
    Result result_;
};

}  // namespace sim::model
