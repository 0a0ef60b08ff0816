#include "chain/meta_keys.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"
#include "tests/support/elections.hpp"
#include "tests/support/snapshots.hpp"

// Snapshots of liars. Each is good but for one thing, and everything that can be made to fit was
// made to fit; the message names what does not.

namespace {

using Catch::Matchers::Contains;
using support::Cluster;
using support::key_of;

// Taken of a real chain in which the schedule changed twice and is changing again.
struct Parts {
    genesis::Trust trust;
    std::vector<chain::Link> links;
    genesis::ProofPart part;
    support::StateRows rows;
    chain::Certificate own{};  // Of the block itself.
};

// Of the block of slot `at`, 38 or 39: the third change, proposed in slot 36, is pending there.
// `above`: blocks above it that are final.
Parts make_parts(chain::Slot at, chain::Slot above) {
    Cluster cluster(4, 0, 12);
    cluster.run(1, 9);
    for (std::size_t round = 1; round <= 3; ++round) {
        const auto& entries = cluster[0].genesis().schedule.entries;
        (void)cluster[0].submit(
            cluster[0].act("eosio", "setprods", support::setprods(entries, round)));
        cluster.run(12 * round - 2, round < 3 ? 12 * round + 9 : at - 1);
    }
    // With transactions in the blocks of the agreement part, and a certified block above.
    (void)cluster[0].submit(cluster[0].new_account("bank", "alice"));
    cluster.deliver();
    cluster.run(at, at);
    const auto& view = cluster[0].view();
    const auto height = view.finalized->header.height;
    const auto before = cluster[0].storage().snapshot();
    const auto state = view.final_state;
    const auto own = before->get(base::Family::meta, base::as_bytes(chain::kMetaFinalCertificate));
    REQUIRE(own->has_value());
    // Votes of both schedules are not what a proof holds.
    CHECK(genesis::make_proof(*before, height).error().code == base::Errc::would_block);
    cluster.run(at + 1, at + above);
    const auto now = cluster[0].storage().snapshot();
    auto made = genesis::make_proof(*now, height);
    auto agreement = genesis::make_agreement(*before, *now, height);
    REQUIRE((made.has_value() && agreement.has_value()));
    const auto links = support::links_to(*now, *made).value();
    REQUIRE(links.size() == 3);
    REQUIRE(made->finality.ancestor.has_value());
    REQUIRE(agreement->blocks.size() == 2);
    REQUIRE_FALSE(agreement->blocks[1]->transactions.empty());
    return {support::trust_of(cluster[0].genesis()),
            links,
            {*made, *agreement},
            support::rows_of(*state),
            chain::unpack<chain::Certificate>(**own, "certificate").value()};
}

const Parts& parts() {
    static const Parts kMade = make_parts(39, 4);
    return kMade;
}

support::Snapshot packed(const Parts& parts) {
    support::Snapshot snapshot;
    auto [manifest, chunks] =
        support::cut(parts.rows, parts.trust.chain_id, parts.part.proof.header);
    snapshot.manifest = genesis::encode_manifest(manifest);
    snapshot.chunks = chunks;
    snapshot.links = genesis::pack_links(parts.links);
    snapshot.proof = genesis::encode_proof_part(parts.part);
    return snapshot;
}

base::Result<void> load(const Parts& parts) {
    support::MemoryStorage storage;
    return support::load_snapshot(packed(parts), parts.trust, storage);
}

std::string refusal(const Parts& parts) {
    const auto loaded = load(parts);
    REQUIRE_FALSE(loaded.has_value());
    CHECK((loaded.error().code == base::Errc::invalid ||
           loaded.error().code == base::Errc::malformed));
    return loaded.error().detail;
}

chain::ScheduleLink& link(Parts& parts, std::size_t i) {
    return std::get<chain::ScheduleLink>(parts.links.at(i));
}

// The last block of the agreement part, to be changed.
chain::Block& block(Parts& parts, std::size_t i) {
    auto copy = std::make_shared<chain::Block>(*parts.part.agreement.blocks.at(i));
    parts.part.agreement.blocks[i] = copy;
    return *copy;
}

void flip(chain::Certificate& certificate) {
    certificate.signatures.at(0).compact[40] ^= std::byte{1};
}

}  // namespace

TEST_CASE("the snapshot that is broken below is good as it is", "[snapshot]") {
    const auto loaded = load(parts());
    if (!loaded) FAIL(loaded.error().detail);
}

