#include "genesis/archive.hpp"

#include "base/codec.hpp"
#include "base/crypto/hash.hpp"
#include "chain/state/transaction_root.hpp"

#include <catch2/catch.hpp>

// A file of an archive there and back, and what is refused of it, field by field: also where
// somebody made its hash fit.

namespace {

using Catch::Matchers::Contains;
using chain::BlockPtr;
using chain::Height;
using genesis::ArchiveContent;
using genesis::ArchiveHead;

chain::TransactionReceipt receipt_of(std::uint32_t number) {
    chain::SignedTransaction transaction;
    transaction.expiration = chain::TimePointSec{number};
    chain::TransactionReceipt receipt;
    receipt.transaction = chain::PackedTransaction::pack(transaction);
    return receipt;
}

BlockPtr child_of(const chain::BlockId& previous, std::vector<chain::TransactionReceipt> receipts) {
    chain::BlockHeader header;
    header.height = chain::height_of(previous) + 1;
    header.slot = header.height;
    header.previous = previous;
    header.transaction_root = *chain::transaction_root(receipts);
    return chain::make_block({header, {}}, std::move(receipts), {});
}

std::vector<BlockPtr> blocks_above(chain::BlockId previous, std::size_t count) {
    std::vector<BlockPtr> blocks;
    for (std::size_t i = 0; i < count; ++i) {
        blocks.push_back(child_of(previous, {receipt_of(chain::height_of(previous))}));
        previous = blocks.back()->id;
    }
    return blocks;
}

chain::BlockId id_at(Height height) {
    chain::BlockHeader header;
    header.height = height;
    return header.id();
}

const chain::ChainId kChain = base::crypto::sha256(base::as_bytes("a chain"));

ArchiveContent built(const std::vector<BlockPtr>& blocks) {
    genesis::ArchiveBuilder builder(kChain);
    for (const BlockPtr& block : blocks)
        REQUIRE(builder.add(chain::encode_block(*block)));
    return builder.finish();
}

// With any blocks, and a hash that fits.
ArchiveContent forged(ArchiveHead head, const std::vector<BlockPtr>& blocks) {
    base::Writer out;
    for (const BlockPtr& block : blocks)
        out.bytes(chain::encode_block(*block));
    head.bytes = static_cast<std::uint32_t>(out.view().size());
    head.sha256 = base::crypto::sha256(out.view());
    return {head, out.take()};
}

void check_refused(const ArchiveContent& content, base::Errc code, const std::string& text) {
    const auto read = genesis::decode_archive(content.head, content.bytes);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == code);
    CHECK_THAT(read.error().detail, Contains(text));
}

}  // namespace

TEST_CASE("a file of an archive gives its blocks back") {
    for (const Height below : {0U, 41U}) {
        const chain::BlockId previous = below == 0 ? chain::BlockId{} : id_at(below);
        const auto blocks = blocks_above(previous, 7);
        const ArchiveContent content = built(blocks);
        CHECK(content.head.chain_id == kChain);
        CHECK(content.head.first == below + 1);
        CHECK(content.head.last == below + 7);
        CHECK(content.head.previous == previous);
        const base::Bytes head = genesis::encode_archive_head(content.head);
        REQUIRE(head.size() == genesis::kArchiveHeadBytes);
        REQUIRE(genesis::decode_archive_head(head).value() == content.head);
        const auto read = genesis::decode_archive(content.head, content.bytes);
        REQUIRE(read);
        REQUIRE(read->size() == 7);
        for (std::size_t i = 0; i < blocks.size(); ++i)
            CHECK(chain::encode_block(*(*read)[i]) == chain::encode_block(*blocks[i]));
    }
}

TEST_CASE("a builder is as new after a file, and has limits") {
    genesis::ArchiveBuilder builder(kChain);
    const auto blocks = blocks_above({}, 4);
    REQUIRE(builder.add(chain::encode_block(*blocks[0])));
    (void)builder.finish();
    CHECK(builder.empty());
    REQUIRE(builder.add(chain::encode_block(*blocks[2])));
    CHECK(builder.has_room(chain::kBlockBytesCeiling));
    CHECK_FALSE(builder.has_room(genesis::kArchiveBytesMax));
    CHECK(builder.finish().head.first == 3);
    REQUIRE(builder.add(chain::encode_block(*blocks[0])));
    CHECK_THAT(builder.add(chain::encode_block(*blocks[2])).error().detail,
               Contains("block 2: it is of height 3"));
}

