#include "chain/state/transaction_root.hpp"
#include "chain/types/rule.hpp"
#include "consensus/certificate.hpp"
#include "genesis/snapshot_agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genesis {

namespace {

using base::Errc;
using base::fail;
using base::Result;
using chain::Block;
using chain::BlockHeader;
using chain::BlockPtr;
using chain::Certificate;
using chain::Height;
using chain::ScheduleState;
using chain::VoteKind;

tl::unexpected<base::Error> refuse(const BlockHeader& header, std::string_view why) {
    return fail(Errc::invalid, fmt::format("agreement part, block {}: {}", header.height, why));
}

// The blocks lead from the `final` of the proved header up to it.
Result<void> check_blocks(const std::vector<BlockPtr>& blocks, const BlockHeader& header) {
    if (blocks.empty()) return refuse(header, "it has no block");
    if (blocks.back()->header != header) return refuse(header, "its last block is another");
    const BlockHeader& first = blocks.front()->header;
    const Height height = std::max<Height>(1, chain::height_of(header.finalized.id));
    // Genesis is final without being named.
    const bool is_named = height == 1 || blocks.front()->id == header.finalized.id;
    if (first.height != height || !is_named) {
        return refuse(first, "it is not the one that the last header calls final");
    }
    for (std::size_t i = 1; i < blocks.size(); ++i) {
        const BlockHeader& block = blocks[i]->header;
        if (block.previous != blocks[i - 1]->id || block.height != first.height + i) {
            return refuse(block, "it does not follow the one before");
        }
    }
    return {};
}

class AgreementCheck {
  public:
    AgreementCheck(const AgreementPart& part, const LinkWalk& walk, std::uint32_t repetitions)
        : blocks_(part.blocks), walk_(walk), repetitions_(repetitions) {
        schedules_.push_back(part.schedules);
    }

    Result<void> run() {
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            if (i > 0) schedules_.push_back(carried(i));
            auto good = check_block(i);
            if (!good && !chain::is_left_out(chain::Rule::snapshot_agreement)) return good;
        }
        return {};
    }
    [[nodiscard]] const ScheduleState& last() const { return schedules_.back(); }

  private:
    [[nodiscard]] ScheduleState carried(std::size_t i) const {
        const BlockHeader& header = blocks_[i]->header;
        for (const Recovery& recovery : walk_.recoveries()) {
            if (recovery.reset.from != header.previous) continue;
            return chain::with_proposal(chain::first_schedules(recovery.reset.schedule), header);
        }
        const ScheduleState below =
            chain::schedules_below(schedules_[i - 1], blocks_[i - 1]->header);
        return chain::with_proposal(below, header);
    }

    Result<void> check_block(std::size_t i) {
        const Block& block = *blocks_[i];
        const BlockHeader& header = block.header;
        const chain::Schedule& active = *schedules_[i].active;
        const chain::Schedule* linked = walk_.find(header.schedule_version);
        if (active.version != header.schedule_version || linked == nullptr || active != *linked) {
            return refuse(header,
                          fmt::format("it is under schedule {}, the schedules of this part and the "
                                      "links lead to another",
                                      header.schedule_version));
        }
        const auto root = chain::transaction_root(block.transactions);
        if (!root) return refuse(header, "a receipt has no transaction");
        if (*root != header.transaction_root) {
            return refuse(header, "its transactions are not those of its header");
        }
        if (header.height == 1) return check_genesis(block);
        const chain::ScheduleEntry& owner = active.producer_of(header.slot, repetitions_);
        const auto digest = header.signing_digest(walk_.trust().chain_id);
        if (!base::crypto::verify(owner.signing_key, block.signature, digest)) {
            return refuse(header,
                          fmt::format("it is not signed by {}, whose slot it is",
                                      owner.producer.to_string()));
        }
        return check_witness(i);
    }

    // Nobody has signed it; what its witness said would be believed after a restart.
    static Result<void> check_genesis(const Block& block) {
        if (block.signature != chain::Signature{}) {
            return refuse(block.header, "it is signed, nobody signs the first one");
        }
        if (block.witness.justify || block.witness.finalized) {
            return refuse(block.header, "its witness has a certificate, nothing is below it");
        }
        return {};
    }

    // What the first block's parent had is not known here: there a certificate may be absent.
    Result<void> check_witness(std::size_t i) {
        const Block& block = *blocks_[i];
        const BlockHeader* parent = i == 0 ? nullptr : &blocks_[i - 1]->header;
        const auto check = [&](const std::optional<Certificate>& certificate,
                               chain::BlockRef BlockHeader::*field,
                               VoteKind kind) -> Result<void> {
            const bool moved = parent == nullptr || block.header.*field != parent->*field;
            if (!certificate && (!moved || parent == nullptr)) return {};
            if (!certificate) return refuse(block.header, "its witness lacks a certificate");
            if (!moved) return refuse(block.header, "its witness has a certificate too many");
            return check_certificate(block.header, *certificate, {block.header.*field, kind});
        };
        auto good = check(block.witness.justify, &BlockHeader::justify, VoteKind::notarize);
        if (!good) return good;
        return check(block.witness.finalized, &BlockHeader::finalized, VoteKind::commit);
    }

