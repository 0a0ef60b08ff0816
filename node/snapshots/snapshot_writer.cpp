#include "node/snapshots/snapshot_writer.hpp"

#include "chain/execution/rows.hpp"
#include "chain/state/block_store.hpp"
#include "chain/state/state_manager.hpp"
#include "chain/state/state_rows.hpp"
#include "chain/state/views.hpp"
#include "genesis/snapshot_chunk.hpp"
#include "node/disk/file.hpp"
#include "node/snapshots/packing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

constexpr auto kLooksForStop = std::chrono::milliseconds(100);
// What the node itself needs to go on: a snapshot leaves at least that.
constexpr std::int64_t kFreeBytesMin = std::int64_t{256} << 20U;
constexpr auto kLooksForProof = std::chrono::milliseconds(50);

base::Error stopped() {
    return {Errc::unavailable, "the snapshot was not finished: the node stops"};
}

constexpr unsigned kMode = 0644;

// Keeps what is read below a rate.
class Pace {
  public:
    Pace(std::uint64_t bytes_per_second, const std::atomic<bool>& stop)
        : rate_(bytes_per_second), stop_(stop), began_(std::chrono::steady_clock::now()) {}

    void spend(std::uint64_t bytes) {
        if (rate_ == 0) return;
        spent_ += bytes;
        const auto due = began_ + std::chrono::microseconds(spent_ * 1'000'000 / rate_);
        while (!stop_ && std::chrono::steady_clock::now() < due) {
            std::this_thread::sleep_until(
                std::min(due, std::chrono::steady_clock::now() + kLooksForStop));
        }
    }

  private:
    std::uint64_t rate_;
    const std::atomic<bool>& stop_;
    std::chrono::steady_clock::time_point began_;
    std::uint64_t spent_ = 0;
};

// Writes the chunks of a snapshot as they are cut.
class ChunkFiles {
  public:
    ChunkFiles(SnapshotStore& store, fs::path folder, const Pace& pace)
        : store_(store), folder_(std::move(folder)), pace_(pace) {}

    base::Result<void> add(const genesis::Chunk& chunk, genesis::Manifest& manifest) {
        if (manifest.chunks.size() == genesis::kChunksMax) {
            return fail(Errc::unavailable,
                        fmt::format("the state needs more than the {} chunks that a snapshot has "
                                    "at most",
                                    genesis::kChunksMax));
        }
        if (auto written = write(chunk); !written) return written;
        manifest.head.rows += chunk.info.entries;
        manifest.head.bytes += chunk.info.bytes;
        manifest.chunks.push_back(chunk.info);
        pace_.spend(chunk.info.bytes);
        return {};
    }

  private:
    base::Result<void> write(const genesis::Chunk& chunk) {
        const fs::path path =
            folder_ / SnapshotFolder::kChunks / chunk_file_name(chunk.info.sha256);
        if (share(chunk, path)) return {};
        const std::int64_t free = store_.files().free_bytes(folder_.string());
        if (free >= 0 && free < kFreeBytesMin) {
            return fail(Errc::unavailable,
                        fmt::format("no snapshot is made: {} bytes are free on the device of {}, "
                                    "the node keeps {} for itself; free some",
                                    free,
                                    folder_.string(),
                                    kFreeBytesMin));
        }
        return write_file(path.string(), pack_chunk(chunk.bytes), kMode, store_.files());
    }

    // Makes it one file with an equal chunk of another snapshot. That may have gone bad on the disk
    // since, so it is read.
    bool share(const genesis::Chunk& chunk, const fs::path& path) {
        while (const auto same = store_.find_chunk(chunk.info.sha256)) {
            const auto packed =
                read_file(same->string(), packed_bytes_max(chunk.bytes.size()), store_.files());
            if (!packed && packed.error().code == Errc::not_found) return false;  // Removed now.
            if (packed) {
                const auto bytes = unpack_chunk(*packed, chunk.bytes.size());
                if (bytes && *bytes == chunk.bytes) {
                    return store_.files().link(same->string(), path.string()) == 0;
                }
            }
            store_.distrust(chunk.info.sha256);
        }
        return false;
    }

    SnapshotStore& store_;
    fs::path folder_;
    Pace pace_;
};

std::shared_ptr<const chain::ChangeSet> sum_of(
    const std::vector<std::shared_ptr<const chain::ChangeSet>>& sets) {
    if (sets.size() == 1) return sets.front();
    auto sum = std::make_shared<chain::ChangeSet>();
    for (const auto& set : sets)
        sum->merge(*set);
    return sum;
}

base::Result<std::uint32_t> rules_version(const StateCapture& capture,
                                          std::shared_ptr<const chain::ChangeSet> changes) {
    base::Result<void> fault;
    auto stored = std::make_shared<const chain::StoredView>(
        capture.before, [&](const base::Error& error) { fault = fail(error); });
    const chain::LayeredView state({std::move(changes)}, std::move(stored));
    const auto rules = chain::load_rules(state);
    if (!fault) return fail(fault.error());
    if (!rules) return fail(rules.error());
    return rules->version;
}

// What stands beside chunks and links.
base::Result<void> write_parts(const fs::path& folder,
                               const genesis::Manifest& manifest,
                               const genesis::ProofPart& proof,
                               FileCalls& files) {
    const auto write = [&](const fs::path& name, base::ByteView bytes) {
        return write_file((folder / name).string(), bytes, kMode, files);
    };
    auto written = write(SnapshotFolder::kProof, genesis::encode_proof_part(proof));
    if (written) written = write(SnapshotFolder::kManifest, genesis::encode_manifest(manifest));
    if (!written) return written;
    for (const fs::path& inside :
         {folder / SnapshotFolder::kManifest, folder / SnapshotFolder::kChunks / "."}) {
        if (auto synced = sync_directory_of(inside.string(), files); !synced) return synced;
    }
    return {};
}

}  // namespace

