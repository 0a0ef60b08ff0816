// Transactions, blocks and votes: round trips, every cut, every limit.
#include "base/crypto/hash.hpp"
#include "chain/types/block.hpp"
#include "chain/types/exception.hpp"
#include "chain/types/trace.hpp"

#include <catch2/catch.hpp>

#include <random>
#include <string>

namespace {

using namespace chain;  // NOLINT(google-build-using-namespace): the subject of this file.

SignedTransaction some_transaction() {
    SignedTransaction transaction;
    transaction.expiration = {0x6b010d0b};
    transaction.ref_block_num = 30;
    transaction.ref_block_prefix = 2112514365;
    transaction.context_free_actions.push_back({"eosio.null"_n, "nonce"_n, {}, {}});
    transaction.actions.push_back(
        {"eosio.token"_n, "transfer"_n, {{"alice"_n, "active"_n}}, base::Bytes(40, std::byte{7})});
    transaction.context_free_data.push_back(base::Bytes(5, std::byte{1}));
    transaction.signatures.push_back({});
    return transaction;
}

ScheduleEntry entry(Name producer) {
    ScheduleEntry out;
    out.producer = producer;
    return out;
}

Certificate some_certificate(VoteKind kind) {
    Certificate certificate;
    certificate.data.kind = kind;
    certificate.data.slot = 6;
    certificate.bitmaps.push_back(base::Bytes(1, std::byte{3}));
    certificate.signatures.resize(2);
    return certificate;
}

BlockPtr some_block() {
    SignedHeader header;
    header.header.slot = 7;
    header.header.height = 0x01020304;
    header.header.producer = "alice"_n;
    header.header.justify.slot = 6;
    header.header.schedule_change = Schedule{2, {entry("alice"_n), entry("bob"_n)}};
    std::vector<TransactionReceipt> receipts(2);
    receipts[0].transaction = PackedTransaction::pack(some_transaction());
    receipts[1].transaction = TransactionId{};
    receipts[1].status = TransactionStatus::expired;
    Witness witness{some_certificate(VoteKind::notarize), some_certificate(VoteKind::commit)};
    return make_block(std::move(header), std::move(receipts), std::move(witness));
}

std::string reason(base::ByteView bytes, std::size_t bytes_max = kBlockBytesCeiling) {
    const auto block = decode_block(bytes, bytes_max);
    return block ? "" : block.error().detail;
}

}  // namespace

TEST_CASE("transactions survive packing, compressed or not") {
    const SignedTransaction transaction = some_transaction();
    for (const Compression compression : {Compression::none, Compression::zlib}) {
        const auto packed = PackedTransaction::pack(transaction, compression);
        const auto decoded = decode_transaction(base::ByteView(pack(packed)));
        REQUIRE(decoded);
        CHECK((*decoded)->content == transaction);
        CHECK((*decoded)->id == transaction.id());
        CHECK((*decoded)->packed == packed);
    }
}

TEST_CASE("usage and references of a transaction are counted as nodeos counts") {
    // The recorded "notify": 96 bytes = 12 + 16 + 50 + a fifth of 67, rounded up to words.
    PackedTransaction packed;
    packed.packed_trx.resize(50);
    packed.signatures.resize(1);
    CHECK(packed.net_bytes_unprunable() == 66);
    CHECK(packed.net_bytes_prunable() == 67);
    BlockId id;
    id.bytes[3] = std::byte{0x1f};
    id.bytes[8] = std::byte{0x3d};
    id.bytes[11] = std::byte{0x7d};
    CHECK(height_of(id) == 0x1f);
    CHECK(ref_block_prefix_of(id) == 0x7d00003d);
}

