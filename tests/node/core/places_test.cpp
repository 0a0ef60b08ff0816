#include "chain/execution/schedule_rows.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

// After Catch2, whose macros it uses.
#include "tests/support/elections.hpp"

// Who gets a place in the schedule, where members would give places to accounts of their own.

namespace {

using support::Cluster;
using support::name;

// Node 3's member, "vault", makes an account whose node it is as well.
void make_account(Cluster& cluster, const std::string& account) {
    const auto push = [&](const chain::TransactionPtr& transaction) {
        const auto ticket = cluster[3].submit(transaction);
        REQUIRE(cluster[3].answers.at(ticket).outcome.has_value());
    };
    push(cluster[3].new_account("vault", account));
    cluster.run(4, 8);
    const auto key = support::key_of(60);
    cluster[3].add_key(key);
    cluster[3].producers = {name(account), name("vault")};
    push(cluster[3].act(account, "regproducer", support::registration(account, key.public_key())));
    cluster.run(9, 12);
    cluster.kill(3);
    cluster.start(3);
    cluster.deliver();
    cluster.run(13, 16);
}

void vote(Cluster& cluster, std::size_t node, const std::string& member, const std::string& extra) {
    std::vector<std::string> producers{"bank", "bourse", "broker", "vault", extra};
    std::ranges::sort(producers, {}, name);
    const auto ticket = cluster[node].submit(
        cluster[node].act(member, "voteproducer", support::votes(member, producers)));
    REQUIRE(cluster[node].answers.at(ticket).outcome.has_value());
}

std::size_t scheduled(Cluster& cluster) {
    return chain::load_schedule(*cluster[0].view().final_state).value().entries.size();
}

}  // namespace

// With a place for its account two of five would be silent.
TEST_CASE("one member of four falls silent with an account of its own, and finality goes on",
          "[places]") {
    constexpr chain::Slot kPeriod = 12;
    Cluster cluster(4, 0, kPeriod);
    cluster.run(1, 3);
    make_account(cluster, "valet");
    vote(cluster, 3, "vault", "valet");
    cluster.run(17, 24);
    CHECK(chain::find_ready(*cluster[0].view().final_state, name("valet")).has_value());
    cluster.kill(3);
    cluster.run(25, 100);
    CHECK(cluster[0].view().finalized->header.slot >= 96);
    CHECK(scheduled(cluster) == 4);
}

TEST_CASE("an account that two members of four vote for gets its place", "[places]") {
    constexpr chain::Slot kPeriod = 12;
    Cluster cluster(4, 0, kPeriod);
    cluster.run(1, 3);
    make_account(cluster, "valet");
    vote(cluster, 3, "vault", "valet");
    cluster.run(17, 40);
    CHECK(scheduled(cluster) == 4);
    vote(cluster, 0, "bank", "valet");
    cluster.run(41, 70);
    CHECK(scheduled(cluster) == 5);
    CHECK(cluster[0].view().finalized->header.slot >= 68);
}
