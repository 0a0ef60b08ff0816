// Members, nodes and their keys, evidence, and what the API shows of it; refusals first.
#include "chain/types/evidence.hpp"
#include "chain_fixture.hpp"
#include "tests/chain/execution/governance_queries.hpp"

#include <catch2/catch.hpp>

using namespace chain;
using namespace chain::test;

namespace {

class Governed {
  public:
    explicit Governed(std::vector<std::string> validators = {"v1", "v2", "v3", "v4"})
        : chain(options(std::move(validators))) {}

    Failure act(const std::string& actor, std::string_view action, base::Bytes bytes) {
        return failure_of(
            chain.push(TestChain::action("eosio", action, actor, std::move(bytes)), {actor}));
    }
    Failure add_node(std::string_view node,
                     const std::string& key,
                     std::uint32_t roles = kRoleValidator,
                     const std::string& actor = "eosio",
                     const std::string& organisation = "v1") {
        base::Writer out;
        encode(out, name(organisation));
        encode(out, name(node));
        encode(out, public_key(key));
        out.u32(roles);
        return act(actor, "regnode", out.take());
    }
    // Each with a node of its own: "n" and its name.
    void add_nodes_of(const std::vector<std::string>& organisations) {
        for (const std::string& each : organisations) {
            REQUIRE(add_node("n" + each, "r1" + each, kRoleValidator, "eosio", each).code == 0);
        }
    }
    Failure remove_member(const std::string& member) {
        return act("eosio", "rmmember", data(name(member)));
    }
    Failure remove_node(const std::string& node) {
        return act("eosio", "rmnode", data(name(node)));
    }
    Failure rotate(std::string_view node,
                   const std::string& key,
                   std::uint32_t seconds,
                   const std::string& actor = "v1") {
        base::Writer out;
        encode(out, name(node));
        encode(out, public_key(key));
        encode(out, now(seconds));
        return act(actor, "rotatekey", out.take());
    }
    // Whole seconds from the present block on.
    TimePointSec now(std::uint32_t more = 0) {
        return {static_cast<std::uint32_t>(chain.block().time.microseconds / 1'000'000) + more};
    }
    const RegisteredKey* find(const std::string& key, std::uint32_t later = 0) {
        registry = load_registry(chain.state(), now(later).to_time_point()).value();
        return registry.find(public_key(key));
    }
    Failure report(const Evidence& evidence) {
        base::Writer out;
        out.bytes(pack(evidence));
        return act("v2", "reportbad", out.take());
    }
    Failure set_chain(std::string_view parameter, std::uint64_t value) {
        base::Writer out;
        out.varuint32(1);
        out.string(parameter);
        out.u64(value);
        return act("eosio", "setchain", out.take());
    }
    Vote vote(const std::string& key, std::uint8_t block, Slot slot = 5) {
        Vote vote;
        vote.data.slot = slot;
        vote.data.height = 3;
        vote.data.block_id.bytes[31] = std::byte{block};
        vote.key = public_key(key);
        vote.signature = private_key(key).sign(vote.data.digest(chain.block().chain_id));
        return vote;
    }

    TestChain chain;
    Registry registry;

