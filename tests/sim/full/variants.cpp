#include "tests/sim/full/variants.hpp"

#include "base/check.hpp"
#include "chain/execution/host_functions.hpp"
#include "tests/sim/full/load.hpp"

#include <utility>

namespace sim::full {

Variants::Variants(const World& world) : world_(world) {
    const auto first = node::Core::first_batch(world.genesis);
    CHECK(first.has_value() && storage_.commit(*first, true).has_value());
    contract_machine_ = std::make_unique<node::ContractMachine>();
    engine_ = std::make_unique<chain::vm::Engine>(
        chain::host_table(), chain::vm::Engine::Options{}, *contract_machine_);
    executor_ =
        std::make_unique<chain::Executor>(*engine_, chain::host_table(), chain::kRulesKnown + 1);
    chain::StateManager::Options state;
    state.on_fault = [](const base::Error& error) { CHECK(error.detail.empty()); };
    auto chain =
        chain::ChainManager::open(node::identity_of(world.genesis), {storage_, *executor_, state});
    CHECK(chain.has_value());
    chain_ = *std::move(chain);
}

Variants::~Variants() = default;

// What it did to the state is known: nothing is executed again.
void Variants::follow(const chain::ExecutedBlock& block) {
    const chain::BlockHeader& header = block.block->header;
    if (chain_->find_header(block.block->id) != nullptr) return;
    if (chain_->find_header(header.previous) == nullptr) return;
    chain::PendingBlock::Taken taken;
    taken.changes.merge(*block.changes);
    chain_->adopt(block.block, std::move(taken));
}

void Variants::follow(const node::Published& view) {
    for (; followed_ < final_.size(); ++followed_)
        follow(*final_[followed_]);
    for (const chain::ExecutedBlockPtr& block : view.reversible)
        follow(*block);
}

chain::PooledTransaction Variants::new_account(std::size_t member, const node::Published& view) {
    const chain::Name creator = world_.genesis.members[member].name;
    const chain::Name name = account_name("var", ++accounts_);
    const auto time = chain::TimePoint::from_timestamp(world_.universe.at(view.head->header.slot));
    chain::SignedTransaction content;
    content.expiration = {static_cast<std::uint32_t>(time.microseconds / 1'000'000 + 30)};
    content.ref_block_num = static_cast<std::uint16_t>(view.finalized->header.height);
    content.ref_block_prefix = chain::ref_block_prefix_of(view.finalized->id);
    content.actions = {{*chain::Name::from_string("eosio"),
                        *chain::Name::from_string("newaccount"),
                        {{creator, *chain::Name::from_string("active")}},
                        packed_account(creator, name)}};
    const base::crypto::PrivateKey key = signing_key(member);
    content.signatures = {key.sign(content.signing_digest(world_.genesis.chain_id(), {}))};
    return {chain::make_transaction(content), {key.public_key()}};
}

std::vector<chain::BlockPtr> Variants::make(const Place& place,
                                            const chain::Witness& witness,
                                            std::size_t member,
                                            const node::Published& view,
                                            std::size_t count) {
    follow(view);
    std::vector<chain::BlockPtr> made;
    if (chain_->find_header(place.parent) == nullptr) return made;
    for (std::size_t i = 0; i < count; ++i) {
        auto pending = chain_->begin(place.parent, place.slot, place.producer);
        CHECK(pending.has_value());
        const auto trace = (*pending)->push(new_account(member, view), {});
        if (trace.except) break;
        const auto header = (*pending)->close({witness.justify, witness.finalized});
        CHECK(header.has_value());
        const auto digest = header->signing_digest(world_.genesis.chain_id());
        made.push_back(chain::make_block(
            {*header, signing_key(member).sign(digest)}, (*pending)->receipts(), witness));
    }
    return made;
}

}  // namespace sim::full