TEST_CASE("a file is full with ten thousand blocks") {
    genesis::ArchiveBuilder builder(kChain);
    const auto blocks = blocks_above({}, genesis::kArchiveBlocksMax);
    for (const BlockPtr& block : blocks) {
        REQUIRE(builder.has_room(500));
        REQUIRE(builder.add(chain::encode_block(*block)));
    }
    CHECK_FALSE(builder.has_room(500));
    CHECK(genesis::decode_archive_head(genesis::encode_archive_head(builder.finish().head)));
}

TEST_CASE("a head is read strictly, and names the field") {
    const ArchiveHead good = built(blocks_above(id_at(9), 3)).head;
    const auto refuse = [&](auto change, const std::string& text) {
        ArchiveHead head = good;
        change(head);
        const auto read = genesis::decode_archive_head(genesis::encode_archive_head(head));
        REQUIRE_FALSE(read);
        CHECK(read.error().code == base::Errc::malformed);
        CHECK_THAT(read.error().detail, Contains(text));
    };
    refuse([](auto& head) { head.first = 0; }, "first height");
    refuse([](auto& head) { head.last = 9; }, "last height");
    refuse([](auto& head) { head.last = 10 + genesis::kArchiveBlocksMax; }, "last height");
    refuse([](auto& head) { head.previous = id_at(8); }, "previous id");
    refuse([](auto& head) { head.first_id = id_at(11); }, "first id");
    refuse([](auto& head) { head.last_id = id_at(11); }, "last id");
    refuse([](auto& head) { head.bytes = 0; }, "bytes");
    refuse([](auto& head) { head.bytes = genesis::kArchiveBytesMax + 1; }, "bytes");
    const base::Bytes bytes = genesis::encode_archive_head(good);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        CHECK_FALSE(genesis::decode_archive_head(base::ByteView(bytes).first(size)));
    base::Bytes longer = bytes;
    longer.push_back({});
    CHECK_FALSE(genesis::decode_archive_head(longer));
    for (const auto& [at, text] :
         {std::pair(0, "magic"), std::pair(8, "is 0, this release reads 1")}) {
        base::Bytes other = bytes;
        other[static_cast<std::size_t>(at)] ^= std::byte{1};
        CHECK_THAT(genesis::decode_archive_head(other).error().detail, Contains(text));
    }
}

TEST_CASE("blocks that were damaged, or are not those of the head, are refused") {
    const auto blocks = blocks_above(id_at(9), 4);
    const ArchiveContent good = built(blocks);
    for (std::size_t at = 0; at < good.bytes.size(); at += 7) {
        ArchiveContent damaged = good;
        damaged.bytes[at] ^= std::byte{0x20};
        check_refused(damaged, base::Errc::malformed, "SHA-256");
        damaged.head.sha256 = base::crypto::sha256(damaged.bytes);
        // Of a signature or a witness no hash of a header tells.
        const auto read = genesis::decode_archive(damaged.head, damaged.bytes);
        if (read) CHECK(read->back()->id == good.head.last_id);
    }
    check_refused(forged(good.head, {blocks[0], blocks[1], blocks[2]}), base::Errc::malformed, "");
    auto more = blocks;
    more.push_back(child_of(blocks.back()->id, {}));
    check_refused(forged(good.head, more), base::Errc::malformed, "");
    check_refused(forged(good.head, {blocks[0], blocks[2], blocks[1], blocks[3]}),
                  base::Errc::invalid,
                  "block 11: it is of height 12");
    auto fork = blocks;
    fork[2] = child_of(blocks[1]->id, {});
    check_refused(forged(good.head, fork), base::Errc::invalid, "block 13: it is not the child");
    ArchiveHead other = good.head;
    other.last_id = child_of(blocks[2]->id, {})->id;
    check_refused(forged(other, blocks), base::Errc::invalid, "names other blocks");
}

TEST_CASE("a block with another body is refused: other transactions, or a digest in their place") {
    auto blocks = blocks_above(id_at(9), 3);
    const ArchiveContent good = built(blocks);
    const chain::Block middle = *blocks[1];
    blocks[1] = chain::make_block({middle.header, middle.signature}, {receipt_of(5)}, {});
    REQUIRE(blocks[1]->id == middle.id);
    check_refused(forged(good.head, blocks), base::Errc::invalid, "block 11: it has another body");
    chain::TransactionReceipt digest = middle.transactions[0];
    digest.transaction =
        base::crypto::sha256(base::as_bytes("what a receipt would hold of a transaction"));
    blocks[1] = chain::make_block({middle.header, middle.signature}, {digest}, {});
    check_refused(
        forged(good.head, blocks), base::Errc::invalid, "block 11: a receipt has no transaction");
    genesis::ArchiveBuilder builder(kChain);
    CHECK_FALSE(builder.add(chain::encode_block(*blocks[1])));
}
