#pragma once

#include "p2p/bootstrap.hpp"
#include "p2p/catch_up.hpp"
#include "p2p/peers.hpp"

#include <string>
#include <vector>

namespace p2p {

// Whether this node takes a snapshot or blocks (spec 05, "Choice"), decided anew whenever it looks
// at its peers; and what Bootstrap asks and says, as messages and effects.
class SnapshotJoin {
  public:
    // All outlive it.
    SnapshotJoin(Peers& peers, CatchUp& catch_up, const input::LedgerChanged& ledger);

    void on_time();
    // False: this does not answer a question of ours.
    [[nodiscard]] bool is_asked(const Peer& peer, const Envelope& envelope) const;
    void on_answer(Peer& peer, const Envelope& envelope, SnapshotChunk answer);
    void on(const input::SnapshotKept& kept);
    void on(const input::SnapshotChecked& checked);
    void on(const input::SnapshotLoaded& loaded);
    // The peer said anew what it has.
    void on_stored(const Peer& peer) { bootstrap_.on_stored(peer.slot); }
    void forget(PeerSlot slot);

    // Nothing: no snapshot is fetched.
    [[nodiscard]] std::optional<SnapshotStatus> status() const;

  private:
    enum class Choice : std::uint8_t {
        blocks,
        both,  // Blocks go on; what a snapshot costs is found out meanwhile.
        snapshot,
    };
    [[nodiscard]] std::vector<Bootstrap::Source> sources();
    [[nodiscard]] Choice choose();
    [[nodiscard]] bool is_faster() const;
    // How long chunks come already; nothing: they do not.
    [[nodiscard]] std::optional<base::Duration> chunks_come_for() const;
    [[nodiscard]] std::uint64_t chunk_bytes_per_second(const SnapshotStatus& now) const;
    [[nodiscard]] base::Duration digest_time() const;
    [[nodiscard]] base::Duration time_left(const SnapshotStatus& now,
                                           std::uint64_t bytes_per_second) const;
    [[nodiscard]] std::optional<base::Duration> eta(const SnapshotStatus& now) const;
    void choose_again();
    void pump();
    void apply(const std::vector<Bootstrap::Fault>& faults);
    void tell_stage();
    void tell_age(const input::SnapshotChecked& checked);
    void measure();

    Peers& peers_;
    CatchUp& catch_up_;
    const input::LedgerChanged& ledger_;
    Bootstrap bootstrap_;
    Choice choice_ = Choice::blocks;
    std::uint32_t blocks_per_second_ = 0;  // As measured last; 0: never.
    Bootstrap::Stage told_ = Bootstrap::Stage::idle;
    std::string told_trouble_;

    base::Timestamp chunks_since_{};  // When they began to come; zero: they do not.
    std::uint32_t chunks_before_ = 0;
    base::Timestamp loading_since_{};  // When the node began to load it; zero: it does not.

    base::Timestamp sampled_at_{};
    std::uint64_t sampled_bytes_ = 0;
    std::uint64_t bytes_per_second_ = 0;
    base::Timestamp logged_at_{};
};

}  // namespace p2p
