#include "node/key_recovery.hpp"

#include "node/core/core.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"

// The keys of a block's transactions are computed for the body that its producer has signed, and
// for no other.

namespace {

struct Body {
    support::Cluster cluster{1};
    chain::TransactionPtr transaction = cluster[0].new_account("bank", "alice");
    chain::Block block;

    Body() {
        cluster[0].submit(transaction);
        cluster.run(1, 2);
        for (const chain::BlockPtr& each : cluster[0].finalized) {
            if (!each->transactions.empty()) block = *each;
        }
        REQUIRE(node::has_its_body(block));
    }
    [[nodiscard]] node::KeyRecovery recovery() {
        return node::KeyRecovery(cluster[0].genesis().chain_id());
    }
};

}  // namespace

TEST_CASE("the transactions of a block come with their keys", "[keys]") {
    Body body;
    node::KeyRecovery recovery = body.recovery();
    for (int i = 0; i < 2; ++i) {
        const auto all = recovery.transactions_of(body.block);
        REQUIRE(all.has_value());
        REQUIRE(all->size() == body.block.transactions.size());
        CHECK(all->front().transaction->id == body.transaction->id);
        CHECK(all->front().keys.size() == 1);
    }
}

TEST_CASE("of another body under a block's header no key is computed", "[keys]") {
    Body body;
    node::KeyRecovery recovery = body.recovery();
    chain::Block other = body.block;
    auto& packed = std::get<chain::PackedTransaction>(other.transactions.front().transaction);
    // Nobody has made this one: it would be what is wrong, if it was looked at.
    packed.signatures.assign(2'000, {});
    const auto all = recovery.transactions_of(other);
    REQUIRE_FALSE(all.has_value());
    CHECK(all.error().detail == "the transactions are not those that the header names");
}
