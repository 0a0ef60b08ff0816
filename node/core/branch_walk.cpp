#include "node/core/branch_walk.hpp"

#include "base/check.hpp"
#include "base/crypto/keys.hpp"
#include "consensus/certificate.hpp"

#include <fmt/format.h>

#include <utility>

namespace node {

namespace {

using base::Errc;
using base::fail;

}  // namespace

BranchWalk::BranchWalk(const Rules& rules, chain::BlockPtr base, chain::ScheduleState schedules)
    : rules_(rules) {
    CHECK(base != nullptr && schedules.active != nullptr);
    steps_.push_back({std::move(base), std::move(schedules)});
}

void BranchWalk::follow(chain::BlockPtr block) {
    const Step& parent = steps_.back();
    CHECK(block->header.previous == parent.block->id);
    auto schedules = chain::with_proposal(schedules_below(parent), block->header);
    const chain::Height lowest = chain::height_of(parent.block->header.finalized.id);
    steps_.push_back({std::move(block), std::move(schedules)});
    while (steps_.front().block->header.height < lowest && steps_.size() > 2)
        steps_.pop_front();
}

chain::ScheduleState BranchWalk::schedules_below(const Step& parent) const {
    if (const auto* reset = chain::reset_below(rules_.reset, parent.block->id)) {
        return chain::first_schedules(reset->schedule);
    }
    return chain::schedules_below(parent.schedules, parent.block->header);
}

const BranchWalk::Step* BranchWalk::find(const chain::BlockId& id) const {
    const chain::Height height = chain::height_of(id);
    const chain::Height first = steps_.front().block->header.height;
    if (height < first || height - first >= steps_.size()) return nullptr;
    const Step& step = steps_[height - first];
    return step.block->id == id ? &step : nullptr;
}

base::Result<void> BranchWalk::check_form(const Part& part) const {
    const auto bad = [&](std::string_view why) {
        return fail(Errc::invalid, fmt::format("witness of {}: {}", part.name, why));
    };
    if (!part.is_wanted) {
        if (part.certificate) return bad("a certificate where the parent's stays");
        return {};
    }
    if (!part.certificate) return bad("no certificate");
    const Step* named = find(part.named.id);
    if (named == nullptr) return bad("it is of a block that is not among the last");
    if (part.certificate->data != consensus::vote_data(part.kind, *named->block)) {
        return bad("a certificate of another block");
    }
    return {};
}

base::Result<void> BranchWalk::check_form(const chain::Witness& witness) const {
    CHECK(steps_.size() > 1);
    const chain::BlockHeader& header = block().header;
    const chain::BlockHeader& parent = steps_[steps_.size() - 2].block->header;
    const Part justify{"justify",
                       chain::VoteKind::notarize,
                       witness.justify,
                       header.justify != parent.justify,
                       header.justify};
    const Part final{"final",
                     chain::VoteKind::commit,
                     witness.finalized,
                     header.finalized != parent.finalized,
                     header.finalized};
    if (auto good = check_form(justify); !good) return good;
    return check_form(final);
}

base::Result<void> BranchWalk::check(const chain::Block& copy,
                                     const CertificateCheck& check) const {
    if (copy.id != block().id) return fail(Errc::invalid, "it is another block");
    if (auto good = check_form(copy.witness); !good) return good;
    const Step& parent = steps_[steps_.size() - 2];
    const auto below = schedules_below(parent);
    const chain::ScheduleEntry& owner =
        below.active->producer_of(copy.header.slot, rules_.repetitions);
    if (!base::crypto::verify(
            owner.signing_key, copy.signature, copy.header.signing_digest(rules_.chain_id))) {
        return fail(Errc::invalid, "the producer's signature is wrong");
    }
    for (const auto* certificate : {&copy.witness.justify, &copy.witness.finalized}) {
        if (!*certificate) continue;
        const Step* named = find((*certificate)->data.block_id);
        CHECK(named != nullptr);
        if (auto good = check(**certificate, named->schedules); !good) return good;
    }
    return {};
}

}  // namespace node
