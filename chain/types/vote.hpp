#pragma once

#include "chain/types/time.hpp"

#include <cstdint>
#include <vector>

namespace chain {

// A block by slot and id.
struct BlockRef {
    Slot slot = 0;
    base::Hash256 id;

    friend auto operator<=>(const BlockRef&, const BlockRef&) = default;
};

enum class VoteKind : std::uint8_t { notarize = 1, commit = 2 };
// Its place where there is one of each kind.
[[nodiscard]] constexpr std::size_t index_of(VoteKind kind) {
    return kind == VoteKind::commit ? 1 : 0;
}

// What a vote says (spec 04, "Finality").
struct VoteData {
    VoteKind kind = VoteKind::notarize;
    std::uint32_t schedule_version = 0;
    Slot slot = 0;
    Height height = 0;
    base::Hash256 block_id;
    Slot justify_slot = 0;

    friend auto operator<=>(const VoteData&, const VoteData&) = default;

    // SHA-256("BoR vote 1" || kind u8 || chain id || schedule_version u32 || slot u64 ||
    // height u32 || block_id || justify_slot u64), integers little-endian.
    [[nodiscard]] base::Hash256 digest(const base::Hash256& chain_id) const;
    [[nodiscard]] BlockRef block() const { return {slot, block_id}; }
};

// One validator's vote.
struct Vote {
    VoteData data;
    base::crypto::PublicKey key;
    base::crypto::Signature signature;  // K1, over data.digest().

    friend bool operator==(const Vote&, const Vote&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.data, self.key, self.signature); }
};

// The votes of a quorum for one block. One bitmap for the active schedule and, while another is
// pending, one for that too: bit i % 8 of byte i / 8 is set when the vote key of entry i signed.
// Signatures: those of the set bits of bitmap 0 in ascending order, then those of the set bits
// of bitmap 1 whose key has not signed already. A bitmap has just the bytes its schedule needs.
struct Certificate {
    VoteData data;
    std::vector<base::Bytes> bitmaps;                 // 1 or 2.
    std::vector<base::crypto::Signature> signatures;  // At most 2 * kProducersMax.

    friend bool operator==(const Certificate&, const Certificate&) = default;
};

void encode(base::Writer& out, const BlockRef& block);
void encode(base::Writer& out, const VoteData& data);
void encode(base::Writer& out, const Certificate& certificate);
void decode(base::Reader& in, BlockRef& block, std::string_view field);
void decode(base::Reader& in, VoteData& data, std::string_view field);
// Checks the form only; who signed and whether it suffices is consensus.
void decode(base::Reader& in, Certificate& certificate, std::string_view field);

}  // namespace chain
