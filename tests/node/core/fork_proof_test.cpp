#include "chain/state/fork_proof.hpp"

#include "chain/state/block_store.hpp"
#include "chain/state/proof_store.hpp"
#include "consensus/certificate.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"

// Two chains of one genesis file, each with three of four validators: of two of them there is a
// machine on both. What two nodes store proves the fork, and who made it.

namespace {

using support::Cluster;

class Fork {
  public:
    Fork() {
        left.kill(3);
        right.kill(2);
    }

    [[nodiscard]] const genesis::Genesis& genesis() { return left[0].genesis(); }
    [[nodiscard]] chain::ChainId chain_id() { return genesis().chain_id(); }
    [[nodiscard]] static chain::Height final_height(Cluster& cluster) {
        return cluster[0].view().finalized->header.height;
    }
    // The lowest height at which both have other final blocks.
    [[nodiscard]] chain::Height height() {
        const chain::BlockReader a(left[0].storage());
        const chain::BlockReader b(right[0].storage());
        const chain::Height last = std::min(final_height(left), final_height(right));
        for (chain::Height at = 1; at <= last; ++at) {
            if (a.at(at).value()->id != b.at(at).value()->id) return at;
        }
        FAIL("there is no fork");
        return 0;
    }
    [[nodiscard]] chain::ForkBranch branch(Cluster& cluster, chain::Height from) {
        const chain::BlockReader reader(cluster[0].storage());
        chain::ForkBranch branch{.blocks = {}, .certificates = {}, .schedules = {}};
        for (chain::Height at = from; at <= final_height(cluster); ++at) {
            chain::Block bare = *reader.at(at).value();
            bare.transactions.clear();
            branch.blocks.push_back(std::make_shared<const chain::Block>(bare));
        }
        const chain::Proof proof = proof_of(cluster, from);
        branch.certificates = {proof.finality.certificate};
        branch.schedules = chain::schedules_of(proof, genesis().schedule);
        return branch;
    }
    [[nodiscard]] chain::Proof proof_of(Cluster& cluster, chain::Height at) {
        return chain::ProofMaker(cluster[0].storage()).of_block(at, 0).value();
    }
    [[nodiscard]] chain::ForkProof prove() {
        const chain::Height at = height();
        return {proof_of(left, at),
                proof_of(right, at),
                chain::evidence_between(branch(left, at), branch(right, at), chain_id())};
    }
    [[nodiscard]] base::Result<chain::ForkVerdict> verify(const chain::ForkProof& proof) {
        const auto check = [this](const chain::Certificate& certificate,
                                  const chain::ScheduleState& schedules) {
            return consensus::verify(certificate, schedules, chain_id());
        };
        return chain::verify(proof, genesis().schedule, check, chain_id());
    }
    // The keys of validators 0 and 1, which voted on both sides, and of nobody else.
    void check_guilty(const chain::ForkProof& proof) {
        const auto verdict = verify(proof);
        if (!verdict) FAIL(verdict.error().detail);
        CHECK(verdict->tolerated == 1);
        CHECK(verdict->producers == 2);
        std::set<chain::Name> names;
        for (const auto& convicted : verdict->convicted)
            names.insert(convicted.producer);
        const auto& entries = genesis().schedule.entries;
        CHECK(names == std::set{entries[0].producer, entries[1].producer});
    }
    void check_refused(const chain::ForkProof& proof, const std::string& text) {
        const auto verdict = verify(proof);
        REQUIRE_FALSE(verdict.has_value());
        CHECK_THAT(verdict.error().detail, Catch::Contains(text));
    }

    Cluster left{4};
    Cluster right{4};
};

template <class Kind>
std::size_t count(const chain::ForkProof& proof) {
    return static_cast<std::size_t>(std::ranges::count_if(
        proof.evidence, [](const auto& each) { return std::holds_alternative<Kind>(each); }));
}

}  // namespace

