#pragma once

#include "base/bytes.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace chain {

// Merkle trees of headers (spec 03, "Formats"): left-complete binary trees, so the left part
// of n > 1 leaves is the greatest power of two below n. A leaf is SHA-256(0x00 || digest), an
// inner node SHA-256(0x01 || left || right): no node can be passed off as a leaf. The root of
// no leaves is zero.

// The most leaves of a tree that is read from others.
inline constexpr std::uint64_t kMerkleLeavesMax = std::uint64_t{1} << 40U;

[[nodiscard]] base::Hash256 merkle_leaf(const base::Hash256& digest);
[[nodiscard]] base::Hash256 merkle_node(const base::Hash256& left, const base::Hash256& right);

// The root over these digests, which are leaves before hashing.
[[nodiscard]] base::Hash256 merkle_root(std::span<const base::Hash256> digests);

// That a digest is the `index`-th of `count` under a root.
struct MerkleProof {
    std::uint64_t index = 0;
    std::uint64_t count = 0;
    std::vector<base::Hash256> siblings;  // From the leaf upwards.

    friend bool operator==(const MerkleProof&, const MerkleProof&) = default;
};

// `index` < the number of digests.
[[nodiscard]] MerkleProof merkle_proof(std::span<const base::Hash256> digests, std::uint64_t index);
// False for any other digest, index, count or root, and for siblings too few or too many.
[[nodiscard]] bool verify(const MerkleProof& proof,
                          const base::Hash256& digest,
                          const base::Hash256& root);

[[nodiscard]] base::Bytes encode_merkle_proof(const MerkleProof& proof);
// malformed: not such a proof, an index that is not below the count, or too many siblings.
[[nodiscard]] base::Result<MerkleProof> decode_merkle_proof(base::ByteView bytes);

// The roots of the complete trees that n leaves fall into, greatest first: one a bit of n.
// All that is needed to append, and to know the root, which is the same as merkle_root of all
// that was appended. The finality_root of headers is one, over block ids.
class MountainRange {
  public:
    void append(const base::Hash256& digest);
    // As above; `node` learns of each inner node that becomes complete: its level (a leaf's is
    // 0) and its position in it. Keep them to be able to prove inclusion.
    using NodeSink =
        std::function<void(std::uint8_t level, std::uint64_t position, const base::Hash256& node)>;
    void append(const base::Hash256& digest, const NodeSink& node);

    [[nodiscard]] base::Hash256 root() const;
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] const std::vector<base::Hash256>& peaks() const { return peaks_; }
    friend bool operator==(const MountainRange&, const MountainRange&) = default;

    // The count (u64) and the peaks.
    [[nodiscard]] base::Bytes packed() const;
    // malformed: too many leaves, or another number of peaks than these leaves make.
    [[nodiscard]] static base::Result<MountainRange> unpack(base::ByteView packed);

  private:
    std::uint64_t count_ = 0;
    std::vector<base::Hash256> peaks_;
};

// A complete subtree's node: of 2^level leaves from position * 2^level on.
using NodeSource =
    std::function<base::Result<base::Hash256>(std::uint8_t level, std::uint64_t position)>;

// The proof of one of the first `count` digests of a range whose nodes were kept; reads at most
// 2 * log2(count) of them. invalid: `index` is not below `count`; and the errors of `nodes`.
[[nodiscard]] base::Result<MerkleProof> mountain_proof(std::uint64_t index,
                                                       std::uint64_t count,
                                                       const NodeSource& nodes);

}  // namespace chain
