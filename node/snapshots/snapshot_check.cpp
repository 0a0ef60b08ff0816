#include "node/snapshots/snapshot_check.hpp"

#include "genesis/snapshot_chunk.hpp"
#include "node/snapshots/chunk_workers.hpp"

#include <fmt/format.h>

#include <utility>

namespace node {

using base::Errc;
using base::fail;

namespace {

constexpr std::uint64_t kGroupBytes = std::uint64_t{32} << 20U;

// Chunks that one worker does after another: from `first` on, before `end`.
struct Group {
    std::size_t first = 0;
    std::size_t end = 0;
};

std::vector<Group> groups_of(const genesis::Manifest& manifest) {
    std::vector<Group> groups;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < manifest.chunks.size(); ++i) {
        const std::uint64_t more = manifest.chunks[i].bytes;
        if (groups.empty() || bytes + more > kGroupBytes) {
            groups.push_back({i, i});
            bytes = 0;
        }
        groups.back().end = i + 1;
        bytes += more;
    }
    return groups;
}

// The keys between which the rows of a group lie.
struct Border {
    base::Bytes first;
    base::Bytes last;
};

class ChunkCheck {
  public:
    ChunkCheck(const SnapshotFolder& folder, const OpenGroup& open, const IsStopped& is_stopped)
        : folder_(folder),
          open_(open),
          is_stopped_(is_stopped),
          groups_(groups_of(folder.manifest())),
          borders_(groups_.size()),
          workers_(folder) {}

    base::Result<std::size_t> run(unsigned workers, const ShowProgress& show) {
        const auto read = [this](std::size_t group) { return read_group(group); };
        auto done = workers_.run(workers, groups_.size(), read, show);
        if (!done) return fail(std::move(done).error());
        for (std::size_t i = 1; i < groups_.size(); ++i) {
            auto good =
                genesis::check_border(borders_[i - 1].last, borders_[i].first, groups_[i].first);
            if (!good) return fail(good.error());
        }
        return groups_.size();
    }

  private:
    base::Result<void> read_group(std::size_t group) {
        RowSink sink;
        if (open_) {
            auto opened = open_(group);
            if (!opened) return fail(opened.error());
            sink = *std::move(opened);
        }
        Border& border = borders_[group];
        for (std::size_t i = groups_[group].first; i < groups_[group].end && !workers_.has_failed();
             ++i) {
            if (auto done = read_chunk(i, border, sink); !done) {
                return fail(done.error().code,
                            folder_.chunk_path(i).string() + ": " + done.error().detail);
            }
        }
        return sink.end && !workers_.has_failed() ? sink.end() : base::Result<void>();
    }

    base::Result<void> read_chunk(std::size_t index, Border& border, const RowSink& sink) {
        if (is_stopped_ && is_stopped_()) return fail(stopped_early());
        const genesis::ChunkInfo& info = folder_.manifest().chunks[index];
        const auto bytes = folder_.chunk(index);
        if (!bytes) return fail(bytes.error());
        const auto rows = genesis::check_chunk(*bytes, info);
        if (!rows) return fail(rows.error());
        if (border.last.empty()) {
            border.first = base::to_bytes(rows->front().key);
        } else {
            auto good = genesis::check_border(border.last, rows->front().key, index);
            if (!good) return good;
        }
        border.last = base::to_bytes(rows->back().key);
        if (sink.take) {
            for (const genesis::ChunkRow& row : *rows) {
                if (auto taken = sink.take(row.key, row.value); !taken) return taken;
            }
        }
        workers_.count(info);
        return {};
    }

    const SnapshotFolder& folder_;
    const OpenGroup& open_;
    const IsStopped& is_stopped_;
    const std::vector<Group> groups_;
    std::vector<Border> borders_;  // Each its worker's until all have ended.
    ChunkWorkers workers_;
};

}  // namespace

SnapshotTrust trust_in(const genesis::Genesis& genesis) {
    return {.chain = {.chain_id = genesis.chain_id(), .schedule = genesis.schedule},
            .repetitions = static_cast<std::uint32_t>(genesis.parameters.repetitions),
            .checkpoint = std::nullopt};
}

base::Result<CheckedSnapshot> check_parts(const SnapshotFolder& folder,
                                          const SnapshotTrust& trust,
                                          const IsStopped& is_stopped) {
    const auto of = [&](const char* file, const base::Error& error) {
        return fail(error.code, (folder.path() / file).string() + ": " + error.detail);
    };
    // What the manifest says of itself, before anything is computed for it.
    if (folder.head().chain_id != trust.chain.chain_id) {
        return of(SnapshotFolder::kManifest,
                  {Errc::invalid,
                   fmt::format("the snapshot is of chain {}, the genesis file makes chain {}; take "
                               "a snapshot of this chain, or the other genesis file",
                               base::to_hex(folder.head().chain_id.view()),
                               base::to_hex(trust.chain.chain_id.view()))});
    }
    genesis::LinkWalk walk(trust.chain);
    auto followed = folder.follow_links(walk, is_stopped);
    if (!followed) return fail(followed.error());
    auto part = folder.proof();
    if (!part) return fail(part.error());
    if (auto good = genesis::check_proof(walk, part->proof); !good) {
        return of(SnapshotFolder::kProof, good.error());
    }
    CheckedSnapshot checked;
    if (trust.checkpoint && trust.checkpoint->height < part->proof.header.height) {
        checked.checkpoint = trust.checkpoint;
    } else if (trust.checkpoint) {
        auto good = genesis::check_checkpoint(*trust.checkpoint, part->proof, std::nullopt);
        if (!good) return of(SnapshotFolder::kProof, good.error());
    }
    auto good =
        genesis::check_manifest(folder.manifest(), trust.chain.chain_id, part->proof.header);
    if (!good) return of(SnapshotFolder::kManifest, good.error());
    auto agreement =
        genesis::check_agreement(part->agreement, part->proof, walk, trust.repetitions);
    if (!agreement) return of(SnapshotFolder::kProof, agreement.error());
    checked.proof = std::move(part->proof);
    checked.agreement = *std::move(agreement);
    checked.link_parts = *std::move(followed);
    return checked;
}

base::Result<std::size_t> check_chunks(const SnapshotFolder& folder,
                                       unsigned workers,
                                       const OpenGroup& open,
                                       const ShowProgress& show,
                                       const IsStopped& is_stopped) {
    return ChunkCheck(folder, open, is_stopped).run(workers, show);
}

}  // namespace node