  private:
    static TestChain::Options options(std::vector<std::string> validators) {
        TestChain::Options options = TestChain::open_options();
        options.validators = std::move(validators);
        return options;
    }
};

bool contains(const Failure& failure, std::string_view text) {
    INFO(failure.text);
    return failure.code != 0 && failure.text.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("nodes are registered with a key of their own and roles") {
    Governed net;
    CHECK(net.add_node("n1", "r1a", kRoleValidator, "v1").code == 3090004);
    CHECK(contains(net.add_node("", "r1a"), "a node's name cannot be empty"));
    CHECK(contains(net.add_node("n1", "k1"), "a node's key must be R1"));
    CHECK(contains(net.add_node("n1", "r1a", 0), "roles must be a sum"));
    CHECK(contains(net.add_node("n1", "r1a", 16), "roles must be a sum"));
    REQUIRE(net.add_node("n1", "r1a", kRoleValidator | kRoleGateway).code == 0);
    CHECK(contains(net.add_node("n2", "r1a"), "belongs to node n1 already"));
    REQUIRE(net.add_node("n2", "r1b", kRoleObserver).code == 0);
    const RegisteredKey* found = net.find("r1a");
    REQUIRE(found != nullptr);
    CHECK(found->node == name("n1"));
    CHECK(found->organisation == name("v1"));
    CHECK(role_names(found->roles) == std::vector<std::string_view>{"validator", "gateway"});
    CHECK_FALSE(found->until);
    CHECK(net.find("r1c") == nullptr);
    // A registration replaces the one before; the key is free again.
    REQUIRE(net.add_node("n1", "r1c").code == 0);
    CHECK(net.find("r1a") == nullptr);
    CHECK(net.add_node("n3", "r1a").code == 0);
    CHECK(registered_nodes(net.chain.state(), name("n2"), 10)->size() == 2);
    CHECK(contains(net.act("v1", "rmnode", data(name("n5"))), "is not registered"));
    CHECK(net.act("v2", "rmnode", data(name("n1"))).code == 3090004);
    REQUIRE(net.act("v1", "rmnode", data(name("n1"))).code == 0);
    CHECK(net.find("r1c") == nullptr);
}

TEST_CASE("while a node's key rotates it has two, and never more") {
    Governed net;
    REQUIRE(net.add_node("n1", "r1a").code == 0);
    REQUIRE(net.add_node("n2", "r1z").code == 0);
    CHECK(net.rotate("n1", "r1b", 100, "v2").code == 3090004);
    CHECK(contains(net.rotate("n1", "r1b", 0), "until must be in the future"));
    CHECK(contains(net.rotate("n1", "r1a", 100), "the node's key already"));
    CHECK(contains(net.rotate("n1", "r1z", 100), "belongs to node n2 already"));
    CHECK(contains(net.rotate("n1", "k1", 100), "must be R1"));
    REQUIRE(net.rotate("n1", "r1b", 100).code == 0);
    CHECK(net.find("r1a", 99)->until == net.now(100));
    CHECK_FALSE(net.find("r1b", 99)->until);
    CHECK(net.find("r1a", 100) == nullptr);
    CHECK(net.find("r1b", 100) != nullptr);
    // The old key cannot be another node's while it is good.
    CHECK(contains(net.add_node("n3", "r1a"), "belongs to node n1 already"));
    REQUIRE(net.rotate("n1", "r1c", 200).code == 0);
    CHECK(net.find("r1a") == nullptr);
    CHECK(net.find("r1b")->until == net.now(200));
    CHECK(find_node_of(net.chain.state(), public_key("r1c")) == name("n1"));
    CHECK_FALSE(find_node_of(net.chain.state(), public_key("r1a")));
}

TEST_CASE("a member that leaves takes its nodes along") {
    Governed net;
    net.add_nodes_of({"v2", "v3", "v4"});
    REQUIRE(net.add_node("n1", "r1a").code == 0);
    const auto shown = members(net.chain.state(), Name{}, 100).value();
    REQUIRE(shown.size() == 5);
    CHECK(shown[1].name == name("v1"));
    REQUIRE(shown[1].nodes.size() == 1);
    CHECK(shown[1].nodes[0].node == name("n1"));
    CHECK(shown[1].vote->producers.size() == 4);
    REQUIRE(net.act("eosio", "rmmember", data(name("v1"))).code == 0);
    CHECK(net.find("r1a") == nullptr);
    CHECK(contains(net.act("eosio", "rmmember", data(name("v1"))), "is no member"));
    CHECK(members(net.chain.state(), Name{}, 100)->size() == 4);
    CHECK(members(net.chain.state(), name("v3"), 1)->at(0).name == name("v3"));
}

TEST_CASE("the last member stays") {
    Governed net({"v1", "v2"});
    REQUIRE(net.remove_member("v1").code == 0);
    REQUIRE(net.remove_member("v2").code == 0);
    CHECK(contains(net.remove_member("member"), "member is the last member"));
    CHECK(members(net.chain.state(), Name{}, 9)->size() == 1);
    REQUIRE(net.act("eosio", "addmember", data(name("v1"))).code == 0);
    CHECK(net.remove_member("member").code == 0);
}

TEST_CASE("a quorum of the schedule keeps nodes that may connect") {
    Governed net;
    net.add_nodes_of({"v1", "v2", "v3", "v4"});
    // Whose validator is in no schedule, or has another node, costs nothing.
    REQUIRE(net.chain.create("other").succeeded());
    net.add_nodes_of({"other"});
    REQUIRE(net.add_node("second", "r1second").code == 0);
    REQUIRE(net.remove_node("nv1").code == 0);
    REQUIRE(net.remove_member("v4").code == 0);
    CHECK(net.find("r1v4") == nullptr);
    const Failure refused = net.remove_member("v3");
    CHECK(contains(refused, "removing member v3, which revokes its nodes, would leave 2 of the 4"));
    CHECK(contains(refused, "of schedule 0 with a registered validator's node, and 3 must agree"));
    CHECK(contains(refused, "'bor-cli validators'"));
    CHECK(contains(refused, "'bor-cli node add'"));
    CHECK(net.find("r1v3") != nullptr);
    CHECK(members(net.chain.state(), name("v3"), 1)->at(0).name == name("v3"));
    CHECK(contains(net.remove_node("nv3"), "removing node nv3 would leave 2 of the 4"));
    CHECK(contains(net.act("v3", "rmnode", data(name("nv3"))), "would leave 2 of the 4"));
    CHECK(contains(net.add_node("nv3", "r1v3", kRoleObserver, "eosio", "v3"),
                   "registering node nv3 anew would leave 2 of the 4"));
    CHECK(contains(net.add_node("nv3", "r1v3", kRoleValidator, "eosio", "other"), "2 of the 4"));
    CHECK(net.remove_member("member").code == 0);
    CHECK(net.remove_node("nother").code == 0);
    CHECK(net.add_node("nv3", "r1new", kRoleValidator, "eosio", "v3").code == 0);
    // Another takes its place.
    REQUIRE(net.add_node("nv4", "r1v4", kRoleValidator, "eosio", "v4").code == 0);
    CHECK(net.remove_member("v3").code == 0);
}

TEST_CASE("once the schedule is smaller another member may go") {
    Governed net;
    net.add_nodes_of({"v1", "v2", "v3", "v4"});
    REQUIRE(net.remove_member("v1").code == 0);
    REQUIRE(contains(net.remove_member("v2"), "would leave 2 of the 4"));
    const auto schedule = [](std::uint32_t version, const std::vector<std::string>& producers) {
        Schedule result{.version = version, .entries = {}};
        for (const std::string& each : producers) {
            result.entries.push_back({name(each), public_key(each), public_key(each)});
        }
        return result;
    };
    SECTION("but while a change is pending, both of its schedules count") {
        ScheduleState schedules = first_schedules(schedule(0, {"v1", "v2", "v3", "v4"}));
        REQUIRE(net.add_node("n1", "r1v1").code == 0);
        const Schedule proposed = schedule(1, {"v2", "v3", "v4"});
        schedules.proposed = std::make_shared<const Schedule>(proposed);
        schedules.proposed_at = 1;
        put_schedules(net.chain.state(), schedules);
        CHECK(contains(net.remove_member("v2"), "2 of the 3 validators of schedule 1"));
    }
    SECTION("and of two that are left both must agree") {
        put_schedules(net.chain.state(), first_schedules(schedule(1, {"v3", "v4"})));
        CHECK(net.remove_member("v2").code == 0);
        CHECK(contains(net.remove_member("v3"), "would leave 1 of the 2 validators of schedule 1"));
        // One alone agrees with itself, whoever may connect.
        put_schedules(net.chain.state(), first_schedules(schedule(2, {"v4"})));
        CHECK(net.remove_member("v3").code == 0);
        CHECK(net.remove_member("v4").code == 0);
    }
}

TEST_CASE("where validators' nodes are of others nothing is refused") {
    Governed net;
    REQUIRE(net.chain.create("host").succeeded());
    net.add_nodes_of({"host"});
    for (const char* member : {"v1", "v2", "v3", "v4"}) {
        CHECK(net.remove_member(member).code == 0);
    }
    CHECK(net.remove_node("nhost").code == 0);
}

TEST_CASE("evidence takes a key's weight, and nothing else does") {
    Governed net;
    const Vote first = net.vote("v1", 1);
    const Vote second = net.vote("v1", 2);
    base::Writer garbage;
    garbage.bytes(base::as_bytes("garbage"));
    CHECK(net.act("v2", "reportbad", garbage.take()).code != 0);
    CHECK(contains(net.report(TwoVotes{first, first}), "both votes are the same"));
    CHECK(
        contains(net.report(TwoVotes{first, net.vote("v1", 2, 6)}), "differ in key, kind or slot"));
    Vote forged = second;
    forged.signature = first.signature;
    CHECK(contains(net.report(TwoVotes{first, forged}), "is not signed by its key"));
    CHECK(contains(net.report(TwoVotes{net.vote("nobody", 1), net.vote("nobody", 2)}),
                   "was never a validator's"));
    CHECK_FALSE(is_convicted(net.chain.state(), public_key("v1")));
    REQUIRE(net.report(TwoVotes{first, second}).code == 0);
    CHECK(contains(net.report(TwoVotes{first, second}), "was convicted before"));
    const auto convicted = convicted_keys(net.chain.state(), 10).value();
    REQUIRE(convicted.size() == 1);
    CHECK(convicted[0].producer == name("v1"));
    CHECK(convicted[0].kind == 1);
    CHECK(convicted[0].height == net.chain.block().height);
    // It goes with the next schedule, and comes back only with another key.
    const auto next =
        next_schedule(net.chain.state(), load_schedule(net.chain.state()).value(), 120);
    REQUIRE((next && *next));
    CHECK((*next)->entries.size() == 3);
    CHECK_FALSE((*next)->find_producer(name("v1")));
    base::Writer same;
    encode(same, name("v1"));
    encode(same, public_key("v1"));
    CHECK(contains(net.act("v1", "setvotekey", same.take()), "was convicted by evidence"));
    // Both of its keys were the one: a new vote key alone is not enough.
    const auto has_weight = [&] {
        const auto present = load_schedule(net.chain.state()).value();
        const auto later = next_schedule(net.chain.state(), present, 120).value();
        const auto at = later ? later->find_producer(name("v1")) : std::nullopt;
        return at && later->entries[*at].signing_key == public_key("fresh") &&
               later->entries[*at].vote_key == public_key("fresh");
    };
    base::Writer vote_key;
    encode(vote_key, name("v1"));
    encode(vote_key, public_key("fresh"));
    REQUIRE(net.act("v1", "setvotekey", vote_key.take()).code == 0);
    CHECK_FALSE(has_weight());
    base::Writer both;
    encode(both, name("v1"));
    encode(both, public_key("fresh"));
    both.string("https://example.com");
    both.u16(3);
    REQUIRE(net.act("v1", "regproducer", both.take()).code == 0);
    // Nor is one that nobody has shown to hold.
    CHECK_FALSE(has_weight());
    const Action ready = TestChain::action("eosio", "ready", "v1", data(name("v1")));
    REQUIRE(failure_of(net.chain.push(ready, {"fresh"})).code == 0);
    CHECK(has_weight());
}

TEST_CASE("two headers of one slot convict who signed both") {
    Governed net;
    TwoHeaders two;
    two.first.header.slot = 7;
    two.first.header.producer = name("v3");
    two.second.header = two.first.header;
    two.second.header.height = 9;
    two.first.signature = private_key("v3").sign(two.first.header.signing_digest({}));
    two.second.signature = private_key("v4").sign(two.second.header.signing_digest({}));
    CHECK(contains(net.report(two), "signed by different keys"));
    two.second.signature = private_key("v3").sign(two.second.header.signing_digest({}));
    REQUIRE(net.report(two).code == 0);
    CHECK(is_convicted(net.chain.state(), public_key("v3")));
    const auto shown = validators(net.chain.state()).value();
    CHECK(shown[2].convicted);
    CHECK_FALSE(shown[0].convicted);
}

// Validators of two chains may have the same names and keys.
TEST_CASE("two headers, or two votes, of another chain convict nobody") {
    Governed net;
    ChainId other;
    other.bytes[0] = std::byte{1};
    REQUIRE(other != net.chain.block().chain_id);
    TwoHeaders two;
    two.first.header.slot = 7;
    two.first.header.producer = name("v3");
    two.second.header = two.first.header;
    two.second.header.height = 9;
    for (SignedHeader* each : {&two.first, &two.second})
        each->signature = private_key("v3").sign(each->header.signing_digest(other));
    CHECK(net.report(two).code != 0);
    // One is of this chain.
    two.first.signature = private_key("v3").sign(two.first.header.signing_digest({}));
    CHECK(net.report(two).code != 0);
    TwoVotes votes{net.vote("v1", 1), net.vote("v1", 2)};
    votes.second.signature = private_key("v1").sign(votes.second.data.digest(other));
    CHECK(contains(net.report(votes), "is not signed by its key"));
    for (const char* each : {"v1", "v3"})
        CHECK_FALSE(is_convicted(net.chain.state(), public_key(each)));
}

TEST_CASE("setchain changes what may change while the chain runs") {
    Governed net;
    CHECK(contains(net.set_chain("repetitions", 12), "is set by the genesis file alone"));
    CHECK(contains(net.set_chain("schedule_period", 60), "is set by the genesis file alone"));
    CHECK(contains(net.set_chain("max_producers", 126), "it must be from 1 to 125"));
    CHECK(contains(net.set_chain("max_reversible", 60'001), "it must be from 100 to 60000"));
    CHECK(contains(net.set_chain("min_producers", 22), "min_producers (22) is above"));
    REQUIRE(net.set_chain("max_missed", 3).code == 0);
    CHECK(load_parameters(net.chain.state())->max_missed == 3);
    CHECK(contains(net.set_chain("snapshot_period", 10'000'001), "it must be from 0 to 10000000"));
    REQUIRE(net.set_chain("snapshot_period", 24).code == 0);
    CHECK(load_parameters(net.chain.state())->snapshot_period == 24);
}

TEST_CASE("the next rules are the next number, whatever this program knows") {
    Governed net;
    const auto set_rules = [&](std::uint32_t version, Height height) {
        base::Writer out;
        out.u32(version);
        out.u32(height);
        return net.act("eosio", "setrules", out.take());
    };
    const Height now = net.chain.block().height;
    CHECK(contains(set_rules(1, now + 9), "rules version must be 2"));
    CHECK(contains(set_rules(3, now + 9), "rules version must be 2"));
    CHECK(contains(set_rules(2, now), "height must be above"));
    REQUIRE(set_rules(2, now + 9).code == 0);
    REQUIRE(set_rules(2, now + 90).code == 0);  // Put off.
    CHECK(load_rules(net.chain.state())->next_height == now + 90);
}

TEST_CASE("validators and standbys are shown by rank, with what they hold") {
    Governed net;
    for (const char* producer : {"late", "later", "unvoted"}) {
        REQUIRE(net.chain.create(producer).succeeded());
        base::Writer out;
        encode(out, name(producer));
        encode(out, public_key(producer));
        out.string("https://example.com");
        out.u16(3);
        REQUIRE(net.act(producer, "regproducer", out.take()).code == 0);
    }
    const auto vote = [&](const std::string& voter, const std::vector<Name>& producers) {
        base::Writer out;
        encode(out, name(voter));
        encode(out, Name{});
        encode_list(out, producers);
        REQUIRE(net.act(voter, "voteproducer", out.take()).code == 0);
    };
    vote("member", {name("late"), name("later")});
    vote("v4", {name("later"), name("v4")});
    REQUIRE(net.act("later", "ready", data(name("later"))).code == 0);
    const auto shown = validators(net.chain.state()).value();
    REQUIRE(shown.size() == 6);
    CHECK(shown[3].entry.producer == name("v4"));
    CHECK(shown[3].position == 3U);
    CHECK(shown[3].votes == 4);
    CHECK(shown[4].entry.producer == name("later"));
    CHECK(shown[4].standby == 1U);
    CHECK(shown[4].votes == 2);
    CHECK(shown[4].ready == net.chain.block().slot);
    CHECK(shown[4].url == "https://example.com");
    CHECK(shown[5].standby == 2U);
    CHECK_FALSE(shown[5].ready);
    const auto producers = producers_by_votes(net.chain.state(), name("later"), 10).value();
    REQUIRE(producers.size() == 3);
    CHECK(producers[2].name == name("unvoted"));
    CHECK(producers[2].votes == 0);
    CHECK(producers_by_votes(net.chain.state(), Name{}, 1)->at(0).name == name("v4"));
    const auto summary = schedule_summary(net.chain.state()).value();
    CHECK(summary.elections);
    CHECK_FALSE(summary.fixed);
    CHECK(summary.schedules.active->entries.size() == 4);
}
