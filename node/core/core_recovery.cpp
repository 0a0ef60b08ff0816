#include "node/core/core_impl.hpp"
#include "node/core/recovery_origin.hpp"

#include <utility>

// What a validator that is left answers, where more than a third are lost for ever (spec 04,
// `bor-cli recover`): the highest certificate that it holds. Its keys sign nothing more. Another
// node tells the same, and answers for no key.

namespace node {

using base::Errc;
using base::fail;

void Core::Impl::on_answer_recovery(Effects& out) {
    if (trouble_.empty()) return feed(consensus::input::StopSigning{}, out);
    answer_ = std::make_shared<const base::Result<genesis::Recovery>>(
        fail(Errc::unavailable, "this node cannot go on: " + trouble_));
    publish(out);
}

void Core::Impl::answer_recovery(Effects& out) {
    answer_ = std::make_shared<const base::Result<genesis::Recovery>>(make_answer());
    publish(out);
}

base::Result<genesis::Recovery> Core::Impl::make_answer() const {
    genesis::Recovery recovery;
    recovery.chain_id = chain_->identity().chain_id;
    recovery.reset.from = consensus_.finalized().id;
    chain::Slot slot = 0;
    const chain::Certificate* highest = consensus_.highest_certificate();
    if (highest != nullptr && highest->data.slot >= consensus_.finalized().slot) {
        recovery.certificate = *highest;
        recovery.reset.from = highest->data.block_id;
        slot = highest->data.slot;
    }
    // Else the block of the certificate is not here; whoever has it tells of its state.
    if (const auto state = chain_->shared_state_of(recovery.reset.from)) {
        auto origin = origin_of(*state);
        if (!origin) return fail(std::move(origin).error());
        recovery.replaced = std::move(origin->replaced);
        recovery.retimes = std::move(origin->retimes);
        recovery.members = std::move(origin->members);
    }
    // A key that does not know what it has promised has nothing to say of it.
    for (const consensus::KeyStatus& key : consensus_.keys()) {
        if (!consensus_.is_validator(key.key) || !key.stopped || key.lost || key.twin) continue;
        genesis::RecoveryAnswer answer{key.key, slot, recovery.reset.from, {}};
        auto signature = environment_.signer.sign_answer(key.key, answer, recovery.chain_id);
        if (!signature) return fail(std::move(signature).error());
        answer.signature = *std::move(signature);
        recovery.answers.push_back(answer);
    }
    return recovery;
}

}  // namespace node
