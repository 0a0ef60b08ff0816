#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/one_node.hpp"

// New transactions by the wall clock: what takes too long is run once and never again, what the
// end of our slot cuts off has the whole limit in the next, and who fails pays with time.

namespace {

using std::chrono::milliseconds;

const base::Duration kWhole = milliseconds(150);  // Core::Options' default.
constexpr auto kDeadline = static_cast<std::uint32_t>(chain::Exception::deadline_exception);
constexpr auto kOverBudget = static_cast<std::uint32_t>(chain::Exception::tx_cpu_usage_exceeded);

const base::Error& error_of(const support::OneNode& node, node::Ticket ticket) {
    const auto found = node.answers.find(ticket);
    REQUIRE(found != node.answers.end());
    REQUIRE_FALSE(found->second.outcome.has_value());
    return found->second.outcome.error();
}

bool was_good(const support::OneNode& node, node::Ticket ticket) {
    const auto found = node.answers.find(ticket);
    REQUIRE(found != node.answers.end());
    return found->second.outcome.has_value();
}

// An account that is there already: fails once its authorization was found good.
chain::TransactionPtr failing(const support::OneNode& node) {
    return node.new_account("bank");
}

base::Bytes set_privileged(const std::string& account) {
    base::Writer data;
    data.u64(chain::Name::from_string(account)->value);
    data.u8(1);
    return data.take();
}

}  // namespace

TEST_CASE("a transaction that takes too long is run once, also after restarts", "[core][runs]") {
    support::OneNode node;
    node.tick_at(1);
    const auto poison = node.new_account("poison");
    node.timer.takes = {kWhole};
    CHECK(error_of(node, node.submit(poison)).exception == kDeadline);
    CHECK(node.timer.runs == 1);
    REQUIRE(node.dropped.size() == 1);
    CHECK(node.dropped[0].id == poison->id);
    CHECK(node.dropped[0].reason.detail.find("deadline exceeded") != std::string::npos);
    CHECK(node.view().pool_transactions == 0);

    // Whatever happens next: it is not run, though it would be good now.
    const base::Error again = error_of(node, node.submit(poison));
    CHECK(again.exception == kDeadline);
    CHECK(again.detail == node.dropped[0].reason.detail);
    node.tick_at(2);
    node.tick_at(3);
    node.start();                       // Killed.
    REQUIRE(node.dropped.size() == 2);  // Who asks is told after the restart too.
    CHECK(node.dropped[1].id == poison->id);
    CHECK(node.dropped[1].reason.detail == again.detail);
    CHECK(error_of(node, node.submit(poison)).exception == kDeadline);
    node.tick_at(4);
    CHECK(node.timer.runs == 1);
    CHECK_FALSE(node.has_account("poison", *node.view().head_state));
    // Others go on.
    CHECK(was_good(node, node.submit(node.new_account("alice"))));
}

TEST_CASE("what was stopped is forgotten when it expires", "[core][runs]") {
    support::OneNode node;
    node.tick_at(1);
    const auto poison = node.new_account("poison");  // For 60 s.
    node.timer.takes = {kWhole};
    (void)node.submit(poison);
    node.tick_at(130);  // 500 ms each.
    const base::Error later = error_of(node, node.submit(poison));
    CHECK(later.exception == static_cast<std::uint32_t>(chain::Exception::expired_tx_exception));
    node.dropped.clear();
    node.start();
    CHECK(node.dropped.empty());
}

TEST_CASE("a transaction that has become slow leaves the pool with the reason", "[core][runs]") {
    support::OneNode node;
    node.tick_at(1);
    const auto poison = node.new_account("poison");
    CHECK(was_good(node, node.submit(poison)));
    node.timer.takes = {kWhole};
    node.start();  // The pool runs again.
    node.tick_at(1, 1);
    for (chain::Slot slot = 2; slot < 6; ++slot)
        node.tick_at(slot);
    CHECK(node.timer.runs == 2);
    REQUIRE(node.dropped.size() == 1);
    CHECK(node.dropped[0].id == poison->id);
    CHECK(node.dropped[0].reason.exception == kDeadline);
    node.start();
    node.tick_at(6);
    CHECK(node.timer.runs == 2);
    CHECK_FALSE(node.has_account("poison", *node.view().head_state));
}