TEST_CASE("what does not inflate within the limit is refused") {
    const base::Bytes zeros(8 * 1024 * 1024);
    PackedTransaction bomb;
    bomb.compression = Compression::zlib;
    bomb.packed_trx = zlib_deflate(zeros);
    REQUIRE(bomb.packed_trx.size() < 10'000);
    const auto refused = decode_transaction(bomb);
    REQUIRE_FALSE(refused);
    CHECK(exception_of(refused.error()) == Exception::tx_decompression_error);
    CHECK(refused.error().detail == "Exceeded maximum decompressed transaction size");
    base::Bytes stream = zlib_deflate(base::Bytes(100));
    CHECK(zlib_inflate(stream, 100));
    CHECK_FALSE(zlib_inflate(stream, 99));
    stream.push_back(std::byte{0});
    CHECK_FALSE(zlib_inflate(stream, 100));
    stream.resize(stream.size() - 2);
    CHECK_FALSE(zlib_inflate(stream, 100));
    CHECK_FALSE(zlib_inflate({}, 100));
    CHECK(zlib_inflate(zlib_deflate({}), 0).value().empty());
}

TEST_CASE("what deflate would not have made so long is refused") {
    // A zlib stream is a header of two bytes, blocks, and a checksum. A stored block without
    // content takes five bytes.
    const auto lengthen = [](base::Bytes& stream, std::size_t blocks) {
        const base::Bytes empty = base::from_hex("000000ffff").value();
        for (std::size_t i = 0; i < blocks; ++i)
            stream.insert(stream.begin() + 2, empty.begin(), empty.end());
    };
    const PackedTransaction good = PackedTransaction::pack(some_transaction(), Compression::zlib);
    REQUIRE(decode_transaction(good));
    PackedTransaction longer = good;
    lengthen(longer.packed_trx, 1'000);
    const auto refused = decode_transaction(longer);
    REQUIRE_FALSE(refused);
    CHECK(exception_of(refused.error()) == Exception::tx_decompression_error);
    CHECK(refused.error().detail.find("(compressBound)") != std::string::npos);
    PackedTransaction data = good;
    data.packed_context_free_data = zlib_deflate(base::Bytes(1));
    REQUIRE(decode_transaction(data));
    lengthen(data.packed_context_free_data, 2);
    CHECK_FALSE(decode_transaction(data));
    // What does not compress at all stays within it, also where nothing is compressed.
    for (const std::size_t bytes : {0U, 1U, 32U, 5'000U, 70'000U, 400'000U}) {
        CAPTURE(bytes);
        base::Bytes noise(bytes);
        std::mt19937 random(1);
        for (std::byte& byte : noise)
            byte = std::byte{static_cast<std::uint8_t>(random())};
        base::Bytes stream = zlib_deflate(noise);
        CHECK(stream.size() >= noise.size());
        CHECK(zlib_inflate(stream, bytes).value() == noise);
        lengthen(stream, 30);
        CHECK_FALSE(zlib_inflate(stream, bytes));
    }
}

TEST_CASE("a packed transaction with trailing bytes, too many signatures or too long is refused") {
    PackedTransaction packed = PackedTransaction::pack(some_transaction());
    packed.packed_trx.push_back(std::byte{0});
    CHECK_FALSE(decode_transaction(packed));
    packed = PackedTransaction::pack(some_transaction());
    packed.signatures.resize(65);
    CHECK_FALSE(unpack<PackedTransaction>(pack(packed), "trx"));
    packed.signatures.resize(64);
    CHECK(unpack<PackedTransaction>(pack(packed), "trx"));
    packed.packed_trx.resize(kPackedTransactionBytesMax - 64 * 66 + 1);
    CHECK_FALSE(unpack<PackedTransaction>(pack(packed), "trx"));
    CHECK_FALSE(decode_transaction(base::ByteView(base::Bytes(kPackedTransactionBytesMax + 1))));
}

TEST_CASE("the signing digest covers the chain and the context-free data") {
    const SignedTransaction transaction = some_transaction();
    const ChainId other = base::crypto::sha256({});
    const Digest digest = transaction.signing_digest({}, transaction.context_free_data);
    CHECK(digest != transaction.signing_digest(other, transaction.context_free_data));
    CHECK(digest != transaction.signing_digest({}, {}));
    CHECK(digest == signing_digest({},
                                   pack(static_cast<const Transaction&>(transaction)),
                                   transaction.context_free_data));
}

TEST_CASE("blocks survive packing, and carry their height in their id") {
    const BlockPtr block = some_block();
    const auto again = decode_block(encode_block(*block));
    REQUIRE(again);
    CHECK((*again)->header == block->header);
    CHECK((*again)->transactions == block->transactions);
    CHECK((*again)->witness == block->witness);
    CHECK((*again)->id == block->id);
    CHECK(height_of(block->id) == 0x01020304);
    CHECK(block->id == block->header.id());
    // The witness and the signature are not covered; the header is.
    Block other = *block;
    other.header.slot = 8;
    CHECK(other.header.id() != block->id);
}

TEST_CASE("every cut of a block is refused and names what is missing") {
    const base::Bytes bytes = encode_block(*some_block());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        INFO(size);
        CHECK(reason(base::ByteView(bytes).first(size)).find("at offset") != std::string::npos);
    }
    base::Bytes longer = bytes;
    longer.push_back(std::byte{0});
    CHECK_FALSE(reason(longer).empty());
}

TEST_CASE("a block that breaks a rule of its form is refused") {
    const BlockPtr good = some_block();
    Block block = *good;
    block.header.slot = kSlotMax + 1;
    CHECK(reason(encode_block(block)).find("slot at offset") == 0);
    block = *good;
    block.header.extensions.push_back({5, {}});
    CHECK(reason(encode_block(block)).find("unknown extension id 5") != std::string::npos);
    block = *good;
    block.header.schedule_change->entries[1].producer = "alice"_n;
    CHECK(reason(encode_block(block)).find("a producer twice") != std::string::npos);
    block.header.schedule_change->entries.clear();
    CHECK(reason(encode_block(block)).find("no producer") != std::string::npos);
    block = *good;
    block.witness.justify->data.kind = static_cast<VoteKind>(3);
    CHECK(reason(encode_block(block)).find("kind of vote") != std::string::npos);
    block = *good;
    block.witness.justify->bitmaps.clear();
    CHECK(reason(encode_block(block)).find("no bitmap") != std::string::npos);
    block.witness.justify->bitmaps.assign(1, base::Bytes(17));
    CHECK(reason(encode_block(block)).find("limit of 16") != std::string::npos);
    const base::Bytes bytes = encode_block(*good);
    CHECK(reason(bytes, 100).find("more than 100 bytes") != std::string::npos);
}

TEST_CASE("schedules say whose turn it is and how many votes decide") {
    Schedule schedule{0, {entry("a"_n), entry("b"_n), entry("c"_n), entry("d"_n)}};
    CHECK(schedule.quorum() == 3);
    CHECK(schedule.faults_max() == 1);
    CHECK(schedule.producer_of(5, 1).producer == "b"_n);
    CHECK(schedule.producer_of(5, 3).producer == "b"_n);
    CHECK(schedule.producer_of(6, 3).producer == "c"_n);
    CHECK(schedule.find_producer("c"_n) == std::size_t{2});
    CHECK_FALSE(schedule.find_producer("e"_n));
    schedule.entries.resize(1);
    CHECK(schedule.quorum() == 1);
    CHECK(schedule.faults_max() == 0);
}

TEST_CASE("a vote's digest covers each of its fields") {
    const VoteData vote;
    const base::Hash256 digest = vote.digest({});
    VoteData other = vote;
    other.kind = VoteKind::commit;
    CHECK(other.digest({}) != digest);
    other = vote;
    other.schedule_version = 1;
    CHECK(other.digest({}) != digest);
    other = vote;
    other.slot = 1;
    CHECK(other.digest({}) != digest);
    other = vote;
    other.height = 1;
    CHECK(other.digest({}) != digest);
    other = vote;
    other.block_id.bytes[0] = std::byte{1};
    CHECK(other.digest({}) != digest);
    other = vote;
    other.justify_slot = 1;
    CHECK(other.digest({}) != digest);
    CHECK(vote.digest(base::crypto::sha256({})) != digest);
    const Vote cast{vote, {}, {}};
    CHECK(unpack<Vote>(pack(cast), "vote").value() == cast);
}

TEST_CASE("receipts of actions and transactions have Antelope's digests") {
    // The recorded "ok-return-value": actres::actionresret by alice returned 10.
    const Action action{"actres"_n, "actionresret"_n, {{"alice"_n, "active"_n}}, {}};
    const base::Bytes ten{std::byte{10}, std::byte{0}, std::byte{0}, std::byte{0}};
    CHECK(base::to_hex(action_digest(action, ten).view()) ==
          "fafe9c999ea0b2c0718cbf259eb75c89bce120ea8704ff4e20b9563088463750");
    TransactionReceipt receipt;
    receipt.transaction = PackedTransaction::pack(some_transaction());
    const Digest digest = receipt.digest();
    receipt.cpu_usage_us = 1;
    CHECK(receipt.digest() != digest);
}