base::Result<StateCapture> capture_final(std::shared_ptr<const base::StorageView> storage) {
    StateCapture capture{.block = nullptr, .before = std::move(storage), .changes = {}};
    base::Result<void> fault;
    const auto state = chain::StateManager::open(
        capture.before,
        {.cache_bytes = 0, .on_fault = [&](const base::Error& error) { fault = fail(error); }});
    if (!state) return fail(state.error());
    const chain::Height height = (*state)->base().height;
    if (height <= 1) {
        return fail(Errc::not_found,
                    "no block above genesis is final yet: whoever joins now needs no snapshot");
    }
    auto block = chain::BlockReader(*capture.before).at(height);
    if (!block) return fail(block.error());
    if (*block == nullptr) {
        return fail(Errc::corrupt, fmt::format("final block {} is not stored", height));
    }
    capture.block = *std::move(block);
    return capture;
}

base::Result<void> SnapshotWriter::check_room() const {
    constexpr std::uint64_t kTimes = 2;
    const auto all = store_.list();
    if (all.empty()) return {};
    const std::uint64_t needed = kTimes * all.back().packed_bytes;
    const std::int64_t free = store_.files().free_bytes(store_.directory().string());
    if (free < 0 || static_cast<std::uint64_t>(free) >= needed) return {};
    return fail(Errc::unavailable,
                fmt::format("no snapshot is made: {} bytes are free on the device of {}, the last "
                            "one took {}, and twice that is needed; free some, or remove old ones "
                            "('bor-cli snapshot remove')",
                            free,
                            store_.directory().string(),
                            all.back().packed_bytes));
}

base::Result<SnapshotStore::Listed> SnapshotWriter::write(const StateCapture& capture,
                                                          const Options& options) {
    if (auto room = check_room(); !room) return fail(room.error());
    auto written = write_all(capture, options);
    if (!written) store_.abandon();
    return written;
}

base::Result<SnapshotStore::Listed> SnapshotWriter::write_all(const StateCapture& capture,
                                                              const Options& options) {
    const chain::BlockHeader& header = capture.block->header;
    const auto folder = store_.begin();
    if (!folder) return fail(folder.error());
    const auto manifest = write_rows(capture, options, *folder);
    if (!manifest) return fail(manifest.error());
    // Of the rows as they were written.
    const base::Hash256 digest = genesis::lanes_of(*manifest).digest();
    if (digest != header.state_digest) {
        return fail(Errc::corrupt,
                    fmt::format("the rows at block {} give the digest {}, its header has {}: this "
                                "node's state is damaged; check the disk, then restore it from "
                                "another node's snapshot",
                                header.height,
                                base::to_hex(digest.view()),
                                base::to_hex(header.state_digest.view())));
    }
    auto proved = wait_for_proof(header.height, options);
    if (!proved) return fail(proved.error());
    auto agreement = genesis::make_agreement(*capture.before, *now_(), header.height);
    if (!agreement) return fail(agreement.error());
    if (auto links = write_links(*proved, *folder); !links) return fail(links.error());
    const auto parts = write_parts(
        *folder, *manifest, {std::move(proved->proof), *std::move(agreement)}, store_.files());
    if (!parts) return fail(parts.error());
    return store_.take_over(*folder, options.keep);
}

base::Result<genesis::Manifest> SnapshotWriter::write_rows(const StateCapture& capture,
                                                           const Options& options,
                                                           const fs::path& folder) {
    const auto changes = sum_of(capture.changes);
    const auto version = rules_version(capture, changes);
    if (!version) return fail(version.error());
    genesis::Manifest manifest;
    manifest.head.chain_id = options.chain_id;
    manifest.head.rules_version = *version;
    manifest.head.height = capture.block->header.height;
    manifest.head.block = capture.block->id;
    ChunkFiles files(store_, folder, Pace(options.bytes_per_second, stop_));
    genesis::ChunkCutter cutter;
    base::Result<void> outcome;
    const auto take = [&](base::ByteView key, base::ByteView value) {
        auto ended = cutter.add(key, value);
        if (!ended) {
            outcome = fail(ended.error());
        } else if (*ended) {
            outcome = files.add(**ended, manifest);
            if (outcome && stop_) outcome = fail(stopped());
        }
        return outcome.has_value();
    };
    if (auto read = chain::scan_state(*capture.before, *changes, take); !read) {
        return fail(read.error());
    }
    if (outcome) {
        if (const auto last = cutter.finish()) outcome = files.add(*last, manifest);
    }
    if (!outcome) return fail(outcome.error());
    return manifest;
}

base::Result<SnapshotWriter::Proved> SnapshotWriter::wait_for_proof(chain::Height height,
                                                                    const Options& options) const {
    const auto until = std::chrono::steady_clock::now() + options.proof_patience;
    while (true) {
        auto storage = now_();
        auto proof = genesis::make_proof(*storage, height);
        if (proof) return Proved{std::move(storage), *std::move(proof)};
        if (proof.error().code != Errc::would_block) return fail(proof.error());
        if (stop_) return fail(stopped());
        if (std::chrono::steady_clock::now() >= until) return fail(proof.error());
        std::this_thread::sleep_for(kLooksForProof);
    }
}

base::Result<void> SnapshotWriter::write_links(const Proved& proved, const fs::path& folder) const {
    const auto write = [&](std::size_t part, base::ByteView bytes) -> base::Result<void> {
        if (stop_) return fail(stopped());
        return write_file((folder / links_file_name(part)).string(), bytes, kMode, store_.files());
    };
    return genesis::make_links(*proved.storage, proved.proof, write);
}

}  // namespace node
