#include "chain/state/merkle.hpp"

#include "base/check.hpp"
#include "base/crypto/hash.hpp"
#include "chain/types/codec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace chain {

namespace {

using base::Hash256;

// The path from the root down to a leaf: at each step the range of leaves that it is in, and
// the range beside.
struct Range {
    std::uint64_t first;
    std::uint64_t count;
};

// The sibling ranges of a leaf, from the leaf upwards.
std::vector<Range> sibling_ranges(std::uint64_t index, std::uint64_t count) {
    std::vector<Range> siblings;
    Range at{0, count};
    while (at.count > 1) {
        const std::uint64_t left = std::bit_floor(at.count - 1);
        const Range lower{at.first, left};
        const Range upper{at.first + left, at.count - left};
        const bool below = index < upper.first;
        siblings.push_back(below ? upper : lower);
        at = below ? lower : upper;
    }
    std::reverse(siblings.begin(), siblings.end());
    return siblings;
}

// The peaks of these complete trees, joined from the right.
Hash256 join(std::span<const Hash256> peaks) {
    if (peaks.empty()) return {};
    Hash256 root = peaks.back();
    for (std::size_t i = peaks.size() - 1; i > 0; --i) {
        root = merkle_node(peaks[i - 1], root);
    }
    return root;
}

}  // namespace

Hash256 merkle_leaf(const Hash256& digest) {
    std::array<std::byte, 33> text{std::byte{0}};
    std::copy(digest.bytes.begin(), digest.bytes.end(), text.begin() + 1);
    return base::crypto::sha256(text);
}

Hash256 merkle_node(const Hash256& left, const Hash256& right) {
    std::array<std::byte, 65> text{std::byte{1}};
    std::copy(left.bytes.begin(), left.bytes.end(), text.begin() + 1);
    std::copy(right.bytes.begin(), right.bytes.end(), text.begin() + 33);
    return base::crypto::sha256(text);
}

Hash256 merkle_root(std::span<const Hash256> digests) {
    MountainRange range;
    for (const Hash256& digest : digests) {
        range.append(digest);
    }
    return range.root();
}

MerkleProof merkle_proof(std::span<const Hash256> digests, std::uint64_t index) {
    CHECK(index < digests.size());
    MerkleProof proof{index, digests.size(), {}};
    for (const Range& range : sibling_ranges(index, digests.size())) {
        proof.siblings.push_back(merkle_root(digests.subspan(range.first, range.count)));
    }
    return proof;
}

bool verify(const MerkleProof& proof, const Hash256& digest, const Hash256& root) {
    if (proof.count > kMerkleLeavesMax || proof.index >= proof.count) return false;
    const std::vector<Range> ranges = sibling_ranges(proof.index, proof.count);
    if (ranges.size() != proof.siblings.size()) return false;
    Hash256 node = merkle_leaf(digest);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const Hash256& sibling = proof.siblings[i];
        node =
            ranges[i].first > proof.index ? merkle_node(node, sibling) : merkle_node(sibling, node);
    }
    return node == root;
}

base::Bytes encode_merkle_proof(const MerkleProof& proof) {
    base::Writer out;
    out.u64(proof.index);
    out.u64(proof.count);
    encode_list(out, proof.siblings);
    return out.take();
}

base::Result<MerkleProof> decode_merkle_proof(base::ByteView bytes) {
    constexpr std::size_t kSiblingsMax = 40;  // Of kMerkleLeavesMax leaves.
    base::Reader in(bytes);
    MerkleProof proof;
    proof.index = in.u64("index");
    proof.count = in.u64("count");
    if (proof.count > kMerkleLeavesMax) in.set_error("count", "more than 2^40 leaves");
    if (proof.index >= proof.count) in.set_error("index", "is not below the count");
    decode_list(in, proof.siblings, {.count = kSiblingsMax, .item_bytes_min = 32}, "siblings");
    if (base::Result<void> read = in.finish(); !read) return base::fail(read.error());
    return proof;
}

void MountainRange::append(const Hash256& digest) {
    append(digest, {});
}

void MountainRange::append(const Hash256& digest, const NodeSink& node) {
    peaks_.push_back(merkle_leaf(digest));
    // As in adding one to a binary number: each one that carries joins two peaks.
    std::uint8_t level = 0;
    for (std::uint64_t bits = count_; (bits & 1U) != 0; bits >>= 1U) {
        const Hash256 right = peaks_.back();
        peaks_.pop_back();
        peaks_.back() = merkle_node(peaks_.back(), right);
        ++level;
        if (node) node(level, count_ >> level, peaks_.back());
    }
    ++count_;
}

Hash256 MountainRange::root() const {
    return join(peaks_);
}

base::Bytes MountainRange::packed() const {
    base::Writer out;
    out.u64(count_);
    for (const Hash256& peak : peaks_) {
        out.hash(peak);
    }
    return out.take();
}

base::Result<MountainRange> MountainRange::unpack(base::ByteView packed) {
    base::Reader in(packed);
    MountainRange range;
    range.count_ = in.u64("count");
    if (range.count_ > kMerkleLeavesMax) in.set_error("count", "more than 2^40 leaves");
    const int peaks = in.ok() ? std::popcount(range.count_) : 0;
    for (int i = 0; i < peaks; ++i) {
        range.peaks_.push_back(in.hash<32>("peaks"));
    }
    if (base::Result<void> read = in.finish(); !read) return base::fail(read.error());
    return range;
}

base::Result<MerkleProof> mountain_proof(std::uint64_t index,
                                         std::uint64_t count,
                                         const NodeSource& nodes) {
    if (index >= count || count > kMerkleLeavesMax) {
        return base::fail(base::Errc::invalid,
                          "leaf " + std::to_string(index) + " of " + std::to_string(count) +
                              " has no proof: there is no such leaf");
    }
    MerkleProof proof{index, count, {}};
    for (Range range : sibling_ranges(index, count)) {
        // Only the right-most range of a tree is not a complete subtree; it is several.
        std::vector<Hash256> peaks;
        while (range.count > 0) {
            const std::uint64_t size = std::bit_floor(range.count);
            const auto level = static_cast<std::uint8_t>(std::countr_zero(size));
            base::Result<Hash256> node = nodes(level, range.first >> level);
            if (!node) return base::fail(node.error());
            peaks.push_back(*node);
            range = {range.first + size, range.count - size};
        }
        proof.siblings.push_back(join(peaks));
    }
    return proof;
}

}  // namespace chain
