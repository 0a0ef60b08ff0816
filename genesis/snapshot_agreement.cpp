#include "genesis/snapshot_agreement.hpp"

#include "chain/execution/schedule_rows.hpp"
#include "chain/state/proof_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genesis {

namespace {

using base::Errc;
using base::fail;
using base::Result;
using chain::BlockHeader;
using chain::BlockPtr;
using chain::Height;
using chain::ScheduleState;

// Where the agreement part of this block begins.
Height base_height(const BlockHeader& header) {
    return std::max<Height>(1, chain::height_of(header.finalized.id));
}

Result<BlockPtr> get_block(const base::StorageView& storage, Height height) {
    auto block = chain::BlockReader(storage).at(height);
    if (!block) return fail(std::move(block).error());
    if (*block != nullptr) return block;
    return fail(Errc::not_found, fmt::format("final block {} is not stored", height));
}

// The schedules of a block, from those of its parent. `recoveries`: of the stored chain.
ScheduleState carried(const ScheduleState& parent_schedules,
                      const BlockHeader& parent,
                      const BlockHeader& child,
                      const std::vector<chain::RecoveryLink>& recoveries) {
    const auto recovery = std::ranges::find_if(recoveries, [&](const chain::RecoveryLink& each) {
        return each.reset.from == child.previous;
    });
    if (recovery != recoveries.end()) {
        return chain::with_proposal(chain::first_schedules(recovery->reset.schedule), child);
    }
    return chain::with_proposal(chain::schedules_below(parent_schedules, parent), child);
}

// The last block at or below whose schedules are stored, and these.
struct Start {
    Height height = 1;
    ScheduleState schedules;
};
Result<Start> start_of(const base::StorageView& before) {
    auto stored = chain::ChainManager::stored_schedules(before);
    if (!stored) return fail(std::move(stored).error());
    if (*stored) return Start{(*stored)->base_height, (*stored)->base};
    // Nothing above genesis was final.
    base::Result<void> fault;
    const std::shared_ptr<const base::StorageView> borrowed(std::shared_ptr<void>(), &before);
    const chain::StoredView state(borrowed, [&](const base::Error& error) { fault = fail(error); });
    auto schedules = chain::load_schedules(state);
    if (!fault) return fail(std::move(fault).error());
    if (!schedules) return fail(std::move(schedules).error());
    return Start{1, *std::move(schedules)};
}

}  // namespace

base::Bytes encode_proof_part(const ProofPart& part) {
    base::Writer out;
    chain::encode(out, part.proof);
    chain::encode(out, part.agreement.schedules);
    out.u32(static_cast<std::uint32_t>(part.agreement.blocks.size()));
    for (const BlockPtr& block : part.agreement.blocks) {
        out.bytes(chain::encode_block(*block));
    }
    return out.take();
}

Result<ProofPart> decode_proof_part(base::ByteView bytes) {
    ProofPart part;
    base::Reader in(bytes);
    chain::decode(in, part.proof, "proof");
    chain::decode(in, part.agreement.schedules, "schedules");
    const std::uint32_t count = in.u32("blocks");
    if (in.ok() && (count == 0 || in.left() > kAgreementBytesMax)) {
        in.set_error("blocks",
                     fmt::format("are {} in {} bytes; at least one and at most {} bytes",
                                 count,
                                 in.left(),
                                 kAgreementBytesMax));
    }
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        const base::ByteView packed = in.bytes("block", kAgreementBytesMax);
        if (!in.ok()) break;
        auto block = chain::decode_block(packed, chain::kBlockBytesCeiling);
        if (!block) {
            in.set_error(block.error());
            break;
        }
        part.agreement.blocks.push_back(*std::move(block));
    }
    if (auto read = in.finish(); !read) {
        return fail(Errc::malformed, "proof: " + read.error().detail);
    }
    return part;
}

