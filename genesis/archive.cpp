#include "genesis/archive.hpp"

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/crypto/hash.hpp"
#include "chain/state/transaction_root.hpp"

#include <fmt/format.h>

#include <utility>

namespace genesis {

namespace {

using base::ByteView;
using base::Errc;
using base::fail;
using base::Result;
using chain::Block;
using chain::BlockPtr;
using chain::Height;

constexpr std::string_view kMagic = "BoR blks";
constexpr std::size_t kLengthBytesMax = 5;  // Of a varuint32.

void read_heights(base::Reader& in, ArchiveHead& head) {
    head.first = in.u32("first height");
    if (in.ok() && head.first == 0) in.set_error("first height", "is 0, a chain begins with 1");
    head.last = in.u32("last height");
    if (!in.ok()) return;
    if (head.last < head.first || head.last - head.first >= kArchiveBlocksMax) {
        in.set_error("last height",
                     fmt::format("is {}, the first is {}; a file has 1 to {} blocks",
                                 head.last,
                                 head.first,
                                 kArchiveBlocksMax));
    }
}

void read_ids(base::Reader& in, ArchiveHead& head) {
    const auto read = [&](std::string_view field, Height height) {
        const chain::BlockId id = in.hash<32>(field);
        if (in.ok() && chain::height_of(id) != height) {
            in.set_error(field, fmt::format("is not of height {}", height));
        }
        return id;
    };
    head.previous = read("previous id", head.first - 1);
    head.first_id = read("first id", head.first);
    head.last_id = read("last id", head.last);
}

// As a block that stands above `previous`.
Result<void> check_block(const Block& block, Height height, const chain::BlockId& previous) {
    const auto refuse = [&](std::string_view why) {
        return fail(Errc::invalid, fmt::format("block {}: {}", height, why));
    };
    if (block.header.height != height) {
        return refuse(fmt::format("it is of height {}", block.header.height));
    }
    if (block.header.previous != previous) return refuse("it is not the child of the one below");
    const auto root = chain::transaction_root(block.transactions);
    if (!root) return refuse("a receipt has no transaction");
    if (*root != block.header.transaction_root) return refuse("it has another body");
    return {};
}

}  // namespace

base::Bytes encode_archive_head(const ArchiveHead& head) {
    base::Writer out;
    out.raw(base::as_bytes(kMagic));
    out.u32(kArchiveFormat);
    out.hash(head.chain_id);
    out.u32(head.first);
    out.u32(head.last);
    out.hash(head.previous);
    out.hash(head.first_id);
    out.hash(head.last_id);
    out.u32(head.bytes);
    out.hash(head.sha256);
    return out.take();
}

Result<ArchiveHead> decode_archive_head(ByteView bytes) {
    ArchiveHead head;
    base::Reader in(bytes);
    const ByteView magic = in.raw(kMagic.size(), "magic");
    if (in.ok() && !base::equal(magic, base::as_bytes(kMagic))) {
        in.set_error("magic", "is not that of an archive of blocks");
    }
    const std::uint32_t format = in.u32("format");
    if (in.ok() && format != kArchiveFormat) {
        in.set_error("format", fmt::format("is {}, this release reads {}", format, kArchiveFormat));
    }
    head.chain_id = in.hash<32>("chain id");
    read_heights(in, head);
    read_ids(in, head);
    head.bytes = in.u32("bytes");
    if (in.ok() && (head.bytes == 0 || head.bytes > kArchiveBytesMax)) {
        in.set_error("bytes",
                     fmt::format("are {}, a file has 1 to {}", head.bytes, kArchiveBytesMax));
    }
    head.sha256 = in.hash<32>("SHA-256");
    if (auto read = in.finish(); !read) {
        return fail(Errc::malformed, "archive: " + read.error().detail);
    }
    return head;
}

Result<std::vector<BlockPtr>> decode_archive(const ArchiveHead& head, ByteView bytes) {
    if (bytes.size() != head.bytes || base::crypto::sha256(bytes) != head.sha256) {
        return fail(Errc::malformed, "archive: its blocks are not those of its head's SHA-256");
    }
    std::vector<BlockPtr> blocks;
    base::Reader in(bytes);
    chain::BlockId previous = head.previous;
    for (Height height = head.first; height <= head.last; ++height) {
        const ByteView packed = in.bytes("block", kArchiveBytesMax);
        if (!in.ok()) break;
        auto block = chain::decode_block(packed);
        if (!block) {
            return fail(Errc::malformed, fmt::format("block {}: {}", height, block.error().detail));
        }
        if (auto good = check_block(**block, height, previous); !good) return fail(good.error());
        previous = (*block)->id;
        blocks.push_back(*std::move(block));
    }
    if (auto read = in.finish(); !read) {
        return fail(Errc::malformed, "archive: " + read.error().detail);
    }
    if (blocks.front()->id != head.first_id || blocks.back()->id != head.last_id) {
        return fail(Errc::invalid, "archive: its head names other blocks than it has");
    }
    return blocks;
}

bool ArchiveBuilder::has_room(std::size_t block_bytes) const {
    return bytes_.size() + kLengthBytesMax + block_bytes <= kArchiveBytesMax &&
           (empty() || head_.last - head_.first + 1 < kArchiveBlocksMax);
}

Result<void> ArchiveBuilder::add(ByteView packed) {
    CHECK(has_room(packed.size()));
    const auto block = chain::decode_block(packed);
    if (!block) return fail(block.error());
    const chain::BlockHeader& header = (*block)->header;
    const bool is_first = empty();
    auto good = check_block(**block,
                            is_first ? header.height : head_.last + 1,
                            is_first ? header.previous : head_.last_id);
    if (!good) return good;
    if (is_first) {
        head_.first = header.height;
        head_.first_id = (*block)->id;
        head_.previous = header.previous;
    }
    head_.last = header.height;
    head_.last_id = (*block)->id;
    base::Writer out;
    out.bytes(packed);
    bytes_.insert(bytes_.end(), out.view().begin(), out.view().end());
    return {};
}

ArchiveContent ArchiveBuilder::finish() {
    CHECK(!empty());
    ArchiveContent content{head_, std::exchange(bytes_, {})};
    content.head.bytes = static_cast<std::uint32_t>(content.bytes.size());
    content.head.sha256 = base::crypto::sha256(content.bytes);
    return content;
}

}  // namespace genesis
