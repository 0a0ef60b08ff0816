#pragma once

#include "p2p/peers.hpp"

#include <map>

namespace p2p {

// Passes on what the clocks of validators show, so that validators without a connection hear each
// other's: of each key the newest statement, at most five a second, to all who vote. Who comes is
// told what was heard of its own keys, so that what it says from now on is newer.
//
// Bounded: a key is kept once the ledger has called it a validator's.
class ClockGossip {
  public:
    explicit ClockGossip(Peers& peers) : peers_(peers) {}

    void push(const ClockStatement& statement);
    void on_clock(Peer& peer, const ClockStatement& statement, base::ByteView body);
    void on_judged(const input::Judged& judged);
    void on_ready(Peer& peer);
    void forget(PeerSlot slot);

  private:
    struct Heard {
        ClockStatement statement;
        PeerSet holders{};
        base::Timestamp at{};
    };

    void keep(Heard heard);

    Peers& peers_;
    std::map<PublicKey, Heard> heard_;
    std::map<base::Hash256, Heard> judging_;  // With the ledger.
};

}  // namespace p2p
