#include "base/crypto/hash.hpp"
#include "chain/state/proof.hpp"
#include "consensus/certificate.hpp"
#include "consensus/consensus.hpp"
#include "genesis/snapshot_agreement.hpp"
#include "tests/support/journals.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <map>
#include <memory>
#include <set>

// A block that is under two schedules has COMMIT votes of a quorum of the old one alone: it is not
// final, and another one beside it becomes final under the new one, as those who leave took their
// locks along. Who has only headers and schedules sees no difference between the two; so votes for
// a block prove what it calls final, and not itself.

namespace {

namespace effect = consensus::effect;
namespace input = consensus::input;
using chain::VoteKind;

base::crypto::PrivateKey secret(unsigned member) {
    std::array<std::byte, 32> bytes{};
    bytes.fill(static_cast<std::byte>(member + 1));
    return {base::crypto::KeyType::k1, bytes};
}

chain::Schedule schedule_of(const std::vector<unsigned>& members, std::uint32_t version) {
    chain::Schedule schedule{.version = version, .entries = {}};
    for (const unsigned each : members) {
        const auto key = secret(each).public_key();
        schedule.entries.push_back({chain::Name{each}, key, key});
    }
    return schedule;
}

const std::vector<unsigned> kHonest{1, 2, 3, 5};
constexpr unsigned kLiar = 4;

// Five machines' agreements. Blocks are handed to all, votes to whom the test says.
struct World {
    World() {
        times = {.initial = {1'000'000'000'000'000}, .interval_milliseconds = 500};
        chain::BlockHeader header;
        header.height = 1;
        genesis = chain::make_block({header, {}}, {}, {});
        states[genesis->id] = chain::first_schedules(before);
        for (const unsigned each : kHonest) {
            consensus::Consensus::Options options;
            options.chain_id = kChainId;
            options.times = times;
            options.own_keys = {secret(each).public_key()};
            options.started = at(0);
            options.schedule_period = 10;
            nodes.emplace(each,
                          std::make_unique<consensus::Consensus>(
                              options,
                              consensus::TreeBase{genesis, chain::first_schedules(before)},
                              test::fresh_journals({consensus::key_tag(options.own_keys[0])})));
        }
        for (const unsigned each : kHonest)
            step(each, at(0), input::Tick{});
    }
    [[nodiscard]] base::Timestamp at(chain::Slot slot, int milliseconds = 0) const {
        return times.time_of(slot).to_timestamp() + std::chrono::milliseconds(milliseconds);
    }
    [[nodiscard]] static chain::Vote sign(unsigned member, const chain::VoteData& data) {
        const auto key = secret(member);
        return {data, key.public_key(), key.sign(data.digest(kChainId))};
    }

    void step(unsigned to, base::Timestamp now, const consensus::Input& what) {
        consensus::Effects out;
        for (unsigned each = 1; each <= 5; ++each)
            nodes.at(to)->step(now, input::ClockHeard{secret(each).public_key(), now}, out);
        nodes.at(to)->step(now, what, out);
        std::vector<chain::Vote> own;
        for (const auto& one : out) {
            if (const auto* cast = std::get_if<effect::CastVote>(&one)) {
                own.push_back(sign(to, cast->data));
                said[{cast->data.kind, cast->data.block_id}].insert_or_assign(to, own.back());
            }
        }
        for (const auto& vote : own)
            step(to, now, input::VoteReceived{vote});
    }
    struct Shape {
        chain::BlockPtr justify = nullptr;
        chain::BlockPtr finalized = nullptr;
        std::optional<chain::Schedule> change = std::nullopt;
    };
    chain::BlockPtr block(chain::Slot slot, const chain::BlockPtr& parent, const Shape& shape) {
        const auto below = chain::schedules_below(states.at(parent->id), parent->header);
        chain::BlockHeader header;
        header.slot = slot;
        header.height = parent->header.height + 1;
        header.previous = parent->id;
        header.schedule_version = below.active->version;
        header.producer = below.active->producer_of(slot, 1).producer;
        header.justify = parent->header.justify;
        header.finalized = parent->header.finalized;
        header.schedule_change = shape.change;
        chain::Witness witness;
        if (shape.justify != nullptr) {
            header.justify = {shape.justify->header.slot, shape.justify->id};
            witness.justify = certificate(VoteKind::notarize, shape.justify);
            REQUIRE(witness.justify.has_value());
        }
        if (shape.finalized != nullptr) {
            header.finalized = {shape.finalized->header.slot, shape.finalized->id};
            witness.finalized = certificate(VoteKind::commit, shape.finalized);
            REQUIRE(witness.finalized.has_value());
        }
        header.finality_root = chain::merkle_root(ids(parent, header.finalized));
        const auto owner = secret(static_cast<unsigned>(header.producer.value));
        const auto signature = owner.sign(header.signing_digest(kChainId));
        auto made = chain::make_block({header, signature}, {}, witness);
        states[made->id] = chain::with_proposal(below, header);
        parents[made->id] = parent;
        return made;
    }
    // Of the chain up to the block, those that a header with this `final` has in its finality_root.
    [[nodiscard]] std::vector<base::Hash256> ids(const chain::BlockPtr& block,
                                                 const chain::BlockRef& final) const {
        std::vector<base::Hash256> all;
        for (chain::BlockPtr at = block; at != nullptr;
             at = at == genesis ? nullptr : parents.at(at->id))
            all.insert(all.begin(), at->id);
        all.resize(chain::height_of(final.id));
        return all;
    }
    // With votes of one schedule, as all proofs have: the path to a block from a header above.
    [[nodiscard]] chain::FinalityProof proof_by(const chain::BlockPtr& certified,
                                                const chain::Certificate& certificate,
                                                const chain::BlockPtr& block) const {
        const auto below = ids(parents.at(certified->id), certified->header.finalized);
        return {
            certified->header, certificate, chain::merkle_proof(below, block->header.height - 1)};
    }
    // All honest ones find it good, and take it.
    void adopt(const chain::BlockPtr& block) {
        for (const unsigned each : kHonest) {
            const auto now = at(block->header.slot, 10);
            const auto verdict = nodes.at(each)->check(now, *block);
            INFO(verdict.reason);
            REQUIRE(verdict.fate == consensus::HeaderVerdict::Fate::good);
            for (const auto& proof : verdict.certificates)
                REQUIRE(consensus::verify(proof.certificate, proof.schedules, kChainId));
            step(each, now, input::BlockAdopted{block});
        }
    }
    void lie(VoteKind kind, const chain::BlockPtr& block) {
        const auto data = consensus::vote_data(kind, *block);
        said[{kind, block->id}].insert_or_assign(kLiar, sign(kLiar, data));
    }
    // The votes for it come to these.
    void deliver(VoteKind kind,
                 const chain::BlockPtr& block,
                 const std::vector<unsigned>& to,
                 base::Timestamp now) {
        const auto votes = said[{kind, block->id}];
        for (const unsigned each : to) {
            for (const auto& [by, vote] : votes)
                if (by != each) step(each, now, input::VoteReceived{vote});
        }
    }
    void decide(const chain::BlockPtr& block) {
        adopt(block);
        lie(VoteKind::notarize, block);
        lie(VoteKind::commit, block);
        deliver(VoteKind::notarize, block, kHonest, at(block->header.slot, 20));
        deliver(VoteKind::commit, block, kHonest, at(block->header.slot, 30));
        for (const unsigned each : kHonest)
            REQUIRE(nodes.at(each)->finalized().id == block->id);
    }
    // Of all votes that were cast, as the node counts them.
    std::optional<chain::Certificate> certificate(VoteKind kind, const chain::BlockPtr& block) {
        return certificate(kind, block, states.at(block->id));
    }
    std::optional<chain::Certificate> certificate(VoteKind kind,
                                                  const chain::BlockPtr& block,
                                                  const chain::ScheduleState& under) {
        consensus::Tally tally(under);
        for (const auto& [by, vote] : said[{kind, block->id}])
            (void)tally.add(vote.key, vote.signature, under);
        return tally.certificate(consensus::vote_data(kind, *block), under);
    }

    static const chain::ChainId kChainId;
    chain::Schedule before = schedule_of({1, 2, 3, 4}, 0);
    chain::Schedule after = schedule_of({4, 2, 3, 5}, 1);  // 1 leaves, 5 comes; 4 lies.
    chain::SlotTimes times;
    chain::BlockPtr genesis;
    std::map<unsigned, std::unique_ptr<consensus::Consensus>> nodes;
    std::map<chain::BlockId, chain::ScheduleState> states;
    std::map<chain::BlockId, chain::BlockPtr> parents;
    std::map<std::pair<VoteKind, chain::BlockId>, std::map<unsigned, chain::Vote>> said;
};
const chain::ChainId World::kChainId = base::crypto::sha256(base::as_bytes("a chain"));

}  // namespace

namespace {

// The chain that the attack makes.
struct Fork : World {
    Fork() {
        c = block(10, genesis, {.change = after});
        decide(c);
        const auto b = block(12, c, {.justify = c, .finalized = c});
        decide(b);
        p = block(13, b, {.justify = b, .finalized = b});
        REQUIRE(states.at(p->id).pending() != nullptr);
        decide(p);

        // M is notarized under both; the votes come after its slot: nobody commits it.
        m = block(14, p, {.justify = p, .finalized = p});
        REQUIRE(states.at(m->id).pending() != nullptr);
        adopt(m);
        deliver(VoteKind::notarize, m, kHonest, at(15, 5));
        REQUIRE(said[{VoteKind::commit, m->id}].empty());

        // The liar's block of slot 15 is beside it. 1 and 2 hear the votes for it in time, 3 and 5
        // late.
        h = block(15, p, {.justify = p, .finalized = p});
        REQUIRE(h->header.producer == chain::Name{kLiar});
        adopt(h);
        deliver(VoteKind::notarize, h, {1, 2}, at(15, 50));
        REQUIRE(said[{VoteKind::commit, h->id}].size() == 2);
        deliver(VoteKind::notarize, h, {3, 5}, at(16, 5));
        REQUIRE(said[{VoteKind::commit, h->id}].size() == 2);
        lie(VoteKind::commit, h);  // 1, 2 and 4 of {1, 2, 3, 4}; 2 and 4 of {4, 2, 3, 5}.

        // The liar's block of slot 16, on M, is under the new schedule alone: 3, 4 and 5 make it
        // final.
        n = block(16, m, {.justify = m});
        REQUIRE(n->header.schedule_version == 1);
        REQUIRE(states.at(n->id).pending() == nullptr);
        adopt(n);
        lie(VoteKind::notarize, n);
        deliver(VoteKind::notarize, n, {3, 5}, at(16, 50));
        lie(VoteKind::commit, n);
        REQUIRE(said[{VoteKind::commit, n->id}].size() == 3);
        deliver(VoteKind::commit, n, kHonest, at(16, 100));
        deliver(VoteKind::commit, h, kHonest, at(16, 150));
        for (const unsigned each : kHonest)
            REQUIRE(nodes.at(each)->finalized().id == n->id);
        // By the agreement H is not final, and never will be.
        REQUIRE_FALSE(certificate(VoteKind::commit, h).has_value());
        of_h = certificate(VoteKind::commit, h, chain::first_schedules(before)).value();
        of_n = certificate(VoteKind::commit, n).value();
    }
    [[nodiscard]] static base::Result<void> check(const chain::Certificate& certificate,
                                                  const chain::ScheduleState& state) {
        return consensus::verify(certificate, state, kChainId);
    }
    // A snapshot of the last of these blocks, which are from its `final` on.
    [[nodiscard]] base::Result<void> check_snapshot(const std::vector<chain::BlockPtr>& blocks,
                                                    const chain::FinalityProof& finality) const {
        genesis::LinkWalk walk({.chain_id = kChainId, .schedule = before});
        auto good = walk.take(chain::ScheduleLink{c->header, proof_by(h, of_h, c)});
        if (!good) return good;
        const genesis::SnapshotProof proof{blocks.back()->header, finality};
        if (good = genesis::check_proof(walk, proof); !good) return good;
        const auto checked = genesis::check_agreement(
            {blocks, states.at(blocks.front()->id)}, proof, walk, /*repetitions=*/1);
        return checked ? base::Result<void>() : base::fail(checked.error());
    }

