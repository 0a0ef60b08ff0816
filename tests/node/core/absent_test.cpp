#include "node/machine/machine.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "consensus/certificate.hpp"
#include "tests/support/cluster.hpp"

// The network cuts honest validators off, one after the other, for longer than they may miss slots.
// Were the schedule made smaller by that, those that mean harm, who stay, would be too many of it.

namespace {

using chain::Slot;

genesis::Genesis genesis_of(std::size_t validators) {
    genesis::Genesis genesis = support::genesis_of(validators);
    genesis.parameters.schedule_period = 12;
    genesis.parameters.max_missed = 10;
    return genesis;
}

class Parted {
  public:
    explicit Parted(std::size_t validators) : cluster(genesis_of(validators)) {
        cluster.run(1, slot - 1);
    }
    void cut_off(std::size_t one) {
        for (std::size_t other = 0; other < cluster[0].genesis().schedule.entries.size(); ++other)
            if (other != one) cluster.cut(other, one);
    }
    void run(Slot slots) {
        for (const Slot last = slot + slots; slot < last; ++slot) {
            cluster.resends = 20;
            cluster.tick_at(slot);
        }
    }
    [[nodiscard]] chain::Schedule schedule() {
        return chain::load_schedule(*cluster[0].view().final_state).value();
    }
    // What a Byzantine member says to node 3 alone: the time, and that it votes for this block.
    void say_time(std::size_t who) {
        const auto key = support::key_of(static_cast<unsigned char>(7 + who));
        const genesis::Genesis& genesis = cluster[0].genesis();
        const auto time = genesis.times.time_of(slot).to_timestamp();
        p2p::ClockStatement clock{.key = key.public_key(),
                                  .life = std::uint64_t{1} << 62U,
                                  .number = ++said_,
                                  .shown = time.time_since_epoch().count(),
                                  .signature = {}};
        clock.signature = key.sign(p2p::clock_digest(clock, genesis.chain_id()));
        cluster[3].step(node::input::FromPeers{
            p2p::effect::ClockArrived{support::Cluster::channel(who), {}, clock}});
    }
    void vote(std::size_t who, const chain::Block& block) {
        const auto key = support::key_of(static_cast<unsigned char>(7 + who));
        for (const auto kind : {chain::VoteKind::notarize, chain::VoteKind::commit}) {
            const chain::VoteData data = consensus::vote_data(kind, block);
            const auto signature = key.sign(data.digest(cluster[0].genesis().chain_id()));
            cluster[3].step(node::input::FromPeers{p2p::effect::VoteArrived{
                support::Cluster::channel(who), {}, {data, key.public_key(), signature}}});
        }
    }

    Slot slot = 13;
    support::Cluster cluster;

  private:
    std::uint64_t said_ = 0;
};

}  // namespace

TEST_CASE("three of four are enough after one was cut off for long and another fell silent") {
    Parted parted(4);
    parted.cut_off(3);
    parted.run(400);
    CHECK(parted.schedule().entries.size() == 4);
    parted.cluster.kill(2);
    parted.cluster.heal();
    parted.cluster.deliver();
    const Slot before = parted.cluster[0].view().finalized->header.slot;
    parted.run(200);
    CHECK(parted.cluster[0].view().finalized->header.slot > before + 150);
}

TEST_CASE("two of seven make no two final blocks, whoever of the others is cut off before") {
    Parted parted(7);
    parted.cut_off(5);
    parted.cut_off(6);
    parted.run(400);
    parted.cut_off(4);
    parted.run(400);
    CHECK(parted.schedule().entries.size() == 7);
    // The network parts the last two honest ones, 2 and 3; 0 and 1 vote on both sides.
    parted.cut_off(3);
    const chain::Height fork = parted.cluster[3].view().finalized->header.height + 1;
    for (int i = 0; i < 60; ++i) {
        for (const std::size_t who : {0U, 1U})
            parted.say_time(who);
        parted.run(1);
        const auto& held = parted.cluster[3].view().reversible;
        if (held.empty() || held.back()->block->header.slot + 1 != parted.slot) continue;
        const chain::BlockPtr block = held.back()->block;
        for (const std::size_t who : {0U, 1U})
            parted.vote(who, *block);
    }
    const auto final_id = [&](std::size_t i) -> std::optional<chain::BlockId> {
        const auto block = chain::BlockReader(parted.cluster[i].storage()).at(fork).value();
        return block == nullptr ? std::nullopt : std::optional(block->id);
    };
    const auto there = final_id(3);
    CHECK((!there || there == final_id(2)));
}
