#pragma once

#include "chain/execution/executor.hpp"
#include "chain/execution/rows.hpp"
#include "genesis/recovery.hpp"
#include "node/core/networked_core.hpp"
#include "node/machine/machine.hpp"
#include "tests/sim/chance.hpp"
#include "tests/sim/clock.hpp"
#include "tests/sim/consensus/universe.hpp"
#include "tests/sim/full/machine_disk.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sim::full {

// By this, failures of disks are told from others.
inline constexpr std::string_view kSimulated = "(simulated)";

class SilentLog final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level /*level*/) const override { return false; }
    void write(base::Level, std::string_view, std::string_view) override {}
};

// Is told of all that machines sign, in the moment in which they do.
class Watch {
  public:
    virtual ~Watch() = default;
    virtual void signed_header(std::size_t machine, const chain::SignedHeader& header) = 0;
    virtual void signed_vote(std::size_t machine, const chain::Vote& vote) = 0;
};

// The clock of a machine's runs: now and then one takes as long as the producer allows. By chance,
// from a seed, so that it is the same again.
class ChanceTimer final : public node::RunTimer {
  public:
    explicit ChanceTimer(std::uint64_t seed) : chance_(seed) {}

    void arm(base::Duration limit) override;
    [[nodiscard]] bool has_fired() const override { return has_fired_; }
    void disarm() override { has_fired_ = false; }
    [[nodiscard]] base::Duration reading() const override { return reading_; }
    [[nodiscard]] base::Duration worked() const override { return reading_; }

  private:
    Chance chance_;
    base::Duration reading_{};
    bool has_fired_ = false;
};

// The keys of one member: it rotates from one to the other and back, and has two others after a
// recovery.
class MemberKeys final : public node::Signer {
  public:
    static constexpr std::size_t kAtOnce = 2;
    // An observer has none to sign with.
    MemberKeys(std::size_t member, std::size_t machine, bool is_observer, Watch& watch);
    [[nodiscard]] std::vector<base::crypto::PublicKey> keys() const override;
    // Others, for ever.
    void renew() { first_ += kAtOnce; }
    [[nodiscard]] std::size_t first() const { return first_; }
    [[nodiscard]] base::Result<base::crypto::Signature> sign(const base::crypto::PublicKey& key,
                                                             const base::Hash256& digest) override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign_header(
        const base::crypto::PublicKey& key,
        const chain::BlockHeader& header,
        const chain::ChainId& chain_id) override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign_vote(
        const base::crypto::PublicKey& key,
        const chain::VoteData& vote,
        const chain::ChainId& chain_id) override;

  private:
    std::array<base::crypto::PrivateKey, 2 * kAtOnce> keys_;
    std::size_t first_ = 0;  // Of the two.
    std::size_t machine_;
    bool is_observer_;
    Watch& watch_;
};

// The signing key of a member, the first to the fourth, and the public key of a node.
[[nodiscard]] base::crypto::PrivateKey signing_key(std::size_t member, std::size_t which = 0);
[[nodiscard]] base::crypto::PublicKey node_key(std::size_t node);

// One machine: a disk, a clock, keys, and the whole production core while it runs.
//
// It decides nothing: the fleet carries its effects out.
class Machine : base::Pinned {
  public:
    struct Setup {
        std::size_t number = 0;
        std::size_t member = 0;              // Whose keys it has.
        bool hides_its_keys = false;         // A twin that does not say that it is one.
        bool is_observer = false;            // It has no keys.
        chain::Height snapshot_every = 1;    // Blocks.
        std::size_t journal_blocks_max = 0;  // 0: as shipped.
    };
    Machine(const genesis::Genesis& genesis, const Setup& setup, Watch& watch);
    ~Machine() { kill(); }

    // Opens the node on what the disk holds. Returns why it cannot; empty: it runs.
    [[nodiscard]] std::string start(base::Timestamp now, std::uint64_t seed, node::Effects& out);
    // The process is gone, in the middle of a write. What was written stays; of a power cut, what
    // was synced, and what chance leaves of the rest.
    void kill();
    // `loses_synced`: the rows, or the journals, lose the last write that was durable, too.
    void cut_power(Chance& chance, bool loses_synced = false);

    // Returns why the process died of it, as it does when it cannot read its state: then nothing
    // of `out` has happened. Empty: it goes on.
    [[nodiscard]] std::string step(base::Timestamp now,
                                   const node::Input& input,
                                   node::Effects& out);
    [[nodiscard]] std::string step(base::Timestamp now, p2p::Input input, node::Effects& out);
    // What the disk thread does: takes a write, and later carries out the first that it took.
    void begin_write(node::effect::Write write);
    [[nodiscard]] base::Result<void> finish_write();
    // Until what the storage does by itself is done.
    void wait_for_disk() { disk_.wait(); }
    // The next `count` writes that are waited for fail: the disk is full.
    void fill_disk(int count) { disk_.fill(count); }

    // As of its next start.
    void set_prunes() { disk_.set_prunes(); }
    [[nodiscard]] std::optional<chain::Height> take_pruned() { return disk_.take_pruned(); }

