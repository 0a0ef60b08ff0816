#pragma once

#include "p2p/access.hpp"
#include "p2p/peers.hpp"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace p2p {

// Whom a node at genesis without a checkpoint believes (spec 05, "Who may connect"). Keys that vote
// no more could forge a whole history, and nothing in it would show that. So it takes one only when
// nodes of two organisations of the genesis list prove to be on one chain: the farther one has the
// final block of the other. A pinned peer in no list counts as one organisation, with all others
// that are pinned and in no list; other peers in no list never count. One organisation is enough
// where the list has no second one, and where the operator says so (Options). A genesis file that
// lists no node leaves nobody to believe but whom the operator dials: then any peer is enough.
//
// At genesis the registry that Access has is the genesis list.
class Gate {
  public:
    // All outlive it.
    Gate(Peers& peers, const Access& access, const input::LedgerChanged& ledger);

    // Final blocks and snapshots of peers may be taken.
    [[nodiscard]] bool is_open() const { return is_open_; }
    // Blocks and certificates that come unasked may go to the ledger. While it is closed a chain
    // may be about to begin: a node of the genesis list takes part in it, whatever one of its peers
    // claims to have as final; another one where no peer is ahead of us (`is_behind`) and enough
    // organisations are there.
    [[nodiscard]] bool takes_news(bool is_behind) const;
    // A node with a history of its own needs nobody's word for it.
    void on_ledger();
    // Peers are ahead: compares two of them, if there are two. Whether it is open now.
    [[nodiscard]] bool look();
    // No peer is ahead: says whether it waits for others all the same.
    void look_at_beginning();
    void on_time();

    // False: this does not answer a question of the gate's.
    [[nodiscard]] bool is_asked(const Peer& peer, const Envelope& envelope) const;
    // Of an answer for which is_asked().
    void on_answer(Peer& peer, const Blocks& blocks);
    void forget(PeerSlot slot);

    // What it waits for, when it was looked at last; empty: nothing.
    [[nodiscard]] const std::string& trouble() const { return trouble_; }
    // The final block that two organisations name, and the slot in which they did.
    struct Agreed {
        BlockPoint block;
        chain::Slot at = 0;
    };
    // Nothing: nobody was compared.
    [[nodiscard]] const std::optional<Agreed>& agreed() const { return agreed_; }

  private:
    // Whose word a peer's is: an organisation's, or, with an empty name, that of those in no list
    // who count. Nothing: it does not count.
    using Party = std::optional<chain::Name>;
    [[nodiscard]] Party party_of(const Peer& peer) const;
    [[nodiscard]] std::set<chain::Name> parties(const std::vector<Peer*>& peers) const;
    // Who is ready and has more final blocks than these.
    [[nodiscard]] std::vector<Peer*> above(chain::Height height) const;
    [[nodiscard]] std::size_t needed() const;
    void open(const std::string& why);
    [[nodiscard]] std::string what_is_missing(const std::vector<Peer*>& here) const;
    [[nodiscard]] std::pair<Peer*, Peer*> next_to_compare(const std::vector<Peer*>& ahead) const;
    void compare(Peer& one, Peer& other);
    void agree();
    void cannot_compare(const Peer& higher);
    void contradict();
    // In the log once, and again when it is something else.
    void wait_for(std::string trouble);

    Peers& peers_;
    const Access& access_;
    const input::LedgerChanged& ledger_;
    bool is_open_ = false;
    std::string trouble_;
    std::optional<Agreed> agreed_;
    // Of any two, those of which nothing was to be had; nothing of any of them before `again_at_`,
    // which is set once there are no others. Who comes meanwhile is compared at once.
    std::set<std::pair<PeerSlot, PeerSlot>> failed_;
    std::optional<base::Timestamp> again_at_;
    std::pair<PeerSlot, PeerSlot> compared_{};
    // What one says, being asked of the other.
    BlockPoint point_;
    std::optional<PeerSlot> asked_;
    base::Timestamp asked_at_{};
};

}  // namespace p2p
