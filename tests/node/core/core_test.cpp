#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "chain/state/views.hpp"
#include "tests/support/one_node.hpp"

#include <memory>
#include <set>
#include <string>
#include <vector>

// A whole node, production code, over a simulated disk and clock. What was reported final must
// survive a power cut at any write, nothing may run twice, and no slot may be signed twice.

TEST_CASE("a node alone makes a block a slot and each becomes final", "[core]") {
    support::OneNode node;
    CHECK(node.view().head->header.height == 1);
    for (chain::Slot slot = 1; slot <= 5; ++slot) {
        node.tick_at(slot);
        CHECK(node.view().head->header.slot == slot);
        CHECK(node.view().finalized->id == node.view().head->id);
        CHECK(node.view().certificate->data.kind == chain::VoteKind::commit);
    }
    CHECK(node.view().head->header.height == 6);
    CHECK(node.finalized.size() == 5);
    // The certificates of a block travel in the next one.
    const chain::Block& head = *node.view().head;
    CHECK(head.header.finalized.slot == 4);
    CHECK(head.header.justify.slot == 4);
    CHECK(head.witness.finalized.has_value());
    CHECK(consensus::verify(*head.witness.finalized,
                            chain::first_schedules(node.genesis().schedule),
                            node.genesis().chain_id())
              .has_value());
}

TEST_CASE("a transaction is answered at once, in the next block, and final", "[core]") {
    support::OneNode node;
    node.tick_at(1);
    const auto transaction = node.new_account("alice");
    const auto ticket = node.submit(transaction);
    REQUIRE(node.answers.contains(ticket));
    REQUIRE(node.answers.at(ticket).outcome.has_value());
    CHECK_FALSE(node.has_account("alice", *node.view().head_state));
    SECTION("a second time it is a duplicate, before and after its block") {
        const auto again = node.submit(transaction);
        REQUIRE_FALSE(node.answers.at(again).outcome.has_value());
        node.tick_at(2);
        const auto later = node.submit(transaction);
        REQUIRE_FALSE(node.answers.at(later).outcome.has_value());
        CHECK(node.answers.at(later).outcome.error().exception ==
              static_cast<std::uint32_t>(chain::Exception::tx_duplicate));
    }
    node.tick_at(2);
    CHECK(node.view().head->transactions.size() == 1);
    CHECK(node.has_account("alice", *node.view().final_state));
    CHECK(node.view().pool_transactions == 0);
}

TEST_CASE("who asks sees what is pending as it was then, in few layers", "[core]") {
    constexpr int kAccounts = 60;
    support::OneNode node;
    node.tick_at(1);
    const auto name_of = [](int i) {
        return std::string("user") + static_cast<char>('a' + i / 26) +
               static_cast<char>('a' + i % 26);
    };
    struct Look {
        int accounts;
        std::shared_ptr<const chain::StateView> state;
    };
    std::vector<Look> looks;
    for (int i = 0; i < kAccounts; ++i) {
        (void)node.submit(node.new_account(name_of(i)));
        if (i % 7 == 3 || i % 7 == 4) continue;  // Several between two looks, too.
        node.step(node::input::ShowPending{});
        looks.push_back({i + 1, node.view().pending_state});
    }
    const auto& last = dynamic_cast<const chain::LayeredView&>(*looks.back().state);
    CHECK(last.layers().size() <= 7);
    for (const Look& look : looks) {
        for (int i = 0; i < kAccounts; ++i) {
            CHECK(node.has_account(name_of(i), *look.state) == (i < look.accounts));
        }
    }
    CHECK_FALSE(node.has_account(name_of(0), *node.view().head_state));
    node.tick_at(2);
    CHECK(node.has_account(name_of(kAccounts - 1), *node.view().head_state));
}

TEST_CASE("a failed transaction is answered with its error and leaves nothing", "[core]") {
    support::OneNode node;
    node.tick_at(1);
    (void)node.submit(node.new_account("alice"));
    node.tick_at(2);
    const auto ticket = node.submit(node.new_account("alice"));
    REQUIRE_FALSE(node.answers.at(ticket).outcome.has_value());
    CHECK(node.answers.at(ticket).outcome.error().exception ==
          static_cast<std::uint32_t>(chain::Exception::account_name_exists_exception));
    CHECK(node.answers.at(ticket).failed != nullptr);
    node.tick_at(3);
    CHECK(node.view().head->transactions.empty());
}

TEST_CASE("missed slots leave no gap in heights", "[core]") {
    support::OneNode node;
    node.tick_at(1);
    node.tick_at(10);
    node.tick_at(20, 200);  // Too late in its slot.
    node.tick_at(21);
    CHECK(node.view().head->header.height == 4);
    CHECK(node.view().head->header.slot == 21);
}

