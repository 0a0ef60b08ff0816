#pragma once

#include "base/line_limit.hpp"
#include "p2p/access.hpp"
#include "p2p/peers.hpp"
#include "p2p/server.hpp"
#include "p2p/votes.hpp"

#include <map>

namespace p2p {

// Decides whom we talk to: who may connect, whether both are on one chain and speak one version,
// which of two connections stays, and whether a vote key is used twice.
class Handshake {
  public:
    // All outlive it.
    Handshake(Peers& peers,
              BlockServer& server,
              VoteGossip& votes,
              const input::LedgerChanged& ledger,
              const Stored& stored);

    // Before on_up(): closes who has to give way to this channel, if it may connect.
    void make_room(const input::ChannelUp& up);
    // A channel came up: says hello, or closes it. False: there is no peer for it.
    bool on_up(const input::ChannelUp& up, std::optional<PublicKey> pinned);
    void on_hello(Peer& peer, Hello hello);
    // False: the ticket is not of ours.
    bool on_read(const input::BlocksRead& read);
    // The peer has answered the heartbeat of `asked_time`.
    void on_heartbeat(Peer& peer);
    void on_time();
    void forget(PeerSlot slot);

    [[nodiscard]] Access& access() { return access_; }
    // Whether who shows this key would be greeted, if there is room.
    [[nodiscard]] bool lets_in(base::Timestamp now, const PublicKey& key, bool outbound) const;
    // Closes connections to who may not connect any more.
    void check_again();
    // With `has_joined` what the registry says counts for peers that we dialled, too; without it
    // the registry that we know may be an old one.
    void set_joined(bool has_joined);
    [[nodiscard]] bool is_joining() const { return is_joining_; }

  private:
    // When a vote key was last seen to start, and where.
    struct Boot {
        std::uint64_t boot_id = 0;
        chain::Slot start_slot = 0;
        std::optional<PeerSlot> slot;  // While it is connected.
        bool is_twin = false;          // Another machine with it was seen alive meanwhile.
    };
    using Refusal = GoAway;  // What the peer is told.

    // Who has no place.
    void turn_away(const input::ChannelUp& up, const GoAway& away);

    [[nodiscard]] Access::Answer ask_access(const PublicKey& key, bool outbound) const;
    [[nodiscard]] bool permit(Peer& peer);
    void say_hello(Peer& peer);
    [[nodiscard]] std::optional<Refusal> check(const Peer& peer, const Hello& hello) const;
    [[nodiscard]] std::optional<Refusal> check_recovery(const Peer& peer, const Hello& hello) const;
    [[nodiscard]] std::optional<Refusal> check_statements(const Peer& peer,
                                                          const Hello& hello) const;
    // Vote keys of ours on another machine.
    [[nodiscard]] std::optional<Refusal> find_own_twin(const Peer& peer, const Hello& hello);
    // Vote keys on two machines, neither of them this one: each is told which started later there.
    // May let the peer wait.
    [[nodiscard]] std::optional<Refusal> find_twins(Peer& peer, const Hello& hello);
    // The hello is good, and no earlier start of the peer is connected.
    void greet(Peer& peer);
    // At who waits for this peer, which has answered or gone.
    void look_again(PeerSlot earlier);
    [[nodiscard]] std::optional<Refusal> find_duplicate(const Peer& peer);
    [[nodiscard]] std::optional<Refusal> check_fork(Peer& peer);
    void remember(const Peer& peer);
    void accept(Peer& peer);

    Peers& peers_;
    BlockServer& server_;
    VoteGossip& votes_;
    const input::LedgerChanged& ledger_;
    const Stored& stored_;
    Access access_;
    bool is_joining_ = true;
    std::map<PublicKey, Boot> boots_;
    base::LineLimit<Reason> lines_;  // About who was turned away.
};

// Where we stand, for a peer; with the ids of our reversible blocks if it lacks our head.
[[nodiscard]] Notice make_notice(Peer& peer, const input::LedgerChanged& ledger, bool with_ids);
// The same with what we have stored, if the peer does not know.
[[nodiscard]] Notice make_notice(Peer& peer,
                                 const input::LedgerChanged& ledger,
                                 const Stored& stored);

}  // namespace p2p
