#include "node/archive/archive_import.hpp"

#include "base/check.hpp"
#include "chain/chain_manager.hpp"
#include "chain/pool.hpp"
#include "chain/state/block_store.hpp"
#include "chain/state/proof_store.hpp"
#include "chain/state/state_manager.hpp"
#include "consensus/certificate.hpp"
#include "node/archive/stored_schedules.hpp"
#include "node/core/branch_walk.hpp"
#include "node/snapshots/stopped_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;
using chain::BlockPtr;
using chain::Height;

namespace {

// Of a batch, so that it takes little memory and what a kill costs is small.
constexpr std::size_t kBatchBlocks = 1'000;
constexpr std::size_t kBatchBytes = std::size_t{8} << 20U;

// Nobody signs the first block, and nothing is below it that a certificate could be of.
base::Result<void> check_genesis(const chain::Block& block) {
    if (block.signature == chain::Signature{} && !block.witness.justify &&
        !block.witness.finalized) {
        return {};
    }
    return fail(Errc::invalid, "it is the first one, and has a signature or a certificate");
}

// About what it takes in a batch.
std::size_t bytes_of(const chain::Block& block) {
    std::size_t bytes = 0;
    for (const chain::TransactionReceipt& receipt : block.transactions) {
        const auto* packed = std::get_if<chain::PackedTransaction>(&receipt.transaction);
        if (packed != nullptr) bytes += chain::packed_bytes(*packed);
    }
    return bytes;
}

class Filling {
  public:
    Filling(base::Storage& storage,
            const genesis::Genesis& genesis,
            const ArchiveFolder& archive,
            StoredSchedules schedules)
        : storage_(storage),
          archive_(archive),
          schedules_(std::move(schedules)),
          rules_{genesis.chain_id(), static_cast<std::uint32_t>(genesis.parameters.repetitions)},
          ids_(storage) {}

    base::Result<Filled> run(Height from, const ShowFilled& show) {
        if (auto begun = begin(from); !begun) return fail(begun.error());
        while (done_.earliest > from) {
            const auto loaded = window_.empty() ? load_below() : base::Result<bool>(true);
            if (!loaded) return fail(loaded.error());
            if (!*loaded) break;
            const auto part = choose(std::max(from, window_.front()->header.height));
            if (!part) return fail(part.error());
            if (!*part) break;
            if (auto good = check(**part); !good) return fail(good.error());
            if (auto stored = store((*part)->lowest, show); !stored) return fail(stored.error());
        }
        return done_;
    }

  private:
    // Blocks from `lowest` on can be checked from `base` on, which is under `schedules`.
    struct Part {
        Height lowest = 0;
        Height base = 0;
        chain::ScheduleState schedules;
    };

    base::Result<void> begin(Height from) {
        const chain::BlockReader reader(storage_);
        const auto earliest = reader.earliest();
        if (!earliest) return fail(earliest.error());
        const auto final = chain::stored_final(storage_);
        if (!final) return fail(final.error());
        const auto block = reader.at(earliest->value_or(final->height));
        if (!block) return fail(block.error());
        if (*block == nullptr) return fail(Errc::corrupt, "no final block is stored");
        lowest_stored_ = *block;
        done_ = {(*block)->header.height, (*block)->header.height, final->height};
        if (done_.before <= from) return {};
        const Height next = done_.before - 1;
        files_left_ = static_cast<std::size_t>(std::ranges::count_if(
            archive_.files(), [&](const ArchiveFile& file) { return file.first <= next; }));
        const bool has_next = files_left_ > 0 && archive_.files()[files_left_ - 1].last >= next;
        if (has_next) return {};
        return fail(
            Errc::invalid,
            fmt::format("the lowest block that is stored is {}, so block {} comes next, "
                        "and {} has {}",
                        done_.before,
                        next,
                        archive_.path().string(),
                        archive_.files().empty() ? std::string("no blocks")
                                                 : fmt::format("blocks {} to {}",
                                                               archive_.files().front().first,
                                                               archive_.files().back().last)));
    }

    // Puts the blocks of the next file below those that are loaded. False: there is none.
    base::Result<bool> load_below() {
        if (files_left_ == 0) return false;
        const ArchiveFile& file = archive_.files()[--files_left_];
        auto blocks = archive_.blocks(file, rules_.chain_id);
        if (!blocks) return fail(blocks.error());
        const chain::Block& above = window_.empty() ? *lowest_stored_ : *window_.front();
        // Above it are blocks that are stored.
        while (blocks->size() > 1 && blocks->back()->header.height >= above.header.height)
            blocks->pop_back();
        if (blocks->back()->id != above.header.previous) {
            return fail(Errc::invalid,
                        fmt::format("{}: its block {} is another than the one below block {} here",
                                    (archive_.path() / file.name()).string(),
                                    blocks->back()->header.height,
                                    above.header.height));
        }
        window_.insert(window_.begin(), blocks->begin(), blocks->end());
        return true;
    }

    [[nodiscard]] const BlockPtr& at(Height height) const {
        return window_[height - window_.front()->header.height];
    }

    // What can be checked down to `lowest`, or to as little above it as the archive forces.
    // Nothing: what is left of the archive only serves to check what is above it.
    base::Result<std::optional<Part>> choose(Height lowest) {
        while (true) {
            auto part = part_from(lowest);
            if (!part || *part) return part;
            const auto loaded = load_below();
            if (!loaded) return fail(loaded.error());
            if (!*loaded) return lowest_part();
        }
    }

