#pragma once

#include "chain/chain_manager.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/snapshots/snapshot_load.hpp"
#include "node/snapshots/snapshot_writer.hpp"
#include "tests/support/one_node.hpp"

#include <catch2/catch.hpp>

#include <map>

namespace test {

// A node with some blocks, and what was told of them.
class Chain {
  public:
    Chain() {
        node_.on_finalized = [this](const node::effect::Finalized& told) { take(told); };
        for (chain::Slot slot = 1; slot <= 12; ++slot) {
            if (slot % 3 == 0) {
                const std::string name = "account" + std::string(1, static_cast<char>('a' + slot));
                node_.submit(node_.new_account(name));
            }
            node_.tick_at(slot);
        }
    }

    // Of a block, from the storage of `blocks` before it.
    [[nodiscard]] node::StateCapture capture(chain::Height height, chain::Height blocks) const {
        node::StateCapture made;
        made.block = told_.at(height).block->block;
        made.before = told_.at(height - blocks + 1).before;
        for (chain::Height each = height - blocks + 1; each <= height; ++each)
            made.changes.push_back(told_.at(each).block->changes);
        return made;
    }
    base::Result<node::SnapshotStore::Listed> write(const node::StateCapture& capture,
                                                    node::SnapshotStore& store) {
        const std::atomic<bool> never = false;
        node::SnapshotWriter writer(
            store, [this] { return node_.storage().snapshot(); }, never);
        return writer.write(capture,
                            {.chain_id = node_.genesis().chain_id(),
                             .proof_patience = std::chrono::milliseconds(0)});
    }
    // Members set the time of the chain back: slot 40 begins when slot 13 would have. It goes on.
    genesis::Recovery set_time_back() {
        genesis::Recovery recovery;
        recovery.chain_id = node_.genesis().chain_id();
        recovery.reset.from = node_.view().finalized->id;
        recovery.replaced = {node_.genesis().schedule};
        recovery.retimes = {{recovery.reset.from, 40, node_.genesis().times.time_of(13)}};
        for (const genesis::Member& member : node_.genesis().members)
            recovery.members.push_back({member.name, member.authority});
        recovery.signatures = {support::key_of(7).sign(recovery.id())};
        node_.start_with(recovery.retimes, 40);
        for (chain::Slot slot = 40; slot <= 44; ++slot)
            node_.tick_at(slot);
        return recovery;
    }

    support::OneNode& node() { return node_; }
    [[nodiscard]] const chain::BlockPtr& block(chain::Height height) const {
        return told_.at(height).block->block;
    }
    [[nodiscard]] chain::Height last() const { return told_.rbegin()->first; }

  private:
    void take(const node::effect::Finalized& told) {
        told_.insert_or_assign(told.block->block->header.height, told);
    }

    support::OneNode node_;
    std::map<chain::Height, node::effect::Finalized> told_;
};

// The chain that a data directory holds.
struct Opened {
    Opened(const std::filesystem::path& data_dir,
           const genesis::Genesis& genesis,
           const node::Disk& where = {})
        : engine(chain::host_table(), chain::vm::Engine::Options{}, machine),
          executor(engine, chain::host_table()) {
        node::RocksDbStorage::Options disk;
        disk.env = where.env;
        disk.opening_threads = 1;
        disk.directory = node::DataDirectory::state_in(data_dir, where.files)->string();
        auto made = node::RocksDbStorage::open(disk);
        if (!made) FAIL(made.error().detail);
        storage = *std::move(made);
        chain::StateManager::Options state;
        state.on_fault = [](const base::Error& error) { FAIL(error.detail); };
        auto read =
            chain::ChainManager::open(node::identity_of(genesis), {*storage, executor, state});
        if (!read) FAIL(read.error().detail);
        chain = *std::move(read);
    }

    node::ContractMachine machine;
    chain::vm::Engine engine;
    chain::Executor executor;
    std::unique_ptr<node::RocksDbStorage> storage;
    std::unique_ptr<chain::ChainManager> chain;
};

}  // namespace test
