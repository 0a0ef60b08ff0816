#include "chain/pool.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"
#include "tests/support/one_node.hpp"

// What was accepted may build on what was accepted before it: a lost block or a restart must not
// change the order in which they run.

namespace {

using support::Cluster;
using support::Machine;

// Accounts that end in these letters are made by each other, the first by `creator`: without one
// the next transaction fails.
std::vector<node::Ticket> submit_line(Machine& node,
                                      std::string creator,
                                      const std::string& prefix,
                                      const std::string& letters) {
    std::vector<node::Ticket> tickets;
    for (const char letter : letters) {
        const std::string name = prefix + letter;
        tickets.push_back(node.submit(node.new_account(creator, name)));
        creator = name;
    }
    return tickets;
}

void check_all_good(const Machine& node, const std::vector<node::Ticket>& tickets) {
    for (const node::Ticket ticket : tickets) {
        const auto found = node.answers.find(ticket);
        REQUIRE(found != node.answers.end());
        CHECK(found->second.outcome.has_value());
    }
}

void check_accounts(const chain::StateView& state,
                    const std::string& prefix,
                    const std::string& letters) {
    for (const char letter : letters) {
        INFO(prefix << letter);
        CHECK(Machine::has_account(prefix + letter, state));
    }
}

std::size_t rows_of_pool(Machine& node) {
    std::size_t rows = 0;
    REQUIRE(node.storage()
                .scan(base::Family::pool,
                      {},
                      [&](auto, auto) {
                          ++rows;
                          return true;
                      })
                .has_value());
    return rows;
}

// Two and two; each side makes blocks, and takes transactions that build on what is in them.
struct Parted {
    Cluster cluster{4};
    chain::BlockId left;  // The heads when they meet again.
    chain::BlockId right;
    chain::TransactionPtr again;  // In a block of the left side, which others build on.

    Parted() {
        cluster.run(1, 4);
        for (const std::size_t a : {0U, 1U}) {
            for (const std::size_t b : {2U, 3U})
                cluster.cut(a, b);
        }
        again = cluster[0].new_account("bank", "lefta");
        const chain::TransactionPtr both = cluster[0].new_account("bank", "both");
        for (const std::size_t node : {0U, 2U})
            check_all_good(cluster[node], {cluster[node].submit(both)});
        take("bank", "broker", "abc");
        cluster.run(5, 7);
        take("leftc", "rightc", "de");
        cluster.run(8, 11);
        // These are in no block yet.
        take("lefte", "righte", "fghi");
        left = cluster[0].view().head->id;
        right = cluster[2].view().head->id;
        REQUIRE(left != right);
    }
    void take(const std::string& on_left, const std::string& on_right, const std::string& letters) {
        check_all_good(cluster[0], submit_line(cluster[0], on_left, "left", letters));
        check_all_good(cluster[2], submit_line(cluster[2], on_right, "right", letters));
        cluster.deliver();
    }
    // The side whose blocks lost.
    [[nodiscard]] std::size_t loser() { return cluster[0].view().head->id != left ? 0 : 2; }
    void meet() {
        cluster.heal();
        cluster.deliver();
        REQUIRE(cluster[0].view().head->id == cluster[2].view().head->id);
    }
    void check_nothing_lost() {
        for (std::size_t i = 0; i < 4; ++i) {
            INFO("node " << i);
            const chain::StateView& state = *cluster[i].view().final_state;
            check_accounts(state, "left", "abcdefghi");
            check_accounts(state, "right", "abcdefghi");
            CHECK(Machine::has_account("both", state));
            CHECK(cluster[i].view().pool_transactions == 0);
            CHECK(rows_of_pool(cluster[i]) == 0);
            CHECK(cluster[i].dropped.empty());
        }
        CHECK(cluster.refused.empty());
    }
};

}  // namespace

TEST_CASE("what builds on a lost block's transactions runs after them", "[core][pool]") {
    Parted parted;
    parted.meet();
    const std::size_t loser = parted.loser();
    CHECK(parted.cluster[loser].view().pool_transactions == 9);
    CHECK(parted.cluster[loser].dropped.empty());
    SECTION("at once") {}
    SECTION("after a restart of all") {
        for (std::size_t i = 0; i < 4; ++i)
            parted.cluster.kill(i);
        for (std::size_t i = 0; i < 4; ++i)
            parted.cluster.start(i);
        parted.cluster.deliver();
        CHECK(parted.cluster[loser].view().pool_transactions == 9);
    }
    parted.cluster.run(12, 19);
    parted.check_nothing_lost();
}

