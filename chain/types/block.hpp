#pragma once

#include "chain/types/schedule.hpp"
#include "chain/types/transaction.hpp"
#include "chain/types/vote.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace chain {

// Everything that a block's id covers (spec 03, "Formats").
struct BlockHeader {
    Slot slot = 0;
    Height height = 0;  // 1 for genesis, whose `previous` is zero.
    Name producer;
    BlockId previous;
    std::uint32_t schedule_version = 0;
    Digest transaction_root;  // Merkle root over receipt digests.
    Digest action_root;       // Merkle root over action receipt digests.
    Digest state_digest;      // Of the state after this block.
    BlockRef justify;         // The ancestor with the highest NOTARIZE certificate known.
    BlockRef finalized;    // "final": the highest ancestor with a COMMIT certificate in the chain.
    Digest finality_root;  // Mountain range over the ids of the ancestors up to `finalized`.
    std::optional<Schedule> schedule_change;
    Extensions extensions;  // None is known yet, so any is an error.

    friend bool operator==(const BlockHeader&, const BlockHeader&) = default;

    // SHA-256 of the packed header with the height, big-endian, in its first four bytes.
    [[nodiscard]] BlockId id() const;
    // What its producer signs: SHA-256("BoR header 1" || chain id || id).
    [[nodiscard]] Digest signing_digest(const ChainId& chain) const;
};

// What a packed header takes at least.
inline constexpr std::size_t kHeaderBytesMin = 8 + 4 + 8 + 32 + 4 + 3 * 32 + 2 * 40 + 32 + 1 + 1;

struct SignedHeader {
    BlockHeader header;
    Signature signature;  // K1, by the producer's signing key over header.signing_digest().

    friend bool operator==(const SignedHeader&, const SignedHeader&) = default;
};

enum class TransactionStatus : std::uint8_t {
    executed = 0,
    soft_fail = 1,
    hard_fail = 2,
    delayed = 3,
    expired = 4,
};
// "executed", ... as nodeos prints.
[[nodiscard]] std::string_view to_string(TransactionStatus status);

struct TransactionReceiptHeader {
    TransactionStatus status = TransactionStatus::executed;
    std::uint32_t cpu_usage_us = 0;
    std::uint32_t net_usage_words = 0;

    friend bool operator==(const TransactionReceiptHeader&,
                           const TransactionReceiptHeader&) = default;
};

// One transaction of a block, in Antelope's layout. BoR's own blocks only hold the packed form;
// the id form is readable and refused by the rules.
struct TransactionReceipt : TransactionReceiptHeader {
    std::variant<TransactionId, PackedTransaction> transaction;

    friend bool operator==(const TransactionReceipt&, const TransactionReceipt&) = default;

    // Leaf of transaction_root.
    [[nodiscard]] Digest digest() const;
};

// The proofs behind `justify` and `finalized` where they differ from the parent's. Not covered
// by the block's id (spec 03).
struct Witness {
    std::optional<Certificate> justify;    // A NOTARIZE.
    std::optional<Certificate> finalized;  // A COMMIT.

    friend bool operator==(const Witness&, const Witness&) = default;
};

// A block as produced. Immutable once made; `id` is header.id().
struct Block {
    BlockHeader header;
    Signature signature;
    std::vector<TransactionReceipt> transactions;
    Witness witness;
    BlockId id;
};
using BlockPtr = std::shared_ptr<const Block>;

// Computes the id.
[[nodiscard]] BlockPtr make_block(SignedHeader header,
                                  std::vector<TransactionReceipt> transactions,
                                  Witness witness);

// Strict. malformed: more than `bytes_max` without the witness, or a field that does not decode.
// Neither signatures, roots nor certificates are checked here.
[[nodiscard]] base::Result<BlockPtr> decode_block(base::ByteView bytes,
                                                  std::size_t bytes_max = kBlockBytesCeiling);
[[nodiscard]] base::Bytes encode_block(const Block& block);

void encode(base::Writer& out, const BlockHeader& header);
void encode(base::Writer& out, const SignedHeader& header);
void encode(base::Writer& out, const TransactionReceiptHeader& header);
void encode(base::Writer& out, const TransactionReceipt& receipt);
void encode(base::Writer& out, const Witness& witness);
void encode(base::Writer& out, const Block& block);
void decode(base::Reader& in, BlockHeader& header, std::string_view field);
void decode(base::Reader& in, SignedHeader& header, std::string_view field);
void decode(base::Reader& in, TransactionReceiptHeader& header, std::string_view field);
void decode(base::Reader& in, TransactionReceipt& receipt, std::string_view field);
void decode(base::Reader& in, Witness& witness, std::string_view field);
void decode(base::Reader& in, Block& block, std::string_view field);

}  // namespace chain
