#pragma once

#include "base/queue.hpp"
#include "p2p/peers.hpp"

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace p2p {

// Passes votes and certificates on, each once to each peer.
//
// Our own votes go to all who vote, at once. Votes of others are passed on only if no certificate
// has made them superfluous after a short while: between nodes that are all connected they never
// are, and where a link is missing they find their way.
//
// A vote of a key that has kVotesOfKey here takes the place of the oldest of them, never of another
// key's; and of one slot and kind two that differ are looked at, for they are evidence and a third
// says nothing new, nor does another signature of what is known. What goes on of a key is bounded
// (relayed_votes_of_key()), and what is over that waits: a key has few good votes of a slot, so
// that two which convict it are sent, whatever came before.
//
// Once its tables are full, a vote that comes and goes on allocates nothing.
class VoteGossip {
  public:
    explicit VoteGossip(Peers& peers);

    void push(const chain::Vote& vote);
    void pass(const input::PassCertificate& certificate);

    // `body` is what its id is the hash of.
    void on_vote(Peer& peer, chain::Vote vote, base::ByteView body);
    void on_certificate(Peer& peer, chain::Certificate certificate, base::ByteView body);
    void on_judged(const input::Judged& judged);
    // Passes on what is due.
    void on_time();
    // When on_time() has something to do; absent: nothing waits.
    [[nodiscard]] std::optional<base::Timestamp> next_time() const;

    // Of a vote that is good, for who asks for the newest of its key.
    void note_newest(const chain::Vote& vote);
    // The newest votes of a key that were seen: one of each kind.
    void newest(const PublicKey& key, std::vector<chain::Vote>& out) const;
    void forget(PeerSlot slot);

  private:
    struct VoteState {
        chain::Vote vote;
        bool is_good = false;
        SharedBytes message{};  // As it came, until it was passed on or need not be.
    };
    struct CertificateState {
        chain::VoteData data;
    };
    // Four of a slot, of sixteen slots: what waits of them has gone on within eleven.
    static constexpr std::size_t kVotesOfKey = 64;
    struct Known {
        chain::VoteData data;
        base::Hash256 id;

        [[nodiscard]] chain::Slot slot() const { return data.slot; }
    };
    struct Voter {
        std::array<std::optional<chain::Vote>, 2> newest;  // By kind.
        std::array<Known, kVotesOfKey> known;  // The first `count`, in no order: what was good.
        std::size_t count = 0;
        TokenBucket relayed;

        explicit Voter(TokenBucket::Rate rate) : relayed(rate) {}
    };
    struct Relay {
        base::Timestamp due;
        base::Hash256 id;
    };

    [[nodiscard]] bool is_certified(const chain::VoteData& data) const;
    [[nodiscard]] bool wants(const chain::Vote& vote) const;
    [[nodiscard]] bool may_pass_on(const PublicKey& key);
    void forget_oldest_voter();
    void note_good(const chain::Vote& vote, const base::Hash256& id);
    void send_to_lacking(SeenTable<VoteState>::Entry& entry);

    Peers& peers_;
    base::Duration relay_delay_;
    TokenBucket::Rate relay_rate_;  // Of each key.
    SeenTable<VoteState> votes_;
    SeenTable<CertificateState> certificates_;
    base::Queue<Relay> relays_;              // Ascending times.
    std::deque<chain::VoteData> certified_;  // The newest.
    std::map<PublicKey, Voter> voters_;
};

}  // namespace p2p
