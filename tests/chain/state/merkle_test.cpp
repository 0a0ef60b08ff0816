#include "chain/state/merkle.hpp"

#include "base/crypto/hash.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

namespace {

using base::Hash256;

std::vector<Hash256> digests(std::size_t count) {
    std::vector<Hash256> made;
    made.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        made.push_back(base::crypto::sha256(base::as_bytes("leaf " + std::to_string(i))));
    }
    return made;
}

// The definition, word for word.
Hash256 root_by_definition(std::span<const Hash256> leaves) {
    if (leaves.empty()) return {};
    if (leaves.size() == 1) return chain::merkle_leaf(leaves[0]);
    std::size_t left = 1;
    while (left * 2 < leaves.size())
        left *= 2;
    return chain::merkle_node(root_by_definition(leaves.first(left)),
                              root_by_definition(leaves.subspan(left)));
}

}  // namespace

TEST_CASE("the root is that of the left-complete tree") {
    for (std::size_t count = 0; count <= 70; ++count) {
        const auto leaves = digests(count);
        CHECK(chain::merkle_root(leaves) == root_by_definition(leaves));
    }
    CHECK(chain::merkle_root({}).is_zero());
}

TEST_CASE("leaves and nodes are hashed apart") {
    const auto two = digests(2);
    base::Bytes text = {std::byte{1}};
    for (const Hash256& digest : two) {
        const Hash256 leaf = chain::merkle_leaf(digest);
        text.insert(text.end(), leaf.bytes.begin(), leaf.bytes.end());
    }
    CHECK(chain::merkle_root(two) == base::crypto::sha256(text));
    // The root of two leaves, passed off as the only leaf, is another root.
    const std::vector<Hash256> forged = {chain::merkle_root(two)};
    CHECK(chain::merkle_root(forged) != chain::merkle_root(two));
}

TEST_CASE("a proof shows its own leaf, place and count, and no other") {
    for (std::size_t count : {1U, 2U, 3U, 6U, 7U, 8U, 21U}) {
        const auto leaves = digests(count);
        const Hash256 root = chain::merkle_root(leaves);
        for (std::size_t index = 0; index < count; ++index) {
            const chain::MerkleProof proof = chain::merkle_proof(leaves, index);
            REQUIRE(chain::verify(proof, leaves[index], root));
            REQUIRE_FALSE(chain::verify(proof, root, root));
            REQUIRE_FALSE(chain::verify(proof, leaves[index], leaves[index]));
            for (std::size_t other = 0; other < count; ++other) {
                chain::MerkleProof moved = proof;
                moved.index = other;
                REQUIRE(chain::verify(moved, leaves[index], root) == (other == index));
                REQUIRE(chain::verify(proof, leaves[other], root) == (other == index));
            }
            chain::MerkleProof longer = proof;
            longer.siblings.push_back(root);
            REQUIRE_FALSE(chain::verify(longer, leaves[index], root));
            chain::MerkleProof outside = proof;
            outside.index = count;
            REQUIRE_FALSE(chain::verify(outside, leaves[index], root));
            if (proof.siblings.empty()) continue;
            chain::MerkleProof shorter = proof;
            shorter.siblings.pop_back();
            REQUIRE_FALSE(chain::verify(shorter, leaves[index], root));
            chain::MerkleProof changed = proof;
            changed.siblings[0].bytes[5] ^= std::byte{1};
            REQUIRE_FALSE(chain::verify(changed, leaves[index], root));
        }
    }
}

TEST_CASE("a count of 2^63 costs nothing and is refused") {
    chain::MerkleProof proof{0, std::uint64_t{1} << 63U, std::vector<Hash256>(63)};
    CHECK_FALSE(chain::verify(proof, {}, {}));
}

TEST_CASE("proofs and ranges are read as they were written, and nothing else is") {
    const auto leaves = digests(11);
    const chain::MerkleProof proof = chain::merkle_proof(leaves, 4);
    base::Bytes bytes = chain::encode_merkle_proof(proof);
    REQUIRE(chain::decode_merkle_proof(bytes).value() == proof);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        REQUIRE_FALSE(chain::decode_merkle_proof(base::ByteView(bytes).first(size)));
    }
    bytes[0] = std::byte{11};
    CHECK_FALSE(chain::decode_merkle_proof(bytes));
    bytes[0] = std::byte{4};
    bytes[16] = std::byte{41};
    CHECK_FALSE(chain::decode_merkle_proof(bytes));

    chain::MountainRange range;
    for (const Hash256& leaf : leaves)
        range.append(leaf);
    base::Bytes packed = range.packed();
    CHECK(packed.size() == 8 + 3 * 32);
    CHECK(chain::MountainRange::unpack(packed).value() == range);
    packed.pop_back();
    CHECK_FALSE(chain::MountainRange::unpack(packed));
    packed = range.packed();
    packed[0] = std::byte{15};
    CHECK_FALSE(chain::MountainRange::unpack(packed));
    packed[0] = std::byte{11};
    packed[7] = std::byte{1};
    CHECK_FALSE(chain::MountainRange::unpack(packed));
}

TEST_CASE("a range that kept its nodes proves each leaf, now and as of any earlier count") {
    const auto leaves = digests(37);
    chain::MountainRange range;
    std::map<std::pair<std::uint8_t, std::uint64_t>, Hash256> kept;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        kept[{0, i}] = chain::merkle_leaf(leaves[i]);
        range.append(leaves[i], [&](std::uint8_t level, std::uint64_t at, const Hash256& node) {
            REQUIRE(kept.emplace(std::pair(level, at), node).second);
        });
        REQUIRE(range.root() == chain::merkle_root(std::span(leaves).first(i + 1)));
    }
    const chain::NodeSource source = [&](std::uint8_t level,
                                         std::uint64_t at) -> base::Result<Hash256> {
        const auto found = kept.find({level, at});
        if (found == kept.end()) return base::fail(base::Errc::not_found, "no such node");
        return found->second;
    };
    for (std::uint64_t count = 1; count <= leaves.size(); ++count) {
        for (std::uint64_t index = 0; index < count; ++index) {
            const auto proof = chain::mountain_proof(index, count, source);
            REQUIRE(proof);
            REQUIRE(*proof == chain::merkle_proof(std::span(leaves).first(count), index));
        }
    }
    CHECK(chain::mountain_proof(37, 37, source).error().code == base::Errc::invalid);
    kept.erase({2, 3});
    CHECK(chain::mountain_proof(8, 37, source).error().code == base::Errc::not_found);
}
