#include "bench/ledger/replay.hpp"

#include "bench/ledger/measure.hpp"
#include "chain/state/block_store.hpp"

#include <fmt/format.h>

namespace bench {

namespace {

using Digesting = chain::ChainManager::StateDigest;

// The chain that is made anew.
struct Target {
    Target(Ledger& ledger, const std::filesystem::path& directory) {
        node::RocksDbStorage::Options options;
        options.directory = directory.string();
        storage = must(node::RocksDbStorage::open(options));
        must(storage->commit(must(node::Core::first_batch(ledger.genesis)), true));
        chain = must(chain::ChainManager::open(
            ledger.identity(), {*storage, ledger.executor, Ledger::state_options(), false}));
    }

    void make_final(const chain::Block& block) {
        chain::Certificate certificate;
        certificate.data.kind = chain::VoteKind::commit;
        certificate.data.slot = block.header.slot;
        certificate.data.height = block.header.height;
        certificate.data.block_id = block.id;
        base::Batch batch;
        chain->finalize(certificate, chain->stored_base(), batch).state->append_to(batch);
        must(storage->commit(batch, false));
        must(chain->committed());
    }

    std::unique_ptr<node::RocksDbStorage> storage;
    std::unique_ptr<chain::ChainManager> chain;
};

}  // namespace

Replayed replay(Ledger& ledger,
                const std::filesystem::path& scratch,
                const ReplayOptions& options) {
    Target target(ledger, scratch);
    const chain::BlockReader blocks(*ledger.storage);
    Replayed done;
    double cpu = 0;
    double start = 0;
    chain::BlockPtr next = must(blocks.at(2));
    for (chain::Height height = 2; next != nullptr; ++height) {
        if (height == options.from) {
            cpu = process_cpu();
            start = wall();
        }
        const chain::BlockPtr block = std::move(next);
        next = must(blocks.at(height + 1));
        const bool counts = height >= options.from;
        const bool ends = !counts || next == nullptr ||
                          (height - options.from + 1) % options.blocks_together == 0;
        const bool computed = ends || options.digest_at_every_block;
        must(target.chain->replay(block, computed ? Digesting::computed : Digesting::trusted));
        if (ends) target.make_final(*block);
        if (!counts) continue;
        ++done.blocks;
        done.transactions += block->transactions.size();
    }
    done.cpu = process_cpu() - cpu;
    done.wall = wall() - start;
    if (done.blocks == 0) give_up(fmt::format("no block at or after {}", options.from));
    return done;
}

}  // namespace bench
