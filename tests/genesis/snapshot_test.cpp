#include "genesis/snapshot.hpp"

#include "base/codec.hpp"
#include "base/crypto/hash.hpp"
#include "tests/support/snapshot_rows.hpp"

#include <catch2/catch.hpp>

#include <string>

// A manifest comes from a stranger, and memory is spent on what it says. Each of its fields is made
// wrong in turn; what it says of the state is compared with a header that was proved.

namespace {

using chain::Table;
using genesis::Manifest;

chain::ChainId chain_id() {
    return base::crypto::sha256(base::as_bytes("a chain"));
}

Manifest manifest_of(chain::BlockHeader& header) {
    const support::StateRows rows{
        {support::state_key(Table::account, "alice"), base::to_bytes(base::as_bytes("one"))},
        {support::state_key(Table::account, "bob"), base::to_bytes(base::as_bytes("two"))},
        {support::state_key(Table::member, "bank"), {}}};
    chain::StateLanes lanes;
    for (const auto& [key, value] : rows) {
        const auto table = static_cast<Table>(std::to_integer<unsigned>(key[1]));
        lanes.add(table, base::ByteView(key).subspan(2), value);
    }
    header.height = 7;
    header.state_digest = lanes.digest();
    return support::cut(rows, chain_id(), header).first;
}

std::string refusal(const base::Bytes& bytes) {
    const auto decoded = genesis::decode_manifest(bytes);
    REQUIRE_FALSE(decoded.has_value());
    CHECK(decoded.error().code == base::Errc::malformed);
    return decoded.error().detail;
}

std::string refusal(const Manifest& manifest) {
    return refusal(genesis::encode_manifest(manifest));
}

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("a manifest is packed and read without loss, and its bytes are fixed") {
    chain::BlockHeader header;
    const Manifest manifest = manifest_of(header);
    REQUIRE(manifest.chunks.size() == 2);
    CHECK(manifest.head.rows == 3);
    const base::Bytes bytes = genesis::encode_manifest(manifest);
    CHECK(bytes.size() == 96 + 2 * 2'088);
    const auto read = genesis::decode_manifest(bytes);
    REQUIRE(read.has_value());
    CHECK(*read == manifest);
    CHECK(genesis::manifest_id(*read) == base::crypto::sha256(bytes));
    // Nodes of different releases compare these ids: it changes with the format alone.
    CHECK(base::to_hex(genesis::manifest_id(manifest).view()) ==
          "76425df64fe6b7a9c31ad1ccb3ae832745a2656871510aeff8320cdaf1dab767");
    CHECK(genesis::check_manifest(*read, chain_id(), header).has_value());
}

TEST_CASE("a manifest that is wrong in its form is refused, and the field is named") {
    chain::BlockHeader header;
    Manifest manifest = manifest_of(header);
    base::Bytes bytes = genesis::encode_manifest(manifest);
    SECTION("cut short, and longer") {
        CHECK_THAT(refusal(base::Bytes(bytes.begin(), bytes.begin() + 50)), Contains("block id"));
        bytes.pop_back();
        CHECK_THAT(refusal(bytes), Contains("are 2: 4272 bytes, here are 4271"));
        bytes.resize(bytes.size() + 2);
        CHECK_THAT(refusal(bytes), Contains("here are 4273"));
    }
    SECTION("format") {
        manifest.head.format = 2;
        CHECK_THAT(refusal(manifest), Contains("is 2, this release reads 1"));
    }
    SECTION("height") {
        manifest.head.height = 1;
        CHECK_THAT(refusal(manifest), Contains("is not above the genesis block"));
        manifest.head.height = 8;
        CHECK_THAT(refusal(manifest), Contains("is of another height"));
    }
    SECTION("no chunk") {
        manifest.chunks.clear();
        CHECK_THAT(refusal(manifest), Contains("are 0, a snapshot has 1 to 1048576"));
    }
    SECTION("sums") {
        manifest.head.rows = 4;
        CHECK_THAT(refusal(manifest), Contains("have 3 rows"));
        manifest.head.rows = 3;
        manifest.head.bytes -= 1;
        CHECK_THAT(refusal(manifest), Contains("its head says 3 and"));
    }
    SECTION("a chunk that is too large, or has no row") {
        manifest.chunks[0].bytes = genesis::kChunkBytesMax + 1;
        CHECK_THAT(refusal(manifest), Contains("a chunk has a row and at most 4194304 bytes"));
        manifest.chunks[0].bytes = 10;
        manifest.chunks[0].entries = 0;
        CHECK_THAT(refusal(manifest), Contains("are 10 with 0 rows"));
        manifest.chunks[0].entries = 3;
        CHECK_THAT(refusal(manifest), Contains("are 10 with 3 rows"));
    }
}

TEST_CASE("the memory that a manifest costs is bounded by the bytes of its snapshot") {
    chain::BlockHeader header;
    Manifest manifest = manifest_of(header);
    // Only before another table is a chunk small.
    const genesis::ChunkInfo small = manifest.chunks[0];
    manifest.chunks.assign(27, small);
    manifest.head.rows = 27 * small.entries;
    manifest.head.bytes = 27 * small.bytes;
    CHECK_THAT(refusal(manifest), Contains("are 27"));
    manifest.chunks.pop_back();
    manifest.head.rows = 26 * small.entries;
    manifest.head.bytes = 26 * small.bytes;
    CHECK(genesis::decode_manifest(genesis::encode_manifest(manifest)).has_value());
    // Beside a large one, too.
    genesis::ChunkInfo large = small;
    large.bytes = genesis::kChunkBytesMax;
    manifest.chunks.push_back(large);
    manifest.chunks.push_back(small);
    manifest.head.rows = 28 * small.entries;
    manifest.head.bytes = 27 * small.bytes + large.bytes;
    CHECK_THAT(refusal(manifest), Contains("27 chunks are smaller than 1048576 bytes"));

    // The count is refused before its chunks are asked for.
    manifest.head.bytes = std::uint64_t{1} << 60U;
    base::Writer first;
    chain::encode(first, manifest.head);
    first.u32((1U << 20U) + 1);
    const auto start = genesis::decode_manifest_start(first.view());
    REQUIRE_FALSE(start.has_value());
    CHECK_THAT(start.error().detail, Contains("a snapshot has 1 to 1048576"));
}

TEST_CASE("the pages of a manifest are its bytes, and the first one says how many there are") {
    chain::BlockHeader header;
    Manifest manifest = manifest_of(header);
    genesis::ChunkInfo chunk = manifest.chunks[0];
    chunk.bytes = genesis::kChunkBytesMin;
    manifest.chunks.assign(2'100, chunk);
    manifest.head.rows = 2'100 * std::uint64_t{chunk.entries};
    manifest.head.bytes = 2'100 * std::uint64_t{chunk.bytes};
    const base::Bytes bytes = genesis::encode_manifest(manifest);
    const auto first = genesis::manifest_page(bytes, 0);
    CHECK(first.size() == genesis::kManifestPageBytesMax);
    const auto start = genesis::decode_manifest_start(first);
    REQUIRE(start.has_value());
    CHECK(start->head == manifest.head);
    CHECK(start->chunks == 2'100);
    CHECK(start->manifest_bytes == bytes.size());
    REQUIRE(genesis::manifest_pages(start->manifest_bytes) == 2);
    base::Bytes joined;
    for (std::size_t i = 0; i < 2; ++i) {
        const auto page = genesis::manifest_page(bytes, i);
        joined.insert(joined.end(), page.begin(), page.end());
    }
    CHECK(joined == bytes);
}

TEST_CASE("a manifest of another chain, block or state is refused") {
    chain::BlockHeader header;
    Manifest manifest = manifest_of(header);
    const auto refused = [&](const chain::ChainId& chain, const chain::BlockHeader& proved) {
        const auto checked = genesis::check_manifest(manifest, chain, proved);
        REQUIRE_FALSE(checked.has_value());
        CHECK(checked.error().code == base::Errc::invalid);
        return checked.error().detail;
    };
    CHECK_THAT(refused({}, header), Contains("it is of chain"));
    chain::BlockHeader other = header;
    other.height = 8;
    CHECK_THAT(refused(chain_id(), other), Contains("the proof of block 8"));
    other = header;
    other.slot = 1;  // Of the same height.
    CHECK_THAT(refused(chain_id(), other), Contains("it is of block 7"));

    // The digest is computed from the lanes: a manifest does not say it.
    manifest.chunks[1].lanes.add(Table::account, base::as_bytes("eve"), base::as_bytes("rich"));
    CHECK_THAT(refused(chain_id(), header), Contains("its lanes give the state digest"));
}