TEST_CASE("a fork in the same slots is proven by two votes of each key", "[core][fork]") {
    Fork fork;
    fork.left.run(1, 20);
    fork.right.run(1, 20);
    CHECK(fork.height() > 2);  // They began as one.
    const chain::ForkProof proof = fork.prove();
    CHECK(count<chain::TwoVotes>(proof) == 2);
    fork.check_guilty(proof);
    CHECK(chain::unpack<chain::ForkProof>(chain::pack(proof), "proof").value() == proof);
}

TEST_CASE("a fork in later slots is proven by COMMITs and the NOTARIZEs that they forbid",
          "[core][fork]") {
    Fork fork;
    bool needs_headers = false;
    SECTION("of a branch that is as long") {
        fork.left.run(1, 12);
        fork.right.run(41, 60);
    }
    SECTION("of a longer one") {
        needs_headers = true;
        fork.left.run(1, 2);
        // Nothing becomes final at first: the first that is certified is high up.
        fork.right.kill(1);
        fork.right.run(1, 8);
        fork.right.start(1);
        fork.right.run(9, 40);
    }
    const chain::ForkProof proof = fork.prove();
    CHECK(count<chain::TwoVotes>(proof) == 0);
    CHECK(count<chain::ForbiddenCommit>(proof) == 2);
    for (const chain::Evidence& each : proof.evidence)
        CHECK(std::get<chain::ForbiddenCommit>(each).headers.empty() != needs_headers);
    fork.check_guilty(proof);
    CHECK(chain::unpack<chain::ForkProof>(chain::pack(proof), "proof").value() == proof);
}

TEST_CASE("nobody is accused where there is no fork", "[core][fork]") {
    Fork fork;
    fork.left.run(1, 20);
    const auto branch = fork.branch(fork.left, 2);
    CHECK(chain::evidence_between(branch, branch, fork.chain_id()).empty());
    auto early = branch;
    early.blocks.resize(branch.blocks.size() / 2);
    CHECK(chain::evidence_between(early, branch, fork.chain_id()).empty());
}

TEST_CASE("what a liar adds to a branch accuses nobody", "[core][fork]") {
    Fork fork;
    fork.left.run(1, 20);
    const auto branch = fork.branch(fork.left, 2);
    // Votes of the same keys for other blocks, with signatures of the real ones.
    auto forged = branch;
    for (chain::BlockPtr& each : forged.blocks) {
        chain::Block block = *each;
        for (auto* certificate : {&block.witness.justify, &block.witness.finalized}) {
            if (*certificate) (*certificate)->data.block_id.bytes[31] ^= std::byte{1};
        }
        block.header.state_digest.bytes[0] ^= std::byte{1};
        each = std::make_shared<const chain::Block>(block);
    }
    CHECK(chain::evidence_between(branch, forged, fork.chain_id()).empty());
}

TEST_CASE("a fork's proof that was tampered with proves nothing", "[core][fork]") {
    Fork fork;
    fork.left.run(1, 20);
    fork.right.run(1, 20);
    const chain::ForkProof good = fork.prove();
    chain::ForkProof proof = good;
    SECTION("one block twice") {
        proof.second = good.first;
        fork.check_refused(proof, "not two blocks on one parent");
    }
    SECTION("of two heights") {
        proof.second = fork.proof_of(fork.right, fork.height() + 1);
        fork.check_refused(proof, "not two blocks on one parent");
    }
    SECTION("a certificate that a vote is missing from") {
        proof.second.finality.certificate.signatures.pop_back();
        fork.check_refused(proof, "the second side");
    }
    SECTION("a certificate of the other side") {
        proof.first.finality = good.second.finality;
        fork.check_refused(proof, "the first side");
    }
    SECTION("evidence twice") {
        proof.evidence.push_back(good.evidence.front());
        fork.check_refused(proof, "convicted twice");
    }
    SECTION("evidence with another signature") {
        auto& votes = std::get<chain::TwoVotes>(proof.evidence.front());
        votes.first.signature = votes.second.signature;
        fork.check_refused(proof, "not signed by its key");
    }
    SECTION("without evidence it still says that both are final, and convicts nobody") {
        proof.evidence.clear();
        const auto verdict = fork.verify(proof);
        REQUIRE(verdict.has_value());
        CHECK(verdict->producers == 0);
    }
}