    struct Subject {
        chain::BlockRef block;
        VoteKind kind = VoteKind::notarize;
    };
    Result<void> check_certificate(const BlockHeader& bringer,
                                   const Certificate& certificate,
                                   const Subject& subject) {
        const chain::VoteData& data = certificate.data;
        const auto bad = [&](std::string_view why) {
            return refuse(
                bringer,
                fmt::format(
                    "its witness has a wrong certificate of block {}: {}", data.height, why));
        };
        if (data.kind != subject.kind || data.block() != subject.block ||
            data.height != chain::height_of(data.block_id)) {
            return bad("it is not the one that the header names");
        }
        const Height first = blocks_.front()->header.height;
        Result<ScheduleState> state = schedules_.front();
        if (data.height >= first) {
            if (data.height >= bringer.height) return bad("it is not below");
            const std::size_t at = data.height - first;
            if (data != consensus::vote_data(subject.kind, *blocks_[at]))
                return bad("it is of another block");
            state = schedules_[at];
        } else {
            state = schedules_below_first(certificate);
        }
        if (!state) return bad(state.error().detail);
        auto good = consensus::verify(certificate, *state, walk_.trust().chain_id);
        return good ? good : bad(good.error().detail);
    }

    // Of a block below the first. A block brings certificates of its parent's `final` or later, and
    // a schedule is in force only below a parent whose `final` was under it as the pending one. So
    // such a block is under the first one's schedules, or under those that these replaced.
    [[nodiscard]] Result<ScheduleState> schedules_below_first(
        const Certificate& certificate) const {
        const ScheduleState& first = schedules_.front();
        const std::uint32_t version = certificate.data.schedule_version;
        ScheduleState state = first;
        if (version == first.active->version) {
            if (certificate.data.height >= first.pending_since) return state;
            state.pending_since = 0;
            return state;
        }
        const chain::Schedule* active = walk_.find(version);
        if (active == nullptr) {
            return fail(Errc::invalid, fmt::format("no link leads to schedule {}", version));
        }
        state = chain::first_schedules(*active);
        for (const Recovery& recovery : walk_.recoveries()) {
            if (recovery.replaced.front() != *active) continue;
            // Whether the other one was pending there already is not known: its votes tell.
            if (recovery.replaced.size() == 2 && certificate.bitmaps.size() == 2) {
                state.proposed = std::make_shared<const chain::Schedule>(recovery.replaced[1]);
                state.pending_since = 1;
            }
            return state;
        }
        if (version + 1 != first.active->version) {
            return fail(Errc::invalid, fmt::format("schedule {} was replaced before", version));
        }
        state.proposed = first.active;
        state.pending_since = 1;
        return state;
    }

    const std::vector<BlockPtr>& blocks_;
    const LinkWalk& walk_;
    std::uint32_t repetitions_;
    std::vector<ScheduleState> schedules_;  // Of each block so far.
};

// Each recovery has all of the chain up to then.
std::vector<chain::Retime> known_retimes(const LinkWalk& walk) {
    std::vector<chain::Retime> known = walk.trust().retimes;
    for (const Recovery& recovery : walk.recoveries()) {
        if (recovery.retimes.size() > known.size()) known = recovery.retimes;
    }
    return known;
}

}  // namespace

Result<CheckedAgreement> check_agreement(const AgreementPart& agreement,
                                         const SnapshotProof& proof,
                                         const LinkWalk& walk,
                                         std::uint32_t repetitions) {
    if (auto good = check_blocks(agreement.blocks, proof.header); !good) {
        return fail(std::move(good).error());
    }
    AgreementCheck check(agreement, walk, repetitions);
    if (auto good = check.run(); !good) return fail(std::move(good).error());
    if (is_alone(proof) && check.last().pending() != nullptr) {
        return refuse(proof.header,
                      fmt::format("schedule {} is pending there, and the proof has votes of "
                                  "schedule {} alone; take a later snapshot, or one whose proof is "
                                  "a path from a certified header above",
                                  check.last().pending()->version,
                                  check.last().active->version));
    }
    CheckedAgreement checked{.base = {agreement.blocks.front(), agreement.schedules},
                             .above = {agreement.blocks.begin() + 1, agreement.blocks.end()},
                             .schedules = check.last(),
                             .retimes = known_retimes(walk)};
    // The node makes the link to a schedule that is proposed from that block, if it is not there.
    const ScheduleState& last = checked.schedules;
    if (last.proposed == nullptr || last.proposed_at >= agreement.blocks.front()->header.height) {
        return checked;
    }
    const chain::Schedule* linked = walk.find(last.proposed->version);
    if (linked != nullptr && *linked == *last.proposed) return checked;
    return refuse(proof.header,
                  fmt::format("the link to schedule {}, which is proposed below it, is missing",
                              last.proposed->version));
}

}  // namespace genesis