TEST_CASE("what the end of our slot cuts off comes first, with the whole limit", "[core][runs]") {
    support::OneNode node;
    node.tick_at(1);
    CHECK(was_good(node, node.submit(node.new_account("early"))));
    CHECK(node.timer.limits.back() == kWhole);
    node.tick_at(1, 440);  // 60 ms are left.
    const auto cut = node.new_account("cut");
    node.timer.takes = {milliseconds(100)};
    const auto ticket = node.submit(cut);
    CHECK(node.timer.limits.back() == milliseconds(60));
    CHECK_FALSE(node.answers.contains(ticket));
    CHECK(node.dropped.empty());
    // This block takes nothing more: who comes now waits, and is not run.
    const auto waits = node.submit(node.new_account("waits"));
    CHECK(node.timer.runs == 2);
    CHECK_FALSE(node.answers.contains(waits));

    SECTION("and is good there") {
        node.timer.limits.clear();
        node.timer.takes = {milliseconds(149)};
        node.tick_at(2);
        CHECK(node.timer.limits.front() == kWhole);
        CHECK(was_good(node, ticket));
        CHECK(was_good(node, waits));
        node.tick_at(3);
        REQUIRE(node.view().head->transactions.size() == 2);
        const auto& first =
            std::get<chain::PackedTransaction>(node.view().head->transactions.front().transaction);
        CHECK(first.packed_trx == cut->packed.packed_trx);
    }
    SECTION("and is stopped there for good") {
        node.timer.takes = {milliseconds(150)};
        node.tick_at(2);
        CHECK(error_of(node, ticket).exception == kDeadline);
        CHECK(was_good(node, waits));
        REQUIRE(node.dropped.size() == 1);
        CHECK(node.dropped[0].id == cut->id);
        const std::uint64_t runs = node.timer.runs;
        CHECK(error_of(node, node.submit(cut)).exception == kDeadline);
        CHECK(node.timer.runs == runs);
    }
}

TEST_CASE("what the end of our slot cuts off does not overtake what it builds on", "[core][runs]") {
    support::OneNode node;
    node.tick_at(1);
    const auto account = node.submit(node.new_account("bps"));
    const auto cut = node.act("setpriv", set_privileged("bps"));
    const auto privileged = node.submit(cut);
    CHECK(was_good(node, account));
    CHECK(was_good(node, privileged));
    // After the restart they run again, 10 ms before the slot begins; nobody makes its block.
    node.timer.limits.clear();
    node.timer.takes = {milliseconds(1), milliseconds(9)};
    node.start_at(1, 490);
    REQUIRE(node.timer.limits.size() == 2);
    CHECK(node.timer.limits[1] == milliseconds(9));

    SECTION("but is run after it") {
        node.timer.takes = {milliseconds(1), milliseconds(20)};
        node.tick_at(10, 100);
        CHECK(node.timer.limits[3] == milliseconds(24));
    }
    SECTION("and has the whole limit once that is in a block") {
        node.timer.takes = {milliseconds(1), milliseconds(20), milliseconds(149)};
        node.tick_at(10, 120);
        CHECK(node.timer.limits[3] == milliseconds(4));
        CHECK(node.timer.limits.back() == kWhole);
    }
    node.tick_at(11);
    node.tick_at(12);
    CHECK(node.dropped.empty());
    CHECK(node.view().pool_transactions == 0);
    CHECK(node.has_account("bps", *node.view().head_state));
}

