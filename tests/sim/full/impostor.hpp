#pragma once

#include "tests/sim/full/fleet.hpp"

#include <optional>

namespace sim::full {

// What a Byzantine member sends in the name of others, and of blocks that were never executed:
// votes and headers that their keys have signed for another chain, or that it has signed itself;
// certificates with one right signature; blocks with another state digest; evidence of nothing.
// It has dice of its own, so that what others draw stays as it is.
class Impostor {
  public:
    Impostor(Fleet& fleet, std::uint64_t seed);

    // What honest members sign, the moment they do.
    void vote_signed(std::size_t machine, const chain::Vote& vote);
    void header_signed(std::size_t machine, const chain::SignedHeader& header);
    // A message of one of its machines.
    void message_sent(const p2p::SharedBytes& bytes);
    // From time to time.
    void act();

  private:
    void send_vote();
    void send_header();
    void send_certificate();
    void send_block();
    void report();
    [[nodiscard]] chain::Vote false_vote(bool is_foreign);
    void tell(const p2p::SharedBytes& bytes);

    Fleet& fleet_;
    Chance dice_;
    std::size_t member_;
    int percent_ = 0;  // Of the times that it may act.
    std::optional<chain::Vote> vote_;
    std::size_t voter_ = 0;  // Whose machine.
    std::optional<chain::SignedHeader> header_;
    std::size_t producer_ = 0;
    chain::BlockPtr block_;  // Its own, without transactions.
};

}  // namespace sim::full
