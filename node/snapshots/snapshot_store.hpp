#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "node/snapshots/snapshot_folder.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace node {

// The snapshots that a node made, each a SnapshotFolder in one directory. What is named here is
// whole and was verified; what is being made has a name of its own until then.
//
// Thread: any, but one makes snapshots. Errors: unavailable: the disk fails.
class SnapshotStore : base::Pinned {
  public:
    struct Listed {
        std::string name;  // Of its folder.
        genesis::SnapshotHead head;
        base::Hash256 id;  // Of the manifest.
        std::uint64_t packed_bytes = 0;
        bool is_kept = false;  // Made at somebody's request: it goes when he removes it.
    };

    // What a making or a removal that was cut short left behind is removed; what cannot be read is
    // named in the log and left alone, as is what has a name that no store gives.
    [[nodiscard]] static base::Result<std::unique_ptr<SnapshotStore>> open(
        const std::filesystem::path& directory,
        const base::Log& log,
        FileCalls& files = system_calls());

    [[nodiscard]] FileCalls& files() const { return files_; }
    [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
    // By height, ascending.
    [[nodiscard]] std::vector<Listed> list() const;
    [[nodiscard]] std::optional<Listed> find(chain::Height height) const;
    [[nodiscard]] std::filesystem::path path_of(const Listed& snapshot) const {
        return directory_ / snapshot.name;
    }
    // A chunk that one of them has; nothing: none.
    [[nodiscard]] std::optional<std::filesystem::path> find_chunk(
        const base::Hash256& sha256) const;

    // Called after the list changed, on the thread that changed it.
    void set_changed(std::function<void()> changed);
    // A chunk that was found here is not what its name says: no snapshot that has it is whole. They
    // are not listed any more; the log names them.
    void distrust(const base::Hash256& sha256);

    // Where the next one is made: an empty folder with a folder for chunks.
    base::Result<std::filesystem::path> begin();
    // Names what was made there, which is whole and synced. Twice is once; it takes the place of
    // one that is not listed, since that is not whole. Durable.
    base::Result<Listed> take_over(const std::filesystem::path& made, bool keep);
    // Throws away what was being made.
    void abandon();
    // Once its name is gone durably, its files go. not_found: there is none of this name.
    base::Result<void> remove(const std::string& name);
    // A peer reads it: of those that are read, the last one stays as long as it is, at most a day.
    void note_read(const std::string& name);
    // Removes the oldest of those that nobody asked for or reads, until at most `count` are left.
    base::Result<void> keep_newest(std::size_t count);

  private:
    SnapshotStore(std::filesystem::path directory, const base::Log& log, FileCalls& files)
        : directory_(std::move(directory)), log_(log), files_(files) {}
    [[nodiscard]] base::Result<void> load();
    [[nodiscard]] base::Result<Listed> read(const std::filesystem::path& path);
    void add(const Listed& listed, const SnapshotFolder& folder);
    void tell_changed() const;
    void forget_those_with(const base::Hash256& sha256);
    [[nodiscard]] bool is_read(const std::string& name) const;
    [[nodiscard]] bool is_listed(const std::string& name) const;
    [[nodiscard]] bool is_left_over(const std::string& name) const;
    // Durably; the files are still there.
    [[nodiscard]] base::Result<std::filesystem::path> take_name_from(const std::string& name);
    [[nodiscard]] base::Result<void> name(const std::filesystem::path& made,
                                          const std::string& name);
    [[nodiscard]] base::Result<void> remove_all_of(const std::filesystem::path& path) const;

    const std::filesystem::path directory_;
    const base::Log log_;
    FileCalls& files_;
    mutable std::mutex mutex_;
    std::vector<Listed> listed_;  // By height.
    std::function<void()> changed_;
    // What a peer reads.
    std::string read_;
    std::chrono::steady_clock::time_point read_since_;
    std::chrono::steady_clock::time_point read_at_;
    std::map<std::string, std::vector<base::Hash256>> chunks_of_;  // By the folder's name.
};

}  // namespace node
