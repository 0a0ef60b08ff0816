#pragma once

#include "p2p/peers.hpp"

#include <deque>
#include <map>

namespace p2p {

// Answers requests for blocks from what the ledger has stored: one read at a time for each peer,
// and none while what was sent before is not written.
class BlockServer {
  public:
    explicit BlockServer(Peers& peers) : peers_(peers) {}

    void on_request(Peer& peer, Request request, std::uint64_t correlation);
    void on_sync_request(Peer& peer, const SyncRequest& request, std::uint64_t correlation);
    // False: the ticket is not of ours.
    bool on_read(const input::BlocksRead& read);
    // After something was written to the peer.
    void serve(Peer& peer);
    void forget(PeerSlot slot);

    // Tickets are counted here for all who read.
    [[nodiscard]] ReadTicket new_ticket() { return next_ticket_++; }

  private:
    struct Question {
        std::uint64_t correlation = 0;
        chain::Height from = 0;
        chain::Height to = 0;
        std::vector<chain::BlockId> ids;
        std::optional<std::uint32_t> trusted{};  // The asker wants a proof.
    };
    struct Line {
        std::deque<Question> questions;  // The first is being read if `ticket` is not 0.
        ReadTicket ticket = 0;
    };

    void enqueue(Peer& peer, Question question);
    void answer(Peer& peer, const Question& question, const input::BlocksRead& read);

    Peers& peers_;
    std::map<PeerSlot, Line> lines_;
    ReadTicket next_ticket_ = 1;
};

}  // namespace p2p
