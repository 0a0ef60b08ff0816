// The native actions of eosio: what they store, bill and refuse.
#include "chain/execution/native_actions.hpp"

#include "chain/abi/serializer.hpp"
#include "chain/execution/schedule_rows.hpp"
#include "chain_fixture.hpp"

#include <catch2/catch.hpp>

using namespace chain;
using namespace chain::test;

namespace {

Failure push_as_eosio(TestChain& chain, std::string_view action, base::Bytes bytes) {
    return failure_of(
        chain.push(TestChain::action("eosio", action, "eosio", std::move(bytes)), {"eosio"}));
}

Action newaccount(std::string_view creator, std::string_view account, const Authority& authority) {
    return TestChain::action(
        "eosio", "newaccount", creator, data(name(creator), name(account), authority, authority));
}

base::Bytes one_value(std::string_view parameter, std::uint64_t value) {
    base::Writer out;
    out.varuint32(1);
    out.string(parameter);
    out.u64(value);
    return out.take();
}

}  // namespace

TEST_CASE("Genesis makes the accounts of nodeos, with their RAM") {
    TestChain chain;
    CHECK(chain.account("eosio").privileged);
    CHECK(chain.account("eosio.prods").ram_usage == 2656);
    CHECK(chain.account("eosio.null").ram_usage == 2624);
    CHECK(chain.account("member").ram_usage == 2724);
    const auto summary = account_summary(chain.state(), name("eosio.prods"), 1);
    REQUIRE(summary);
    REQUIRE(summary->permissions.size() == 4);
    CHECK(summary->permissions[2].name == name("prod.major"));
    CHECK(summary->permissions[3].row.parent == name("prod.major"));
}

TEST_CASE("A new account is billed what nodeos bills") {
    TestChain chain;
    const TransactionResult result = chain.create("alice");
    REQUIRE(result.succeeded());
    CHECK(result.trace.action_traces[0].account_ram_deltas ==
          std::vector<RamDelta>{{name("alice"), 2724}});
    CHECK(chain.account("alice").created == chain.block().time);
}

TEST_CASE("newaccount refuses names and authorities in nodeos' words") {
    TestChain chain;
    REQUIRE(chain.create("alice").succeeded());
    const Authority key = Authority::of_key(public_key("x"));
    const auto refused = [&](std::string_view creator,
                             std::string_view account,
                             const Authority& auth) {
        return failure_of(chain.push(newaccount(creator, account, auth), {std::string(creator)}));
    };
    Failure failure = refused("eosio", "alice", key);
    CHECK(failure.code == 3050001);
    CHECK(failure.text == "Cannot create account named alice, as that name is already taken");
    failure = refused("alice", "eosio.abc", key);
    CHECK(failure.code == 3050000);
    CHECK(failure.text == "only privileged accounts can have names that start with 'eosio.'");
    CHECK(refused("eosio", "abcdefghijklj", key).text == "account names can only be 12 chars long");
    CHECK(refused("eosio", "", key).text == "account name cannot be empty");
    CHECK(refused("alice", "x.y", key).code == 0);
    CHECK(refused("eosio", "eosio.abc", key).code == 0);
    Authority invalid = key;
    invalid.threshold = 5;
    CHECK(refused("eosio", "new", invalid).text == "Invalid owner authority");
    // The whole transaction is refused for data that is too short.
    failure = push_as_eosio(chain, "newaccount", data(name("eosio")));
    CHECK(failure.code == 8);
}

TEST_CASE("Without open_accounts only eosio and who it allows make accounts") {
    TestChain chain(TestChain::Options{});
    REQUIRE(chain.create("alice").succeeded());
    Failure failure = failure_of(chain.create("bob", "alice"));
    CHECK(failure.code == 3050000);
    CHECK(failure.text.find("open_accounts is 0") != std::string::npos);
    base::Writer allow;
    encode(allow, name("alice"));
    allow.boolean(true);
    allow.boolean(false);
    REQUIRE(push_as_eosio(chain, "allow", allow.take()).code == 0);
    CHECK(chain.create("bob", "alice").succeeded());
    failure = failure_of(chain.set_code("alice", read_contract("contracts", "token")));
    CHECK(failure.text.find("open_contracts is 0") != std::string::npos);
}