TEST_CASE("links are followed by their certificates, in their order, each of them", "[snapshot]") {
    Parts bad = parts();
    SECTION("a certificate that is forged") {
        flip(link(bad, 1).finality.certificate);
        CHECK_THAT(refusal(bad), Contains("link from schedule 1: "));
    }
    SECTION("a schedule that is forged") {
        link(bad, 0).proposing.schedule_change->entries[0].vote_key = key_of(66).public_key();
        CHECK_THAT(refusal(bad), Contains("link from schedule 0: "));
    }
    SECTION("one is missing, comes twice, or too early") {
        bad.links.erase(bad.links.begin() + 1);
        CHECK_THAT(
            refusal(bad),
            Contains("it is under schedule 1, 0 is") || Contains("it is under schedule 2, 1 is"));
        bad = parts();
        bad.links.insert(bad.links.begin(), bad.links.front());
        CHECK_THAT(refusal(bad), Contains("it is under schedule 0, 1 is"));
        bad = parts();
        std::swap(bad.links[0], bad.links[1]);
        CHECK_THAT(refusal(bad), Contains("it is under schedule 1, 0 is"));
    }
    SECTION("none") {
        bad.links.clear();
        CHECK_THAT(refusal(bad), Contains("the links lead to 0"));
    }
    SECTION("a header that is certified itself") {
        link(bad, 0).proposing = link(bad, 0).finality.certified;
        link(bad, 0).finality.ancestor.reset();
        CHECK_THAT(refusal(bad), Contains("no path leads there"));
    }
    SECTION("another genesis") {
        bad.trust.schedule.entries[0].vote_key = key_of(66).public_key();
        bad.trust.schedule.entries[1].vote_key = key_of(67).public_key();
        CHECK_THAT(refusal(bad), Contains("link from schedule 0: "));
    }
    SECTION("a part that is cut, empty or too large") {
        base::Bytes part = genesis::pack_links(bad.links).at(0);
        part.pop_back();
        CHECK_FALSE(genesis::unpack_links(part).has_value());
        CHECK_FALSE(genesis::unpack_links({}).has_value());
        part.resize(genesis::kLinksBytesMax + 1);
        CHECK_THAT(genesis::unpack_links(part).error().detail, Contains("it has 1 to 4194304"));
    }
}

TEST_CASE("the block is final by the certificate above it, and by the path to that", "[snapshot]") {
    Parts bad = parts();
    genesis::SnapshotProof& proof = bad.part.proof;
    SECTION("a certificate that is forged") {
        flip(proof.finality.certificate);
        CHECK_THAT(refusal(bad), Contains("certificate"));
    }
    SECTION("a certificate of another kind") {
        proof.finality.certificate.data.kind = chain::VoteKind::notarize;
        CHECK_THAT(refusal(bad), Contains("no COMMIT"));
    }
    SECTION("another header that says it is certified") {
        proof.finality.certified.finality_root.bytes[3] ^= std::byte{1};
        CHECK_THAT(refusal(bad), Contains("its certificate is of another block"));
    }
    SECTION("a block that is not in the history") {
        proof.header.state_digest.bytes[3] ^= std::byte{1};
        CHECK_THAT(refusal(bad), Contains("no path leads"));
    }
    SECTION("a path of another height, or none") {
        proof.finality.ancestor->index -= 1;
        CHECK_THAT(refusal(bad), Contains("of another height"));
        proof.finality.ancestor.reset();
        CHECK_THAT(refusal(bad), Contains("no path leads there"));
    }
    SECTION("of an older schedule than the links lead to") {
        proof = {link(bad, 0).proposing, link(bad, 0).finality};
        CHECK_THAT(refusal(bad), Contains("it is under schedule 0, the links lead to 3"));
    }
}