    // --- What happens to the disk ---
    // While the machine is down: the journal is gone.
    void lose_journal() { disk_.lose_journals(); }
    // Another disk, with nothing on it.
    void replace_disk() { disk_.replace(); }
    // New keys, with their journals.
    void renew_keys();
    [[nodiscard]] std::size_t first_key() const { return signer_.first(); }
    // All files as of now are kept, and put back while the machine is down. False: there is no
    // copy.
    void copy_disk();
    [[nodiscard]] bool put_back_copy();
    // What comes of a state that is lost: see MachineDisk.
    void lose_state() { disk_.lose_state(); }
    base::Result<void> load_snapshot(const SnapshotCopy& copy) { return disk_.load(copy); }
    base::Result<bool> replace_state(const SnapshotCopy& copy, std::optional<std::size_t> calls) {
        return disk_.replace_state(copy, calls);
    }
    // In any file.
    void flip_bit(Chance& chance) { disk_.flip_bit(chance); }
    // From now on nothing can be read or written.
    void break_disk() { disk_.break_all(); }
    // The disk is broken, or a bit of it has flipped.
    [[nodiscard]] bool has_bad_disk() const { return disk_.is_bad(); }
    // The process was told that a write failed, and waits for that one.
    [[nodiscard]] bool has_refused_write() const { return has_refused_write_; }

    [[nodiscard]] p2p::input::BlocksRead read(const p2p::effect::ReadBlocks& wanted) const;
    [[nodiscard]] node::input::StoredChecked check(const node::effect::CheckStored& wanted) const;
    [[nodiscard]] node::input::Recovered recover(const node::effect::Recover& wanted) const;

    // Of the node that runs.
    [[nodiscard]] MachineSnapshots& snapshots() { return *snapshots_; }
    // What p2p asks of snapshots, and what comes of it.
    [[nodiscard]] p2p::Input carry_out(const p2p::Effect& asked);
    // A state was made of a snapshot: the process ends, and the next one has it. What does not fit
    // any more is left alone; why.
    base::Result<void> take_new_state();
    // Of what is below the newest snapshot.
    base::Result<void> prune();
    [[nodiscard]] bool has_new_state() const { return made_.has_value(); }
    [[nodiscard]] base::Result<SnapshotCopy> copy_snapshot(
        const node::SnapshotStore::Listed& listed) const;

    [[nodiscard]] bool runs() const { return core_ != nullptr; }
    [[nodiscard]] std::uint64_t life() const { return life_; }
    [[nodiscard]] std::size_t member() const { return setup_.member; }
    [[nodiscard]] const Promises& promises() const { return disk_.promises(); }
    // Of the node that runs; for invariants only.
    [[nodiscard]] const consensus::Consensus& agreement() const { return *agreement_; }

    SimClock clock;
    std::uint32_t rules_known = chain::kRulesKnown;  // Of the program that the next start() runs.
    bool accepts_amnesia = false;                    // So the next start() says.
    std::optional<genesis::Recovery> recovery;       // That the next start() confirms.
    std::shared_ptr<const node::Published> view;
    base::Timestamp disk_free_at{};
    std::set<base::Timestamp> wakes;  // Asked for, by the time of its process.
    std::optional<base::Timestamp> paused_until;

  private:
    void tell_clock(base::Timestamp now, node::Effects& out);
    [[nodiscard]] std::string open(base::Timestamp now, std::uint64_t seed, node::Effects& out);
    base::Result<void> open_snapshots();
    [[nodiscard]] base::Result<void> check_listed(const node::SnapshotStore& store) const;
    [[nodiscard]] p2p::Options network_options(std::uint64_t seed) const;
    // Runs what may end the process; returns why it did.
    template <class Run>
    [[nodiscard]] std::string survive(const Run& run);
    void end_process();
    // What its disk thread is at.
    [[nodiscard]] const node::effect::Write* write_under_way() const;

    const genesis::Genesis& genesis_;
    const Setup setup_;
    MemberKeys signer_;
    SilentLog log_;
    MachineDisk disk_;
    std::unique_ptr<MachineSnapshots> snapshots_;
    struct Made {
        std::filesystem::path state;
        p2p::SnapshotPoint snapshot;
    };
    std::optional<Made> made_;
    [[nodiscard]] p2p::input::SnapshotLoaded load(const p2p::SnapshotPoint& snapshot);
    std::deque<node::effect::Write> in_flight_;
    bool has_refused_write_ = false;
    std::shared_ptr<const DiskFiles::Image> copy_;
    std::unique_ptr<node::ContractMachine> contract_machine_;
    std::unique_ptr<chain::vm::Engine> engine_;
    std::unique_ptr<chain::Executor> executor_;
    std::unique_ptr<ChanceTimer> timer_;
    std::unique_ptr<node::NetworkedCore> core_;
    const consensus::Consensus* agreement_ = nullptr;  // The core's.
    base::Duration told_ahead_{};                      // Of the clock, to the core.
    std::uint64_t life_ = 0;  // Counts starts and ends: what was meant for another life is lost.
};

}  // namespace sim::full
