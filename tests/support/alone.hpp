#pragma once

#include "tests/support/machine.hpp"

#include <catch2/catch.hpp>

#include <memory>

namespace support {

// One of four validators, which makes a chain of its own: one block in each of its slots. There
// is nothing wrong with any of them.
class Alone {
  public:
    Alone(const genesis::Genesis& genesis, std::size_t who)
        : genesis_(genesis), key_(key_of(static_cast<unsigned char>(7 + who))) {
        REQUIRE(storage_.commit(node::Core::first_batch(genesis).value(), true));
        chain::StateManager::Options state;
        state.on_fault = [](const base::Error&) {};
        chain_ = chain::ChainManager::open(node::identity_of(genesis), {storage_, executor_, state})
                     .value();
        root_ = chain_->finalized()->id;
        tip_ = root_;
        slot_ = who;
        producer_ = genesis.schedule.entries[who].producer;
    }
    chain::BlockPtr next() {
        auto block = make(tip_);
        tip_ = block->id;
        return block;
    }
    // A block beside these, on that of genesis; with one transaction of so many bytes, if not 0.
    chain::BlockPtr next_beside(std::size_t bytes = 0) { return make(root_, bytes); }

  private:
    chain::BlockPtr make(const chain::BlockId& parent, std::size_t bytes = 0) {
        auto pending = chain_->begin(parent, slot_, producer_).value();
        if (bytes > 0) push(*pending, bytes);
        const chain::BlockHeader header = pending->close({}).value();
        slot_ += genesis_.schedule.entries.size();
        auto block =
            chain::make_block({header, key_.sign(header.signing_digest(genesis_.chain_id()))},
                              pending->receipts(),
                              {});
        chain_->adopt(block, pending->take(block->id));
        return block;
    }

    // The first member's, which does nothing.
    void push(chain::PendingBlock& pending, std::size_t bytes) {
        chain::SignedTransaction content;
        const std::int64_t now = genesis_.times.time_of(slot_).microseconds / 1'000'000;
        content.expiration = {static_cast<std::uint32_t>(now + 60)};
        content.ref_block_num = static_cast<std::uint16_t>(chain::height_of(root_));
        content.ref_block_prefix = chain::ref_block_prefix_of(root_);
        const chain::Name member = genesis_.schedule.entries.front().producer;
        const auto owner = key_of(7);
        content.actions = {{member,
                            *chain::Name::from_string("x"),
                            {{member, *chain::Name::from_string("active")}},
                            base::Bytes(bytes)}};
        content.signatures = {owner.sign(content.signing_digest(genesis_.chain_id(), {}))};
        const auto trace =
            pending.push({chain::make_transaction(content), {owner.public_key()}}, {});
        REQUIRE_FALSE(trace.except);
    }

    genesis::Genesis genesis_;
    base::crypto::PrivateKey key_;
    chain::Name producer_;
    chain::BlockId root_;
    chain::BlockId tip_;
    chain::Slot slot_ = 0;
    MemoryStorage storage_;
    node::ContractMachine contract_machine_;
    chain::vm::Engine engine_{chain::host_table(), chain::vm::Engine::Options{}, contract_machine_};
    chain::Executor executor_{engine_, chain::host_table()};
    std::unique_ptr<chain::ChainManager> chain_;
};

}  // namespace support
