// Each reason of go_away between a whole node and a peer, over real TLS connections: the peer is
// told, the log has it, and the node goes on.
#include "caller.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace tests {

using p2p::Reason;

// Those who call have TCP only.
std::vector<std::unique_ptr<link::FastKind>> make_fast_kinds() {
    return {};
}

namespace {

// The node that the server's key is given to says this of itself.
p2p::VoteKeyStatement statement_of(const PrivateKey& vote_key,
                                   const PrivateKey& node_key,
                                   const Caller& caller,
                                   const Server& server) {
    p2p::VoteKeyStatement statement{
        .key = vote_key.public_key(), .boot_id = 7, .start_slot = chain::Slot{1} << 40U};
    statement.signature = vote_key.sign(p2p::statement_digest(
        statement, {server.genesis.chain_id(), node_key.public_key(), caller.binding}));
    return statement;
}

chain::PackedTransaction revoke(const Server& server, const std::string& node, chain::BlockId on) {
    chain::SignedTransaction transaction;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    transaction.expiration.seconds = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::seconds>(now).count() + 60);
    transaction.ref_block_num = static_cast<std::uint16_t>(chain::height_of(on));
    transaction.ref_block_prefix = chain::ref_block_prefix_of(on);
    base::Writer data;
    encode(data, name_of(node));
    transaction.actions.push_back({name_of("eosio"),
                                   name_of("rmnode"),
                                   {{name_of("eosio"), name_of("active")}},
                                   data.take()});
    transaction.signatures.push_back(
        server.system.sign(transaction.signing_digest(server.genesis.chain_id(), {})));
    return chain::PackedTransaction::pack(transaction);
}

chain::Vote false_vote(const Server& server) {
    chain::Vote vote;
    vote.data.slot = 5;
    vote.data.height = 2;
    vote.data.block_id.bytes[3] = std::byte{2};
    vote.key = server.validator.public_key();
    vote.signature = server.system.sign(vote.data.digest(server.genesis.chain_id()));
    return vote;
}

}  // namespace

TEST_CASE("peers that are not of this chain, version or list are told so") {
    Server server;
    SECTION("self") {
        Caller caller(server, server.node_keys[0]);
        caller.say(caller.hello());
        caller.check_gone(Reason::self, "our own node key");
    }
    SECTION("wrong_chain: another genesis file is another chain") {
        genesis::Genesis other = server.genesis;
        other.parameters.max_missed += 1;
        Caller caller(server);
        p2p::Hello hello = caller.hello();
        hello.chain_id = other.chain_id();
        caller.say(hello);
        caller.check_gone(Reason::wrong_chain, "is on chain");
    }
    SECTION("wrong_version") {
        Caller caller(server);
        p2p::Hello hello = caller.hello();
        hello.version_min = 2;
        hello.version_max = 3;
        caller.say(hello);
        caller.check_gone(Reason::wrong_version, "speaks versions 2 to 3, we speak 1");
    }
    SECTION("not_permitted: a key that nobody registered") {
        const auto key = PrivateKey::generate(KeyType::r1);
        const std::string said = "not_permitted: " + key.public_key().to_string() +
                                 " is not one of the 21 registered nodes";
        CHECK_THAT(Caller::why_refused(server, key), Catch::Contains(said));
        CHECK(server.logs(said));
        // It has had no channel, and nobody but the transport's thread has heard of it.
        CHECK(server.log_text().find("go_away") == std::string::npos);
    }
    SECTION("revoked: within the block that says so") {
        Caller caller(server);
        Caller revoked(server);
        const p2p::Hello hello = caller.greet();
        revoked.greet();
        caller.say(revoke(server, Server::node_name(2), hello.finalized.id));
        revoked.check_gone(Reason::revoked, "was removed from the registry");
        CHECK_THAT(Caller::why_refused(server, server.node_keys[2]), Catch::Contains("revoked: "));
    }
    check_goes_on(server);
}

