#pragma once

#include "p2p/server.hpp"

#include <deque>
#include <map>

namespace p2p {

// Answers requests for pieces of our snapshots (spec 05, "Snapshots"): one read at a time for each
// peer, and none while what was sent before is not written.
class SnapshotServer {
  public:
    // Both outlive it; tickets are counted there.
    SnapshotServer(Peers& peers, BlockServer& tickets) : peers_(peers), tickets_(tickets) {}

    void on_request(Peer& peer, const SnapshotRequest& request, std::uint64_t correlation);
    void on_read(const input::SnapshotRead& read);
    // After something was written to the peer.
    void serve(Peer& peer);
    void forget(PeerSlot slot) { lines_.erase(slot); }

  private:
    struct Question {
        SnapshotPiece piece;
        std::uint64_t correlation = 0;
    };
    struct Line {
        std::deque<Question> questions;  // The first is being read if `ticket` is not 0.
        ReadTicket ticket = 0;
    };

    Peers& peers_;
    BlockServer& tickets_;
    std::map<PeerSlot, Line> lines_;
};

}  // namespace p2p
