#pragma once

#include "base/log.hpp"
#include "chain/execution/executor.hpp"
#include "chain/vm/vm.hpp"
#include "genesis/genesis.hpp"
#include "node/disk/data_directory.hpp"
#include "node/disk/journal_file.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/machine/machine.hpp"
#include "node/options.hpp"
#include "node/signer.hpp"

#include <memory>

namespace node {

// What a node has on disk and what executes it, opened from a data directory.
struct Ledger {
    DataDirectory directory;  // Held until all else is closed.
    genesis::Genesis genesis{};
    std::unique_ptr<RocksDbStorage> storage{};
    JournalLogs journals{};        // Of each key of the signer.
    consensus::Journals safety{};  // Those that are whole.
    std::unique_ptr<NodeSigner> signer{};
};

// Opens the data directory; on the first start makes it, with the genesis file of the options
// and the first state. invalid: contradicting genesis files, a key without journal, a directory
// that another process has; every text says what to do.
[[nodiscard]] base::Result<Ledger> open_ledger(const Options& options, const base::Log& log);

// An engine with its executor, for one thread.
class Execution : base::Pinned {
  public:
    // `shared` has the compiled contracts of all threads, and outlives this; null: this has its
    // own.
    explicit Execution(chain::vm::Programs* shared = nullptr);

    // As vm::Engine::open(): without it the first contract asks for its room.
    [[nodiscard]] base::Result<void> open() { return engine_.open(); }
    [[nodiscard]] chain::Executor& executor() { return executor_; }
    // What the engine runs on: to end a run from another thread.
    [[nodiscard]] chain::vm::Machine& machine() { return machine_; }

  private:
    ContractMachine machine_;
    chain::vm::Engine engine_;
    chain::Executor executor_;
};

}  // namespace node
