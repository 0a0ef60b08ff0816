#include "node/core/arrivals.hpp"
#include "tests/support/blocks.hpp"
#include "tests/support/cluster.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <utility>

// One Byzantine producer of four gives each other member two blocks of its slot that nobody else
// has, as often as it is its turn.

namespace {

using support::Cluster;

constexpr std::size_t kHonest = 3;
constexpr unsigned char kLiar = 7 + 3;  // The key of the fourth member.

// Machines 3, 4 and 5 have the key of the fourth member; each gives blocks to one of the others.
struct Division {
    Cluster cluster;
    std::map<std::pair<std::size_t, chain::BlockId>, int> asked;

    explicit Division(std::uint32_t interval = 500, std::uint64_t repetitions = 1)
        : cluster(4, 2, 120, interval, repetitions) {
        for (std::size_t i = 0; i < kHonest; ++i) {
            // Who has no use for a block asks for what is below it, but not for ever.
            cluster[i].to_peers = [this, i, say = cluster[i].to_peers](const p2p::Input& said) {
                const auto* judged = std::get_if<p2p::input::Judged>(&said);
                const bool is_unsure = judged != nullptr && judged->item == p2p::Item::block &&
                                       judged->verdict == p2p::Verdict::unsure;
                if (!is_unsure || ++asked[{i, judged->id}] <= 2) say(said);
            };
        }
        for (std::size_t i = 3; i < 6; ++i) {
            cluster.kill(i);
            cluster[i].set_key(support::key_of(kLiar));
            cluster[i].to_peers = [this, i](const p2p::Input& said) { say(i, said); };
            cluster.start(i);
        }
        cluster.deliver();
    }
    void say(std::size_t liar, const p2p::Input& said) {
        namespace arrived = p2p::effect;
        const auto id = Cluster::channel(liar);
        if (const auto* clock = std::get_if<p2p::input::PushClock>(&said); clock && liar == 3) {
            for (std::size_t to = 0; to < kHonest; ++to)
                cluster.send(liar, to, arrived::ClockArrived{id, {}, clock->statement});
        }
        const auto* block = std::get_if<p2p::input::PushBlock>(&said);
        if (block == nullptr) return;
        const std::size_t victim = liar - 3;
        cluster.send(liar, victim, arrived::BlockArrived{id, block->block, false});
        chain::BlockHeader header = block->block->header;
        header.state_digest.bytes[3] ^= static_cast<std::byte>(1 + victim);
        const chain::BlockPtr other = support::with_header(
            *block->block, header, support::key_of(kLiar), cluster[0].genesis().chain_id());
        cluster.send(liar, victim, arrived::BlockArrived{id, other, false});
    }
    // What the liars make in a slot differs.
    void differ(chain::Slot slot) {
        for (std::size_t liar = kHonest; liar < cluster.size(); ++liar) {
            std::string name = "liar";
            for (const std::size_t each : {liar, slot % 26, slot / 26})
                name += static_cast<char>('a' + each);
            (void)cluster[liar].submit(cluster[liar].new_account("vault", name));
        }
    }
    [[nodiscard]] chain::Height final_height() {
        return cluster[0].view().finalized->header.height;
    }
};

}  // namespace

TEST_CASE("a producer that gives each member other blocks does not hold up finality",
          "[network][division]") {
    Division test;
    test.cluster.run(1, 4);
    const chain::Height before = test.final_height();
    constexpr chain::Slot kSlots = 60;
    for (chain::Slot slot = 5; slot < 5 + kSlots; ++slot) {
        test.differ(slot);
        if (slot == 8) (void)test.cluster[0].submit(test.cluster[0].new_account("bank", "honest"));
        test.cluster.tick_at(slot);
    }
    // A silent one costs every fourth slot.
    CHECK(test.final_height() - before >= kSlots / 2);
    // Without finality blocks are empty: nobody's transactions, nor what convicts the liar, come
    // in.
    CHECK(support::Machine::has_account("honest", *test.cluster[0].view().final_state));
}

// To another member what it gave to one is a chain of thirds of its slots.
TEST_CASE("nor does one whose turn is of more slots than such blocks of short turns may wait",
          "[network][division]") {
    constexpr chain::Slot kTurn = node::Arrivals::kThirdsLeast + 4;
    Division test(50, kTurn);
    // The first turn of the fourth member comes then.
    test.cluster.run(1, 3 * kTurn - 1);
    const chain::Height before = test.final_height();
    constexpr chain::Slot kSlots = 4 * kTurn;
    for (chain::Slot slot = 3 * kTurn; slot < 3 * kTurn + kSlots; ++slot) {
        if (slot < 4 * kTurn) test.differ(slot);
        test.cluster.tick_at(slot);
    }
    CHECK(test.final_height() - before >= kSlots / 2);
}
