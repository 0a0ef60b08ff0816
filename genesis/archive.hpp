#pragma once

#include "chain/types/block.hpp"

#include <optional>
#include <vector>

namespace genesis {

// Final blocks outside of a node, in files that never change (`bor-cli archive`): each has a head
// and, packed, the blocks of some heights as nodes store them, each behind its length as varuint32.
//
// Nothing in a file is believed: who fills a history downwards knows the id of the highest block,
// and that binds all below.
//
// Everything here is pure; any thread. malformed: it is no such file, or was damaged; invalid: its
// blocks are not what their headers say. Both name the field or the block.

inline constexpr std::uint32_t kArchiveFormat = 1;
// Of one file, before it is packed: two of the largest blocks that a chain may have.
inline constexpr std::size_t kArchiveBytesMax = 2 * chain::kBlockBytesCeiling;
inline constexpr chain::Height kArchiveBlocksMax = 10'000;

struct ArchiveHead {
    chain::ChainId chain_id;
    chain::Height first = 0;
    chain::Height last = 0;
    chain::BlockId previous;  // Of the block below the first; zero below genesis.
    chain::BlockId first_id;
    chain::BlockId last_id;
    std::uint32_t bytes = 0;  // Before they are packed.
    base::Hash256 sha256;     // Of these.

    friend bool operator==(const ArchiveHead&, const ArchiveHead&) = default;
};

// Magic, format and the fields above.
inline constexpr std::size_t kArchiveHeadBytes = 8 + 4 + 32 + 4 + 4 + 3 * 32 + 4 + 32;
[[nodiscard]] base::Bytes encode_archive_head(const ArchiveHead& head);
// Of the first kArchiveHeadBytes of a file. Strict: what it says is within the limits.
[[nodiscard]] base::Result<ArchiveHead> decode_archive_head(base::ByteView bytes);

// The blocks of a file whose head was decoded. Each is the child of the one before, and has the
// transactions of its header. Signatures and witnesses are not looked at.
[[nodiscard]] base::Result<std::vector<chain::BlockPtr>> decode_archive(const ArchiveHead& head,
                                                                        base::ByteView bytes);

struct ArchiveContent {
    ArchiveHead head;
    base::Bytes bytes;
};

// Puts the blocks of one file together, from the lowest on.
class ArchiveBuilder {
  public:
    explicit ArchiveBuilder(const chain::ChainId& chain_id) { head_.chain_id = chain_id; }

    // Whether so many bytes more are within the limits.
    [[nodiscard]] bool has_room(std::size_t block_bytes) const;
    // There is room. invalid: it does not fit onto the one before, or has another body.
    base::Result<void> add(base::ByteView packed);
    [[nodiscard]] bool empty() const { return bytes_.empty(); }
    // At least one block was added. The builder is as new.
    [[nodiscard]] ArchiveContent finish();

  private:
    ArchiveHead head_;
    base::Bytes bytes_;
};

}  // namespace genesis
