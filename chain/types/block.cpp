#include "chain/types/block.hpp"

#include "base/crypto/hash.hpp"
#include "chain/types/rule.hpp"

#include <fmt/format.h>

#include <utility>

namespace chain {

namespace {

constexpr std::size_t kReceiptBytesMin = 1 + 4 + 1 + 1 + 4;
// Witnesses are two certificates; each is smaller than 40 KiB with every limit reached.
constexpr std::size_t kWitnessBytesMax = 128 * 1024;

void encode_without_witness(base::Writer& out, const Block& block) {
    encode(out, block.header);
    encode(out, block.signature);
    encode_list(out, block.transactions);
}

void decode_without_witness(base::Reader& in, Block& block) {
    decode(in, block.header, "header");
    decode(in, block.signature, "producer_signature");
    decode_list(in, block.transactions, {kBlockTransactionsMax, kReceiptBytesMin}, "transactions");
}

}  // namespace

std::string_view to_string(TransactionStatus status) {
    switch (status) {
        case TransactionStatus::executed:
            return "executed";
        case TransactionStatus::soft_fail:
            return "soft_fail";
        case TransactionStatus::hard_fail:
            return "hard_fail";
        case TransactionStatus::delayed:
            return "delayed";
        case TransactionStatus::expired:
            return "expired";
    }
    return "unknown";
}

BlockId BlockHeader::id() const {
    BlockId id = base::crypto::sha256(pack(*this));
    for (std::size_t i = 0; i < 4; ++i) {
        id.bytes[i] = static_cast<std::byte>(height >> (24 - 8 * i) & 0xFFU);
    }
    return id;
}

Digest BlockHeader::signing_digest(const ChainId& chain) const {
    base::crypto::Sha256 hash;
    hash.update(base::as_bytes("BoR header 1"));
    if (!is_left_out(Rule::header_binds_chain)) hash.update(chain.view());
    return hash.update(id().view()).finish();
}

Digest TransactionReceipt::digest() const {
    base::Writer out;
    encode(out, static_cast<const TransactionReceiptHeader&>(*this));
    if (const auto* packed = std::get_if<PackedTransaction>(&transaction)) {
        out.hash(packed->packed_digest());
    } else {
        out.hash(std::get<TransactionId>(transaction));
    }
    return base::crypto::sha256(out.view());
}

BlockPtr make_block(SignedHeader header,
                    std::vector<TransactionReceipt> transactions,
                    Witness witness) {
    auto block = std::make_shared<Block>();
    block->id = header.header.id();
    block->header = std::move(header.header);
    block->signature = std::move(header.signature);
    block->transactions = std::move(transactions);
    block->witness = std::move(witness);
    return block;
}

base::Result<BlockPtr> decode_block(base::ByteView bytes, std::size_t bytes_max) {
    if (bytes.size() > bytes_max + kWitnessBytesMax) {
        return base::fail(base::Errc::malformed,
                          fmt::format("block of {} bytes, at most {} and its witness are allowed",
                                      bytes.size(),
                                      bytes_max));
    }
    base::Reader in(bytes);
    auto block = std::make_shared<Block>();
    decode_without_witness(in, *block);
    if (in.ok() && in.offset() > bytes_max) {
        in.set_error("block", fmt::format("more than {} bytes without its witness", bytes_max));
    }
    decode(in, block->witness, "witness");
    if (auto done = in.finish(); !done) return base::fail(std::move(done).error());
    block->id = block->header.id();
    return BlockPtr(std::move(block));
}

base::Bytes encode_block(const Block& block) {
    return pack(block);
}

void encode(base::Writer& out, const BlockHeader& header) {
    out.u64(header.slot);
    out.u32(header.height);
    encode(out, header.producer);
    out.hash(header.previous);
    out.u32(header.schedule_version);
    out.hash(header.transaction_root);
    out.hash(header.action_root);
    out.hash(header.state_digest);
    encode(out, header.justify);
    encode(out, header.finalized);
    out.hash(header.finality_root);
    encode(out, header.schedule_change);
    encode_list(out, header.extensions);
}

void encode(base::Writer& out, const SignedHeader& header) {
    encode(out, header.header);
    encode(out, header.signature);
}

void encode(base::Writer& out, const TransactionReceiptHeader& header) {
    out.u8(static_cast<std::uint8_t>(header.status));
    out.u32(header.cpu_usage_us);
    out.varuint32(header.net_usage_words);
}

void encode(base::Writer& out, const TransactionReceipt& receipt) {
    encode(out, static_cast<const TransactionReceiptHeader&>(receipt));
    out.varuint32(static_cast<std::uint32_t>(receipt.transaction.index()));
    std::visit([&out](const auto& form) { encode(out, form); }, receipt.transaction);
}

void encode(base::Writer& out, const Witness& witness) {
    encode(out, witness.justify);
    encode(out, witness.finalized);
}

void encode(base::Writer& out, const Block& block) {
    encode_without_witness(out, block);
    encode(out, block.witness);
}

void decode(base::Reader& in, BlockHeader& header, std::string_view) {
    header.slot = in.u64("slot");
    if (header.slot > kSlotMax) in.set_error("slot", "above 2^40");
    header.height = in.u32("height");
    decode(in, header.producer, "producer");
    decode(in, header.previous, "previous");
    header.schedule_version = in.u32("schedule_version");
    decode(in, header.transaction_root, "transaction_root");
    decode(in, header.action_root, "action_root");
    decode(in, header.state_digest, "state_digest");
    decode(in, header.justify, "justify");
    decode(in, header.finalized, "final");
    decode(in, header.finality_root, "finality_root");
    decode(in, header.schedule_change, "schedule_change");
    decode_list(in, header.extensions, {kExtensionsMax, 3}, "extensions");
    if (in.ok() && !header.extensions.empty()) {
        in.set_error("extensions",
                     fmt::format("unknown extension id {}", header.extensions.front().id));
    }
}

void decode(base::Reader& in, SignedHeader& header, std::string_view field) {
    decode(in, header.header, field);
    decode(in, header.signature, "producer_signature");
}

void decode(base::Reader& in, TransactionReceiptHeader& header, std::string_view) {
    const std::uint8_t status = in.u8("status");
    if (in.ok() && status > 4) in.set_error("status", "not from 0 to 4");
    header.status = static_cast<TransactionStatus>(status);
    header.cpu_usage_us = in.u32("cpu_usage_us");
    header.net_usage_words = in.varuint32("net_usage_words");
}

void decode(base::Reader& in, TransactionReceipt& receipt, std::string_view field) {
    decode(in, static_cast<TransactionReceiptHeader&>(receipt), field);
    const std::uint32_t form = in.varuint32("trx");
    if (in.ok() && form > 1) in.set_error("trx", "form is neither 0 (id) nor 1 (packed)");
    if (!in.ok()) return;
    if (form == 0) {
        decode(in, receipt.transaction.emplace<TransactionId>(), "trx");
    } else {
        decode(in, receipt.transaction.emplace<PackedTransaction>(), "trx");
    }
}

void decode(base::Reader& in, Witness& witness, std::string_view) {
    decode(in, witness.justify, "witness.justify");
    decode(in, witness.finalized, "witness.final");
}

void decode(base::Reader& in, Block& block, std::string_view) {
    decode_without_witness(in, block);
    decode(in, block.witness, "witness");
    if (in.ok()) block.id = block.header.id();
}

}  // namespace chain
