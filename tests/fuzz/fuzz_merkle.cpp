// Proofs and mountain ranges come from peers and clients. What decodes must encode to the same
// bytes, be verified within bounded time, and prove nothing about a root that was not built.
#include "chain/state/digest.hpp"
#include "chain/state/merkle.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    if (const auto proof = chain::decode_merkle_proof(bytes)) {
        if (chain::encode_merkle_proof(*proof) != base::to_bytes(bytes)) std::abort();
        if (chain::verify(*proof, {}, {})) std::abort();
    }
    if (const auto range = chain::MountainRange::unpack(bytes)) {
        if (range->packed() != base::to_bytes(bytes)) std::abort();
        chain::MountainRange next = *range;
        next.append({});
        if (next.root() == range->root() || next.count() != range->count() + 1) std::abort();
    }
    if (const auto lanes = chain::StateLanes::unpack(bytes)) {
        if (lanes->packed() != base::to_bytes(bytes)) std::abort();
    }
    return 0;
}