TEST_CASE("Code is billed tenfold, shared by hash, and cleared") {
    TestChain chain;
    REQUIRE(chain.create("alice").succeeded());
    REQUIRE(chain.create("bob").succeeded());
    const base::Bytes code = read_contract("contracts", "token");
    const TransactionResult set = chain.set_code("alice", code);
    INFO(failure_of(set).text);
    REQUIRE(set.succeeded());
    CHECK(set.trace.action_traces[0].account_ram_deltas ==
          std::vector<RamDelta>{{name("alice"), static_cast<std::int64_t>(code.size()) * 10}});
    CHECK(chain.account("alice").code_sequence == 1);
    CHECK(failure_of(chain.set_code("alice", code)).text ==
          "contract is already running this version of code");
    REQUIRE(chain.set_code("bob", code).succeeded());
    const base::Hash256 hash = base::crypto::sha256(code);
    CHECK(code_users(*chain.state().find(Table::code, code_key(hash))) == 2);
    REQUIRE(chain.set_code("alice", {}).succeeded());
    CHECK(failure_of(chain.set_code("alice", {})).code == 3160008);
    REQUIRE(chain.set_code("bob", {}).succeeded());
    CHECK_FALSE(chain.state().find(Table::code, code_key(hash)));
    CHECK(chain.account("alice").ram_usage == 2724);
}

TEST_CASE("setcode refuses what is no contract") {
    TestChain chain;
    REQUIRE(chain.create("alice").succeeded());
    const base::Bytes empty_module = base::from_hex("0061736d01000000").value();
    Failure failure = failure_of(chain.set_code("alice", empty_module));
    CHECK(failure.code == 3070003);
    CHECK(failure.text == "apply not exported");
    base::Writer other_vm;
    encode(other_vm, name("alice"));
    other_vm.u8(1);
    other_vm.u8(0);
    other_vm.bytes(empty_module);
    failure = failure_of(
        chain.push(TestChain::action("eosio", "setcode", "alice", other_vm.take()), {"alice"}));
    CHECK(failure.code == 3160006);
    CHECK(failure.text == "code should be 0");
    base::Writer foreign;
    encode(foreign, name("eosio"));
    foreign.u8(0);
    foreign.u8(0);
    foreign.bytes(empty_module);
    failure = failure_of(
        chain.push(TestChain::action("eosio", "setcode", "alice", foreign.take()), {"alice"}));
    CHECK(failure.code == 3090004);
    CHECK(failure.text == "missing authority of eosio");
}

TEST_CASE("A contract on eosio replaces the bios, but not the account actions") {
    TestChain chain;
    REQUIRE(chain.create("alice").succeeded());
    REQUIRE(push_as_eosio(chain, "setpriv", data(name("alice"))).code == 8);
    base::Writer privileged;
    encode(privileged, name("alice"));
    privileged.u8(1);
    REQUIRE(push_as_eosio(chain, "setpriv", privileged.take()).code == 0);
    CHECK(chain.account("alice").privileged);
    REQUIRE(chain.set_code("eosio", read_contract("contracts", "token")).succeeded());
    base::Writer normal;
    encode(normal, name("alice"));
    normal.u8(0);
    // The token contract does not know setpriv and ignores it.
    CHECK(push_as_eosio(chain, "setpriv", normal.take()).code == 0);
    CHECK(chain.account("alice").privileged);
    CHECK(chain.create("bob").succeeded());
}

