#pragma once

#include "tests/sim/model/replica.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace sim::model {

using StateId = std::uint32_t;

// What may come: of each kind of input, of which blocks.
struct Offer {
    BlockSet blocks;
    std::array<BlockSet, 2> certificates;  // By kind.

    friend auto operator<=>(const Offer&, const Offer&) = default;
};

// All states that one honest member can come into, each reached by some inputs: what follows is
// found by running production through these and one more, once.
class Automaton {
  public:
    struct State {
        Said said;
        BlockSet held;
        BlockSet certified;
        std::array<Number, 2> early{};
        Number finalized = 0;
        chain::Slot slot = 0;
        bool late = false;
        bool restarted = false;
        StateId before = 0;  // And the input that led here from there.
        Input by;
    };

    Automaton(Blocks& blocks, std::size_t member, bool may_restart);

    [[nodiscard]] const State& operator[](StateId id) const { return states_[id]; }
    [[nodiscard]] std::size_t size() const { return states_.size(); }
    [[nodiscard]] std::uint64_t transitions() const { return transitions_; }
    [[nodiscard]] std::uint64_t merges_checked() const { return merges_checked_; }
    [[nodiscard]] const std::string& failure() const { return failure_; }
    [[nodiscard]] std::size_t member() const { return member_; }

    // The states in which it first says something more than in `from`, whatever of the offer
    // comes before, and in which order; without those that one of them comes to by listening.
    [[nodiscard]] const std::vector<StateId>& next(StateId from,
                                                   std::uint32_t number,
                                                   const Offer& offer);
    // For people: the inputs that lead there.
    [[nodiscard]] std::string describe(StateId id) const;

  private:
    [[nodiscard]] std::vector<Input> inputs(const State& state, const Offer& offer) const;
    // The states that it comes into with the first that it says, after having listened to any of
    // the offer. Goes on from those silent states that are wanted.
    template <class Wanted>
    std::vector<StateId> listen(StateId from, const Offer& offer, Wanted is_wanted);
    [[nodiscard]] bool may_lead(const State& from, const State& to) const;
    void drop_those_that_wait(std::vector<StateId>& found, const Offer& offer);
    [[nodiscard]] StateId step(StateId from, const Input& input);
    [[nodiscard]] std::vector<Input> history(StateId id) const;
    [[nodiscard]] Replica replay(const std::vector<Input>& inputs) const;
    StateId enter(const Replica& replica, StateId before, const Input& by);
    void check_said(const State& state);
    void check_merge(StateId known, StateId before, const Input& by);

    Blocks& blocks_;
    std::size_t member_;
    bool may_restart_;
    std::vector<State> states_;
    std::unordered_map<std::string, StateId> ids_;
    std::vector<std::map<Input, StateId>> steps_;
    std::unordered_map<std::uint64_t, std::vector<StateId>> next_;
    std::uint64_t transitions_ = 0;
    std::uint64_t merges_ = 0;
    std::uint64_t merges_checked_ = 0;
    std::string failure_;
};

}  // namespace sim::model
