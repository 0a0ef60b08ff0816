#include "node/snapshots/snapshot_store.hpp"

#include "node/disk/file.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

constexpr const char* kMaking = ".making";
// Whoever was silent so long has it all, or has gone.
constexpr auto kReadPatience = std::chrono::minutes(1);
constexpr auto kReadMax = std::chrono::hours(24);
// Beside a folder: it stays until somebody removes it.
constexpr const char* kKept = ".kept";

base::Error failed(const fs::path& path, const std::error_code& error) {
    return {Errc::unavailable, path.string() + ": " + error.message()};
}

base::Result<void> remove_tree(const fs::path& path) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return fail(failed(path, error));
    return {};
}

}  // namespace

base::Result<std::unique_ptr<SnapshotStore>> SnapshotStore::open(const fs::path& directory,
                                                                 const base::Log& log) {
    std::unique_ptr<SnapshotStore> store(new SnapshotStore(directory, log));
    if (auto loaded = store->load(); !loaded) return fail(loaded.error());
    return store;
}

base::Result<void> SnapshotStore::load() {
    std::error_code error;
    if (!fs::exists(directory_, error)) return {};
    if (auto removed = remove_tree(directory_ / kMaking); !removed) return removed;
    for (fs::directory_iterator at(directory_, error), end; !error && at != end;
         at.increment(error)) {
        if (!at->is_directory()) continue;
        if (at->path().filename().string().starts_with('.')) {
            if (auto removed = remove_tree(at->path()); !removed) return removed;
            continue;
        }
        auto listed = read(at->path());
        if (listed) continue;
        log_.warn("a snapshot is not listed: {}; remove the folder, or look at the disk",
                  listed.error().detail);
    }
    if (error) return fail(failed(directory_, error));
    return {};
}

base::Result<SnapshotStore::Listed> SnapshotStore::read(const fs::path& path) {
    auto folder = SnapshotFolder::open(path);
    if (!folder) return fail(folder.error());
    const std::string name = path.filename().string();
    if (name != folder->name()) {
        return fail(Errc::invalid, path.string() + ": its manifest is that of " + folder->name());
    }
    const auto bytes = folder->packed_bytes();
    if (!bytes) return fail(bytes.error());
    std::error_code error;
    const bool is_kept = fs::exists(directory_ / (name + kKept), error);
    Listed listed{name, folder->head(), folder->id(), *bytes, is_kept};
    add(listed, *folder);
    return listed;
}

void SnapshotStore::add(const Listed& listed, const SnapshotFolder& folder) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(listed_, [&](const Listed& each) { return each.name == listed.name; });
    const auto place = std::ranges::upper_bound(
        listed_, listed.head.height, {}, [](const Listed& each) { return each.head.height; });
    listed_.insert(place, listed);
    std::vector<base::Hash256>& chunks = chunks_of_[listed.name];
    chunks.clear();
    for (const genesis::ChunkInfo& chunk : folder.manifest().chunks)
        chunks.push_back(chunk.sha256);
    std::ranges::sort(chunks);
}

std::vector<SnapshotStore::Listed> SnapshotStore::list() const {
    const std::scoped_lock lock(mutex_);
    return listed_;
}

std::optional<SnapshotStore::Listed> SnapshotStore::find(chain::Height height) const {
    const std::scoped_lock lock(mutex_);
    const auto found =
        std::ranges::find(listed_, height, [](const Listed& each) { return each.head.height; });
    return found == listed_.end() ? std::nullopt : std::optional(*found);
}

std::optional<fs::path> SnapshotStore::find_chunk(const base::Hash256& sha256) const {
    const std::scoped_lock lock(mutex_);
    for (const auto& [name, chunks] : chunks_of_) {
        if (!std::ranges::binary_search(chunks, sha256)) continue;
        return directory_ / name / SnapshotFolder::kChunks / chunk_file_name(sha256);
    }
    return std::nullopt;
}

base::Result<fs::path> SnapshotStore::begin() {
    const fs::path path = directory_ / kMaking;
    if (auto removed = remove_tree(path); !removed) return fail(removed.error());
    std::error_code error;
    fs::create_directories(path / SnapshotFolder::kChunks, error);
    if (error) return fail(failed(path, error));
    if (auto synced = sync_directory_of(directory_.string()); !synced) return fail(synced.error());
    return path;
}

base::Result<SnapshotStore::Listed> SnapshotStore::take_over(const fs::path& made, bool keep) {
    auto folder = SnapshotFolder::open(made);
    if (!folder) return fail(folder.error());
    const std::string name = folder->name();
    const fs::path path = directory_ / name;
    if (keep) {
        auto marked = write_file_atomically((directory_ / (name + kKept)).string(), {}, 0644);
        if (!marked) return fail(marked.error());
    }
    std::error_code error;
    fs::create_directories(directory_, error);
    if (fs::exists(path, error)) {
        abandon();
    } else {
        fs::rename(made, path, error);
        if (error) return fail(failed(path, error));
        if (auto synced = sync_directory_of(path.string()); !synced) return fail(synced.error());
    }
    auto listed = read(path);
    tell_changed();
    return listed;
}

void SnapshotStore::set_changed(std::function<void()> changed) {
    const std::scoped_lock lock(mutex_);
    changed_ = std::move(changed);
}

void SnapshotStore::tell_changed() const {
    std::function<void()> changed;
    {
        const std::scoped_lock lock(mutex_);
        changed = changed_;
    }
    if (changed) changed();
}

void SnapshotStore::abandon() {
    if (auto removed = remove_tree(directory_ / kMaking); !removed) {
        log_.warn("{}", removed.error().detail);
    }
}

base::Result<void> SnapshotStore::remove(const std::string& name) {
    {
        const std::scoped_lock lock(mutex_);
        const auto gone =
            std::erase_if(listed_, [&](const Listed& each) { return each.name == name; });
        chunks_of_.erase(name);
        if (gone == 0) {
            return fail(Errc::not_found,
                        "there is no snapshot '" + name + "' in " + directory_.string() +
                            "; 'bor-cli snapshot list' shows them");
        }
    }
    tell_changed();
    // The name first, so that a half of it is never taken for one.
    std::error_code error;
    const fs::path dying = directory_ / (".removing-" + name);
    fs::rename(directory_ / name, dying, error);
    if (error) return fail(failed(directory_ / name, error));
    fs::remove(directory_ / (name + kKept), error);
    return remove_tree(dying);
}

void SnapshotStore::note_read(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    read_at_ = std::chrono::steady_clock::now();
    if (read_ == name) return;
    read_ = name;
    read_since_ = read_at_;
}

bool SnapshotStore::is_read(const std::string& name) const {
    const auto now = std::chrono::steady_clock::now();
    const std::scoped_lock lock(mutex_);
    return read_ == name && now < read_at_ + kReadPatience && now < read_since_ + kReadMax;
}

base::Result<void> SnapshotStore::keep_newest(std::size_t count) {
    std::vector<Listed> free = list();
    std::erase_if(free, [this](const Listed& each) { return each.is_kept || is_read(each.name); });
    while (free.size() > count) {
        if (auto removed = remove(free.front().name); !removed) return removed;
        log_.info("removed snapshot={}, the newest {} are kept", free.front().name, count);
        free.erase(free.begin());
    }
    return {};
}

}  // namespace node