TEST_CASE("a full disk stops production, says so, and it goes on when there is space", "[core]") {
    support::OneNode node;
    node.tick_at(1);
    node.storage().fail_commits(3);
    node.tick_at(2);
    CHECK(node.view().trouble.find("full") != std::string::npos);
    CHECK(node.view().finalized->header.slot == 1);
    const auto refused = node.submit(node.new_account("alice"));
    REQUIRE_FALSE(node.answers.at(refused).outcome.has_value());
    CHECK(node.answers.at(refused).outcome.error().code == base::Errc::unavailable);
    for (chain::Slot slot = 3; slot <= 16; ++slot) {
        node.tick_at(slot);
    }
    CHECK(node.view().trouble.empty());
    CHECK(node.view().finalized->header.slot == 16);
    CHECK_FALSE(node.signed_twice);
}

TEST_CASE("a node that does not know the rules of a height stops there and keeps saying so",
          "[core]") {
    support::OneNode node;
    node.tick_at(1);
    base::Writer rules;
    rules.u32(2);
    rules.u32(4);  // From height 4 on.
    const auto ticket = node.submit(node.act("setrules", rules.take()));
    for (chain::Slot slot = 2; slot <= 8; ++slot) {
        node.tick_at(slot);
    }
    REQUIRE(node.answers.at(ticket).outcome.has_value());
    CHECK(node.view().finalized->header.height == 3);
    CHECK(node.view().trouble.find("install the release") != std::string::npos);
    const auto refused = node.submit(node.new_account("alice"));
    REQUIRE_FALSE(node.answers.at(refused).outcome.has_value());
}

TEST_CASE("a power cut at any write loses nothing final and signs no slot twice", "[core]") {
    for (int cut = 0; cut < 40; ++cut) {
        support::OneNode node;
        node.tick_at(1);
        node.writes_left = cut;
        std::set<std::string> shown_final;
        const auto look = [&] {
            for (const std::string name : {"alice", "bob", "carol"}) {
                if (node.has_account(name, *node.view().final_state)) shown_final.insert(name);
            }
        };
        chain::Slot slot = 2;
        for (const std::string name : {"alice", "bob", "carol"}) {
            (void)node.submit(node.new_account(name));
            node.tick_at(slot++);
            look();
        }
        const chain::Height final_before = node.view().finalized->header.height;
        node.writes_left.reset();
        node.cut_power_and_start();
        CHECK(node.view().finalized->header.height >= final_before);
        for (const std::string& name : shown_final) {
            CHECK(node.has_account(name, *node.view().final_state));
        }
        // The same slot again, then later ones: it goes on without help.
        node.tick_at(slot - 1, 1);
        for (int i = 0; i < 4; ++i) {
            node.tick_at(slot++);
        }
        CHECK(node.view().finalized->header.slot == slot - 1);
        CHECK_FALSE(node.signed_twice);
    }
}

TEST_CASE("a torn journal page is mended before anything is written after it", "[core]") {
    support::OneNode node;
    node.tick_at(1);
    node.tick_at(2);
    base::Bytes torn(consensus::SafetyJournal::kBlockBytes);
    torn[0] = std::byte{0x42};
    node.log().insert(node.log().end(), torn.begin(), torn.end());
    node.start();
    node.tick_at(3);
    node.tick_at(4);
    node.start();  // Reads the journal again: it has no hole.
    node.tick_at(5);
    CHECK(node.view().finalized->header.slot == 5);
    CHECK_FALSE(node.signed_twice);
}

TEST_CASE("what was acknowledged and kept by the disk is in a block after a restart", "[core]") {
    support::OneNode node;
    node.tick_at(1);
    const auto ticket = node.submit(node.new_account("alice"));
    REQUIRE(node.answers.at(ticket).outcome.has_value());
    node.start();  // Killed: unsynced writes of the process survive it.
    node.tick_at(2);
    CHECK(node.has_account("alice", *node.view().final_state));
    CHECK(node.dropped.empty());
}

TEST_CASE("an unknown chain, a lost journal and a strange key are refused by name", "[core]") {
    support::OneNode node;
    node.tick_at(1);
    auto other = node.genesis();
    other.parameters.open_contracts = 1;
    const auto holds = chain::ChainManager::holds_chain(node.storage(), other.chain_id());
    REQUIRE_FALSE(holds.has_value());
    CHECK(holds.error().detail.find("another data directory") != std::string::npos);
    auto two = node.genesis();
    two.members.push_back({*chain::Name::from_string("shop"), two.members[0].authority, 1});
    two.schedule.entries.push_back(two.schedule.entries[0]);
    CHECK_FALSE(node::Core::first_batch(two).has_value());
}