TEST_CASE("the agreement part is checked block by block", "[snapshot]") {
    Parts bad = parts();
    genesis::AgreementPart& agreement = bad.part.agreement;
    SECTION("a block is missing or too many") {
        agreement.blocks.erase(agreement.blocks.begin());
        CHECK_THAT(refusal(bad), Contains("not the one that the last header calls final"));
        agreement.blocks = {parts().part.agreement.blocks[0]};
        CHECK_THAT(refusal(bad), Contains("its last block is another"));
    }
    SECTION("it does not follow") {
        agreement.blocks.insert(agreement.blocks.begin() + 1, agreement.blocks[0]);
        CHECK_THAT(refusal(bad), Contains("it does not follow the one before"));
    }
    SECTION("no block at all") {
        agreement.blocks.clear();
        CHECK_THAT(refusal(bad), Contains("blocks"));
    }
    SECTION("a transaction is taken out") {
        block(bad, 1).transactions.pop_back();
        CHECK_THAT(refusal(bad), Contains("its transactions are not those of its header"));
    }
    SECTION("the digest of a transaction stands in its place") {
        auto& transaction = block(bad, 1).transactions.front().transaction;
        const auto digest = std::get<chain::PackedTransaction>(transaction).packed_digest();
        transaction = digest;
        CHECK_THAT(refusal(bad), Contains("a receipt has no transaction"));
    }
    SECTION("a producer's signature of somebody else") {
        chain::Block& forged = block(bad, 0);
        forged.signature = key_of(66).sign(forged.header.signing_digest(bad.trust.chain_id));
        CHECK_THAT(refusal(bad), Contains("it is not signed by"));
    }
    SECTION("a certificate in a witness is forged: of a block here, of one below, of both kinds") {
        flip(*block(bad, 1).witness.justify);
        CHECK_THAT(refusal(bad), Contains("its witness has a wrong certificate"));
        bad = parts();
        flip(*block(bad, 1).witness.finalized);
        CHECK_THAT(refusal(bad), Contains("its witness has a wrong certificate"));
        bad = parts();
        flip(*block(bad, 0).witness.justify);
        CHECK_THAT(refusal(bad), Contains("its witness has a wrong certificate"));
        bad = parts();
        flip(*block(bad, 0).witness.finalized);
        CHECK_THAT(refusal(bad), Contains("its witness has a wrong certificate"));
    }
    SECTION("a certificate is missing, or another block's") {
        block(bad, 1).witness.justify.reset();
        CHECK_THAT(refusal(bad), Contains("its witness lacks a certificate"));
        bad = parts();
        block(bad, 1).witness.justify = parts().part.agreement.blocks[0]->witness.justify;
        CHECK_THAT(refusal(bad), Contains("it is not the one that the header names"));
    }
    SECTION("only the votes of one of two schedules") {
        chain::Certificate& certificate = *block(bad, 1).witness.justify;
        REQUIRE(certificate.bitmaps.size() == 2);
        certificate = chain::active_part(certificate);
        CHECK_THAT(refusal(bad), Contains("1 bitmaps, expected 2"));
    }
    SECTION("other schedules at its first block") {
        auto forged = *agreement.schedules.active;
        forged.entries[0].vote_key = key_of(66).public_key();
        agreement.schedules.active = std::make_shared<const chain::Schedule>(forged);
        CHECK_THAT(refusal(bad), Contains("the links lead to another"));
    }
}

TEST_CASE("nobody has signed the first block, or voted in its witness", "[snapshot]") {
    Cluster cluster(4, 0, 12);
    cluster.run(1, 1);
    const auto& view = cluster[0].view();
    const auto height = view.finalized->header.height;
    REQUIRE(height == 2);
    const auto before = cluster[0].storage().snapshot();
    const auto state = view.final_state;
    cluster.run(2, 4);
    const auto now = cluster[0].storage().snapshot();
    const auto made = genesis::make_proof(*now, height).value();
    const auto agreement = genesis::make_agreement(*before, *now, height).value();
    REQUIRE(agreement.blocks.at(0)->header.height == 1);
    Parts bad{support::trust_of(cluster[0].genesis()),
              support::links_to(*now, made).value(),
              {made, agreement},
              support::rows_of(*state)};
    REQUIRE(load(bad).has_value());
    // After a restart what is in a stored witness is believed.
    SECTION("a certificate in its witness") {
        block(bad, 0).witness.justify = parts().part.agreement.blocks[1]->witness.justify;
        CHECK_THAT(refusal(bad), Contains("block 1: "));
    }
    SECTION("another one") {
        block(bad, 0).witness.finalized = parts().part.agreement.blocks[1]->witness.finalized;
        CHECK_THAT(refusal(bad), Contains("block 1: "));
    }
    SECTION("a signature") {
        block(bad, 0).signature = agreement.blocks.at(1)->signature;
        CHECK_THAT(refusal(bad), Contains("block 1: "));
    }
}

TEST_CASE("a block under two schedules is not final by the votes of one", "[snapshot]") {
    Parts bad = parts();
    REQUIRE(bad.own.bitmaps.size() == 2);
    genesis::SnapshotProof& proof = bad.part.proof;
    proof.finality = {proof.header, chain::active_part(bad.own), std::nullopt};
    SECTION("as its agreement part says") {
        CHECK_THAT(refusal(bad), Contains("schedule 3 is pending there"));
        CHECK_THAT(refusal(bad), Contains("take a later snapshot"));
    }
    SECTION("as its rows say, whatever the agreement part does") {
        genesis::AgreementPart& agreement = bad.part.agreement;
        agreement.schedules.proposed = nullptr;
        agreement.schedules.proposed_at = agreement.schedules.pending_since = 0;
        for (std::size_t i = 0; i < agreement.blocks.size(); ++i) {
            chain::Witness& witness = block(bad, i).witness;
            for (auto* certificate : {&witness.justify, &witness.finalized})
                if (*certificate) *certificate = chain::active_part(**certificate);
        }
        CHECK_THAT(refusal(bad), Contains("its rows say other schedules"));
    }
    SECTION("votes of both are no form of a proof") {
        proof.finality.certificate = bad.own;
        CHECK_THAT(refusal(bad), Contains("has one bitmap"));
    }
}