TEST_CASE(
    "what the end of a slot cut off, and what came again, wait for a lost block's transactions",
    "[core][pool]") {
    Parted parted;
    Machine& node = parted.cluster[0];
    // Started anew it is about to make the block of slot 12, which is full before long.
    parted.cluster.kill(0);
    parted.cluster.tick_at(11, 440);
    parted.cluster.start(0);
    parted.cluster.deliver();
    REQUIRE(node.view().head->id == parted.left);
    node.timer.takes = {std::chrono::milliseconds(100)};
    const node::Ticket cut = submit_line(node, "lefti", "left", "j").front();
    const node::Ticket again = node.submit(parted.again);
    REQUIRE_FALSE(node.answers.contains(cut));
    REQUIRE_FALSE(node.answers.contains(again));
    parted.cluster.deliver();
    // Node 1 has room to find that it is a duplicate.
    CHECK(parted.cluster.refused.size() == 1);
    parted.cluster.refused.clear();
    parted.meet();
    REQUIRE(parted.loser() == 0);
    CHECK(node.view().pool_transactions == 10);
    check_all_good(node, {cut, again});
    SECTION("at once") {}
    SECTION("after a restart") {
        parted.cluster.kill(0);
        parted.cluster.start(0);
        parted.cluster.deliver();
    }
    parted.cluster.run(12, 19);
    parted.check_nothing_lost();
    CHECK(Machine::has_account("leftj", *node.view().final_state));
}

TEST_CASE("a block that wins again leaves none of its transactions in the pool or its rows",
          "[core][pool]") {
    Parted parted;
    Machine& node = parted.cluster[0];
    // Node 0 alone hears of the other side, then its own side goes on.
    const std::vector<chain::ExecutedBlockPtr> others = parted.cluster[2].view().reversible;
    for (const chain::ExecutedBlockPtr& block : others) {
        node.step(node::input::FromPeers{
            p2p::effect::BlockArrived{Cluster::channel(2), block->block, false}});
    }
    REQUIRE(node.view().head->id == parted.right);
    CHECK(node.view().pool_transactions == 9);
    parted.cluster.tick_at(13);
    REQUIRE(node.view().head->id == parted.cluster[1].view().head->id);
    REQUIRE(node.view().head->header.slot == 13);
    CHECK(node.view().pool_transactions == 5);  // Those of the other side's blocks.
    parted.meet();
    parted.cluster.run(14, 22);
    parted.check_nothing_lost();
}

namespace {

struct Row {
    base::Bytes key;
    base::Bytes value;
};

Row row_of(chain::Pool::Place place, const chain::DecodedTransaction& transaction) {
    return {base::to_bytes(transaction.id.view()),
            chain::encode_pool_row(place, transaction.packed)};
}

void put_row(Machine& node, Row row) {
    base::Batch batch;
    batch.put(base::Family::pool, std::move(row.key), std::move(row.value));
    REQUIRE(node.storage().commit(batch, true).has_value());
}

}  // namespace

TEST_CASE("a row of what is final goes at the start, and nobody is told that it failed",
          "[core][pool]") {
    Cluster cluster(4);
    cluster.run(1, 4);
    const chain::TransactionPtr final = cluster[0].new_account("bank", "alice");
    check_all_good(cluster[0], {cluster[0].submit(final)});
    cluster.deliver();
    cluster.run(5, 8);
    cluster.kill(2);
    cluster.kill(3);
    const chain::TransactionPtr held = cluster[0].new_account("bank", "bob");
    check_all_good(cluster[0], {cluster[0].submit(held)});
    cluster.deliver();
    cluster.run(9, 12);
    Machine& node = cluster[0];
    REQUIRE(Machine::has_account("alice", *node.view().final_state));
    REQUIRE_FALSE(Machine::has_account("bob", *node.view().final_state));
    REQUIRE(Machine::has_account("bob", *node.view().head_state));
    // Another branch may win over its block.
    REQUIRE(rows_of_pool(node) == 1);
    // As after a load of a state that has it.
    put_row(node, row_of(chain::Pool::kOrigin + 7, *final));
    cluster.kill(0);
    cluster.start(0);
    CHECK(node.view().pool_transactions == 0);
    CHECK(node.dropped.empty());
    CHECK(rows_of_pool(node) == 1);
    // What comes later stands behind it.
    check_all_good(node, {node.submit(node.new_account("bank", "carol"))});
    cluster.kill(0);
    cluster.start(0);
    CHECK(node.view().pool_transactions == 1);
    CHECK(rows_of_pool(node) == 2);
    cluster.start(2);
    cluster.start(3);
    cluster.deliver();
    cluster.run(13, 20);
    REQUIRE(Machine::has_account("bob", *node.view().final_state));
    REQUIRE(Machine::has_account("carol", *node.view().final_state));
    CHECK(rows_of_pool(node) == 0);
}

