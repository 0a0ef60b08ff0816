#pragma once

#include "p2p/blocks.hpp"
#include "p2p/gate.hpp"
#include "p2p/handshake.hpp"
#include "p2p/peers.hpp"
#include "p2p/sync.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace p2p {

// Where we stand towards each peer (spec 05, "Sync manager"), and what follows from it:
// start_sync() while our head is below a peer's final block, verify_catchup() while a peer has
// reversible blocks that we lack.
class CatchUp {
  public:
    // All outlive it.
    CatchUp(Peers& peers,
            BlockGossip& blocks,
            const Access& access,
            const input::LedgerChanged& ledger);

    void on_ledger();
    void on_notice(Peer& peer, const Envelope& envelope, const Notice& notice);
    // False: this does not answer a question of the sync manager's.
    [[nodiscard]] bool is_asked(const Peer& peer, const Envelope& envelope) const;
    void on_blocks(Peer& peer, const Envelope& envelope, const Blocks& blocks);
    // For a question for which is_asked().
    void on_proof(Peer& peer, const Envelope& envelope, RangeProof proof);
    // False: it is not a copy of the sync manager's.
    bool on_judged(const input::Judged& judged);
    void on_time();
    void forget(PeerSlot slot);

    // Whether peers have final blocks that we lack, and may be believed.
    [[nodiscard]] bool is_behind() const {
        return mode_ == SyncMode::last_irr_catch_up && gate_.is_open();
    }
    // Whether blocks and certificates that come unasked may go to the ledger.
    [[nodiscard]] bool takes_news() const {
        return gate_.takes_news(mode_ == SyncMode::last_irr_catch_up);
    }
    // Why this block is not on our chain: a checkpoint names another one. Nothing: it may be.
    [[nodiscard]] std::optional<std::string> contradiction(const chain::Block& block) const {
        return sync_.contradiction(block);
    }
    // How many peers can give the block after our final one.
    [[nodiscard]] std::size_t block_sources();
    // A snapshot is taken: no blocks are asked for until it is let go.
    void hold(bool is_held);
    // Final blocks of others that we lack, and how fast they come.
    [[nodiscard]] chain::Height missing_blocks() const {
        return target_ - std::min(target_, ledger_.finalized.height);
    }
    [[nodiscard]] std::uint32_t blocks_per_second() const { return blocks_per_second_; }

    // Whether all that is final at our peers was final here once, and we were not without any peer
    // for long since.
    [[nodiscard]] bool has_joined() const { return has_joined_; }
    [[nodiscard]] SyncStatus status() const;

  private:
    [[nodiscard]] bool branch_has(const BlockPoint& point) const;
    [[nodiscard]] SyncMode mode_towards(const Peer& peer) const;
    // Whether what a peer names as final counts. It does not once the peer was ahead of us for
    // long, gave nothing, and our final block rose all the same: until we have a block as high, or
    // our final block stands still. It is of its key, which may come again and again, and closes
    // nobody who is only slow.
    [[nodiscard]] bool is_believed(Peer& peer);
    [[nodiscard]] bool is_disbelieved(const Peer& peer) const;
    void end_claim(const Peer& peer);
    void evaluate();
    void note_joined(bool has_their_final);
    void fetch_final();
    void start_sync();
    void verify_catchup(Peer& peer);
    void pump();
    void hand_over();
    void apply(const SyncManager::Fault& fault);
    void refuse(const input::Judged& judged, Peer* sender);
    // Of what a peer may cause as often as it likes.
    void warn(const std::string& text);
    // How fast the head rises; in the log it is once in a while.
    void measure();
    void log_progress();

    Peers& peers_;
    BlockGossip& blocks_;
    const input::LedgerChanged& ledger_;
    SyncManager sync_;
    Gate gate_;
    SyncMode mode_ = SyncMode::none;
    std::uint32_t ready_peers_ = 0;
    bool has_joined_ = false;
    std::optional<base::Timestamp> alone_since_;
    bool is_held_ = false;
    chain::Height target_ = 0;
    chain::Height risen_to_ = 0;  // Our final block, and
    base::Timestamp risen_at_{};  // since when.
    // Of a key that names final blocks which we lack.
    struct Claim {
        base::Timestamp since{};   // Or since it gave one, or was asked first.
        chain::Height height = 0;  // The highest.
        bool was_asked = false;
        bool is_disbelieved = false;
    };
    std::map<PublicKey, Claim> claims_;

    // Progress: what was there at the last sample, and rates since then.
    struct Sample {
        base::Timestamp at{};
        chain::Height height = 0;
        std::uint64_t bytes = 0;
    };
    Sample sample_;
    base::Timestamp logged_at_{};
    base::Timestamp warned_at_{};
    std::uint32_t blocks_per_second_ = 0;
    std::uint64_t bytes_per_second_ = 0;
};

}  // namespace p2p
