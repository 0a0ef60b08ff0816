// Proofs of forks come from strangers, in files, and branches from nodes that may lie. What decodes
// must encode to the same bytes, and be refused within bounded time, whatever certificates say.
#include "chain/state/fork_proof.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    const auto proof = chain::unpack<chain::ForkProof>(bytes, "proof");
    if (!proof) return 0;
    if (chain::pack(*proof) != base::to_bytes(bytes)) std::abort();
    const auto credulous = [](const chain::Certificate&, const chain::ScheduleState&) {
        return base::Result<void>();
    };
    // Even who believes every certificate does not take one block for two.
    const auto good = chain::verify(*proof, {}, credulous, {});
    if (good && proof->first.header.id() == proof->second.header.id()) std::abort();
    // What a liar says of two branches.
    const auto branch_of = [](const chain::Proof& side) {
        chain::ForkBranch branch{.blocks = {chain::make_block({side.header, {}}, {}, {})},
                                 .certificates = {side.finality.certificate},
                                 .schedules = chain::schedules_of(side, {})};
        return branch;
    };
    const auto evidence =
        chain::evidence_between(branch_of(proof->first), branch_of(proof->second), {});
    for (const chain::Evidence& each : evidence) {
        if (!chain::check(each, {})) std::abort();
    }
    return 0;
}
