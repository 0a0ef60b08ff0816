#pragma once

#include "base/log.hpp"
#include "base/rng.hpp"
#include "bench/ledger/report.hpp"
#include "chain/execution/executor.hpp"
#include "chain/vm/vm.hpp"
#include "genesis/genesis.hpp"
#include "node/core/core.hpp"
#include "node/disk/journal_file.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/machine/machine.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

template <class T>
T must(base::Result<T> result) {
    if (!result) give_up(result.error().detail);
    return *std::move(result);
}
inline void must(const base::Result<void>& result) {
    if (!result) give_up(result.error().detail);
}

// A directory that is removed at the end, unless it was named.
class WorkDirectory : base::Pinned {
  public:
    // Empty: a new one below the system's temporary directory.
    explicit WorkDirectory(const std::filesystem::path& named = {});
    ~WorkDirectory();
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    bool kept_;
};

class SilentLog final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level level) const override;
    void write(base::Level level, std::string_view component, std::string_view line) override;
};

// Everything is signed with this key: blocks, and the transactions of every account.
[[nodiscard]] const base::crypto::PrivateKey& bench_key();
[[nodiscard]] const base::crypto::PublicKey& bench_public_key();

class BenchSigner final : public node::Signer {
  public:
    [[nodiscard]] std::vector<base::crypto::PublicKey> keys() const override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign(const base::crypto::PublicKey& key,
                                                             const base::Hash256& digest) override;
};

// What bor-node has on disk and executes with, in a data directory that bor-node can start on:
// the production parts, opened one by one.
struct Ledger : base::Pinned {
    // Makes the directory, its genesis file and its journal, if it is empty; `nodes` may connect.
    explicit Ledger(const std::filesystem::path& directory,
                    std::uint32_t interval_ms = 500,
                    std::vector<genesis::Node> nodes = {});

    std::filesystem::path directory;
    SilentLog log;
    genesis::Genesis genesis;
    std::unique_ptr<node::RocksDbStorage> storage;
    node::JournalLogs journals;  // Of the one key.
    node::ContractMachine machine;
    chain::vm::Engine engine;
    chain::Executor executor;
    BenchSigner signer;

    [[nodiscard]] chain::ChainIdentity identity() const;
    [[nodiscard]] static chain::StateManager::Options state_options();
    // The production core on this storage and journal, on a clock that says `started`; `first`
    // gets its first effects.
    [[nodiscard]] std::unique_ptr<node::Core> open_core(base::Timestamp started,
                                                        node::Effects& first);
};

// Makes a chain by the production core, in one thread and on a clock of its own that only goes on
// from block to block: nothing waits, and the blocks are those that a node would have made.
class Chain : base::Pinned {
  public:
    // `ledger` outlives this.
    explicit Chain(Ledger& ledger);

    // Executes a transaction on the block being made; gives up with the reason when it fails.
    // Signatures are not looked at: `transaction` needs none.
    void submit(const chain::SignedTransaction& transaction);
    // A transaction of these actions that refers to the head.
    [[nodiscard]] chain::SignedTransaction make(std::vector<chain::Action> actions);
    // make(), signed, and submit().
    void push(std::vector<chain::Action> actions);
    // Ends the block being made, which is then final and durable.
    void close_block();

    [[nodiscard]] const node::Published& view() const { return *view_; }

  private:
    void step(const node::Input& input);
    void perform(node::Effects& effects);
    void write(node::effect::Write& asked);

    Ledger& ledger_;
    std::unique_ptr<node::Core> core_;
    std::shared_ptr<const node::Published> view_;
    std::vector<node::input::Written> written_;
    base::Timestamp now_{};
    node::Ticket last_ticket_ = 0;
    std::uint32_t made_ = 0;
};

// --- The token and its users ---

[[nodiscard]] chain::Name account_name(std::uint64_t index);

// Deploys the token and makes this many accounts, each with some of it. `progress` is told how many
// there are.
struct Users {
    std::uint64_t count = 1'000;
    bool progress = false;
};
void make_users(Chain& chain, const Users& users);

// A transfer of one unit between two users; different for every `number`.
[[nodiscard]] chain::Action transfer(std::uint64_t from, std::uint64_t to, const std::string& memo);
// The same between two of so many users, drawn.
[[nodiscard]] chain::Action random_transfer(base::Rng& rng,
                                            std::uint64_t users,
                                            const std::string& memo);

}  // namespace bench
