#pragma once

#include "base/rng.hpp"
#include "p2p/network.hpp"
#include "p2p/seen.hpp"
#include "p2p/sync.hpp"

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace p2p {

// Fetches a snapshot from several peers at once (spec 05, "Join"): from one of them links, proof
// and manifest, which the node checks; then the chunks, in random order, from all that have it.
//
// Of the snapshots that peers name the one that most organisations have is taken, of these the
// newest; it stays the one while somebody has it. What is late is asked of another, the last chunks
// of two at once. What is stored here is not asked for again, nor are chunks that the snapshot
// before had.
// Invariants: (1) of a peer at most kSnapshotRequestsMax pieces are asked for, answered late or
// never they count, too; (2) at most kWindow pieces are on their way here or to the disk; (3) every
// missing chunk is waiting, asked for, or with the node.
//
// Pure, as Network is.
class Bootstrap {
  public:
    static constexpr std::size_t kWindow = 16;

    // A peer that can be asked.
    struct Source {
        PeerSlot slot = 0;
        chain::Name organisation{};  // Empty: in no list.
        const std::vector<SnapshotPoint>* snapshots = nullptr;
    };
    struct Ask {
        PeerSlot slot = 0;
        std::uint64_t correlation = 0;
        SnapshotRequest request;
    };
    using Fault = SyncManager::Fault;
    enum class Stage : std::uint8_t {
        idle,      // No snapshot is chosen.
        looking,   // The node looks what of it is here.
        history,   // Links, proof and manifest come.
        checking,  // The node checks them.
        chunks,
        loading,  // The node makes a state of it.
        loaded,
    };
    // What there is to do now.
    struct Plan {
        std::vector<Ask> asks;
        std::optional<SnapshotPoint> check;  // For effect::CheckSnapshot,
        std::optional<SnapshotPoint> load;   // for effect::LoadSnapshot.
    };

    // `begun`: of which there are chunks here; it is preferred.
    Bootstrap(std::uint64_t seed, std::optional<SnapshotPoint> begun) : rng_(seed), begun_(begun) {}

    // Sources in the order of their slots, each with what it names now. Snapshots that are not
    // above this final block of ours are of no use.
    [[nodiscard]] Plan plan(base::Timestamp now,
                            const std::vector<Source>& sources,
                            chain::Height own_final);
    // Blocks are taken instead. What is stored stays.
    void stop();

    // Whether this answers a question of ours, in time or late.
    [[nodiscard]] bool is_asked(PeerSlot slot, std::uint64_t correlation) const;
    struct Arrived {
        std::optional<effect::KeepSnapshot> keep;
        std::optional<Fault> fault;
    };
    // An answer for which is_asked().
    [[nodiscard]] Arrived on_answer(base::Timestamp now,
                                    PeerSlot slot,
                                    std::uint64_t correlation,
                                    SnapshotChunk answer);
    // The node's answers. Faults of several where a manifest is to blame: those of `sources` that
    // name it.
    [[nodiscard]] std::vector<Fault> on_kept(base::Timestamp now,
                                             const input::SnapshotKept& kept,
                                             const std::vector<Source>& sources);
    [[nodiscard]] std::vector<Fault> on_checked(base::Timestamp now,
                                                const input::SnapshotChecked& checked,
                                                const std::vector<Source>& sources);
    [[nodiscard]] std::vector<Fault> on_loaded(base::Timestamp now,
                                               const input::SnapshotLoaded& loaded,
                                               const std::vector<Source>& sources);
    // Gives late pieces to others; says whose they were.
    [[nodiscard]] std::vector<Fault> on_time(base::Timestamp now);
    // A peer says anew what it has: what it had not is asked of it again.
    void on_stored(PeerSlot slot);
    void forget(PeerSlot slot);

    [[nodiscard]] Stage stage() const { return stage_; }
    // Links, proof and manifest are good.
    [[nodiscard]] bool is_checked() const { return stage_ >= Stage::chunks; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // Of a checked one, unpacked.
    [[nodiscard]] std::uint64_t rows() const { return rows_; }
    [[nodiscard]] std::uint64_t bytes_received() const { return bytes_received_; }
    [[nodiscard]] std::uint64_t chunks_received() const { return chunks_received_; }
    // All but the rate.
    [[nodiscard]] SnapshotStatus status() const;

  private:
    struct Asked {
        PeerSlot slot = 0;
        SnapshotPiece piece;
        base::Timestamp at{};
        bool is_late = false;  // The piece was given to another.
    };
    // Links, proof or manifest, as they come from giver_.
    struct Part {
        std::optional<std::uint32_t> count;  // Known with the first piece.
        // Asked for, or with the node, and how many bytes came of it.
        std::map<std::uint32_t, std::size_t> under_way;
        std::set<std::uint32_t> kept;
        std::uint32_t wanted_from = 0;  // All below it are one of these.
    };
    struct Giver {
        base::Timestamp heard{};  // When the last answer came.
        std::uint32_t late = 0;   // Pieces, so far.
    };

    [[nodiscard]] bool has(const Source& source, const SnapshotPoint& snapshot) const;
    [[nodiscard]] std::optional<SnapshotPoint> choose(const std::vector<Source>& sources) const;
    void choose_again(const std::vector<Source>& sources);
    void take(const SnapshotPoint& snapshot);
    void look();
    void ask(base::Timestamp now, PeerSlot slot, const SnapshotPiece& piece, Plan& plan);
    void plan_history(base::Timestamp now, const std::vector<const Source*>& sources, Plan& plan);
    void plan_chunks(base::Timestamp now, const std::vector<const Source*>& sources, Plan& plan);
    void plan_last(base::Timestamp now, const std::vector<const Source*>& sources, Plan& plan);
    [[nodiscard]] std::optional<SnapshotPiece> next_of_history();
    [[nodiscard]] bool is_history_kept() const;
    [[nodiscard]] const Source* freest(const std::vector<const Source*>& sources,
                                       std::optional<std::uint32_t> not_asked) const;
    [[nodiscard]] bool is_asked_for(PeerSlot slot, std::uint32_t chunk) const;
    [[nodiscard]] std::size_t open_of(PeerSlot slot) const;
    [[nodiscard]] bool is_late(PeerSlot slot) const;
    [[nodiscard]] std::size_t under_way() const;
    [[nodiscard]] std::size_t askers_of(std::uint32_t chunk) const;
    [[nodiscard]] Arrived on_history(PeerSlot slot, SnapshotChunk answer);
    [[nodiscard]] Arrived on_chunk(PeerSlot slot, SnapshotChunk answer);
    // It is asked for again, of whom it may be.
    void ask_again(const Asked& asked);
    void want_again(std::uint32_t chunk);
    // Who is to blame for it pays; the snapshot is given up where its manifest is wrong.
    [[nodiscard]] std::vector<Fault> blame(base::Timestamp now,
                                           SnapshotVerdict verdict,
                                           const std::string& text,
                                           std::optional<PeerSlot> sender,
                                           const std::vector<Source>& sources);

    base::Rng rng_;
    std::optional<SnapshotPoint> begun_;
    Stage stage_ = Stage::idle;
    SnapshotPoint target_;  // From looking on.
    bool is_said_ = false;  // What the stage asks of the node.
    chain::Height own_final_ = 0;
    base::Timestamp not_before_{};
    std::string trouble_;
    std::uint32_t sources_ = 0;

    std::optional<PeerSlot> giver_;  // Of links, proof and manifest.
    base::Timestamp giver_until_{};  // Then another gives them.
    std::array<Part, 3> parts_;

    std::uint32_t chunks_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t rows_ = 0;
    std::uint32_t stored_ = 0;                                    // Chunks.
    std::deque<std::uint32_t> waiting_;                           // To be asked for.
    std::map<std::uint32_t, std::optional<PeerSlot>> with_node_;  // And who sent it.
    std::set<std::uint32_t> missing_;                             // Not stored.

    std::map<std::uint64_t, Asked> asked_;  // By correlation.
    std::map<PeerSlot, Giver> givers_;
    std::set<std::pair<PeerSlot, base::Hash256>> lacking_;  // Have no more what they named.
    std::set<std::pair<PeerSlot, base::Hash256>> refused_;  // Their links or proof are no use.
    std::set<base::Hash256> wrong_;                         // Manifests.
    std::uint64_t next_correlation_ = 1;
    std::uint64_t bytes_received_ = 0;
    std::uint64_t chunks_received_ = 0;
};
[[nodiscard]] std::string_view to_string(Bootstrap::Stage stage);

}  // namespace p2p
