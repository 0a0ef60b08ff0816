#include "p2p/stranger.hpp"
#include "tests/allocations.hpp"

#include <catch2/catch.hpp>

// The way of a vote through the conversation allocates nothing once its tables are full: at a
// hundred validators it is gone hundreds of times a slot. And what nobody asked for costs little.

namespace p2p::test {

namespace {

constexpr std::size_t kVotes = 64;  // Of one round.

// A node with three validators as peers, one of which says votes that the others lack.
struct Voters {
    Stranger us;
    std::vector<ChannelId> channels;
    const chain::BlockPtr block = genesis();
    std::uint64_t said = 0;
    std::vector<base::Bytes> votes = std::vector<base::Bytes>(kVotes);
    std::vector<base::Hash256> ids = std::vector<base::Hash256>(kVotes);
    std::size_t passed_on = 0;

    Voters() {
        std::vector<RegisteredNode> nodes;
        for (const std::size_t number : {5U, 6U, 7U})
            nodes.push_back({key_of(number), World::organisation(number), kValidator});
        us.step(input::RegistryChanged{nodes});
        for (const std::size_t number : {5U, 6U, 7U})
            channels.push_back(us.greet({.number = number}));
    }
    // Returns how many allocations it took that the votes came, were judged and went on.
    std::size_t round() {
        const ChannelId from = channels[said / kVotes % channels.size()];
        for (base::Bytes& bytes : votes) {
            // Each once a round: a key's votes go on within bounds.
            chain::Vote vote = vote_of(*block, said % kVotes);
            vote.data.slot = ++said;
            bytes = *pack_message(vote);
        }
        // What is due every 100 ms is not counted.
        us.now += milliseconds(100);
        us.step(input::Tick{});
        clear();
        const std::size_t before = tests::allocations();
        hear(from);
        us.now += milliseconds(60);
        us.step(input::Tick{});
        count_passed_on();
        clear();
        return tests::allocations() - before;
    }

  private:
    void hear(ChannelId from) {
        for (const base::Bytes& bytes : votes)
            us.say_bytes(from, bytes);
        std::size_t arrived = 0;
        for (const Effect& effect : us.out) {
            const auto* vote = std::get_if<effect::VoteArrived>(&effect);
            if (vote != nullptr && arrived < kVotes) ids[arrived++] = vote->id;
        }
        if (arrived != kVotes) FAIL(arrived << " votes arrived");
        for (const base::Hash256& id : ids)
            us.step(input::Judged{Item::vote, id, from, Verdict::good, {}});
    }
    void count_passed_on() {
        for (const Effect& effect : us.out) {
            const auto* send = std::get_if<effect::Send>(&effect);
            if (send == nullptr || (*send->bytes)[0] != std::byte{10}) continue;  // A vote.
            if (*send->bytes == votes[passed_on % (2 * kVotes) / 2]) ++passed_on;
        }
    }
    // All that was sent is written and let go of.
    void clear() {
        for (const ChannelId channel : channels)
            us.step(input::Written{channel, ~std::uint64_t{0}});
        us.out.clear();
    }
};

}  // namespace

TEST_CASE("a vote that comes, is judged and goes on allocates nothing", "[p2p][allocation]") {
    constexpr std::size_t kTableEntries = 16'384;
    Voters voters;
    const tests::Rounds rounds =
        tests::run_rounds([&] { return voters.round(); }, kTableEntries / kVotes + 1, 20);
    CHECK(rounds.first > 0);
    CHECK(rounds.most == 0);
    CHECK(voters.passed_on == 2 * kVotes * rounds.count);
}

// A peer that is asked for a block answers with a thousand others, each of which names one long
// transaction as often as a message could hold it.
TEST_CASE("what an answer names beside the question is not copied", "[p2p][allocation]") {
    constexpr std::size_t kBlocks = 1'000;
    constexpr std::size_t kTimes = 60;
    Stranger us;
    const ChannelId channel = us.greet();
    const auto transaction = transaction_of(1, std::size_t{128} << 10U);
    us.say(channel, transaction);
    chain::Block block = *block_on(*us.ledger.head);
    block.header.height += 1'000;
    block.transactions.resize(kTimes);
    for (chain::TransactionReceipt& receipt : block.transactions)
        receipt.transaction = transaction.packed_digest();
    Blocks junk;
    for (std::size_t i = 0; i < kBlocks; ++i) {
        block.header.state_digest.bytes[0] = static_cast<std::byte>(i);
        block.header.state_digest.bytes[1] = static_cast<std::byte>(i >> 8U);
        junk.blocks.push_back(std::make_shared<const chain::Block>(block));
    }
    const auto question = us.ask(channel, {block_on(*us.ledger.head)->id});
    REQUIRE(question.correlation != 0);
    const auto bytes = pack_message(junk, {.correlation = question.correlation});
    const std::size_t before = tests::allocations();
    us.say_bytes(channel, *bytes);
    const std::size_t allocated = tests::allocations() - before;
    CHECK(allocated >= kBlocks);      // Each is decoded,
    CHECK(allocated < 20 * kBlocks);  // and none of its transactions is.
}

}  // namespace p2p::test
