#pragma once

#include "chain/execution/executor.hpp"
#include "node/core/networked_core.hpp"
#include "tests/sim/clock.hpp"
#include "tests/support/memory_storage.hpp"

#include <cstdint>
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

class OneKey final : public node::Signer {
  public:
    explicit OneKey(const base::crypto::PrivateKey& key) : key_(key) {}
    [[nodiscard]] std::vector<base::crypto::PublicKey> keys() const override {
        return {key_.public_key()};
    }
    [[nodiscard]] base::Result<base::crypto::Signature> sign(const base::crypto::PublicKey&,
                                                             const base::Hash256& digest) override {
        return key_.sign(digest);
    }

  private:
    base::crypto::PrivateKey key_;
};

// The signing key number `tag` of the simulation, and the public key of its node.
[[nodiscard]] base::crypto::PrivateKey signing_key(std::size_t tag);
[[nodiscard]] base::crypto::PublicKey node_key(std::size_t tag);

// One machine: a disk, a clock, a key, and the whole production core while it runs.
//
// It decides nothing: the fleet carries its effects out.
class Machine : base::Pinned {
  public:
    Machine(const genesis::Genesis& genesis, std::size_t number);

    // Opens the node on what the disk holds. Returns why it cannot; empty: it runs.
    [[nodiscard]] std::string start(base::Timestamp now, std::uint64_t seed, node::Effects& out);
    // The process is gone. What was written stays; of a power cut, what was synced.
    void kill();
    void cut_power();

    void step(base::Timestamp now, const node::Input& input, node::Effects& out);
    void step(base::Timestamp now, p2p::Input input, node::Effects& out);
    // What the disk thread does.
    [[nodiscard]] base::Result<void> write(const node::effect::Write& write);
    [[nodiscard]] std::vector<p2p::SharedBytes> read(const p2p::effect::ReadBlocks& wanted) const;
    [[nodiscard]] node::input::Recovered recover(const node::effect::Recover& wanted) const;

    [[nodiscard]] bool runs() const { return core_ != nullptr; }
    [[nodiscard]] std::uint64_t life() const { return life_; }
    [[nodiscard]] const base::crypto::PrivateKey& key() const { return key_; }

    SimClock clock;
    std::shared_ptr<const node::Published> view;
    base::Timestamp disk_free_at{};
    std::set<base::Timestamp> wakes;  // Asked for, by its clock.
    std::optional<base::Timestamp> paused_until;

  private:
    const genesis::Genesis& genesis_;
    const std::size_t number_;
    base::crypto::PrivateKey key_;
    OneKey signer_;
    SilentLog log_;
    support::MemoryStorage storage_;
    std::vector<base::Bytes> pages_;
    std::unique_ptr<chain::vm::Engine> engine_;
    std::unique_ptr<chain::Executor> executor_;
    std::unique_ptr<node::NetworkedCore> core_;
    std::uint64_t life_ = 0;  // Counts starts and ends: what was meant for another life is lost.
};

}  // namespace sim::full
