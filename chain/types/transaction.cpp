#include "chain/types/transaction.hpp"

#include "base/crypto/hash.hpp"
#include "chain/types/exception.hpp"

#include <utility>

namespace chain {

namespace {

constexpr std::size_t kActionBytesMin = 8 + 8 + 1 + 1;
constexpr std::size_t kLevelBytes = 16;
constexpr std::size_t kSignatureBytesMin = 66;
constexpr std::size_t kFixedNetBytes = 16;  // nodeos: fixed_net_overhead_of_packed_trx.

// What a length takes in binary form.
std::size_t varuint32_bytes(std::size_t value) {
    std::size_t bytes = 1;
    for (; value >= 0x80; value >>= 7U)
        ++bytes;
    return bytes;
}

base::Bytes pack_context_free_data(const std::vector<base::Bytes>& data) {
    base::Writer out;
    out.varuint32(static_cast<std::uint32_t>(data.size()));
    for (const base::Bytes& item : data) {
        out.bytes(item);
    }
    return out.take();
}

void decode_context_free_data(base::Reader& in, std::vector<base::Bytes>& data) {
    data.clear();
    const std::size_t count = in.count("context_free_data", kActionsMax);
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        data.push_back(base::to_bytes(in.bytes("context_free_data", kTransactionBytesMax)));
    }
}

// The uncompressed bytes of a part of `packed`: that part, or what is put into `inflated`.
base::Result<base::ByteView> plain(const PackedTransaction& packed,
                                   const base::Bytes& part,
                                   base::Bytes& inflated) {
    if (packed.compression == Compression::none) return base::ByteView(part);
    auto bytes = zlib_inflate(part, kTransactionBytesMax);
    if (!bytes) return base::fail(std::move(bytes).error());
    inflated = *std::move(bytes);
    return base::ByteView(inflated);
}

// Fills in the data, and adds the bytes that it has without compression.
base::Result<void> decode_context_free_part(DecodedTransaction& decoded) {
    if (decoded.packed.packed_context_free_data.empty()) return {};
    base::Bytes inflated;
    auto bytes = plain(decoded.packed, decoded.packed.packed_context_free_data, inflated);
    if (!bytes) return base::fail(std::move(bytes).error());
    decoded.plain_bytes += bytes->size();
    // eosjs compresses nothing at all, too.
    if (bytes->empty()) return {};
    base::Reader in(*bytes);
    decode_context_free_data(in, decoded.content.context_free_data);
    return in.finish();
}

}  // namespace

TransactionId Transaction::id() const {
    return base::crypto::sha256(pack(*this));
}

Digest Transaction::signing_digest(const ChainId& chain,
                                   const std::vector<base::Bytes>& context_free_data) const {
    return chain::signing_digest(chain, pack(*this), context_free_data);
}

Name Transaction::first_authorizer() const {
    for (const Action& action : actions) {
        if (!action.authorization.empty()) return action.authorization.front().actor;
    }
    return {};
}

Digest signing_digest(const ChainId& chain,
                      base::ByteView packed_transaction,
                      const std::vector<base::Bytes>& context_free_data) {
    Digest data_digest;
    if (!context_free_data.empty()) {
        data_digest = base::crypto::sha256(pack_context_free_data(context_free_data));
    }
    base::crypto::Sha256 hash;
    return hash.update(chain.view()).update(packed_transaction).update(data_digest.view()).finish();
}

PackedTransaction PackedTransaction::pack(const SignedTransaction& transaction,
                                          Compression compression) {
    PackedTransaction packed;
    packed.signatures = transaction.signatures;
    packed.compression = compression;
    packed.packed_trx = chain::pack(static_cast<const Transaction&>(transaction));
    if (!transaction.context_free_data.empty()) {
        packed.packed_context_free_data = pack_context_free_data(transaction.context_free_data);
    }
    if (compression == Compression::zlib) {
        packed.packed_trx = zlib_deflate(packed.packed_trx);
        if (!packed.packed_context_free_data.empty()) {
            packed.packed_context_free_data = zlib_deflate(packed.packed_context_free_data);
        }
    }
    return packed;
}

Digest PackedTransaction::packed_digest() const {
    base::Writer prunable;
    encode_list(prunable, signatures);
    prunable.bytes(packed_context_free_data);
    base::Writer out;
    out.u8(static_cast<std::uint8_t>(compression));
    out.bytes(packed_trx);
    out.hash(base::crypto::sha256(prunable.view()));
    return base::crypto::sha256(out.view());
}

std::size_t PackedTransaction::net_bytes_unprunable() const {
    return kFixedNetBytes + packed_trx.size();
}

std::size_t PackedTransaction::net_bytes_prunable() const {
    std::size_t bytes = varuint32_bytes(signatures.size()) + packed_context_free_data.size();
    for (const Signature& signature : signatures) {
        const bool is_long = signature.type == base::crypto::KeyType::webauthn;
        bytes += is_long ? chain::pack(signature).size() : kSignatureBytesMin;
    }
    return bytes;
}

