#include "genesis/snapshot_proof.hpp"

#include "chain/state/block_store.hpp"
#include "chain/state/proof_store.hpp"
#include "consensus/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genesis {

namespace {

using base::Errc;
using base::fail;
using base::Result;
using chain::BlockHeader;

auto checker(const chain::ChainId& chain_id) {
    return [&chain_id](const chain::Certificate& certificate, const chain::ScheduleState& state) {
        return consensus::verify(certificate, state, chain_id);
    };
}

tl::unexpected<base::Error> refuse(const Recovery& recovery, std::string_view why) {
    return fail(Errc::invalid,
                fmt::format("link of recovery {}: {}", base::to_hex(recovery.id().view()), why));
}

// The text is what the link says, and begins from its block, under the schedule that it replaces.
Result<void> check_form(const Recovery& recovery,
                        const chain::RecoveryLink& link,
                        const chain::Schedule& last) {
    const chain::ScheduleReset& reset = link.reset;
    if (recovery.reset.from != reset.from || link.from.id() != reset.from ||
        recovery.reset.schedule != reset.schedule ||
        recovery.reset.gives_up_final != reset.gives_up_final) {
        return refuse(recovery, "it is not what its members have signed");
    }
    if (link.from.schedule_version != last.version || recovery.replaced.empty() ||
        recovery.replaced.front() != last) {
        return refuse(recovery,
                      fmt::format("it does not begin under schedule {}, to which the links lead",
                                  last.version));
    }
    if (reset.schedule.version <= recovery.replaced.back().version) {
        return refuse(recovery, "its schedule is not above those that it replaces");
    }
    if (!recovery.certificate) return {};
    const chain::VoteData& data = recovery.certificate->data;
    if (data.height == link.from.height && data.slot == link.from.slot) return {};
    return refuse(recovery, "its certificate is of another block");
}

}  // namespace

std::optional<base::Bytes> LinkPacker::add(const chain::Link& link) {
    const base::Bytes packed = chain::pack(link);
    std::optional<base::Bytes> full;
    if (!part_.empty() && part_.size() + packed.size() > kLinksBytesMax) full = finish();
    part_.insert(part_.end(), packed.begin(), packed.end());
    return full;
}

std::optional<base::Bytes> LinkPacker::finish() {
    if (part_.empty()) return std::nullopt;
    return std::exchange(part_, {});
}

std::vector<base::Bytes> pack_links(const std::vector<chain::Link>& links) {
    std::vector<base::Bytes> parts;
    LinkPacker packer;
    for (const chain::Link& link : links) {
        if (auto part = packer.add(link)) parts.push_back(*std::move(part));
    }
    if (auto part = packer.finish()) parts.push_back(*std::move(part));
    return parts;
}

Result<std::vector<chain::Link>> unpack_links(base::ByteView part) {
    if (part.empty() || part.size() > kLinksBytesMax) {
        return fail(
            Errc::malformed,
            fmt::format("links: a part of {} bytes, it has 1 to {}", part.size(), kLinksBytesMax));
    }
    base::Reader in(part);
    std::vector<chain::Link> links;
    while (in.ok() && in.left() != 0) {
        chain::decode(in, links.emplace_back(), "link");
    }
    if (auto read = in.finish(); !read) {
        return fail(Errc::malformed, "links: " + read.error().detail);
    }
    return links;
}

LinkWalk::LinkWalk(Trust trust) : trust_(std::move(trust)) {
    keep(trust_.schedule, std::nullopt);
}

void LinkWalk::keep(const chain::Schedule& schedule, std::optional<BlockHeader> proposing) {
    schedules_.push_back(schedule);
    proposing_.push_back(std::move(proposing));
    if (schedules_.size() <= kKept) return;
    schedules_.pop_front();
    proposing_.pop_front();
}

const chain::Schedule* LinkWalk::find(std::uint32_t version) const {
    const auto found = std::ranges::find(schedules_, version, &chain::Schedule::version);
    return found == schedules_.end() ? nullptr : &*found;
}

const BlockHeader* LinkWalk::find_proposing(std::uint32_t version) const {
    const auto found = std::ranges::find(schedules_, version, &chain::Schedule::version);
    if (found == schedules_.end()) return nullptr;
    const auto& header = proposing_[static_cast<std::size_t>(found - schedules_.begin())];
    return header ? &*header : nullptr;
}

Result<void> LinkWalk::take(const chain::Link& link) {
    if (const auto* recovery = std::get_if<chain::RecoveryLink>(&link)) {
        return take_recovery(*recovery);
    }
    const auto& step = std::get<chain::ScheduleLink>(link);
    const auto good = chain::check_link(step, last(), checker(trust_.chain_id));
    if (!good) {
        return fail(good.error().code,
                    fmt::format("link from schedule {}: {}", last().version, good.error().detail));
    }
    keep(*step.proposing.schedule_change, step.proposing);
    return {};
}

