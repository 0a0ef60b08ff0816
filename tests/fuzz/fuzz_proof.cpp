// Proofs come from strangers, in files. What decodes must encode to the same bytes, and be refused
// within bounded time however its certificates are judged.
#include "chain/state/proof.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    const auto proof = chain::unpack<chain::Proof>(bytes, "proof");
    if (!proof) return 0;
    if (chain::pack(*proof) != base::to_bytes(bytes)) std::abort();
    const auto credulous = [](const chain::Certificate&, const chain::ScheduleState&) {
        return base::Result<void>();
    };
    // Even who believes every certificate is not led from one block to another.
    const auto good = chain::verify(*proof, {}, credulous);
    if (good && proof->finality.certificate.data.block_id != proof->finality.certified.id()) {
        std::abort();
    }
    return 0;
}
