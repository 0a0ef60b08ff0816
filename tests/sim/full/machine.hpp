#pragma once

#include "chain/execution/executor.hpp"
#include "node/core/networked_core.hpp"
#include "tests/sim/chance.hpp"
#include "tests/sim/clock.hpp"
#include "tests/sim/consensus/universe.hpp"
#include "tests/sim/promises.hpp"
#include "tests/support/memory_storage.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sim::full {

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

// The keys of one member: it rotates from one to the other and back.
class MemberKeys final : public node::Signer {
  public:
    MemberKeys(std::size_t member, std::size_t machine, Watch& watch);
    [[nodiscard]] std::vector<base::crypto::PublicKey> keys() const override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign(const base::crypto::PublicKey& key,
                                                             const base::Hash256& digest) override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign_header(
        const base::crypto::PublicKey& key, const chain::BlockHeader& header) override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign_vote(
        const base::crypto::PublicKey& key,
        const chain::VoteData& vote,
        const chain::ChainId& chain_id) override;

  private:
    std::array<base::crypto::PrivateKey, 2> keys_;
    std::size_t machine_;
    Watch& watch_;
};

// The signing key of a member, the first or the second, and the public key of a node.
[[nodiscard]] base::crypto::PrivateKey signing_key(std::size_t member, std::size_t which = 0);
[[nodiscard]] base::crypto::PublicKey node_key(std::size_t node);

// One machine: a disk, a clock, keys, and the whole production core while it runs.
//
// It decides nothing: the fleet carries its effects out.
class Machine : base::Pinned {
  public:
    struct Setup {
        std::size_t number = 0;
        std::size_t member = 0;       // Whose keys it has.
        bool hides_its_keys = false;  // A twin that does not say that it is one.
        Mutant mutant = Mutant::none;
    };
    Machine(const genesis::Genesis& genesis, const Setup& setup, Watch& watch);

    // Opens the node on what the disk holds. Returns why it cannot; empty: it runs.
    [[nodiscard]] std::string start(base::Timestamp now, std::uint64_t seed, node::Effects& out);
    // The process is gone. What was written stays; of a power cut, what was synced and chance
    // adds: unsynced commits from the first on, the page that was being written, or a part of it.
    void kill();
    void cut_power(Chance& chance);
    // The journal is gone while the machine is down; of a mutant, what is put in its place says
    // that it is whole.
    void lose_journal();

    void step(base::Timestamp now, const node::Input& input, node::Effects& out);
    void step(base::Timestamp now, p2p::Input input, node::Effects& out);
    // What the disk thread does: takes a write, and later carries out the first that it took.
    void begin_write(node::effect::Write write);
    [[nodiscard]] base::Result<void> finish_write();
    // The next `count` writes that are waited for fail: the disk is full.
    void fill_disk(int count) { writes_to_fail_ = count; }
    [[nodiscard]] std::vector<p2p::SharedBytes> read(const p2p::effect::ReadBlocks& wanted) const;
    [[nodiscard]] node::input::Recovered recover(const node::effect::Recover& wanted) const;

    [[nodiscard]] bool runs() const { return core_ != nullptr; }
    [[nodiscard]] std::uint64_t life() const { return life_; }
    [[nodiscard]] std::size_t member() const { return setup_.member; }
    [[nodiscard]] const Promises& promises() const { return promises_; }
    // Of the node that runs; for invariants only.
    [[nodiscard]] const consensus::Consensus& agreement() const { return *agreement_; }

    SimClock clock;
    std::shared_ptr<const node::Published> view;
    base::Timestamp disk_free_at{};
    std::set<base::Timestamp> wakes;  // Asked for, by its clock.
    std::optional<base::Timestamp> paused_until;

  private:
    void write_page(const node::effect::Write& write, base::Bytes page);
    base::Result<void> write_rows(const node::effect::Write& write);
    [[nodiscard]] bool cut_write(const node::effect::Write& write, Chance& chance);

    const genesis::Genesis& genesis_;
    const Setup setup_;
    MemberKeys signer_;
    SilentLog log_;
    support::MemoryStorage storage_;
    std::vector<base::Bytes> pages_;
    Promises promises_;
    std::deque<node::effect::Write> in_flight_;
    int writes_to_fail_ = 0;
    std::unique_ptr<chain::vm::Engine> engine_;
    std::unique_ptr<chain::Executor> executor_;
    std::unique_ptr<node::NetworkedCore> core_;
    const consensus::Consensus* agreement_ = nullptr;  // The core's.
    std::uint64_t life_ = 0;  // Counts starts and ends: what was meant for another life is lost.
};

}  // namespace sim::full
