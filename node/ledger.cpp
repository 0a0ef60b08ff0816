#include "node/ledger.hpp"

#include "chain/chain_manager.hpp"
#include "chain/execution/host_functions.hpp"
#include "node/core/core.hpp"
#include "node/disk/file.hpp"
#include "node/disk/journals.hpp"

#include <system_error>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;

namespace {

constexpr std::size_t kGenesisBytesMax = std::size_t{1} << 20U;

base::Result<genesis::Genesis> read_genesis(const fs::path& path, base::Bytes& bytes) {
    auto read = read_file(path.string(), kGenesisBytesMax);
    if (!read) return base::fail(Errc::invalid, path.string() + ": " + read.error().detail);
    bytes = std::move(*read);
    auto genesis = genesis::from_json(base::as_text(bytes));
    if (!genesis) return base::fail(Errc::invalid, path.string() + ": " + genesis.error().detail);
    return genesis;
}

// The genesis file of the data directory; the first start copies that of the options there.
base::Result<genesis::Genesis> open_genesis(const Options& options) {
    const fs::path kept = options.data_dir / kGenesisFile;
    base::Bytes bytes;
    if (!fs::exists(kept)) {
        if (options.genesis_json.empty()) {
            return base::fail(Errc::invalid,
                              kept.string() +
                                  " is not there: the first start needs genesis-json "
                                  "(made by 'bor-cli genesis init')");
        }
        auto genesis = read_genesis(options.genesis_json, bytes);
        if (!genesis) return genesis;
        if (auto wrote = write_file_atomically(kept.string(), bytes, 0644); !wrote) {
            return base::fail(wrote.error());
        }
        return genesis;
    }
    auto genesis = read_genesis(kept, bytes);
    if (!genesis || options.genesis_json.empty()) return genesis;
    auto given = read_genesis(options.genesis_json, bytes);
    if (!given) return given;
    if (given->chain_id() == genesis->chain_id()) return genesis;
    return base::fail(Errc::invalid,
                      "genesis-json = " + options.genesis_json.string() + " is of chain " +
                          base::to_hex(given->chain_id().view()) + ", the data directory of " +
                          base::to_hex(genesis->chain_id().view()) +
                          "; use another data-dir or leave the option out");
}

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
    auto genesis = open_genesis(options);
    if (!genesis) return base::fail(genesis.error());
    ledger.genesis = std::move(*genesis);
    RocksDbStorage::Options disk;
    disk.directory = ledger.directory.state().string();
    auto storage = RocksDbStorage::open(disk);
    if (!storage) return base::fail(storage.error());
    ledger.storage = std::move(*storage);
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