Result<AgreementPart> make_agreement(const base::StorageView& before,
                                     const base::StorageView& now,
                                     Height height) {
    auto last = get_block(now, height);
    if (!last) return fail(std::move(last).error());
    auto start = start_of(before);
    if (!start) return fail(std::move(start).error());
    auto recoveries = chain::stored_recoveries(now);
    if (!recoveries) return fail(std::move(recoveries).error());
    const Height first = base_height((*last)->header);
    if (start->height > first) {
        return fail(Errc::not_found,
                    fmt::format("the schedules of block {} are not stored any more: the agreement "
                                "begins at block {}",
                                first,
                                start->height));
    }
    AgreementPart part;
    std::size_t bytes = 0;
    BlockPtr parent;
    ScheduleState schedules = std::move(start->schedules);
    for (Height each = start->height; each <= height; ++each) {
        auto block = get_block(now, each);
        if (!block) return fail(std::move(block).error());
        if (parent) schedules = carried(schedules, parent->header, (*block)->header, *recoveries);
        parent = *block;
        if (each < first) continue;
        if (each == first) part.schedules = schedules;
        bytes += chain::encode_block(**block).size() + sizeof(std::uint64_t);
        if (bytes > kAgreementBytesMax) {
            return fail(Errc::invalid,
                        fmt::format("the blocks from {} to {} have more than {} bytes: no snapshot "
                                    "of this height is made, take a later one",
                                    first,
                                    height,
                                    kAgreementBytesMax));
        }
        part.blocks.push_back(*std::move(block));
    }
    return part;
}

namespace {

// A node with other times than the chain has would not open it.
Result<void> check_times(const chain::StateView& state,
                         const BlockHeader& header,
                         const std::vector<chain::Retime>& known) {
    auto row = chain::load_retimes(state);
    if (!row) return fail(std::move(row).error());
    const auto& past = row->retimes;
    if (past.size() > known.size() || !std::equal(past.begin(), past.end(), known.begin())) {
        return fail(Errc::invalid,
                    fmt::format("the time of this chain was set back, from slot {} on, by a "
                                "recovery that 'recover-from' does not name",
                                past.back().first));
    }
    for (std::size_t i = past.size(); i < known.size(); ++i) {
        const Height from = chain::height_of(known[i].from);
        if (from > header.height) continue;
        const chain::Value id = state.find(chain::Table::block_id,
                                           chain::block_id_key(static_cast<std::uint16_t>(from)));
        const bool is_here = from == header.height
                                 ? header.id() == known[i].from
                                 : id != nullptr && base::equal(*id, known[i].from.view());
        if (is_here && header.slot < known[i].first) continue;
        return fail(Errc::invalid,
                    fmt::format("the recovery that 'recover-from' names gives slots other times "
                                "from {} on, this chain went on to slot {} without it",
                                known[i].first,
                                header.slot));
    }
    return {};
}

}  // namespace

Result<void> check_schedules(const BlockHeader& header,
                             const CheckedAgreement& agreement,
                             const chain::StateView& state) {
    auto schedules = chain::load_schedules(state);
    if (schedules && *schedules == agreement.schedules) return {};
    return fail(Errc::invalid,
                fmt::format("snapshot of block {}: {}",
                            header.height,
                            schedules ? "its rows say other schedules than its agreement part "
                                        "leads to"
                                      : schedules.error().detail));
}

Result<base::Batch> make_loaded(const Manifest& manifest,
                                const SnapshotProof& proof,
                                const CheckedAgreement& agreement,
                                const chain::StateView& state) {
    const BlockHeader& header = proof.header;
    const auto refuse = [&](std::string_view why) {
        return fail(Errc::invalid, fmt::format("snapshot of block {}: {}", header.height, why));
    };
    if (auto good = check_schedules(header, agreement, state); !good) {
        return fail(std::move(good).error());
    }
    auto range = chain::load_final_range(state);
    if (!range) return refuse(range.error().detail);
    if (range->count() != chain::ids_below(header) || range->root() != header.finality_root) {
        return refuse("its rows say other final blocks than its header");
    }
    if (auto good = check_times(state, header, agreement.retimes); !good) {
        return refuse(good.error().detail);
    }
    auto rules = chain::load_rules(state);
    if (!rules) return refuse(rules.error().detail);
    if (rules->version != manifest.head.rules_version) {
        return refuse(fmt::format("its rows say rules_version {}, its manifest {}",
                                  rules->version,
                                  manifest.head.rules_version));
    }
    chain::ChainManager::Loaded loaded{.chain_id = manifest.head.chain_id,
                                       .base = agreement.base,
                                       .above = agreement.above,
                                       .schedules = agreement.schedules,
                                       .range = *std::move(range),
                                       .lanes = lanes_of(manifest),
                                       .certificate = std::nullopt};
    // One above says nothing of H itself; its own is whole, as no change is pending.
    if (is_alone(proof)) loaded.certificate = proof.finality.certificate;
    return chain::ChainManager::make_loaded(loaded);
}

void append_links(base::Batch& batch, const std::vector<chain::Link>& links) {
    for (const chain::Link& link : links) {
        chain::append_link(batch, link);
    }
}

}  // namespace genesis
