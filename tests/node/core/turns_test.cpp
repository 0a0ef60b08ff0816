#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "node/core/arrivals.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/cluster.hpp"

#include <algorithm>
#include <string>
#include <vector>

// In which order a node executes blocks of others, and how much time it gives to old ones.

namespace {

using support::Cluster;

// Of slot 8 and of slot 12, with transactions, by one that nobody hears; the others go on. Two of
// four have votes for them, nothing is final any more.
struct Silent {
    Cluster cluster{4};
    std::vector<chain::BlockPtr> old;
    std::vector<p2p::input::Judged> judged;  // By node 1, of blocks.
    int accounts = 0;

    Silent() {
        cluster.run(1, 4);
        cluster.kill(2);
        for (const std::size_t other : {1U, 3U})
            cluster.cut(0, other);
        submit(80);
        cluster.run(5, 8);
        submit(1);
        cluster.run(9, 15);
        for (const chain::ExecutedBlockPtr& block : cluster[0].view().reversible)
            old.push_back(block->block);
        REQUIRE(old.size() == 2);
        REQUIRE(old[0]->header.slot == 8);
        REQUIRE(old[1]->header.slot == 12);
        cluster.run(16, 18);
        // The current slot's is on its way yet.
        cluster.cut(1, 3);
        cluster.tick_at(19);
        cluster.mend();
        REQUIRE(cluster[3].view().head->header.slot == 19);
        cluster[1].to_peers = [this](const p2p::Input& said) {
            const auto* one = std::get_if<p2p::input::Judged>(&said);
            if (one != nullptr && one->item == p2p::Item::block) judged.push_back(*one);
        };
    }
    void submit(int count) {
        for (int i = 0; i < count; ++i) {
            const int number = accounts++;
            const std::string name{"acc", 3};
            const auto letter = [](int which) { return static_cast<char>('a' + which); };
            const auto ticket = cluster[0].submit(
                cluster[0].new_account("bank", name + letter(number / 26) + letter(number % 26)));
            REQUIRE(cluster[0].answers.count(ticket) == 1);
            REQUIRE(cluster[0].answers.at(ticket).outcome.has_value());
        }
    }
    void send(const chain::BlockPtr& block) {
        cluster[1].step(
            node::input::FromPeers{p2p::effect::BlockArrived{Cluster::channel(0), block, false}});
    }
    void send_old() {
        for (const chain::BlockPtr& block : old)
            send(block);
    }
    // What was said good since this was asked last.
    [[nodiscard]] std::size_t take_good() {
        const auto count =
            std::ranges::count(judged, p2p::Verdict::good, &p2p::input::Judged::verdict);
        judged.clear();
        return static_cast<std::size_t>(count);
    }
};

}  // namespace

TEST_CASE("old blocks that nobody has certified get a part of the time, the current one all",
          "[network]") {
    Silent test;
    Cluster& cluster = test.cluster;
    test.send_old();
    // 80 transactions of at least 100 us: those after it wait four times as long.
    CHECK(test.take_good() == 1);
    test.send(cluster[3].view().head);
    CHECK(test.take_good() == 1);
    CHECK(cluster[1].view().head->id == cluster[3].view().head->id);
    cluster[1].set_time(cluster[1].genesis().times.time_of(19).to_timestamp() +
                        std::chrono::milliseconds(40));
    cluster[1].step(node::input::Tick{});
    CHECK(test.take_good() == 1);
    CHECK(cluster.refused.empty());
}

TEST_CASE("what a quorum has certified is executed at once, however old", "[network]") {
    Silent test;
    Cluster& cluster = test.cluster;
    const chain::Block& block = *test.old[1];
    const chain::Certificate certificate =
        support::certificate_of(block, chain::VoteKind::notarize, cluster[1].genesis().chain_id());
    test.send_old();
    CHECK(test.take_good() == 1);
    cluster[1].step(node::input::FromPeers{
        p2p::effect::CertificateArrived{Cluster::channel(0), {}, certificate}});
    CHECK(test.take_good() == 1);
    CHECK(cluster[1].view().head->id == block.id);
}

TEST_CASE("what is certified has the first turn, then what may be voted for", "[network]") {
    Cluster cluster(4);
    cluster.run(1, 1);
    const chain::Block& head = *cluster[0].view().head;
    node::Arrivals arrivals(1);
    const auto add = [&](chain::Slot slot, const chain::BlockHeader& parent) {
        chain::BlockHeader header = parent;
        header.height = parent.height + 1;
        header.previous = parent.id();
        header.slot = slot;
        node::Arrival arrival;
        arrival.block = chain::make_block({header, head.signature}, {}, {});
        arrivals.add(std::move(arrival));
        return header;
    };
    const auto low = add(10, head.header);
    const auto named = add(11, low);
    const auto above = add(12, named);
    const auto high = add(30, above);
    add(31, high);
    const auto other = add(9, head.header);
    add(32, other);
    arrivals.mark_certified({named.height, named.id()});
    std::vector<chain::Slot> slots;
    std::vector<node::Arrivals::Rank> ranks;
    for (const auto& [rank, key] : arrivals.in_turn(30)) {
        slots.push_back(arrivals.find(key)->block->header.slot);
        ranks.push_back(rank);
    }
    CHECK(slots == std::vector<chain::Slot>{10, 11, 32, 30, 31, 9, 12});
    using enum node::Arrivals::Rank;
    CHECK(ranks == std::vector{certified, certified, recent, recent, recent, old, old});
}
