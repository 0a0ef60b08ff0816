#include "chain/state/proof_store.hpp"
#include "genesis/snapshot_proof.hpp"
#include "tests/support/memory_storage.hpp"

#include <catch2/catch.hpp>

// A chain that has changed its schedule for years: more links than one message holds, or than
// memory should.

namespace {

using base::crypto::PrivateKey;

PrivateKey key_of(std::uint32_t version) {
    std::array<std::byte, 32> secret{};
    secret.fill(std::byte{1});
    for (std::size_t i = 0; i < 4; ++i)
        secret[i] = static_cast<std::byte>(version >> (8 * i));
    return {base::crypto::KeyType::k1, secret};
}

chain::Schedule schedule_of(std::uint32_t version) {
    const auto key = key_of(version).public_key();
    return {version, {{*chain::Name::from_string("one"), key, key}}};
}

// From schedule `version` to the next one, whose validator has another key.
chain::ScheduleLink link_from(std::uint32_t version, const chain::ChainId& chain_id) {
    chain::BlockHeader header;
    header.height = 1;  // So that the path is short.
    header.slot = 2 * version;
    header.schedule_version = version;
    header.schedule_change = schedule_of(version + 1);
    const std::vector<base::Hash256> ids{header.id()};
    chain::BlockHeader above;
    above.height = 2;
    above.slot = header.slot + 1;
    above.schedule_version = version;
    above.finalized = {header.slot, ids[0]};
    above.finality_root = chain::merkle_root(ids);
    chain::Certificate certificate;
    certificate.data = {.kind = chain::VoteKind::commit,
                        .schedule_version = version,
                        .slot = above.slot,
                        .height = above.height,
                        .block_id = above.id(),
                        .justify_slot = 0};
    certificate.bitmaps = {{std::byte{1}}};
    certificate.signatures = {key_of(version).sign(certificate.data.digest(chain_id))};
    return {header, {above, certificate, chain::merkle_proof(ids, 0)}};
}

}  // namespace

TEST_CASE("any number of links is followed, part by part, in memory that does not grow") {
    constexpr std::uint32_t kLinks = 7'000;
    const chain::ChainId chain_id = link_from(3, {}).proposing.id();  // Any.
    std::vector<chain::Link> links;
    for (std::uint32_t version = 0; version < kLinks; ++version)
        links.emplace_back(link_from(version, chain_id));
    const auto parts = genesis::pack_links(links);
    REQUIRE(parts.size() >= 2);
    // As they come, one by one, and with no more in memory than one part: the same bytes.
    genesis::LinkPacker packer;
    std::vector<base::Bytes> streamed;
    for (const chain::Link& link : links) {
        if (auto part = packer.add(link)) streamed.push_back(*std::move(part));
    }
    if (auto part = packer.finish()) streamed.push_back(*std::move(part));
    CHECK_FALSE(packer.finish().has_value());
    CHECK(streamed == parts);
    // So does a node from what it stores.
    support::MemoryStorage storage;
    base::Batch batch;
    for (const chain::Link& link : links)
        chain::append_link(batch, link);
    REQUIRE(storage.commit(batch, true));
    genesis::SnapshotProof proof;
    proof.finality.certified.schedule_version = kLinks;
    std::vector<base::Bytes> made;
    const auto take = [&](std::size_t part, base::ByteView bytes) -> base::Result<void> {
        CHECK(part == made.size());
        made.push_back(base::to_bytes(bytes));
        return {};
    };
    REQUIRE(genesis::make_links(storage, proof, take));
    CHECK(made == parts);
    const auto full = genesis::make_links(storage, proof, [](std::size_t, base::ByteView) {
        return base::Result<void>(base::fail(base::Errc::unavailable, "the disk is full"));
    });
    REQUIRE_FALSE(full);
    CHECK(full.error().detail == "the disk is full");
    // Each part takes all that it has room for: this is the same on all nodes.
    std::size_t first = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        first += genesis::unpack_links(parts[i]).value().size();
        CHECK(parts[i].size() + chain::pack(links[first]).size() > genesis::kLinksBytesMax);
    }
    genesis::LinkWalk walk({chain_id, schedule_of(0), {}});
    std::size_t taken = 0;
    for (const base::Bytes& part : parts) {
        CHECK(part.size() <= genesis::kLinksBytesMax);
        const auto read = genesis::unpack_links(part);
        REQUIRE(read.has_value());
        for (const chain::Link& link : *read) {
            REQUIRE(link == links[taken++]);
            const auto good = walk.take(link);
            if (!good) FAIL(good.error().detail);
        }
    }
    CHECK(taken == kLinks);
    CHECK(walk.last() == schedule_of(kLinks));
    CHECK(walk.find(kLinks - 7) != nullptr);
    CHECK(walk.find(kLinks - 8) == nullptr);

    // What does not lead on changes nothing.
    CHECK_FALSE(walk.take(links.back()).has_value());
    CHECK(walk.last() == schedule_of(kLinks));
}