base::Result<TransactionPtr> decode_transaction(PackedTransaction packed) {
    base::Bytes inflated;
    auto bytes = plain(packed, packed.packed_trx, inflated);
    if (!bytes) return base::fail(std::move(bytes).error());
    if (bytes->size() > kTransactionBytesMax) {
        return fail(Exception::tx_too_big, "packed_trx is larger than 1048576 bytes");
    }
    base::Reader in(*bytes);
    auto decoded = std::make_shared<DecodedTransaction>();
    decode(in, static_cast<Transaction&>(decoded->content), "packed_trx");
    if (auto done = in.finish(); !done) return base::fail(std::move(done).error());
    // Decoding is strict, so these bytes are the only ones that have this content.
    decoded->id = base::crypto::sha256(*bytes);
    decoded->plain_bytes = bytes->size();
    decoded->packed = std::move(packed);
    if (auto done = decode_context_free_part(*decoded); !done) {
        return base::fail(std::move(done).error());
    }
    decoded->content.signatures = decoded->packed.signatures;
    return TransactionPtr(std::move(decoded));
}

base::Result<TransactionPtr> decode_transaction(base::ByteView bytes) {
    if (bytes.size() > kPackedTransactionBytesMax) {
        return fail(Exception::tx_too_big, "packed transaction is larger than 524288 bytes");
    }
    auto packed = unpack<PackedTransaction>(bytes, "packed_transaction");
    if (!packed) return base::fail(std::move(packed).error());
    return decode_transaction(std::move(*packed));
}

TransactionPtr make_transaction(const SignedTransaction& transaction, Compression compression) {
    auto decoded = std::make_shared<DecodedTransaction>();
    decoded->packed = PackedTransaction::pack(transaction, compression);
    decoded->content = transaction;
    const base::Bytes bytes = pack(static_cast<const Transaction&>(transaction));
    decoded->id = base::crypto::sha256(bytes);
    decoded->plain_bytes = bytes.size();
    if (!transaction.context_free_data.empty()) {
        decoded->plain_bytes += pack_context_free_data(transaction.context_free_data).size();
    }
    return decoded;
}

std::uint32_t ref_block_prefix_of(const BlockId& id) {
    base::Reader in(base::ByteView(id.bytes).subspan(8, 4));
    return in.u32("ref_block_prefix");
}

Height height_of(const BlockId& id) {
    Height height = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        height = height << 8U | std::to_integer<Height>(id.bytes[i]);
    }
    return height;
}

std::size_t packed_bytes(const Action& action) {
    return 2 * sizeof(Name) + varuint32_bytes(action.authorization.size()) +
           kLevelBytes * action.authorization.size() + varuint32_bytes(action.data.size()) +
           action.data.size();
}

void encode(base::Writer& out, const TransactionHeader& header) {
    encode(out, header.expiration);
    out.u16(header.ref_block_num);
    out.u32(header.ref_block_prefix);
    out.varuint32(header.max_net_usage_words);
    out.u8(header.max_cpu_usage_ms);
    out.varuint32(header.delay_sec);
}

void encode(base::Writer& out, const Transaction& transaction) {
    encode(out, static_cast<const TransactionHeader&>(transaction));
    encode_list(out, transaction.context_free_actions);
    encode_list(out, transaction.actions);
    encode_list(out, transaction.extensions);
}

void encode(base::Writer& out, const SignedTransaction& transaction) {
    encode(out, static_cast<const Transaction&>(transaction));
    encode_list(out, transaction.signatures);
    out.raw(pack_context_free_data(transaction.context_free_data));
}

void encode(base::Writer& out, const PackedTransaction& packed) {
    encode_list(out, packed.signatures);
    out.u8(static_cast<std::uint8_t>(packed.compression));
    out.bytes(packed.packed_context_free_data);
    out.bytes(packed.packed_trx);
}

void decode(base::Reader& in, TransactionHeader& header, std::string_view) {
    decode(in, header.expiration, "expiration");
    header.ref_block_num = in.u16("ref_block_num");
    header.ref_block_prefix = in.u32("ref_block_prefix");
    header.max_net_usage_words = in.varuint32("max_net_usage_words");
    header.max_cpu_usage_ms = in.u8("max_cpu_usage_ms");
    header.delay_sec = in.varuint32("delay_sec");
}

void decode(base::Reader& in, Transaction& transaction, std::string_view field) {
    decode(in, static_cast<TransactionHeader&>(transaction), field);
    decode_list(in,
                transaction.context_free_actions,
                {kActionsMax, kActionBytesMin},
                "context_free_actions");
    decode_list(in, transaction.actions, {kActionsMax, kActionBytesMin}, "actions");
    decode_list(in, transaction.extensions, {kExtensionsMax, 3}, "transaction_extensions");
}

void decode(base::Reader& in, SignedTransaction& transaction, std::string_view field) {
    decode(in, static_cast<Transaction&>(transaction), field);
    decode_list(in, transaction.signatures, {kSignaturesMax, kSignatureBytesMin}, "signatures");
    decode_context_free_data(in, transaction.context_free_data);
}

void decode(base::Reader& in, PackedTransaction& packed, std::string_view field) {
    const std::size_t start = in.offset();
    decode_list(in, packed.signatures, {kSignaturesMax, kSignatureBytesMin}, "signatures");
    const std::uint8_t compression = in.u8("compression");
    if (in.ok() && compression > 1) in.set_error("compression", "neither 0 (none) nor 1 (zlib)");
    packed.compression = static_cast<Compression>(compression);
    packed.packed_context_free_data =
        base::to_bytes(in.bytes("packed_context_free_data", kPackedTransactionBytesMax));
    packed.packed_trx = base::to_bytes(in.bytes("packed_trx", kPackedTransactionBytesMax));
    if (in.ok() && in.offset() - start > kPackedTransactionBytesMax) {
        in.set_error(field, "a packed transaction is larger than 524288 bytes");
    }
}

}  // namespace chain
