#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/one_node.hpp"

#include <map>
#include <vector>

// To recover the keys of signatures takes longer than anything else that a transaction of a peer
// makes a node do before it is known to be authorised.

namespace {

using p2p::Verdict;

constexpr std::size_t kMany = 64;        // Signatures: as many as a transaction may have.
constexpr std::size_t kOfPeer = 4'096;   // Transactions of one peer under way, of one signature.
constexpr std::size_t kManyOfPeer = 8;   // Such of many signatures, each but the first for eight.
constexpr std::size_t kLeft = 56;        // The room for others beside these.
constexpr std::size_t kUntilIsOver = 2;  // A thirtieth of 200 ms, of 63 signatures of 70 us each.

base::crypto::PublicKey peer_of(unsigned char number) {
    return support::key_of(number).public_key();
}

// A node, and what it says of the transactions of its peers.
struct Judge {
    support::Machine node{support::genesis_of(1), support::key_of(7)};
    std::map<base::Hash256, p2p::input::Judged> verdicts;

    Judge() {
        node.to_peers = [this](const p2p::Input& said) {
            if (const auto* judged = std::get_if<p2p::input::Judged>(&said))
                verdicts.insert_or_assign(judged->id, *judged);
        };
        node.start();
        node.set_time(node.genesis().times.time_of(1).to_timestamp());
        node.step(node::input::Tick{});
    }
    // What is said of it at once; nothing: it is being looked at.
    std::optional<Verdict> send(const base::crypto::PublicKey& peer,
                                const chain::PackedTransaction& packed) {
        const base::Hash256 id = packed.packed_digest();
        verdicts.erase(id);
        node.step(node::input::FromPeers{p2p::effect::TransactionArrived{{}, id, packed, peer}});
        const auto found = verdicts.find(id);
        if (found == verdicts.end()) return {};
        return found->second.verdict;
    }
    // newaccount in the bank's name with signatures of others.
    [[nodiscard]] chain::PackedTransaction forged(const std::string& name) const {
        chain::SignedTransaction content = node.new_account("bank", name)->content;
        const auto digest = content.signing_digest(node.genesis().chain_id(), {});
        content.signatures.clear();
        for (std::size_t i = 0; i < kMany; ++i) {
            const auto key = support::key_of(static_cast<unsigned char>(100 + i));
            content.signatures.push_back(key.sign(digest));
        }
        return chain::PackedTransaction::pack(content);
    }
};

}  // namespace

TEST_CASE(
    "a peer is charged for many signatures of what it may not do, then these are not recovered",
    "[core][signatures]") {
    Judge judge;
    char number = 'a';
    const auto send = [&] { return judge.send(peer_of(1), judge.forged({'f', number++})); };
    const auto send_until_is_over = [&] {
        for (std::size_t i = 0; i < kUntilIsOver; ++i)
            CHECK(send() == Verdict::refused);
        CHECK(send() == Verdict::unsure);
        CHECK(send() == Verdict::unsure);
    };
    send_until_is_over();
    // A little later it may again, not only after a minute.
    judge.node.set_time(judge.node.genesis().times.time_of(8).to_timestamp());
    judge.node.step(node::input::Tick{});
    send_until_is_over();
    CHECK(judge.node.recoveries == 2 * kUntilIsOver);
    // What has one signature may come from any of its clients.
    CHECK(judge.send(peer_of(1), judge.node.new_account("bank", "alice")->packed) == Verdict::good);
    CHECK(judge.send(peer_of(2), judge.forged("forg")) == Verdict::refused);
}

TEST_CASE("a peer has a share of the signatures that are recovered", "[core][signatures]") {
    Judge judge;
    judge.node.holds_recoveries = true;
    const chain::PackedTransaction one = judge.node.new_account("bank", "alice")->packed;
    chain::PackedTransaction many = one;
    many.signatures.resize(kMany, one.signatures.front());
    chain::PackedTransaction none = one;
    none.signatures.clear();
    for (std::size_t i = 0; i < kManyOfPeer; ++i)
        REQUIRE_FALSE(judge.send(peer_of(1), many));
    CHECK(judge.send(peer_of(1), many) == Verdict::unsure);
    for (std::size_t i = 0; i < kLeft; ++i)
        REQUIRE_FALSE(judge.send(peer_of(1), one));
    CHECK(judge.send(peer_of(1), one) == Verdict::unsure);
    // Others are let in, with what has no signature too.
    for (std::size_t i = 0; i < kOfPeer; ++i)
        REQUIRE_FALSE(judge.send(peer_of(2), none));
    CHECK(judge.send(peer_of(2), none) == Verdict::unsure);
    REQUIRE_FALSE(judge.send(peer_of(3), one));
    CHECK(judge.node.held_recoveries.back().peer == peer_of(3));
    // What is done makes room.
    judge.node.finish_recovery();
    CHECK_FALSE(judge.send(peer_of(1), many));
    CHECK(judge.send(peer_of(1), one) == Verdict::unsure);
    while (!judge.node.held_recoveries.empty())
        judge.node.finish_recovery();
    CHECK_FALSE(judge.send(peer_of(2), none));
    CHECK_FALSE(judge.send(peer_of(3), one));
}

TEST_CASE("a false form of a transaction does not stand for the true one", "[core][signatures]") {
    Judge judge;
    support::Machine& node = judge.node;
    const auto at = [&](chain::Slot slot, int milliseconds) {
        node.set_time(node.genesis().times.time_of(slot).to_timestamp() +
                      std::chrono::milliseconds(milliseconds));
        node.step(node::input::Tick{});
    };
    const chain::TransactionPtr good = node.new_account("bank", "alice");
    chain::SignedTransaction content = good->content;
    content.signatures = {
        support::key_of(99).sign(content.signing_digest(node.genesis().chain_id(), {}))};
    const chain::PackedTransaction bad = chain::PackedTransaction::pack(content);
    // From now on nothing is run before the next slot.
    at(1, 440);
    node.timer.takes = {std::chrono::milliseconds(100)};
    (void)node.submit(node.new_account("bank", "cut"));
    CHECK(judge.send(peer_of(1), bad) == Verdict::good);
    CHECK(judge.send(peer_of(1), bad) == Verdict::duplicate);

    CHECK(judge.send(peer_of(2), good->packed) == Verdict::unsure);
    const node::Ticket early = node.submit(good);
    REQUIRE(node.answers.contains(early));
    REQUIRE_FALSE(node.answers.at(early).outcome);
    CHECK(node.answers.at(early).outcome.error().code == base::Errc::would_block);
    at(2, 0);
    CHECK(judge.send(peer_of(2), good->packed) == Verdict::good);
    at(3, 0);
    CHECK(support::Machine::has_account("alice", *node.view().head_state));
}
