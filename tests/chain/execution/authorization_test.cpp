// Who may do what: declared authorities, links, weights, irrelevant keys. The texts are those
// recorded from nodeos.
#include "chain_fixture.hpp"

#include <catch2/catch.hpp>

using namespace chain;
using namespace chain::test;

namespace {

Action update(std::string_view account,
              std::string_view permission,
              std::string_view parent,
              const Authority& authority,
              std::string_view by = "active") {
    return TestChain::action("eosio",
                             "updateauth",
                             account,
                             data(name(account), name(permission), name(parent), authority),
                             by);
}

Action link(std::string_view account,
            std::string_view code,
            std::string_view type,
            std::string_view requirement) {
    return TestChain::action("eosio",
                             "linkauth",
                             account,
                             data(name(account), name(code), name(type), name(requirement)));
}

struct AccountsChain : TestChain {
    AccountsChain() {
        for (const char* account : {"alice", "bob", "carol", "noop"}) {
            REQUIRE(create(account).succeeded());
        }
    }
    Failure refused(Action action, const std::vector<std::string>& signers) {
        return failure_of(push(std::move(action), signers));
    }
};

Action plain(std::string_view actor, std::string_view permission = "active") {
    return TestChain::action("noop", "anyaction", actor, {}, permission);
}

}  // namespace

TEST_CASE("A wrong key does not satisfy, and the error lists what was given") {
    AccountsChain chain;
    const Failure failure = chain.refused(plain("alice"), {"bob"});
    CHECK(failure.code == 3090003);
    CHECK(failure.text ==
          "transaction declares authority '{\"actor\":\"alice\",\"permission\":\"active\"}', but "
          "does not have signatures for it under a provided delay of 0 ms, provided permissions "
          "[], provided keys [\"EOS8N4tcJXyPKWf7b5ptjvewHTnf4RAymaiVgNtcLJQckWxkKnpir\"], and a "
          "delay max limit of 3888000000 ms");
}

TEST_CASE("A signature nobody asked for, or twice, is refused") {
    AccountsChain chain;
    Failure failure = chain.refused(plain("alice"), {"alice", "bob"});
    CHECK(failure.code == 3090002);
    CHECK(failure.text ==
          "transaction bears irrelevant signatures from these keys: "
          "[\"EOS8N4tcJXyPKWf7b5ptjvewHTnf4RAymaiVgNtcLJQckWxkKnpir\"]");
    failure = chain.refused(plain("alice"), {"alice", "alice"});
    CHECK(failure.code == 3090001);
    CHECK(failure.text ==
          "transaction includes more than one signature signed using the same key associated with "
          "public key: EOS7cgG2UxaCBX9Tt7cMUkgZEK6QPqnF2H5zBhFGaHMrLsjy7dyqr");
}

TEST_CASE("Owner satisfies what active does, active does not what owner does") {
    AccountsChain chain;
    CHECK(chain.push(plain("alice", "owner"), {"alice"}).succeeded());
    const Failure failure =
        chain.refused(update("alice", "owner", "", Authority::of_key(public_key("x"))), {"alice"});
    CHECK(failure.code == 3090005);
    CHECK(failure.text ==
          "updateauth action declares irrelevant authority "
          "'{\"actor\":\"alice\",\"permission\":\"active\"}'; minimum authority is "
          "{\"actor\":\"alice\",\"permission\":\"owner\"}");
}

TEST_CASE("Two of three accounts are enough, one is not") {
    AccountsChain chain;
    Authority shared;
    shared.threshold = 2;
    for (const char* member : {"alice", "bob", "carol"}) {
        shared.accounts.push_back({{name(member), name("active")}, 1});
    }
    std::ranges::sort(shared.accounts);
    REQUIRE(chain.create("msig").succeeded());
    REQUIRE(chain.push(update("msig", "active", "owner", shared, "owner"), {"msig"}).succeeded());
    CHECK(chain.push(plain("msig"), {"alice", "carol"}).succeeded());
    CHECK(chain.refused(plain("msig"), {"alice"}).code == 3090003);
    // The third signature is not needed, so it is irrelevant.
    CHECK(chain.refused(plain("msig"), {"alice", "bob", "carol"}).code == 3090002);
}