TEST_CASE("Only eosio sets limits and parameters, within their ranges") {
    TestChain chain;
    REQUIRE(chain.create("alice").succeeded());
    base::Writer limits;
    encode(limits, name("alice"));
    limits.i64(-2);
    limits.i64(-1);
    limits.i64(-1);
    const base::Bytes too_low = limits.take();
    CHECK(failure_of(
              chain.push(TestChain::action("eosio", "setalimits", "alice", too_low), {"alice"}))
              .code == 3090004);
    CHECK(push_as_eosio(chain, "setalimits", too_low).text ==
          "invalid value for ram resource limit expected [-1,INT64_MAX]");
    ChainConfig config;
    config.max_inline_action_depth = 9;
    base::Writer packed;
    encode_v0(packed, config);
    REQUIRE(push_as_eosio(chain, "setparams", packed.take()).code == 0);
    CHECK(chain.executor().rules(chain.state()).config == config);
    CHECK(push_as_eosio(chain, "setchain", one_value("open_accounts", 0)).code == 0);
    CHECK(chain.executor().rules(chain.state()).parameters.open_accounts == 0);
    CHECK(push_as_eosio(chain, "setchain", one_value("nosuch", 0)).code == 3050000);
    CHECK(push_as_eosio(chain, "setchain", one_value("open_accounts", 2)).code == 3050000);
}

TEST_CASE("setprods fixes a schedule, which a block proposes and another activates") {
    TestChain chain;
    REQUIRE(chain.create("alice").succeeded());
    const auto schedule_of = [](std::string_view producer, const PublicKey& key, Weight weight) {
        base::Writer out;
        out.varuint32(1);
        encode(out, name(producer));
        out.varuint32(0);
        out.u32(1);
        out.varuint32(1);
        encode(out, key);
        out.u16(weight);
        return out.take();
    };
    CHECK(push_as_eosio(chain, "setprods", schedule_of("nosuch", public_key("alice"), 1)).text ==
          "producer schedule includes a nonexisting account");
    CHECK(push_as_eosio(chain, "setprods", schedule_of("alice", public_key("alice"), 0)).code ==
          3050000);
    CHECK(push_as_eosio(chain, "setprods", schedule_of("alice", public_key("r1a"), 1)).code ==
          3070002);
    REQUIRE(push_as_eosio(chain, "setprods", schedule_of("alice", public_key("alice"), 1)).code ==
            0);
    const auto next_period = [&] {
        return chain.next_block(120 - static_cast<std::uint32_t>(chain.block().slot % 120));
    };
    CHECK_FALSE(chain.next_block().change);
    CHECK_FALSE(next_period().change);  // alice is not ready.
    CHECK(load_proposed(chain.state()).value()->entries[0].producer == name("alice"));
    REQUIRE(failure_of(chain.push(TestChain::action("eosio", "ready", "alice", data(name("alice"))),
                                  {"alice"}))
                .code == 0);
    const auto announced = next_period().change;
    REQUIRE(announced);
    CHECK(announced->version == 1);
    CHECK(announced->entries[0].producer == name("alice"));
    CHECK_FALSE(load_proposed(chain.state()).value());
    const Height proposed = chain.block().height;
    // Pending for the first block that finds the proposal final, active once that one is.
    while (chain.block().height < proposed + 3) {
        CHECK(chain.next_block().version == 0);
        CHECK(*load_schedules(chain.state()).value().proposed == *announced);
    }
    CHECK(chain.next_block().version == 1);
    CHECK(load_schedule(chain.state()).value() == *announced);
    CHECK(load_schedules(chain.state()).value().proposed == nullptr);
    const auto summary = account_summary(chain.state(), name("eosio.prods"), 1);
    CHECK(summary->permissions[0].row.authority.accounts[0].permission.actor == name("alice"));
}