TEST_CASE("of the same node or vote key twice one goes") {
    Server server;
    SECTION("duplicate") {
        Caller first(server);
        first.greet();
        Caller second(server, server.node_keys[1]);
        second.greet();
        first.check_gone(Reason::duplicate, "has a newer connection");
    }
    SECTION("twin_key: our vote key elsewhere") {
        const PrivateKey& key = server.next_key();
        Caller caller(server, key);
        p2p::Hello hello = caller.hello();
        hello.vote_keys.push_back(statement_of(server.validator, key, caller, server));
        caller.say(hello);
        caller.check_gone(Reason::twin_key, "the other one must not vote");
    }
    SECTION("bad_vote: a vote key that it has not signed for this channel") {
        const PrivateKey& key = server.next_key();
        Caller caller(server, key);
        Caller other(server);
        p2p::Hello hello = caller.hello();
        hello.vote_keys.push_back(statement_of(server.validator, key, other, server));
        caller.say(hello);
        caller.check_gone(Reason::bad_vote, "has not signed that it votes with");
    }
    check_goes_on(server);
}

TEST_CASE("what is proved wrong costs the connection") {
    Server server;
    Caller caller(server);
    SECTION("forked") {
        // Until block 2 is final the caller's may be the right one, and while it is the newest
        // final one the words are others.
        {
            Caller waiting(server);
            waiting.greet();
            while (true) {
                const auto push = waiting.hear<p2p::Blocks>();
                REQUIRE(push);
                if (chain::height_of(push->second.blocks.front()->header.finalized.id) > 2) break;
            }
        }
        Caller liar(server);  // What waits so long with its hello may be closed.
        p2p::Hello hello = liar.hello();
        hello.finalized = {2, base::Hash256{}};
        hello.finalized.id.bytes[3] = std::byte{2};
        hello.head = hello.finalized;
        liar.say(hello);
        liar.check_gone(Reason::forked, "has another final block 2 than we do");
    }
    SECTION("unlinkable: blocks that are not those that were asked for") {
        p2p::Hello hello = caller.hello();
        hello.finalized.height = hello.head.height = 1'000'000;
        hello.finalized.id.bytes[0] = hello.head.id.bytes[0] = std::byte{1};
        caller.say(hello);
        REQUIRE(caller.hear<p2p::Notice>());
        caller.say(p2p::Notice{.finalized = hello.finalized, .head = hello.head});
        const auto asked = caller.hear<p2p::SyncRequest>();
        REQUIRE(asked);
        chain::BlockHeader header;
        header.height = asked->second.from + 5;
        const auto block =
            chain::make_block({header, server.validator.sign(base::Hash256{})}, {}, {});
        caller.say(p2p::Blocks{{block}},
                   {.correlation = asked->first.correlation, .flags = p2p::kFlagLast});
        caller.check_gone(Reason::unlinkable, "was asked for");
    }
    SECTION("bad_block: not signed by its producer") {
        caller.greet();
        // The chain goes on: until one comes in time.
        while (const auto push = caller.hear<p2p::Blocks>()) {
            const chain::Block& parent = *push->second.blocks.front();
            chain::BlockHeader header = parent.header;  // No later than its parent.
            header.height = parent.header.height + 1;
            header.previous = parent.id;
            const auto digest = header.signing_digest(server.genesis.chain_id());
            caller.say(p2p::HeaderPush{{header, server.system.sign(digest)}, {}});
        }
        caller.check_gone(Reason::bad_block, "slot");
    }
    SECTION("bad_transaction") {
        caller.greet();
        chain::PackedTransaction packed;
        packed.packed_trx = pattern(100);
        caller.say(packed);
        caller.check_gone(Reason::bad_transaction, "");
    }
    SECTION("bad_vote") {
        caller.greet();
        caller.say(false_vote(server));
        caller.check_gone(Reason::bad_vote, "the vote's signature is wrong");
    }
    check_goes_on(server);
}

TEST_CASE("behind: who never says hello") {
    Server server;
    Caller caller(server);
    caller.check_gone(Reason::behind, "has not finished its greeting in 10 s");
    check_goes_on(server);
}

TEST_CASE("internal: there is room for two") {
    Server server(2);
    Caller first(server);
    {
        Caller second(server);
        Caller third(server);
        third.check_gone(Reason::internal, "2 nodes are connected, no more are taken");
    }
    check_goes_on(server);
}

TEST_CASE("shutting_down: a node that stops says so") {
    Server server;
    Caller caller(server);
    caller.greet();
    server.stop();
    caller.check_gone(Reason::shutting_down, "is stopping");
}

}  // namespace tests
// NOLINTEND(bugprone-unchecked-optional-access)
