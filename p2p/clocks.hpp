#pragma once

#include "p2p/budget.hpp"
#include "p2p/peers.hpp"

#include <map>
#include <optional>

namespace p2p {

// Passes on what the clocks of validators show, so that validators without a connection hear each
// other's: of each key the newest statement, to all who vote. Who comes is told what was heard of
// its own keys, so that what it says from now on is newer, and what ours said last: that is a
// moment old, and what they say next sets it right. Who says something older is told the newest.
//
// What is newer than all before goes to the ledger at once, however soon it comes: who repeats an
// older statement delays none. What goes on of a key is bounded (kRelayedClocksOfKey); the newest
// of what waits goes on, too. Bounded: a key is kept once the ledger has called it a validator's.
class ClockGossip {
  public:
    explicit ClockGossip(Peers& peers) : peers_(peers) {}

    void push(const ClockStatement& statement);
    void on_clock(Peer& peer, const ClockStatement& statement, base::ByteView body);
    void on_judged(const input::Judged& judged);
    void on_ready(Peer& peer);
    // Passes on what has waited.
    void on_time();
    [[nodiscard]] std::optional<base::Timestamp> next_time() const { return next_due_; }
    // Costs the same, however much is judged.
    void forget(PeerSlot slot) { departures_.note(slot); }

  private:
    struct Said {
        ClockStatement statement;
        PeerSet holders{};
        std::uint64_t departures = 0;  // How many are known here.
    };
    struct Heard {
        Said newest{};
        base::Timestamp at{};                     // When it came.
        TokenBucket passes{kRelayedClocksOfKey};  // What may go on.
        std::optional<base::Timestamp> due{};     // It waits.
    };

    // Without the marks of peers that are gone since it was looked at.
    PeerSet& holders_of(Said& said) const;
    void answer_older(Peer& peer, Said& newest);
    void keep(Said said);
    void pass_on(Heard& heard);

    Peers& peers_;
    std::map<PublicKey, Heard> heard_;
    std::map<base::Hash256, Said> judging_;  // With the ledger.
    Departures departures_;
    std::optional<base::Timestamp> next_due_;  // The first of those that wait.
};

}  // namespace p2p