TEST_CASE("Authorities that name each other end, and depth is limited") {
    AccountsChain chain;
    const auto of_account = [](std::string_view account) {
        Authority authority;
        authority.threshold = 1;
        authority.accounts.push_back({{name(account), name("active")}, 1});
        return authority;
    };
    REQUIRE(chain.push(update("alice", "active", "owner", of_account("bob"), "owner"), {"alice"})
                .succeeded());
    REQUIRE(chain.push(update("bob", "active", "owner", of_account("alice"), "owner"), {"bob"})
                .succeeded());
    CHECK(chain.refused(plain("alice"), {"alice"}).code == 3090003);
    // a1 -> a2 -> ... -> a7, whose key counts for a2 but not for a1.
    for (int i = 7; i >= 1; --i) {
        const std::string account = "chain" + std::string(1, static_cast<char>('a' + i));
        REQUIRE(chain.create(account).succeeded());
        if (i == 7) continue;
        const std::string next = "chain" + std::string(1, static_cast<char>('a' + i + 1));
        REQUIRE(chain.push(update(account, "active", "owner", of_account(next), "owner"), {account})
                    .succeeded());
    }
    CHECK(chain.push(plain("chainc"), {"chainh"}).succeeded());
    CHECK(chain.refused(plain("chainb"), {"chainh"}).code == 3090003);
}