TEST_CASE("what waits survives a restart, though a block that lost holds it", "[core][pool]") {
    Cluster cluster(4);
    cluster.run(1, 4);
    for (const std::size_t a : {0U, 1U}) {
        for (const std::size_t b : {2U, 3U})
            cluster.cut(a, b);
    }
    const chain::TransactionPtr waits = cluster[0].new_account("bank", "alice");
    const auto head_slot = [&](std::size_t node) { return cluster[node].view().head->header.slot; };
    cluster.run(5, 8);
    const std::size_t later = head_slot(0) > head_slot(2) ? 0 : 2;
    const std::size_t earlier = 2 - later;
    // In a block of the one side, of a slot before the head of the other.
    check_all_good(cluster[earlier], {cluster[earlier].submit(waits)});
    cluster.deliver();
    while (!Machine::has_account("alice", *cluster[earlier].view().head_state))
        cluster.tick_at(std::max(head_slot(earlier), head_slot(later)) + 1);
    while (head_slot(later) < head_slot(earlier))
        cluster.tick_at(head_slot(earlier) + 1);
    Machine& node = cluster[later];
    check_all_good(node, {node.submit(waits)});
    const chain::BlockId head = node.view().head->id;
    for (const chain::ExecutedBlockPtr& block : cluster[earlier].view().reversible) {
        node.step(node::input::FromPeers{
            p2p::effect::BlockArrived{Cluster::channel(earlier), block->block, false}});
    }
    REQUIRE(node.view().head->id == head);
    CHECK(rows_of_pool(node) == 1);
    cluster.kill(later);
    cluster.start(later);
    CHECK(node.view().pool_transactions == 1);
}

TEST_CASE("a damaged row of the pool is dropped, and keeps no node from starting", "[core][pool]") {
    Cluster cluster(1);
    cluster.run(1, 2);
    Machine& node = cluster[0];
    check_all_good(node, submit_line(node, "bank", "acct", "a"));
    const chain::TransactionPtr other = node.new_account("bank", "bob");
    Row row = row_of(chain::Pool::kOrigin + 7, *other);
    SECTION("cut short") {
        row.value.resize(5);
    }
    SECTION("at a place out of the order") {
        row.value = chain::encode_pool_row(chain::Pool::kPlaceMin - 1, other->packed);
    }
    SECTION("at the place of another") {
        row.value = chain::encode_pool_row(chain::Pool::kOrigin, other->packed);
    }
    SECTION("under another key") {
        row.key.back() ^= std::byte{1};
    }
    SECTION("of what is no transaction") {
        chain::PackedTransaction packed = other->packed;
        packed.packed_trx.resize(3);
        row.value = chain::encode_pool_row(chain::Pool::kOrigin + 7, packed);
    }
    put_row(node, std::move(row));
    CHECK(rows_of_pool(node) == 2);
    REQUIRE(node.open().has_value());
    CHECK(node.view().pool_transactions == 1);
    CHECK(rows_of_pool(node) == 1);
    cluster.run(3, 4);
    CHECK(node.view().pool_transactions == 0);
}

TEST_CASE("transactions that build on each other run in their order after a restart",
          "[core][pool]") {
    Cluster cluster(1);
    cluster.run(1, 2);
    const std::string letters = "abcdefgh";
    check_all_good(cluster[0], submit_line(cluster[0], "bank", "acct", letters));
    for (int restarts = 0; restarts < 3; ++restarts) {
        cluster.kill(0);
        cluster.start(0);
        CHECK(cluster[0].view().pool_transactions == letters.size());
        CHECK(cluster[0].dropped.empty());
    }
    // What comes now is after them, also the next time.
    check_all_good(cluster[0], submit_line(cluster[0], "accth", "acct", "ij"));
    cluster.kill(0);
    cluster.start(0);
    cluster.run(3, 5);
    CHECK(cluster[0].dropped.empty());
    check_accounts(*cluster[0].view().final_state, "acct", letters + "ij");
    CHECK(rows_of_pool(cluster[0]) == 0);
}

TEST_CASE("nothing new overtakes what waits for room in a block", "[core][pool]") {
    constexpr std::size_t kBytes = 400'000;  // A block has room for two.
    support::OneNode node;
    node.tick_at(1);
    for (std::size_t i = 0; i < 2; ++i) {
        const auto ticket = node.submit(node.idle(kBytes + i));
        REQUIRE(node.answers.at(ticket).outcome.has_value());
    }
    const auto third = node.submit(node.idle(kBytes + 2));
    CHECK_FALSE(node.answers.contains(third));
    const auto account = node.submit(node.new_account("shop"));
    CHECK(node.answers.at(account).outcome.has_value());
    // Nobody makes the block of slot 2, and that of slot 13 is begun with the third, which has no
    // room, before the account.
    node.tick_at(12, 300);
    const auto again = node.submit(node.new_account("shop"));
    CHECK_FALSE(node.answers.contains(again));
    for (chain::Slot slot = 13; slot < 16; ++slot)
        node.tick_at(slot);
    CHECK(node.dropped.empty());
    CHECK(node.answers.at(third).outcome.has_value());
    CHECK_FALSE(node.answers.at(again).outcome.has_value());
    CHECK(node.view().pool_transactions == 0);
}
