#pragma once

#include "tests/sim/full/fleet.hpp"
#include "tests/support/memory_storage.hpp"

#include <memory>
#include <vector>

namespace sim::full {

// Makes many valid blocks in the place of one: of its parent, slot and producer, each with another
// transaction. It has what is final from the fleet, and the rest from the machine that made the
// block, so that nothing is executed but what is new.
class Variants {
  public:
    explicit Variants(const World& world);
    ~Variants();

    // As they become final, once each, in their order.
    void became_final(const chain::ExecutedBlockPtr& block) { final_.push_back(block); }
    // Of a block that a Byzantine member made; `view`: of its machine. Empty: its parent is not
    // known.
    [[nodiscard]] std::vector<chain::BlockPtr> make(const chain::Block& block,
                                                    std::size_t member,
                                                    const node::Published& view,
                                                    std::size_t count) {
        return make({block.header.previous, block.header.slot, block.header.producer},
                    block.witness,
                    member,
                    view,
                    count);
    }
    struct Place {
        chain::BlockId parent;
        chain::Slot slot = 0;
        chain::Name producer{};
    };
    // Certificates that are absent: as the parent has them.
    [[nodiscard]] std::vector<chain::BlockPtr> make(const Place& place,
                                                    const chain::Witness& witness,
                                                    std::size_t member,
                                                    const node::Published& view,
                                                    std::size_t count);

  private:
    void follow(const node::Published& view);
    void follow(const chain::ExecutedBlock& block);
    [[nodiscard]] chain::PooledTransaction new_account(std::size_t member,
                                                       const node::Published& view);

    const World& world_;
    std::vector<chain::ExecutedBlockPtr> final_;
    std::size_t followed_ = 0;  // Of these.
    std::uint64_t accounts_ = 0;
    support::MemoryStorage storage_;
    std::unique_ptr<node::ContractMachine> contract_machine_;
    std::unique_ptr<chain::vm::Engine> engine_;
    std::unique_ptr<chain::Executor> executor_;
    std::unique_ptr<chain::ChainManager> chain_;
};

}  // namespace sim::full