    // From the lowest block on that can be a base.
    base::Result<std::optional<Part>> lowest_part() {
        std::optional<Part> part;
        for (const BlockPtr& block : window_) {
            const chain::BlockHeader& header = block->header;
            if (part && lowest_named(header) >= part->base) {
                part->lowest = header.height + 1;
                break;
            }
            if (part) continue;
            auto schedules = schedules_.of_settled(header);
            if (!schedules) return fail(schedules.error());
            if (*schedules) part = Part{0, header.height, **std::move(schedules)};
        }
        const bool is_any = part && part->lowest != 0 && part->lowest < done_.earliest;
        return is_any ? part : std::nullopt;
    }

    // What the witness of a child of this block can name.
    static Height lowest_named(const chain::BlockHeader& parent) {
        return std::max<Height>(1, chain::height_of(parent.finalized.id));
    }

    base::Result<std::optional<Part>> part_from(Height lowest) {
        const Height first = window_.front()->header.height;
        Height base = 1;
        if (lowest > 1) {
            if (lowest == first) return std::optional<Part>();
            base = lowest_named(at(lowest - 1)->header);
        }
        for (; base >= first; --base) {
            auto schedules = schedules_.of_settled(at(base)->header);
            if (!schedules) return fail(schedules.error());
            if (*schedules) return std::optional(Part{lowest, base, **std::move(schedules)});
        }
        return std::optional<Part>();
    }

    // Signatures and witnesses of what is to be stored.
    base::Result<void> check(const Part& part) {
        const auto recoveries = schedules_.recoveries(part.base, done_.earliest - 1);
        if (recoveries.size() > 1) {
            return fail(Errc::invalid,
                        fmt::format("blocks {} to {} go over {} recoveries, and one is the most "
                                    "that can be checked in one go; take an archive with smaller "
                                    "files",
                                    part.base,
                                    done_.earliest - 1,
                                    recoveries.size()));
        }
        BranchWalk::Rules rules = rules_;
        if (!recoveries.empty()) rules.reset = recoveries.front();
        const CertificateCheck verify = [&](const auto& certificate, const auto& schedules) {
            return consensus::verify(certificate, schedules, rules_.chain_id);
        };
        BranchWalk walk(rules, at(part.base), part.schedules);
        base::Result<void> good;
        if (part.lowest == 1) good = check_genesis(*at(1));
        Height height = part.base;
        while (good && ++height < done_.earliest) {
            walk.follow(at(height));
            if (height >= part.lowest) good = walk.check(verify);
        }
        if (good) return {};
        return fail(Errc::invalid, fmt::format("block {}: {}", height, good.error().detail));
    }

    // What was checked, from the highest block on.
    base::Result<void> store(Height lowest, const ShowFilled& show) {
        while (done_.earliest > lowest) {
            base::Batch batch;
            if (auto put = put_next(lowest, batch); !put) return put;
            const Height earliest = lowest_stored_->header.height;
            const auto floor = chain::read_floor(storage_);
            if (!floor) return fail(floor.error());
            const chain::HistoryFloor lower = chain::lowered(*floor, earliest);
            if (lower != *floor) chain::append_floor(batch, lower);
            if (auto done = storage_.commit(batch, /*sync=*/true); !done) return done;
            done_.earliest = earliest;
            show(earliest);
        }
        return {};
    }

    // As many blocks as a batch may have, down to `lowest`.
    base::Result<void> put_next(Height lowest, base::Batch& batch) {
        ids_.begin_batch();
        // Of a snapshot only the peaks over the ids are there, not all below them.
        auto added = ids_.add(lowest_stored_->id, batch);
        std::size_t bytes = 0;
        for (std::size_t i = 0; added && i < kBatchBlocks && bytes < kBatchBytes; ++i) {
            if (lowest_stored_->header.height == lowest) break;
            lowest_stored_ = window_.back();
            window_.pop_back();
            added = ids_.add(lowest_stored_->id, batch);
            chain::append_without_traces(batch, *lowest_stored_);
            bytes += bytes_of(*lowest_stored_);
        }
        return added;
    }

    base::Storage& storage_;
    const ArchiveFolder& archive_;
    StoredSchedules schedules_;
    const BranchWalk::Rules rules_;
    chain::OlderIds ids_;
    Filled done_;
    BlockPtr lowest_stored_;
    std::deque<BlockPtr> window_;  // Loaded and not stored yet, ascending, below lowest_stored_.
    std::size_t files_left_ = 0;   // The lowest ones, that are not loaded.
};

}  // namespace

base::Result<Filled> import_archive(base::Storage& storage,
                                    const genesis::Genesis& genesis,
                                    const ArchiveFolder& archive,
                                    Height from,
                                    const ShowFilled& show) {
    const auto is_there = chain::ChainManager::holds_chain(storage, genesis.chain_id());
    if (!is_there) return fail(is_there.error());
    if (!*is_there) return fail(Errc::not_found, "there is no chain to fill the history of");
    auto schedules = StoredSchedules::open(storage, genesis.schedule);
    if (!schedules) return fail(schedules.error());
    return Filling(storage, genesis, archive, *std::move(schedules)).run(from, show);
}

base::Result<Filled> import_archive(const fs::path& data_dir,
                                    const ArchiveFolder& archive,
                                    Height from,
                                    const ShowFilled& show,
                                    const Disk& disk) {
    const auto node = open_stopped_node(data_dir, disk);
    if (!node) return fail(node.error());
    return import_archive(*node->storage, node->file.genesis, archive, from, show);
}

}  // namespace node
