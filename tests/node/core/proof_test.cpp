#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "chain/state/proof_store.hpp"
#include "consensus/certificate.hpp"
#include "tests/support/one_node.hpp"

// What a node stores is enough to prove to somebody who has only the genesis file.

TEST_CASE("a transaction is proven final with the genesis schedule alone", "[core]") {
    support::OneNode node;
    node.tick_at(1);
    const auto transaction = node.new_account("alice");
    (void)node.submit(transaction);
    for (chain::Slot slot = 2; slot < 9; ++slot) {
        node.tick_at(slot);
    }
    node.start();  // The index goes on where it was.
    for (chain::Slot slot = 9; slot < 15; ++slot) {
        node.tick_at(slot);
    }
    const chain::ProofMaker maker(node.storage());
    const auto check = [&](const chain::Certificate& certificate,
                           const chain::ScheduleState& schedules) {
        return consensus::verify(certificate, schedules, node.genesis().chain_id());
    };
    const chain::Height final_height = node.view().finalized->header.height;
    for (chain::Height height = 1; height + 1 < final_height; ++height) {
        const auto proof = maker.of_block(height, 0);
        if (!proof) FAIL(proof.error().detail);
        CHECK(chain::verify(*proof, node.genesis().schedule, check).has_value());
    }
    // The newest is not below a certified one yet.
    CHECK(maker.of_block(final_height, 0).error().code == base::Errc::would_block);
    const auto proof = maker.of_transaction(transaction->id, 0);
    REQUIRE(proof.has_value());
    CHECK(chain::verify(*proof, node.genesis().schedule, check).has_value());
    const auto action = maker.of_action(transaction->id, 1, 0);
    REQUIRE(action.has_value());
    CHECK(chain::verify(*action, node.genesis().schedule, check).has_value());
    chain::Proof forged = *proof;
    forged.finality.certificate.signatures[0].compact[40] ^= std::byte{1};
    CHECK_FALSE(chain::verify(forged, node.genesis().schedule, check).has_value());
}