    chain::BlockPtr c, p, m, h, n;
    chain::Certificate of_h;  // Of the schedule that goes, and of no other.
    chain::Certificate of_n;
};

}  // namespace

TEST_CASE("what only the schedule that goes has committed is not proved final", "[proof]") {
    const Fork fork;
    const chain::FinalityProof alone{fork.h->header, fork.of_h, std::nullopt};
    // The votes are good: more is not known of them.
    CHECK(chain::check_certified(alone, fork.before, Fork::check).has_value());
    const auto refused = chain::check_finality(fork.h->header, alone, fork.before, Fork::check);
    REQUIRE_FALSE(refused.has_value());
    CHECK_THAT(refused.error().detail, Catch::Contains("no path leads there"));
    CHECK_THAT(refused.error().detail, Catch::Contains("ask for the proof again"));
    // What it calls final is proved by them.
    const auto by_path = fork.proof_by(fork.h, fork.of_h, fork.p);
    CHECK(chain::check_finality(fork.p->header, by_path, fork.before, Fork::check).has_value());
    // Its own votes prove no block: that of the one that is final waits for a block above it, too.
    const chain::FinalityProof of_n{fork.n->header, fork.of_n, std::nullopt};
    CHECK_FALSE(chain::check_finality(fork.n->header, of_n, fork.after, Fork::check).has_value());
}

TEST_CASE("a snapshot of it is refused by the schedules that are in it", "[proof]") {
    const Fork fork;
    const auto refused =
        fork.check_snapshot({fork.p, fork.h}, {fork.h->header, fork.of_h, std::nullopt});
    REQUIRE_FALSE(refused.has_value());
    CHECK_THAT(refused.error().detail, Catch::Contains("schedule 1 is pending there"));
    // One of the block that is final needs no other above, as its schedules are seen.
    const auto good =
        fork.check_snapshot({fork.p, fork.m, fork.n}, {fork.n->header, fork.of_n, std::nullopt});
    if (!good) FAIL(good.error().detail);
}