TEST_CASE("A wait cannot be satisfied, since transactions are not delayed") {
    AccountsChain chain;
    Authority waiting = Authority::of_key(public_key("alice"));
    waiting.threshold = 2;
    waiting.waits.push_back({3'600, 1});
    REQUIRE(
        chain.push(update("alice", "active", "owner", waiting, "owner"), {"alice"}).succeeded());
    CHECK(chain.refused(plain("alice"), {"alice"}).code == 3090003);
}

TEST_CASE("A linked permission is the minimum for its actions") {
    AccountsChain chain;
    const Authority key = Authority::of_key(public_key("xfer"));
    REQUIRE(chain.push(update("alice", "transfers", "active", key), {"alice"}).succeeded());
    Failure failure = chain.refused(plain("alice", "transfers"), {"xfer"});
    CHECK(failure.code == 3090005);
    CHECK(failure.text ==
          "action declares irrelevant authority "
          "'{\"actor\":\"alice\",\"permission\":\"transfers\"}'; minimum authority is "
          "{\"actor\":\"alice\",\"permission\":\"active\"}");
    REQUIRE(chain.push(link("alice", "noop", "anyaction", "transfers"), {"alice"}).succeeded());
    CHECK(chain.push(plain("alice", "transfers"), {"xfer"}).succeeded());
    CHECK(chain.push(plain("alice"), {"alice"}).succeeded());
    failure = chain.refused(link("alice", "noop", "anyaction", "transfers"), {"alice"});
    CHECK(failure.code == 3050000);
    CHECK(failure.text ==
          "Attempting to update required authority, but new requirement is same as old");
    failure = chain.refused(
        TestChain::action("eosio", "deleteauth", "alice", data(name("alice"), name("transfers"))),
        {"alice"});
    CHECK(failure.code == 3050000);
    CHECK(failure.text ==
          "Cannot delete a linked authority. Unlink the authority first. This authority is linked "
          "to noop::anyaction.");
}

TEST_CASE("An action linked to eosio.any takes any permission") {
    AccountsChain chain;
    const Authority key = Authority::of_key(public_key("any"));
    REQUIRE(chain.push(update("bob", "any", "active", key), {"bob"}).succeeded());
    CHECK(chain.refused(plain("bob", "any"), {"any"}).code == 3090005);
    REQUIRE(chain.push(link("bob", "noop", "anyaction", "eosio.any"), {"bob"}).succeeded());
    CHECK(chain.push(plain("bob", "any"), {"any"}).succeeded());
}

TEST_CASE("Linking and unlinking check what they name") {
    AccountsChain chain;
    Failure failure = chain.refused(link("alice", "eosio", "updateauth", "active"), {"alice"});
    CHECK(failure.code == 3050000);
    CHECK(failure.text == "Cannot link eosio::updateauth to a minimum permission");
    failure = chain.refused(link("alice", "noop", "x", "nosuch"), {"alice"});
    CHECK(failure.code == 3060001);
    CHECK(failure.text == "Failed to retrieve permission: nosuch");
    failure = chain.refused(link("alice", "nosuch", "x", "active"), {"alice"});
    CHECK(failure.code == 3060002);
    CHECK(failure.text == "Failed to retrieve code for account: nosuch");
    failure = chain.refused(link("alice", "noop", "x", ""), {"alice"});
    CHECK(failure.text == "Required permission cannot be empty");
    failure = chain.refused(
        TestChain::action(
            "eosio", "unlinkauth", "alice", data(name("alice"), name("noop"), name("x"))),
        {"alice"});
    CHECK(failure.code == 3040000);
    CHECK(failure.text ==
          "cannot unlink non-existent permission link of account 'alice' for actions matching "
          "'noop::x'");
    REQUIRE(chain.push(link("alice", "noop", "x", "owner"), {"alice"}).succeeded());
    CHECK(chain.refused(TestChain::action("noop", "x", "alice", {}), {"alice"}).code == 3090005);
}

TEST_CASE("Updating permissions keeps the tree in order") {
    AccountsChain chain;
    const Authority key = Authority::of_key(public_key("new"));
    const auto text = [&](Action action) {
        return chain.refused(std::move(action), {"alice"}).text;
    };
    CHECK(text(update("alice", "a", "nosuch", key))
              .starts_with("Failed to retrieve permission: "
                           "{\"actor\":\"alice\",\"permission\":\"nosuch\"} (unknown key "));
    CHECK(text(update("alice", "eosio.x", "active", key)) ==
          "Permission names that start with 'eosio.' are reserved");
    CHECK(text(update("alice", "active", "active", key)) ==
          "Cannot set an authority as its own parent");
    CHECK(text(update("alice", "owner", "active", key, "owner")) ==
          "Cannot change owner authority's parent");
    CHECK(text(update("alice", "active", "", key)) ==
          "Cannot change active authority's parent from owner");
    Authority invalid = key;
    invalid.threshold = 2;
    CHECK(text(update("alice", "a", "active", invalid)).starts_with("Invalid authority: {"));
    Authority stranger;
    stranger.threshold = 1;
    stranger.accounts.push_back({{name("nosuch"), name("active")}, 1});
    CHECK(text(update("alice", "a", "active", stranger)) == "account 'nosuch' does not exist");
    stranger.accounts[0].permission = {name("bob"), name("nosuch")};
    CHECK(text(update("alice", "a", "active", stranger)) ==
          "permission '{\"actor\":\"bob\",\"permission\":\"nosuch\"}' does not exist");
    const auto of_keys = [](int count) {
        Authority authority;
        authority.threshold = 1;
        for (int i = 0; i < count; ++i) {
            authority.keys.push_back({public_key("key " + std::to_string(i)), 1});
        }
        std::ranges::sort(authority.keys, {}, &chain::KeyWeight::key);
        return authority;
    };
    CHECK(text(update("alice", "a", "active", of_keys(500)))
              .starts_with("an authority of 18008 bytes; it has at most 16384: "));
    REQUIRE(chain.push(update("alice", "c", "active", of_keys(400)), {"alice"}).succeeded());
    REQUIRE(chain.push(update("alice", "a", "active", key), {"alice"}).succeeded());
    REQUIRE(chain.push(update("alice", "b", "a", key), {"alice"}).succeeded());
    CHECK(text(update("alice", "b", "active", key)) ==
          "Changing parent authority is not currently supported");
    const auto remove = [&](std::string_view permission) {
        return TestChain::action(
            "eosio", "deleteauth", "alice", data(name("alice"), name(permission)));
    };
    CHECK(text(remove("a")) == "Cannot remove a permission which has children");
    CHECK(text(remove("active")) == "Cannot delete active authority");
    const std::uint64_t ram = chain.account("alice").ram_usage;
    REQUIRE(chain.push(remove("b"), {"alice"}).succeeded());
    CHECK(chain.account("alice").ram_usage == ram - 288 - 50);
}

TEST_CASE("Required keys are those that must sign, and no others") {
    AccountsChain chain;
    Transaction transaction;
    transaction.actions = {plain("alice")};
    const auto keys =
        required_keys(chain.state(), transaction, {public_key("bob"), public_key("alice")});
    REQUIRE(keys);
    CHECK(*keys == std::vector<PublicKey>{public_key("alice")});
    const auto none = required_keys(chain.state(), transaction, {public_key("bob")});
    REQUIRE_FALSE(none);
    CHECK(none.error().exception == 3090003);
    CHECK(none.error().detail ==
          "transaction declares authority '{\"actor\":\"alice\",\"permission\":\"active\"}', but "
          "does not have signatures for it.");
}
