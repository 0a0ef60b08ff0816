#include "base/check.hpp"
#include "node/core/core_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// Blocks of a sync that come with a proof of the last one (spec 05, trust = certified): what the
// proof binds is executed without its signatures, which are looked at once it is stored.

namespace node {

using base::Errc;
using base::fail;
using p2p::Item;
using p2p::Verdict;

namespace {

// Blocks that are executed in one step: slots and votes come between.
constexpr int kSparedAStep = 64;
// Ranges that are final and not on their way to the disk.
constexpr std::size_t kRangesAhead = 2;

// How many of these blocks come before those that the agreement believes after a restart: it begins
// at the `final` of the block that becomes final with the last one's witness.
std::size_t count_spared(const std::vector<chain::BlockPtr>& blocks) {
    const chain::Height first = blocks.front()->header.height;
    const auto place = [&](const chain::BlockId& id) -> std::size_t {
        const chain::Height height = chain::height_of(id);
        return height < first ? 0 : std::min<std::size_t>(height - first, blocks.size() - 1);
    };
    const chain::BlockId& final = blocks.back()->header.finalized.id;
    if (chain::height_of(final) < first) return 0;
    return place(blocks[place(final)]->header.finalized.id);
}

// The links that lead on from the schedule of this version.
std::vector<chain::ScheduleLink> links_from(const std::vector<chain::ScheduleLink>& links,
                                            std::uint32_t version) {
    std::vector<chain::ScheduleLink> left;
    for (const chain::ScheduleLink& link : links) {
        const auto& change = link.proposing.schedule_change;
        if (!change || change->version > version) left.push_back(link);
    }
    return left;
}

}  // namespace

void Core::Impl::on_range(const p2p::effect::RangeArrived& arrived, Effects& out) {
    ranges_.push_back({arrived.channel, arrived.blocks, arrived.proof});
    work_off_ranges(out);
}

void Core::Impl::conclude(const Range& range,
                          Verdict verdict,
                          const std::string& text,
                          Effects& out) {
    judge({Item::block, range.blocks.back()->id, range.channel, verdict, text}, out);
}

void Core::Impl::work_off_ranges(Effects& out) {
    int executed = 0;
    while (!ranges_.empty() && trouble_.empty() && queue_.size() < kQueueMax) {
        Range& range = ranges_.front();
        if (!range.is_begun) {
            if (!begin_range(out)) return;
            continue;
        }
        while (range.next < range.spared && goes_on(range)) {
            if (executed++ == kSparedAStep) {
                out.push_back(effect::WakeAt{now_});
                return;
            }
            if (!adopt_spared(range.blocks[range.next], out)) return;
            ++range.next;
        }
        end_range(out);
    }
}

// Between two steps what a range stands on may have come from others and be below the final block,
// or be gone.
bool Core::Impl::goes_on(const Range& range) const {
    const chain::Block& next = *range.blocks[range.next];
    return is_here(next) || chain_->find_header(next.header.previous) != nullptr;
}

bool Core::Impl::is_here(const chain::Block& block) const {
    return chain_->find_header(block.id) != nullptr ||
           block.header.slot <= consensus_.finalized().slot;
}

// False: nothing can be done now.
bool Core::Impl::begin_range(Effects& out) {
    Range& range = ranges_.front();
    // What is here already came from somebody else meanwhile.
    std::erase_if(range.blocks, [&](const chain::BlockPtr& block) {
        return block != range.blocks.back() && is_here(*block);
    });
    const chain::Block& first = *range.blocks.front();
    if (first.header.slot <= consensus_.finalized().slot || chain_->find(first.id) != nullptr) {
        conclude(range, Verdict::duplicate, "", out);
        ranges_.pop_front();
        return true;
    }
    const chain::BlockId& parent = first.header.previous;
    const Arrivals::Key waits_for{first.header.height - 1, parent};
    if (chain_->find_header(parent) == nullptr || consensus_.tree().find(parent) == nullptr) {
        // It is on its way: executed before long, or refused.
        if (arrivals_.find(waits_for) != nullptr) return false;
        conclude(range, Verdict::unsure, "its parent is not here", out);
        ranges_.pop_front();
        return true;
    }
    if (count_awaiting_disk() >= kRangesAhead) return false;
    range.is_begun = true;
    range.spared = goes_over_recovery(parent) ? 0 : count_spared(range.blocks);
    if (auto good = vet(range, out); !good) {
        environment_.log.warn("blocks {} to {} are refused: {}",
                              first.header.height,
                              range.blocks.back()->header.height,
                              good.error().detail);
        conclude(range, Verdict::bad, good.error().detail, out);
        ranges_.pop_front();
        return true;
    }
    if (range.spared > 0) {
        const consensus::TreeBase base = consensus_.tree().base();
        stretches_.push_back({{first.header.height,
                               range.blocks[range.spared - 1]->header.height,
                               base.block->header.height,
                               base.schedules},
                              range.channel});
    }
    return true;
}

// Whether the way from the agreement's base to what comes after `tip` goes over the recovery that
// this node knows. Such blocks are checked at once: after a restart it may know another one.
bool Core::Impl::goes_over_recovery(const chain::BlockId& tip) const {
    const auto& reset = chain_->identity().reset;
    if (!reset) return false;
    const chain::Height height = chain::height_of(reset->from);
    return consensus_.tree().base().block->header.height <= height &&
           chain::height_of(tip) >= height;
}

// No links lead over a recovery: the validators before it have nothing to say of what comes after.
base::Result<void> Core::Impl::check_recovery(const Range& range) const {
    const auto& reset = chain_->identity().reset;
    if (!reset) return {};
    const chain::Height height = chain::height_of(reset->from);
    for (const chain::BlockPtr& block : range.blocks) {
        if (block->header.height != height) continue;
        if (block->id != reset->from) {
            return fail(Errc::invalid,
                        fmt::format("block {} is not that from which the recovery begins", height));
        }
        if (block != range.blocks.back()) {
            return fail(
                Errc::invalid,
                fmt::format("its proof goes over the recovery that begins from block {}", height));
        }
    }
    return {};
}

// Whether the last block is final, the others lead to it, and each has its body and the
// certificates that its header wants: what is executed afterwards is what a quorum has signed.
base::Result<void> Core::Impl::vet(const Range& range, Effects& out) {
    if (auto good = check_recovery(range); !good) return good;
    const chain::BlockPtr& first = range.blocks.front();
    const auto below = chain_->schedules_below(first->header.previous);
    CHECK(below.has_value());
    const CertificateCheck check = [&](const auto& certificate, const auto& schedules) {
        return verify(certificate, schedules, out);
    };
    const auto links = links_from(range.proof.links, below->active->version);
    auto schedule = chain::follow(links, *below->active, check);
    if (!schedule) return fail(std::move(schedule).error());
    const chain::FinalityProof& proof = range.proof.finality;
    if (auto final = chain::check_finality(range.blocks.back()->header, proof, *schedule, check);
        !final) {
        return final;
    }
    BranchWalk walk = walk_to(first->header.previous);
    for (std::size_t i = 0; i < range.blocks.size(); ++i) {
        const chain::BlockPtr& block = range.blocks[i];
        if (block->header.previous != walk.block().id) {
            return fail(
                Errc::invalid,
                fmt::format("block {} is not the child of the one before", block->header.height));
        }
        walk.follow(block);
        if (i >= range.spared) continue;  // Is checked as any other.
        if (!has_its_body(*block)) {
            return fail(Errc::invalid,
                        fmt::format("block {} has another body", block->header.height));
        }
        if (auto form = walk.check_form(); !form) return form;
        // Of these certificates the links to the next schedule are made.
        if (walk.schedules().proposed == nullptr) continue;
        if (auto good = walk.check(check); !good) return good;
    }
    return {};
}

// From the base of the agreement up to a block that is held.
BranchWalk Core::Impl::walk_to(const chain::BlockId& tip) const {
    std::vector<const consensus::BlockNode*> path;
    for (const auto* node = consensus_.tree().find(tip); node != nullptr; node = node->parent)
        path.push_back(node);
    CHECK(!path.empty());
    BranchWalk walk(walk_rules(), path.back()->block, path.back()->schedules);
    for (auto node = path.rbegin() + 1; node != path.rend(); ++node)
        walk.follow((*node)->block);
    return walk;
}

BranchWalk::Rules Core::Impl::walk_rules() const {
    return {chain_->identity().chain_id,
            static_cast<std::uint32_t>(options_.genesis.parameters.repetitions),
            chain_->identity().reset};
}

// False: this node cannot follow what a quorum has made final.
bool Core::Impl::adopt_spared(const chain::BlockPtr& block, Effects& out) {
    if (is_here(*block)) return true;
    auto executed = chain_->replay(block, chain::ChainManager::StateDigest::trusted);
    if (!executed) {
        stop_at(block->header, executed.error().detail, out);
        return false;
    }
    consensus::Effects asked;
    consensus_.step(now_, consensus::input::BlockAdopted{block, false, true}, asked);
    route(std::move(asked), out);
    return true;
}

// Execution gives another result than that which a quorum has signed.
void Core::Impl::stop_at(const chain::BlockHeader& header, const std::string& why, Effects& out) {
    trouble_ =
        fmt::format("block {} is final, and executed here it is another: {}", header.height, why);
    environment_.log.error("stopped: {}", trouble_);
    publish(out);
}

// The rest goes the way of all blocks; with its first one the digest is computed.
void Core::Impl::end_range(Effects& out) {
    const Range range = std::move(ranges_.front());
    ranges_.pop_front();
    // What did not go on is no part of what is to be checked.
    if (range.next < range.spared) {
        Stretch& stretch = stretches_.back().stretch;
        stretch.to = range.blocks[range.next]->header.height - 1;
        if (stretch.to < stretch.from) stretches_.pop_back();
    }
    proved_.clear();
    for (std::size_t i = range.spared; i < range.blocks.size(); ++i)
        proved_.insert(range.blocks[i]->id);
    for (std::size_t i = range.spared; i < range.blocks.size(); ++i) {
        on_block({range.channel, range.blocks[i], true}, out);
    }
}

bool Core::Impl::is_spared(const chain::BlockId& id) const {
    const chain::Height height = chain::height_of(id);
    return std::ranges::any_of(stretches_, [&](const Unchecked::Entry& entry) {
        return entry.stretch.from <= height && height <= entry.stretch.to;
    });
}

// Ranges that are final, and not written yet. Those that are not final do not count: the end of a
// range may be of a liar, and nothing then writes what was good of it before another goes on.
std::size_t Core::Impl::count_awaiting_disk() const {
    const chain::Height final_height = chain::height_of(consensus_.finalized().id);
    return static_cast<std::size_t>(std::ranges::count_if(
        stretches_,
        [&](const Unchecked::Entry& entry) { return entry.stretch.to <= final_height; }));
}

// What became final with this write, and is not checked.
void Core::Impl::note_stretches(chain::Height final_height, base::Batch& batch) {
    while (!stretches_.empty() && stretches_.front().stretch.to <= final_height) {
        unchecked_.add(stretches_.front().stretch, stretches_.front().channel, batch);
        stretches_.pop_front();
    }
}

// --- What is stored is looked at ---

void Core::Impl::attend_unchecked(Effects& out) {
    if (!unchecked_check_ && ranges_.empty()) {
        if (const auto* next = unchecked_.next(shown_final_->header.height)) {
            unchecked_check_ = UncheckedCheck{next_ticket_++, next->stretch, nullptr, {}};
            out.push_back(effect::CheckStored{
                unchecked_check_->ticket, next->stretch, walk_rules(), nullptr});
        }
    }
    if (now_ < ask_mended_at_) return;
    ask_mended_at_ = now_ + kMendAgain;
    const std::vector<chain::BlockId> wrong = unchecked_.wrong();
    if (!wrong.empty()) tell(p2p::input::MendBlocks{wrong}, out);
}

void Core::Impl::on_stored_checked(const input::StoredChecked& checked, Effects& out) {
    if (!unchecked_check_ || unchecked_check_->ticket != checked.ticket) return;
    const UncheckedCheck check = *std::exchange(unchecked_check_, std::nullopt);
    if (!checked.wrong) {
        trouble_ = checked.wrong.error().detail;
        environment_.log.error("stopped: {}", trouble_);
        return publish(out);
    }
    base::Batch batch;
    if (check.copy != nullptr) {
        settle_copy(check, *checked.wrong, batch, out);
    } else {
        settle_stretch(check, *checked.wrong, batch, out);
    }
    write_unsynced(std::move(batch), out);
    publish(out);
    tell_ledger(out);
    attend_unchecked(out);
}

void Core::Impl::settle_stretch(const UncheckedCheck& check,
                                const std::vector<WrongCopy>& wrong,
                                base::Batch& batch,
                                Effects& out) {
    const auto* entry = unchecked_.find(check.stretch.to);
    const transport::ChannelId channel = entry == nullptr ? transport::ChannelId{} : entry->channel;
    unchecked_.settle(check.stretch, wrong, batch);
    if (wrong.empty()) return;
    for (const WrongCopy& copy : wrong) {
        environment_.log.warn("block {}: {}; it is asked of others", copy.height, copy.text);
    }
    judge({Item::block, wrong.front().id, channel, Verdict::bad, wrong.front().text}, out);
    ask_mended_at_ = now_;
}

void Core::Impl::settle_copy(const UncheckedCheck& check,
                             const std::vector<WrongCopy>& wrong,
                             base::Batch& batch,
                             Effects& out) {
    const bool is_good = wrong.empty();
    judge({Item::block,
           check.copy->id,
           check.channel,
           is_good ? Verdict::good : Verdict::bad,
           is_good ? "" : wrong.front().text},
          out);
    if (!is_good) return;
    chain::append_without_traces(batch, *check.copy);
    unchecked_.settle(check.stretch, {}, batch);
    environment_.log.info("block {} is mended", check.copy->header.height);
}

void Core::Impl::on_mended(const p2p::effect::MendArrived& arrived, Effects& out) {
    const chain::BlockPtr& copy = arrived.block;
    const auto* entry = unchecked_.find_wrong(copy->id);
    if (entry == nullptr || unchecked_check_) {
        judge({Item::block, copy->id, arrived.channel, Verdict::unsure, ""}, out);
        return;
    }
    if (!has_its_body(*copy)) {
        judge({Item::block, copy->id, arrived.channel, Verdict::bad, "it has another body"}, out);
        return;
    }
    unchecked_check_ = UncheckedCheck{next_ticket_++, entry->stretch, copy, arrived.channel};
    out.push_back(
        effect::CheckStored{unchecked_check_->ticket, entry->stretch, walk_rules(), copy});
}

}  // namespace node