TEST_CASE("the time that runs of one step took is gone for the next", "[core][runs]") {
    support::OneNode node;
    node.tick_at(1, 0);
    node.tick_at(1, 200);
    const auto slow = node.new_account("slow");
    const auto other = node.new_account("other");
    CHECK(was_good(node, node.submit(slow)));
    CHECK(was_good(node, node.submit(other)));
    // After the restart both run in one step, 300 ms into the slot: the first takes 149 of 150.
    node.timer.limits.clear();
    node.timer.takes = {milliseconds(149), milliseconds(149)};
    node.start_at(1, 300);
    REQUIRE(node.timer.limits.size() == 2);
    CHECK(node.timer.limits[0] == kWhole);
    CHECK(node.timer.limits[1] == milliseconds(51));
}

TEST_CASE("failing transactions of an account take what it is allowed a minute", "[core][runs]") {
    support::OneNode node;
    node.tick_at(1);
    node.timer.usual = milliseconds(50);
    for (int i = 0; i < 4; ++i) {
        CHECK(error_of(node, node.submit(failing(node))).exception ==
              static_cast<std::uint32_t>(chain::Exception::account_name_exists_exception));
    }
    const std::uint64_t runs = node.timer.runs;
    const base::Error over = error_of(node, node.submit(node.new_account("alice")));
    CHECK(over.exception == kOverBudget);
    CHECK(over.detail.find("account bank") != std::string::npos);
    CHECK(over.detail.find("subjective-failure-ms-per-minute") != std::string::npos);
    // A moment is enough, since what was used refills evenly.
    CHECK(over.detail.find("send again in 1 s") != std::string::npos);
    CHECK(over.detail.find("--dry-run") != std::string::npos);
    CHECK(node.timer.runs == runs);
    // Some are allowed again before long; good ones cost nothing.
    node.tick_at(2);
    for (const std::string name : {"alice", "bob", "carol", "dave", "erin"})
        CHECK(was_good(node, node.submit(node.new_account(name))));
}

TEST_CASE("who is far over its allowance is told how long it waits", "[core][runs]") {
    support::OneNode node;
    node.tick_at(1);
    // 348 ms, and 200 refill in a minute.
    node.timer.takes = {milliseconds(149), milliseconds(50), milliseconds(149)};
    for (int i = 0; i < 3; ++i)
        (void)node.submit(failing(node));
    const base::Error over = error_of(node, node.submit(node.new_account("alice")));
    CHECK(over.exception == kOverBudget);
    CHECK(over.detail.find("send again in 45 s") != std::string::npos);
}

TEST_CASE("a busy machine takes nothing of an account's allowance", "[core][runs]") {
    support::OneNode node;
    node.tick_at(1);
    node.timer.usual = milliseconds(100);
    node.timer.is_machine_busy = true;
    for (int i = 0; i < 8; ++i)
        (void)node.submit(failing(node));
    CHECK(was_good(node, node.submit(node.new_account("alice"))));
}

TEST_CASE("before the authorization is found good its sender pays, not the account",
          "[core][runs]") {
    support::OneNode node;
    node.tick_at(1);
    node.timer.usual = milliseconds(100);
    const auto forged = [&](const std::string& name) {
        // Signed by nobody that the bank knows.
        chain::SignedTransaction content = node.new_account(name)->content;
        content.signatures = {
            support::key_of(99).sign(content.signing_digest(node.genesis().chain_id(), {}))};
        return chain::make_transaction(content);
    };
    for (const std::string name : {"forga", "forgb"}) {
        CHECK(error_of(node, node.submit(forged(name), "192.0.2.1")).exception ==
              static_cast<std::uint32_t>(chain::Exception::unsatisfied_authorization));
    }
    const std::uint64_t runs = node.timer.runs;
    CHECK(error_of(node, node.submit(forged("forgc"), "192.0.2.1")).exception == kOverBudget);
    CHECK(node.timer.runs == runs);
    CHECK(was_good(node, node.submit(node.new_account("alice"), "192.0.2.2")));

    // Nor can it be kept from being run by others.
    const auto good = node.new_account("bob");
    node.timer.takes = {kWhole};
    (void)node.submit(forged("bob"), "192.0.2.3");
    CHECK(was_good(node, node.submit(good, "192.0.2.2")));
}
