#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "node/snapshots/genesis_file.hpp"
#include "node/snapshots/snapshot_check.hpp"
#include "node/snapshots/snapshot_store.hpp"
#include "node/snapshots/state_build.hpp"
#include "p2p/network.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace node {

// A snapshot that comes from peers: its pieces as files, checked, and in the end a state beside the
// one that counts (spec 05, "Join").
//
// `<directory>/<height>-<manifest id>/` is a SnapshotFolder that is not whole yet. A chunk has its
// name there only when it was checked and is durable: that is the list of what is done. Of the
// snapshot before it takes over the chunks that are equal; then that one is removed.
//
// Threads: keep_chunk() is for any, also several at once; the rest for one.
class SnapshotReceiver : base::Pinned {
  public:
    struct Options {
        std::filesystem::path directory;
        std::filesystem::path data_dir;
        SnapshotTrust trust;
        unsigned workers = 1;
        Disk disk{};
        chain::SlotTimes times = {};  // The genesis file's.
    };

    // The store outlives this: what chunks it has are not fetched.
    SnapshotReceiver(Options options, const SnapshotStore& store, const base::Log& log)
        : options_(std::move(options)), store_(store), log_(log) {}

    // The newest of which there are chunks in this directory; nothing: none.
    [[nodiscard]] static std::optional<p2p::SnapshotPoint> begun_in(
        const std::filesystem::path& directory, FileCalls& files = system_calls());

    // Links, proof and manifest. Links are checked, each part when those before it are here; proof
    // and manifest are not.
    [[nodiscard]] p2p::input::SnapshotKept keep(const p2p::effect::KeepSnapshot& piece);
    // A chunk of the snapshot that was checked last.
    [[nodiscard]] p2p::input::SnapshotKept keep_chunk(const p2p::effect::KeepSnapshot& piece);
    [[nodiscard]] p2p::input::SnapshotChecked check(const p2p::SnapshotPoint& snapshot);
    // Of the snapshot that was checked last. `next`: where the state is made, a name of
    // DataDirectory::next_state(). `own`: the own final block; above genesis the state must know
    // it.
    [[nodiscard]] p2p::input::SnapshotLoaded load(const p2p::SnapshotPoint& snapshot,
                                                  const std::filesystem::path& next,
                                                  const genesis::Checkpoint& own);
    // Where it is put together.
    [[nodiscard]] std::filesystem::path path_of(const p2p::SnapshotPoint& snapshot) const;
    // A load() that is under way ends soon. Any thread.
    void stop() { is_stopped_ = true; }
    // Of snapshots that are not above this block nothing is needed any more.
    void forget_up_to(chain::Height height) const;

  private:
    // Found good but for the chunks; immutable.
    struct Checked {
        SnapshotFolder folder;
        CheckedSnapshot parts;
    };
    [[nodiscard]] FileCalls& files() const { return options_.disk.files; }
    [[nodiscard]] std::shared_ptr<const Checked> checked() const;
    void set_checked(std::shared_ptr<const Checked> checked);
    base::Result<void> begin(const std::filesystem::path& path) const;
    [[nodiscard]] base::Result<std::vector<std::filesystem::path>> others(
        const std::filesystem::path& path) const;
    [[nodiscard]] base::Result<void> take_over_chunks(const SnapshotFolder& folder) const;
    [[nodiscard]] p2p::SnapshotVerdict blame(const std::filesystem::path& path,
                                             const base::Error& error) const;
    base::Result<void> follow_links(const std::filesystem::path& path);
    base::Result<void> fill(StateBuild& state, const SnapshotFolder& folder) const;
    [[nodiscard]] p2p::SnapshotVerdict blame_chunks(const SnapshotFolder& folder) const;

    const Options options_;
    const SnapshotStore& store_;
    const base::Log log_;
    p2p::SnapshotPoint looked_at_;  // Last.
    // Of this one, as its links come.
    std::optional<genesis::LinkWalk> walk_;
    std::uint32_t followed_ = 0;          // Parts, from 0 on.
    std::set<std::uint32_t> unfollowed_;  // Parts that came and were not followed.
    mutable std::mutex mutex_;
    std::shared_ptr<const Checked> checked_;
    std::atomic<bool> is_stopped_ = false;
};

}  // namespace node
