#pragma once

#include "chain/types/authority.hpp"
#include "chain/types/time.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace chain {

using Digest = base::Hash256;
using ChainId = base::Hash256;
using BlockId = base::Hash256;
using TransactionId = base::Hash256;
using base::crypto::PublicKey;
using base::crypto::Signature;

// A call of `name` of the contract on `account`, in the name of `authorization`.
struct Action {
    Name account;
    Name name;
    std::vector<PermissionLevel> authorization;
    base::Bytes data;

    friend bool operator==(const Action&, const Action&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.account,
              self.name,
              Limited{self.authorization, {kAuthorizationsMax, 16}},
              Limited{self.data, {kTransactionBytesMax}});
    }
};

struct TransactionHeader {
    TimePointSec expiration;
    std::uint16_t ref_block_num = 0;
    std::uint32_t ref_block_prefix = 0;
    std::uint32_t max_net_usage_words = 0;  // 8 bytes each; 0: no limit of its own.
    std::uint8_t max_cpu_usage_ms = 0;      // 0: no limit of its own.
    std::uint32_t delay_sec = 0;

    friend bool operator==(const TransactionHeader&, const TransactionHeader&) = default;
};

struct Transaction : TransactionHeader {
    std::vector<Action> context_free_actions;
    std::vector<Action> actions;
    Extensions extensions;

    friend bool operator==(const Transaction&, const Transaction&) = default;

    // SHA-256 of the packed transaction.
    [[nodiscard]] TransactionId id() const;
    // What signatures are over. `context_free_data` as in SignedTransaction.
    [[nodiscard]] Digest signing_digest(const ChainId& chain,
                                        const std::vector<base::Bytes>& context_free_data) const;
    // The first authorization of the first action that has one; the empty name without.
    [[nodiscard]] Name first_authorizer() const;
};

struct SignedTransaction : Transaction {
    std::vector<Signature> signatures;
    std::vector<base::Bytes> context_free_data;  // One for each context-free action.

    friend bool operator==(const SignedTransaction&, const SignedTransaction&) = default;
};

enum class Compression : std::uint8_t { none = 0, zlib = 1 };

// A transaction as it travels and is stored.
struct PackedTransaction {
    std::vector<Signature> signatures;
    Compression compression = Compression::none;
    base::Bytes packed_context_free_data;  // Empty: none. Compressed like packed_trx.
    base::Bytes packed_trx;

    friend bool operator==(const PackedTransaction&, const PackedTransaction&) = default;

    [[nodiscard]] static PackedTransaction pack(const SignedTransaction& transaction,
                                                Compression compression = Compression::none);
    // Digest of this form, which the receipt of a block covers.
    [[nodiscard]] Digest packed_digest() const;
    // Bytes that count fully as net usage: packed_trx and a fixed 16.
    [[nodiscard]] std::size_t net_bytes_unprunable() const;
    // Bytes that count at the context-free discount: signatures, context-free data.
    [[nodiscard]] std::size_t net_bytes_prunable() const;
};

// A packed transaction with what is in it. Immutable; made once where the bytes come in and
// passed on as a pointer. Invariant: `content` and `id` are what `packed` contains.
struct DecodedTransaction {
    PackedTransaction packed;
    SignedTransaction content;
    TransactionId id;
    // Of the transaction and its context-free data without compression: what work on it grows
    // with, which a small compressed transaction would hide.
    std::size_t plain_bytes = 0;
};
using TransactionPtr = std::shared_ptr<const DecodedTransaction>;

// Inflates within kTransactionBytesMax, whatever the input claims, and decodes strictly.
// malformed: tx_decompression_error, or the field and offset that do not decode.
[[nodiscard]] base::Result<TransactionPtr> decode_transaction(PackedTransaction packed);
// The same from the packed form's bytes, at most kPackedTransactionBytesMax.
[[nodiscard]] base::Result<TransactionPtr> decode_transaction(base::ByteView bytes);
// Wraps what we made ourselves.
[[nodiscard]] TransactionPtr make_transaction(const SignedTransaction& transaction,
                                              Compression compression = Compression::none);

// zlib with bounded output. malformed: no zlib stream, trailing bytes, more than `limit`, or a
// stream that is longer than deflate makes one of the same content.
[[nodiscard]] base::Result<base::Bytes> zlib_inflate(base::ByteView bytes, std::size_t limit);
[[nodiscard]] base::Bytes zlib_deflate(base::ByteView bytes);

// Digest to sign for a transaction that is at hand in packed, uncompressed form.
[[nodiscard]] Digest signing_digest(const ChainId& chain,
                                    base::ByteView packed_transaction,
                                    const std::vector<base::Bytes>& context_free_data);

// Reference to a block in a transaction: bytes 8..11 of its id, little-endian.
[[nodiscard]] std::uint32_t ref_block_prefix_of(const BlockId& id);
// The height in the first four bytes of a block id, big-endian.
[[nodiscard]] Height height_of(const BlockId& id);

// What encode() writes for it, without writing it.
[[nodiscard]] std::size_t packed_bytes(const Action& action);

void encode(base::Writer& out, const TransactionHeader& header);
void encode(base::Writer& out, const Transaction& transaction);
void encode(base::Writer& out, const SignedTransaction& transaction);
void encode(base::Writer& out, const PackedTransaction& packed);
void decode(base::Reader& in, TransactionHeader& header, std::string_view field);
void decode(base::Reader& in, Transaction& transaction, std::string_view field);
void decode(base::Reader& in, SignedTransaction& transaction, std::string_view field);
void decode(base::Reader& in, PackedTransaction& packed, std::string_view field);

}  // namespace chain
