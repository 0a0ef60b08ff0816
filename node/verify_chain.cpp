#include "node/verify_chain.hpp"

#include "chain/chain_manager.hpp"
#include "node/core/core.hpp"
#include "node/ledger.hpp"
#include "node/recovery.hpp"
#include "node/snapshots/genesis_file.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

namespace node {

namespace fs = std::filesystem;
using base::Errc;

namespace {

constexpr chain::Height kBatchBlocks = 256;  // Made final together.

// A directory that is removed at the end.
class Scratch : base::Pinned {
  public:
    explicit Scratch(fs::path path) : path_(std::move(path)) { remove(); }
    ~Scratch() { remove(); }
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    void remove() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

    fs::path path_;
};

base::Result<std::unique_ptr<RocksDbStorage>> open_storage(const fs::path& directory) {
    RocksDbStorage::Options options;
    options.directory = directory.string();
    return RocksDbStorage::open(options);
}

// The chain that is made anew.
struct Replay {
    std::unique_ptr<RocksDbStorage> storage;
    std::unique_ptr<chain::ChainManager> chain;

    base::Result<void> make_final(const chain::Block& block) {
        chain::Certificate certificate;
        certificate.data.kind = chain::VoteKind::commit;
        certificate.data.slot = block.header.slot;
        certificate.data.height = block.header.height;
        certificate.data.block_id = block.id;
        base::Batch batch;
        const auto became = chain->finalize(certificate, chain->stored_base(), batch);
        became.state->append_to(batch);
        if (auto done = storage->commit(batch, false); !done) return done;
        return chain->committed();
    }
};

base::Result<std::string> replay(const chain::BlockReader& blocks, Replay& made) {
    const auto earliest = blocks.earliest();
    if (!earliest) return base::fail(earliest.error());
    if (earliest->value_or(1) > 1) {
        return base::fail(
            Errc::invalid,
            fmt::format("the first block of the data directory is {}: it begins with "
                        "a snapshot or was pruned, and what comes before is not there "
                        "to be replayed",
                        **earliest));
    }
    chain::BlockPtr last = made.chain->finalized();
    auto genesis = blocks.at(1);
    if (!genesis) return base::fail(genesis.error());
    if (*genesis == nullptr || (*genesis)->id != last->id) {
        return base::fail(Errc::corrupt, "block 1 is not that of the genesis file");
    }
    for (chain::Height height = 2;; ++height) {
        auto block = blocks.at(height);
        if (!block) return base::fail(block.error());
        if (*block == nullptr) break;
        auto executed = made.chain->replay(*block);
        if (!executed) {
            return base::fail(Errc::corrupt,
                              fmt::format("block {}: {}", height, executed.error().detail));
        }
        last = *block;
        if (height % kBatchBlocks != 0) continue;
        if (auto done = made.make_final(*last); !done) return base::fail(done.error());
    }
    return fmt::format("verified blocks={} last={} state_digest={}",
                       last->header.height,
                       base::to_hex(last->id.view()),
                       base::to_hex(last->header.state_digest.view()));
}

}  // namespace

base::Result<std::string> verify_chain(const Options& options, const base::Log& log) {
    const auto file = read_genesis(options.data_dir, {});
    if (!file) return base::fail(file.error());
    const genesis::Genesis& genesis = file->genesis;
    const auto state = DataDirectory::state_in(options.data_dir);
    if (!state) return base::fail(state.error());
    auto stored = open_storage(*state);
    if (!stored) return base::fail(stored.error());
    const Scratch scratch(options.data_dir / "verify");
    Replay made;
    auto storage = open_storage(scratch.path());
    if (!storage) return base::fail(storage.error());
    made.storage = std::move(*storage);
    auto first = Core::first_batch(genesis);
    if (!first) return base::fail(first.error());
    if (auto done = made.storage->commit(*first, false); !done) return base::fail(done.error());
    Execution execution;
    chain::StateManager::Options reading;
    reading.on_fault = [log](const base::Error& error) {
        log.error("stopped: the state cannot be read: {}", error.detail);
        std::abort();
    };
    chain::ChainIdentity identity = identity_of(genesis);
    auto recovery = read_recovery(options, identity.chain_id);
    if (!recovery) return base::fail(recovery.error());
    if (*recovery) {
        identity.times.retimes = (*recovery)->retimes;
        identity.reset = genesis::reset_of(**recovery);
    }
    auto chain = chain::ChainManager::open(
        identity, {*made.storage, execution.executor(), reading, /*store_blocks=*/false});
    if (!chain) return base::fail(chain.error());
    made.chain = std::move(*chain);
    auto outcome = replay(chain::BlockReader(**stored), made);
    made.chain.reset();
    made.storage.reset();
    return outcome;
}

}  // namespace node