TEST_CASE("Producers register, vote and set their vote key") {
    TestChain chain;
    REQUIRE(chain.create("alice").succeeded());
    const auto as_alice = [&](std::string_view action, base::Bytes bytes) {
        return failure_of(
            chain.push(TestChain::action("eosio", action, "alice", std::move(bytes)), {"alice"}));
    };
    const auto registration = [](const std::string& key) {
        base::Writer out;
        encode(out, name("alice"));
        encode(out, public_key(key));
        out.string("https://example.com");
        out.u16(7);
        return out.take();
    };
    CHECK(as_alice("setvotekey", data(name("alice"), public_key("v"))).text ==
          "producer not found");
    REQUIRE(as_alice("regproducer", registration("p")).code == 0);
    REQUIRE(as_alice("setvotekey", data(name("alice"), public_key("v"))).code == 0);
    REQUIRE(as_alice("regproducer", registration("p")).code == 0);
    const auto producers = registered_producers(chain.state(), Name{}, 10);
    REQUIRE(producers);
    REQUIRE(producers->size() == 2);  // The genesis validator is the other.
    CHECK((*producers)[0].row.vote_key == public_key("v"));
    CHECK((*producers)[0].row.location == 7);
    REQUIRE(as_alice("regproducer", registration("new")).code == 0);
    CHECK_FALSE(registered_producers(chain.state(), Name{}, 10).value()[0].row.vote_key);
    base::Writer vote;
    encode(vote, name("alice"));
    encode(vote, Name{});
    encode_list(vote, std::vector<Name>{name("alice")});
    const base::Bytes for_itself = vote.take();
    CHECK(as_alice("voteproducer", for_itself).text.starts_with("alice is no member"));
    REQUIRE(push_as_eosio(chain, "addmember", data(name("alice"))).code == 0);
    CHECK(as_alice("voteproducer", for_itself).code == 0);
    base::Writer unknown;
    encode(unknown, name("alice"));
    encode(unknown, Name{});
    encode_list(unknown, std::vector<Name>{name("bob")});
    CHECK(as_alice("voteproducer", unknown.take()).text == "producer bob is not registered");
    CHECK(as_alice("unregprod", data(name("alice"))).code == 0);
    CHECK_FALSE(registered_producers(chain.state(), Name{}, 10)->at(0).row.active);
}

TEST_CASE("Rules of a later version stop the chain before their height") {
    TestChain chain;
    base::Writer rules;
    rules.u32(2);
    rules.u32(chain.block().height + 2);
    const base::Bytes bytes = rules.take();
    REQUIRE(push_as_eosio(chain, "setrules", bytes).code == 0);
    chain.next_block();
    BlockContext later = chain.block();
    later.height += 1;
    const auto begun = chain.executor().begin_block(chain.state(), later);
    REQUIRE_FALSE(begun);
    CHECK(begun.error().code == base::Errc::unavailable);
    CHECK(begun.error().detail.find("needs rules version 2") != std::string::npos);
}

TEST_CASE("The native ABI describes every native action") {
    const auto abi = abi::Serializer::from_bytes(native_abi());
    REQUIRE(abi);
    for (const char* action : {"newaccount", "setprods", "setchain", "regnode", "linkauth"}) {
        CHECK((*abi)->action_type(name(action)) == action);
    }
}

TEST_CASE("The authors of authorities are found by key and by account") {
    TestChain chain;
    REQUIRE(chain.create("alice").succeeded());
    Authority shared = Authority::of_key(public_key("alice"));
    shared.accounts.push_back({{name("alice"), name("active")}, 3});
    shared.threshold = 2;
    REQUIRE(chain.push(newaccount("eosio", "bob", shared), {"eosio"}).succeeded());
    const std::vector<PublicKey> keys = {public_key("alice")};
    auto found = accounts_by_authorizers(chain.state(), keys, {}, 100);
    REQUIRE(found);
    REQUIRE(found->size() == 4);
    CHECK((*found)[0].permission == PermissionLevel{name("alice"), name("active")});
    CHECK((*found)[2].threshold == 2);
    const std::vector<PermissionLevel> levels = {{name("alice"), Name{}}};
    found = accounts_by_authorizers(chain.state(), {}, levels, 1);
    REQUIRE(found);
    REQUIRE(found->size() == 1);
    CHECK((*found)[0].weight == 3);
    CHECK((*found)[0].account == PermissionLevel{name("alice"), name("active")});
    // After the authority has changed it is not found any more.
    const Authority other = Authority::of_key(public_key("other"));
    REQUIRE(chain
                .push(TestChain::action("eosio",
                                        "updateauth",
                                        "alice",
                                        data(name("alice"), name("active"), name("owner"), other)),
                      {"alice"})
                .succeeded());
    found = accounts_by_authorizers(chain.state(), keys, {}, 100);
    REQUIRE(found);
    CHECK(found->size() == 3);
}
