#include "chain/types/vote.hpp"

#include "base/crypto/hash.hpp"
#include "chain/types/rule.hpp"

#include <array>
#include <concepts>

namespace chain {

namespace {

constexpr std::size_t kSignatureBytesMin = 66;

// Little-endian, without memory of its own: a digest is made for every vote that comes.
template <std::unsigned_integral T>
void add(base::crypto::Sha256& hash, T value) {
    std::array<std::byte, sizeof(T)> bytes{};
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        bytes[i] = static_cast<std::byte>((std::uint64_t{value} >> (8 * i)) & 0xFFU);
    }
    hash.update(bytes);
}

void decode_slot(base::Reader& in, Slot& slot, std::string_view field) {
    slot = in.u64(field);
    if (slot > kSlotMax) in.set_error(field, "slot above 2^40");
}

}  // namespace

base::Hash256 VoteData::digest(const base::Hash256& chain_id) const {
    base::crypto::Sha256 hash;
    hash.update(base::as_bytes("BoR vote 1"));
    add(hash, static_cast<std::uint8_t>(kind));
    if (!is_left_out(Rule::vote_binds_chain)) hash.update(chain_id.view());
    add(hash, schedule_version);
    add(hash, slot);
    add(hash, height);
    hash.update(block_id.view());
    add(hash, justify_slot);
    return hash.finish();
}

void encode(base::Writer& out, const BlockRef& block) {
    out.u64(block.slot);
    out.hash(block.id);
}

void encode(base::Writer& out, const VoteData& data) {
    out.u8(static_cast<std::uint8_t>(data.kind));
    out.u32(data.schedule_version);
    out.u64(data.slot);
    out.u32(data.height);
    out.hash(data.block_id);
    out.u64(data.justify_slot);
}

void encode(base::Writer& out, const Certificate& certificate) {
    encode(out, certificate.data);
    out.varuint32(static_cast<std::uint32_t>(certificate.bitmaps.size()));
    for (const base::Bytes& bitmap : certificate.bitmaps) {
        out.bytes(bitmap);
    }
    encode_list(out, certificate.signatures);
}

void decode(base::Reader& in, BlockRef& block, std::string_view field) {
    decode_slot(in, block.slot, field);
    decode(in, block.id, field);
}

void decode(base::Reader& in, VoteData& data, std::string_view field) {
    const std::uint8_t kind = in.u8(field);
    if (in.ok() && kind != 1 && kind != 2) in.set_error(field, "kind of vote is neither 1 nor 2");
    data.kind = static_cast<VoteKind>(kind);
    data.schedule_version = in.u32(field);
    decode_slot(in, data.slot, field);
    data.height = in.u32(field);
    decode(in, data.block_id, field);
    decode_slot(in, data.justify_slot, field);
}

void decode(base::Reader& in, Certificate& certificate, std::string_view field) {
    decode(in, certificate.data, field);
    certificate.bitmaps.clear();
    const std::size_t bitmaps = in.count(field, 2);
    if (in.ok() && bitmaps == 0) in.set_error(field, "a certificate has no bitmap");
    for (std::size_t i = 0; i < bitmaps && in.ok(); ++i) {
        certificate.bitmaps.push_back(base::to_bytes(in.bytes(field, kBitmapBytesMax)));
    }
    decode_list(in, certificate.signatures, {2 * kProducersMax, kSignatureBytesMin}, field);
}

}  // namespace chain
