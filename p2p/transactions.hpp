#pragma once

#include "p2p/peers.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace p2p {

// Passes transactions on. Those submitted here are pushed to all; those of others are offered by
// id to peers that do not have them yet, a little later and many at once. Ids are
// packed_digest()s: two forms of one transaction with other signatures are two things here.
class TransactionGossip {
  public:
    explicit TransactionGossip(Peers& peers);

    void push(const chain::PackedTransaction& transaction);
    void on_transaction(Peer& peer, chain::PackedTransaction transaction);
    void on_offer(Peer& peer, const std::vector<base::Hash256>& ids);
    void on_request(Peer& peer, const std::vector<base::Hash256>& ids, std::uint64_t correlation);
    void on_judged(const input::Judged& judged);
    void on_ready(Peer& peer);
    void on_time();
    [[nodiscard]] std::optional<base::Timestamp> next_time() const { return offer_at_; }

    // The message with it; null: it is not kept.
    [[nodiscard]] SharedBytes find(const base::Hash256& id) const;
    // Whether the peer surely has it.
    [[nodiscard]] bool has(const Peer& peer, const base::Hash256& id) const;
    void forget(PeerSlot slot);

  private:
    struct State {
        SharedBytes message;
        bool is_good = false;
    };
    struct Asked {
        PeerSlot of = 0;
        base::Timestamp at{};
    };

    void send(Peer& peer, SeenTable<State>::Entry& entry, Mark mark);
    void offer(Peer& peer, std::vector<base::Hash256> ids);
    void begin_asking(SeenTable<Asked>::Entry& entry, PeerSlot slot);
    void end_asking(const SeenTable<Asked>::Entry& entry);
    // What did not come is asked of the next one that offered it.
    void ask_others();
    [[nodiscard]] std::optional<PeerSlot> next_to_ask(PeerSet holders, PeerSet asked) const;

    Peers& peers_;
    SeenTable<State> transactions_;
    // Offered to us, and asked for, the oldest question first. Holders offered it, told are asked.
    SeenTable<Asked> asked_;
    std::array<std::size_t, kPeersMax> asked_of_{};  // How many of them, by peer.
    base::Timestamp look_at_{};                      // For what did not come.
    std::vector<base::Hash256> to_offer_;
    std::optional<base::Timestamp> offer_at_;
};

}  // namespace p2p