Result<void> LinkWalk::take_recovery(const chain::RecoveryLink& link) {
    auto recovery = recovery_from_text(base::as_text(link.reset.record));
    if (!recovery) {
        return fail(Errc::malformed, "link of a recovery: " + recovery.error().detail);
    }
    const base::Hash256 id = recovery->id();
    if (std::ranges::find(trust_.recoveries, id) == trust_.recoveries.end()) {
        return refuse(
            *recovery,
            fmt::format("this chain goes on from block {} by a recovery that the operator "
                        "does not confirm: ask the members, then set recover-from = {} "
                        "(--recover-from on a command line)",
                        link.from.height,
                        base::to_hex(id.view())));
    }
    if (auto good = check_form(*recovery, link, last()); !good) return good;
    if (auto good = check(*recovery, trust_.chain_id, checker(trust_.chain_id)); !good) {
        return refuse(*recovery, good.error().detail);
    }
    keep(link.reset.schedule, std::nullopt);
    recoveries_.push_back(*std::move(recovery));
    return {};
}

Result<void> LinkWalk::check_complete() const {
    for (const base::Hash256& id : trust_.recoveries) {
        const bool is_here =
            std::ranges::any_of(recoveries_, [&](const Recovery& each) { return each.id() == id; });
        if (is_here) continue;
        return fail(Errc::invalid,
                    fmt::format("links: recovery {}, which recover-from names, is not among them: "
                                "this is the chain without it, or before it; one that only set "
                                "the time back is no link, and needs its file (--recovery FILE, a "
                                "node's recovery.txt)",
                                base::to_hex(id.view())));
    }
    return {};
}

Freshness freshness_of(const SnapshotProof& proof,
                       const chain::SlotTimes& times,
                       base::Timestamp now) {
    constexpr std::int64_t kSecond = 1'000'000;
    const chain::TimePoint time = times.time_of(proof.finality.certified.slot);
    const std::int64_t behind =
        chain::TimePoint::from_timestamp(now).microseconds - time.microseconds;
    return {time, behind / kSecond};
}

Result<SnapshotProof> make_proof(const base::StorageView& storage, chain::Height height) {
    auto block = chain::BlockReader(storage).at(height);
    if (!block) return fail(std::move(block).error());
    if (*block == nullptr) {
        return fail(Errc::not_found, fmt::format("no final block {} is stored", height));
    }
    const chain::ProofMaker maker(storage);
    SnapshotProof made;
    made.header = (*block)->header;
    // The newest block needs none above: where no change is pending its own certificate is enough.
    auto finality = maker.certified_alone(made.header);
    if (!finality && finality.error().code == Errc::would_block) {
        finality = maker.finality_of(made.header);
    }
    if (!finality) return fail(std::move(finality).error());
    made.finality = *std::move(finality);
    return made;
}

Result<void> make_links(const base::StorageView& storage,
                        const SnapshotProof& proof,
                        const TakeLinksPart& take) {
    LinkPacker packer;
    std::size_t parts = 0;
    const auto add = [&](const chain::Link& link) -> Result<void> {
        const auto part = packer.add(link);
        return part ? take(parts++, *part) : Result<void>();
    };
    const chain::ProofMaker maker(storage);
    auto read = maker.all_links(0, proof.finality.certified.schedule_version, add);
    if (!read) return read;
    const auto part = packer.finish();
    return part ? take(parts, *part) : Result<void>();
}

Result<void> check_proof(const LinkWalk& walk, const SnapshotProof& proof) {
    if (auto complete = walk.check_complete(); !complete) return complete;
    const BlockHeader& certified = proof.finality.certified;
    const std::uint32_t version = certified.schedule_version;
    // The last link may be that of a schedule which is proposed and not in force there.
    const BlockHeader* pending = walk.find_proposing(walk.last().version);
    const bool is_last = version == walk.last().version;
    const bool is_before = pending != nullptr && pending->schedule_version == version;
    const chain::Schedule* schedule = walk.find(version);
    if (schedule == nullptr || (!is_last && !is_before)) {
        return fail(Errc::invalid,
                    fmt::format("proof, block {}: it is under schedule {}, the links lead to {}",
                                certified.height,
                                version,
                                walk.last().version));
    }
    const auto check = checker(walk.trust().chain_id);
    if (is_alone(proof)) return chain::check_certified(proof.finality, *schedule, check);
    return chain::check_finality(proof.header, proof.finality, *schedule, check);
}

Result<chain::MerkleProof> make_path(const base::StorageView& storage,
                                     chain::Height height,
                                     const BlockHeader& certified) {
    return chain::ProofMaker(storage).path_of(height, certified);
}

Result<void> check_checkpoint(const Checkpoint& checkpoint,
                              const SnapshotProof& proof,
                              const std::optional<chain::MerkleProof>& path) {
    const BlockHeader& header = proof.header;
    const auto refuse = [&](std::string_view why) {
        return fail(Errc::invalid,
                    fmt::format("checkpoint {}:{}: {}",
                                checkpoint.height,
                                base::to_hex(checkpoint.block.view()),
                                why));
    };
    if (checkpoint.height > header.height) {
        return fail(
            Errc::would_block,
            fmt::format("checkpoint {} is above block {}", checkpoint.height, header.height));
    }
    if (checkpoint.height == header.height) {
        if (checkpoint.block == header.id()) return {};
        return refuse("the history has block " + base::to_hex(header.id().view()) + " there");
    }
    if (!path) return refuse("no path shows that it is in the history; ask another node");
    const BlockHeader& certified = proof.finality.certified;
    const bool is_its = checkpoint.height != 0 && path->index == checkpoint.height - 1 &&
                        path->count == chain::ids_below(certified);
    if (is_its && chain::verify(*path, checkpoint.block, certified.finality_root)) return {};
    return refuse("it is not in the history");
}

}  // namespace genesis
