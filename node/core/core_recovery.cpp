#include "node/core/core_impl.hpp"
#include "node/core/recovery_origin.hpp"

#include <fmt/format.h>

#include <utility>

// What a validator that is left answers, where more than a third are lost for ever (spec 04,
// `bor-cli recover`): the highest certificate that it holds. Its keys sign nothing more. Another
// node tells the same, and answers for no key.

namespace node {

using base::Errc;
using base::fail;

void Core::Impl::on_answer_recovery(Effects& out) {
    auto good = trouble_.empty() ? check_worth()
                                 : fail(Errc::unavailable, "this node cannot go on: " + trouble_);
    if (good) return feed(consensus::input::StopSigning{}, out);
    answer_ =
        std::make_shared<const base::Result<genesis::Recovery>>(fail(std::move(good).error()));
    publish(out);
}

// Before keys are given up: whether members could sign a recovery from this answer.
base::Result<void> Core::Impl::check_worth() const {
    const auto start = recovery_start();
    if (!start) return fail(start.error());
    if (start->replaced.empty()) return {};
    auto good = genesis::check_members(start->members);
    if (good) return good;
    return fail(Errc::invalid,
                fmt::format("{}, as the state of block {} has them: no recovery can be made from "
                            "that block, so this node does not answer, and its keys sign on; "
                            "where blocks become final, change the members first ('bor-cli member "
                            "add', 'member remove'), else only a new chain is left",
                            good.error().detail,
                            chain::height_of(start->reset.from)));
}

void Core::Impl::answer_recovery(Effects& out) {
    answer_ = std::make_shared<const base::Result<genesis::Recovery>>(make_answer());
    publish(out);
}

// Without answers of keys.
base::Result<genesis::Recovery> Core::Impl::recovery_start() const {
    genesis::Recovery recovery;
    recovery.chain_id = chain_->identity().chain_id;
    recovery.reset.from = consensus_.finalized().id;
    const chain::Certificate* highest = consensus_.highest_certificate();
    if (highest != nullptr && highest->data.slot >= consensus_.finalized().slot) {
        recovery.certificate = *highest;
        recovery.reset.from = highest->data.block_id;
    }
    // Else the block of the certificate is not here; whoever has it tells of its state.
    if (const auto state = chain_->shared_state_of(recovery.reset.from)) {
        auto origin = origin_of(*state);
        if (!origin) return fail(std::move(origin).error());
        recovery.replaced = std::move(origin->replaced);
        recovery.retimes = std::move(origin->retimes);
        recovery.members = std::move(origin->members);
    }
    return recovery;
}

base::Result<genesis::Recovery> Core::Impl::make_answer() const {
    auto recovery = recovery_start();
    if (!recovery) return recovery;
    const chain::Slot slot = recovery->certificate ? recovery->certificate->data.slot : 0;
    // A key that does not know what it has promised has nothing to say of it.
    for (const consensus::KeyStatus& key : consensus_.keys()) {
        if (!consensus_.is_validator(key.key) || !key.stopped || key.lost || key.twin) continue;
        genesis::RecoveryAnswer answer{key.key, slot, recovery->reset.from, {}};
        auto signature = environment_.signer.sign_answer(key.key, answer, recovery->chain_id);
        if (!signature) return fail(std::move(signature).error());
        answer.signature = *std::move(signature);
        recovery->answers.push_back(answer);
    }
    return recovery;
}

}  // namespace node