TEST_CASE("what the agreement part says of schedules is what the rows say", "[snapshot]") {
    Parts bad = parts();
    // No certificate tells at which height a change was proposed.
    REQUIRE(bad.part.agreement.schedules.proposed != nullptr);
    bad.part.agreement.schedules.proposed_at -= 1;
    CHECK_THAT(refusal(bad), Contains("its rows say other schedules"));
}

TEST_CASE("the link of a change that is proposed below the agreement part is needed",
          "[snapshot]") {
    // The certified block above is under the schedule before, so no proof leads over that link.
    Parts bad = make_parts(38, 1);
    REQUIRE(bad.part.proof.finality.certified.schedule_version == 2);
    REQUIRE(load(bad).has_value());
    bad.links.pop_back();
    CHECK_THAT(refusal(bad), Contains("the link to schedule 3, which is proposed below it"));
}

TEST_CASE("a chain whose times were set back is loaded by those who know of it", "[snapshot]") {
    // The operator has a recovery, this chain went on without it.
    Parts bad = parts();
    chain::Retime retime{bad.part.proof.header.previous, 39, {1'700'000'600'000'000}};
    bad.trust.retimes = {retime};
    CHECK_THAT(refusal(bad), Contains("went on to slot 39 without it"));
    bad.trust.retimes[0].first = 40;
    CHECK(load(bad).has_value());
    bad.trust.retimes[0].from.bytes[30] ^= std::byte{1};
    CHECK_THAT(refusal(bad), Contains("without it"));
}

TEST_CASE("rows that do not give the digest of the proved header are refused", "[snapshot]") {
    Parts bad = parts();
    bad.rows[support::state_key(chain::Table::global, "zzz")] = {std::byte{1}};
    CHECK_THAT(refusal(bad), Contains("its lanes give the state digest"));
}

TEST_CASE("a checkpoint is compared by id at the block, and by a path below it", "[snapshot]") {
    Cluster cluster(4, 0, 12);
    cluster.run(1, 20);
    const auto storage = cluster[0].storage().snapshot();
    const auto height = cluster[0].view().finalized->header.height - 3;
    const auto proof = genesis::make_proof(*storage, height).value();
    const auto id_at = [&](chain::Height at) {
        return chain::BlockReader(*storage).at(at).value()->id;
    };
    const auto refused = [&](const genesis::Checkpoint& checkpoint, const auto& path) {
        const auto checked = genesis::check_checkpoint(checkpoint, proof, path);
        REQUIRE_FALSE(checked.has_value());
        return checked.error();
    };
    using Path = std::optional<chain::MerkleProof>;
    CHECK(genesis::check_checkpoint({height, id_at(height)}, proof, Path()).has_value());
    CHECK_THAT(refused({height, id_at(height - 1)}, Path()).detail, Contains("has block"));
    const Path path = genesis::make_path(*storage, 5, proof.finality.certified).value();
    CHECK(genesis::check_checkpoint({5, id_at(5)}, proof, path).has_value());
    CHECK_THAT(refused({5, id_at(6)}, path).detail, Contains("it is not in the history"));
    CHECK_THAT(refused({6, id_at(5)}, path).detail, Contains("it is not in the history"));
    CHECK_THAT(refused({5, id_at(5)}, Path()).detail, Contains("no path"));
    CHECK(refused({height + 1, id_at(height + 1)}, Path()).code == base::Errc::would_block);
}

TEST_CASE("a directory whose load was cut, or whose schedules are gone, is not opened",
          "[snapshot]") {
    Cluster cluster(4, 1, 12);
    cluster.run(1, 20);
    const auto storage = cluster[0].storage().snapshot();
    const auto taken = support::take_snapshot(*storage,
                                              *storage,
                                              *cluster[0].view().final_state,
                                              cluster[0].genesis().chain_id(),
                                              cluster[0].view().finalized->header.height);
    REQUIRE(taken.has_value());
    cluster.kill(4);
    auto& disk = cluster[4].storage();
    support::wipe(disk);
    const genesis::Trust trust = support::trust_of(cluster[0].genesis());
    REQUIRE(support::load_snapshot(*taken, trust, disk).has_value());
    const auto take_out = [&](std::string_view key) {
        base::Batch batch;
        batch.erase(base::Family::meta, chain::meta_key(key));
        REQUIRE(disk.commit(batch, true).has_value());
        const auto opened = cluster[4].open();
        REQUIRE_FALSE(opened.has_value());
        CHECK(opened.error().code == base::Errc::corrupt);
        return opened.error().detail;
    };
    // Never those of genesis.
    CHECK_THAT(take_out(chain::kMetaSchedules), Contains("are not stored"));
    // Nor is genesis written over what is there.
    CHECK_THAT(take_out(chain::kMetaChain), Contains("a load was cut"));
}
