#pragma once

#include "p2p/peers.hpp"
#include "p2p/seen.hpp"

#include <map>
#include <optional>

namespace p2p {

// Gets other copies of final blocks whose signature or witness is wrong as they are stored here:
// the same id, from another peer (spec 05, trust = certified). A few at a time, each of one peer
// after the other; the ledger says which copy is good, and whose was not is closed.
class Mender {
  public:
    // Outlives it.
    explicit Mender(Peers& peers) : peers_(peers) {}

    void set_wanted(const input::MendBlocks& wanted);
    // Whether these blocks answer a question of the mender's.
    [[nodiscard]] bool is_asked(const Peer& peer, const Envelope& envelope) const;
    void on_blocks(Peer& peer, const Blocks& blocks);
    // False: it is not a copy that was handed over here.
    bool on_judged(const input::Judged& judged);
    void on_time();
    // Costs the same, however many are wanted.
    void forget(PeerSlot slot) { departures_.note(slot); }

  private:
    enum class Stage : std::uint8_t { idle, asked, judging };
    struct Want {
        PeerSet tried{};
        std::uint64_t departures = 0;  // How many are known here.
        Stage stage = Stage::idle;
        ChannelId channel{};  // Who is asked, or whose copy is judged, be it gone.
        base::Timestamp at{};
    };
    void ask(const chain::BlockId& id, Want& want);

    Peers& peers_;
    std::map<chain::BlockId, Want> wanted_;
    Departures departures_;
};

}  // namespace p2p
