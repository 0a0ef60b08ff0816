// Keys that a producer changes to, and `ready`, which proves that a node holds them.
#include "election_network.hpp"

using namespace chain;
using namespace chain::test;

TEST_CASE("a validator keeps its keys until somebody who holds the new ones is ready") {
    const std::size_t count = GENERATE(1U, 4U);
    std::vector<std::string> all{"v1", "v2", "v3", "v4"};
    all.resize(count);
    Network network(all);
    const auto v1 = [&] {
        return load_schedules(network.chain().state())->proposed == nullptr
                   ? std::string("old")
                   : load_schedules(network.chain().state())
                         ->proposed->entries[0]
                         .vote_key.to_string();
    };
    const std::string vote_key = public_key("votes").to_string();
    REQUIRE(network.registers("v1", "headers").code == 0);
    base::Writer out;
    encode(out, name("v1"));
    encode(out, public_key("votes"));
    REQUIRE(network.act("v1", "setvotekey", out.take()).code == 0);
    // That a node holds the old keys, or the account, or one of the two, says nothing.
    CHECK(network.says_ready("v1", {"v1"}).code == 3090003);
    CHECK(network.says_ready("v1", {"headers"}).code == 3090003);
    CHECK(network.says_ready("v1", {"votes"}).code == 3090003);
    CHECK(network.election().empty());
    CHECK(v1() == "old");
    REQUIRE(network.says_ready("v1", {"headers", "votes"}).code == 0);
    SECTION("it is") {
        CHECK(network.election().size() == count);
        CHECK(v1() == vote_key);
    }
    SECTION("but it registered others since") {
        REQUIRE(network.registers("v1", "third").code == 0);
        CHECK(network.election().empty());
        // A new key of blocks is for votes, too.
        REQUIRE(network.says_ready("v1", {"third"}).code == 0);
        CHECK(network.election().size() == count);
        CHECK(v1() == public_key("third").to_string());
    }
    SECTION("but that is too long ago") {
        REQUIRE(network.registers("v1", "third").code == 0);
        CHECK(network.election().empty());
        CHECK(network.election().empty());
        REQUIRE(network.registers("v1", "headers").code == 0);
        CHECK(network.election().empty());
        REQUIRE(network.says_ready("v1", {"headers"}).code == 0);
        CHECK(network.election().size() == count);
    }
}

TEST_CASE("ready proves keys: it is not said beside what changes them") {
    Network network;
    TestChain& chain = network.chain();
    REQUIRE(chain.create("late").succeeded());
    base::Writer out;
    encode(out, name("late"));
    encode(out, public_key("nobody"));
    out.string("");
    out.u16(0);
    const Action registers = TestChain::action("eosio", "regproducer", "late", out.take());
    const Action ready = TestChain::action("eosio", "ready", "late", data(name("late")));
    CHECK(failure_of(chain.push({registers, ready}, {"late"})).text ==
          "ready must be the only action of its transaction");
    REQUIRE(network.registers("late", "node").code == 0);
    CHECK(failure_of(chain.push({registers, ready}, {"late", "node"})).text ==
          "ready must be the only action of its transaction");
    Action owner = ready;
    owner.authorization[0].permission = name("owner");
    CHECK(failure_of(chain.push(owner, {"late"})).code != 0);
    Action twice = ready;
    twice.authorization.push_back({name("v1"), name("active")});
    CHECK(failure_of(chain.push(twice, {"node", "v1"})).code != 0);
    CHECK_FALSE(find_ready(chain.state(), name("late")));
}

TEST_CASE("a heavier member cannot take the key that another changes to") {
    Network network;
    const auto weight = [&] {
        base::Writer out;
        encode(out, name("v4"));
        out.u64(100);
        return network.act("eosio", "setweight", out.take());
    };
    REQUIRE(weight().code == 0);
    REQUIRE(network.vote("v4", "", {"v4"}).code == 0);
    REQUIRE(network.vote("member", "", {"v1", "v2", "v3", "v4"}).code == 0);
    REQUIRE(network.registers("v1", "newkey").code == 0);
    REQUIRE(network.registers("v4", "newkey").code == 0);
    REQUIRE(network.says_ready("v1", {"newkey"}).code == 0);
    CHECK(network.says_ready("v4", {"v4"}).code == 3090003);
    CHECK(network.election().size() == 4);
    const auto proposed = load_schedules(network.chain().state())->proposed;
    REQUIRE(proposed != nullptr);
    CHECK(proposed->entries[0].signing_key == public_key("newkey"));
    CHECK(proposed->entries[3].signing_key == public_key("v4"));
}

TEST_CASE("what setprods fixed with other keys waits for who holds them") {
    Network network;
    // Even where the producer has registered others.
    REQUIRE(network.registers("v1", "registered").code == 0);
    REQUIRE(network.fixes({{"v1", "fixed"}}).code == 0);
    CHECK(network.election().empty());
    CHECK(network.says_ready("v1", {"registered"}).code == 3090003);
    CHECK(network.election().empty());
    REQUIRE(network.says_ready("v1", {"fixed"}).code == 0);
    CHECK(network.election() == Network::names({"v1"}));
}
