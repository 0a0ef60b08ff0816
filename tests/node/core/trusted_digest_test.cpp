#include "node/machine/machine.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/one_node.hpp"

#include <string>
#include <vector>

// A syncing node executes certified blocks without computing the state digest of each, and
// checks it at the end of a range (spec 03, "State digest").

namespace {

using Digesting = chain::ChainManager::StateDigest;

// A second ledger of the same chain, which executes what the first has made.
struct Follower {
    explicit Follower(const genesis::Genesis& genesis) {
        REQUIRE(storage.commit(node::Core::first_batch(genesis).value(), true));
        chain::StateManager::Options state;
        state.on_fault = [](const base::Error&) {};
        chain = chain::ChainManager::open(node::identity_of(genesis), {storage, executor, state})
                    .value();
    }

    support::MemoryStorage storage;
    node::ContractMachine contract_machine;
    chain::vm::Engine engine{chain::host_table(), chain::vm::Engine::Options{}, contract_machine};
    chain::Executor executor{engine, chain::host_table()};
    std::unique_ptr<chain::ChainManager> chain;
};

// Blocks 2 and up; each makes an account.
std::vector<chain::BlockPtr> make_blocks(support::OneNode& node, int count) {
    node.tick_at(1);
    for (int i = 0; i < count; ++i) {
        (void)node.submit(node.new_account(std::string("user") + static_cast<char>('a' + i)));
        node.tick_at(static_cast<chain::Slot>(i) + 2);
    }
    return node.finalized;
}

}  // namespace

TEST_CASE("digests taken on trust are checked with the next that is computed", "[core]") {
    support::OneNode node;
    const auto blocks = make_blocks(node, 6);
    Follower follower(node.genesis());
    for (std::size_t i = 0; i + 1 < blocks.size(); ++i) {
        REQUIRE(follower.chain->replay(blocks[i], Digesting::trusted));
    }
    const auto last = follower.chain->replay(blocks.back());
    if (!last) FAIL(last.error().detail);

    chain::Certificate certificate;
    certificate.data.block_id = blocks.back()->id;
    certificate.data.height = blocks.back()->header.height;
    base::Batch batch;
    follower.chain->finalize(certificate, follower.chain->stored_base(), batch)
        .state->append_to(batch);
    REQUIRE(follower.storage.commit(batch, true));
    REQUIRE(follower.chain->committed());
    // The lanes that were stored are right: the next block follows from them.
    (void)node.submit(node.new_account("another"));
    node.tick_at(20);
    CHECK(follower.chain->replay(node.finalized.back()));
}

TEST_CASE("a wrong digest at the end of a range is refused", "[core]") {
    support::OneNode node;
    const auto blocks = make_blocks(node, 3);
    Follower follower(node.genesis());
    for (std::size_t i = 0; i + 1 < blocks.size(); ++i) {
        REQUIRE(follower.chain->replay(blocks[i], Digesting::trusted));
    }
    chain::BlockHeader header = blocks.back()->header;
    header.state_digest.bytes[0] ^= std::byte{1};
    const auto refused = follower.chain->replay(chain::make_block(
        {header, blocks.back()->signature}, blocks.back()->transactions, blocks.back()->witness));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail.find("state_digest") != std::string::npos);
}

TEST_CASE("of digests taken on trust the first that differs is named, with rows", "[core]") {
    support::OneNode node;
    const auto blocks = make_blocks(node, 4);
    Follower follower(node.genesis());
    // The second block of a chain that says another digest, and the third on top of it.
    REQUIRE(follower.chain->replay(blocks[0], Digesting::trusted));
    chain::BlockHeader header = blocks[1]->header;
    header.state_digest.bytes[0] ^= std::byte{1};
    const auto wrong = chain::make_block(
        {header, blocks[1]->signature}, blocks[1]->transactions, blocks[1]->witness);
    REQUIRE(follower.chain->replay(wrong, Digesting::trusted));
    CHECK(follower.chain->explain_digest(blocks[0]->id).find("agree") != std::string::npos);
    const std::string why = follower.chain->explain_digest(wrong->id);
    CHECK(why.find("block " + std::to_string(header.height) + " is the first") !=
          std::string::npos);
    CHECK(why.find("table ") != std::string::npos);
}
