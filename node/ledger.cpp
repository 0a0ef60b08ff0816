#include "node/ledger.hpp"

#include "chain/chain_manager.hpp"
#include "chain/execution/host_functions.hpp"
#include "node/core/core.hpp"
#include "node/disk/journals.hpp"
#include "node/snapshots/genesis_file.hpp"

#include <utility>

namespace node {

namespace {

base::Result<void> make_first_state(Ledger& ledger, const base::Log& log) {
    const chain::ChainId id = ledger.genesis.chain_id();
    auto holds = chain::ChainManager::holds_chain(*ledger.storage, id);
    if (!holds) return base::fail(holds.error());
    if (*holds) return {};
    auto batch = Core::first_batch(ledger.genesis);
    if (!batch) return base::fail(batch.error());
    log.info("made the first state chain={}", base::to_hex(id.view()));
    return ledger.storage->commit(*batch, true);
}

}  // namespace

base::Result<Ledger> open_ledger(const Options& options, const base::Log& log) {
    auto directory = DataDirectory::open(options.data_dir);
    if (!directory) return base::fail(directory.error());
    if (auto removed = directory->remove_others(); !removed) return base::fail(removed.error());
    Ledger ledger{.directory = *std::move(directory)};
    auto genesis = read_genesis(options.data_dir, options.genesis_json);
    if (!genesis) return base::fail(genesis.error());
    if (auto kept = keep_genesis(options.data_dir, *genesis); !kept) {
        return base::fail(kept.error());
    }
    ledger.genesis = std::move(genesis->genesis);
    RocksDbStorage::Options disk;
    disk.directory = ledger.directory.state().string();
    auto storage = RocksDbStorage::open(disk);
    if (!storage) return base::fail(storage.error());
    ledger.storage = std::move(*storage);
    for (const std::string& each : ledger.storage->losses())
        log.error("the storage lost writes: {}; blocks that are missing come from peers", each);
    auto signer = NodeSigner::make(options.signature_providers);
    if (!signer) return base::fail(signer.error());
    ledger.signer = std::move(*signer);
    auto journals = open_journals(options.data_dir, ledger.signer->keys(), log);
    if (!journals) return base::fail(journals.error());
    ledger.journals = std::move(journals->logs);
    ledger.safety = std::move(journals->safety);
    if (auto made = make_first_state(ledger, log); !made) return base::fail(made.error());
    return ledger;
}

Execution::Execution(chain::vm::Programs* shared)
    : engine_(chain::host_table(), chain::vm::Engine::Options{}, machine_, shared),
      executor_(engine_, chain::host_table()) {}

}  // namespace node
