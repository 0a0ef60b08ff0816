#include "node/snapshots/snapshot_store.hpp"

#include "node/disk/file.hpp"

#include <algorithm>
#include <string_view>
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

constexpr std::string_view kRemoving = ".removing-";

// As SnapshotFolder::name() makes it.
bool is_snapshot_name(std::string_view name) {
    constexpr std::size_t kHeightDigits = 10;
    constexpr std::size_t kIdDigits = 16;
    if (name.size() != kHeightDigits + 1 + kIdDigits || name[kHeightDigits] != '-') return false;
    const auto is_of = [](std::string_view text, std::string_view digits) {
        return text.find_first_not_of(digits) == std::string_view::npos;
    };
    return is_of(name.substr(0, kHeightDigits), "0123456789") &&
           is_of(name.substr(kHeightDigits + 1), "0123456789abcdef");
}

}  // namespace

base::Result<std::unique_ptr<SnapshotStore>> SnapshotStore::open(const fs::path& directory,
                                                                 const base::Log& log,
                                                                 FileCalls& files) {
    std::unique_ptr<SnapshotStore> store(new SnapshotStore(directory, log, files));
    if (auto loaded = store->load(); !loaded) return fail(loaded.error());
    return store;
}

base::Result<void> SnapshotStore::remove_all_of(const fs::path& path) const {
    return remove_tree(path.string(), files_);
}

// Nobody but a store makes it, and it counts for nothing.
bool SnapshotStore::is_left_over(const std::string& name) const {
    const std::string_view kept = kKept;
    const std::string_view next = ".next";
    std::string_view of = name;
    if (of == kMaking) return true;
    if (of.starts_with(kRemoving)) return is_snapshot_name(of.substr(kRemoving.size()));
    const bool is_next = of.ends_with(next);
    if (is_next) of.remove_suffix(next.size());
    if (!of.ends_with(kept)) return false;
    of.remove_suffix(kept.size());
    return is_snapshot_name(of) && (is_next || !files_.exists((directory_ / of).string()));
}

base::Result<void> SnapshotStore::load() {
    const auto names = list_directory(directory_.string(), files_);
    if (!names && names.error().code == Errc::not_found) return {};
    if (!names) return fail(names.error());
    for (const std::string& name : *names) {
        const fs::path path = directory_ / name;
        if (is_left_over(name)) {
            if (auto removed = remove_all_of(path); !removed) return removed;
            continue;
        }
        if (name.starts_with('.') || !files_.is_directory(path.string())) continue;
        auto listed = read(path);
        if (listed) continue;
        log_.warn("a snapshot is not listed: {}; remove the folder, or look at the disk",
                  listed.error().detail);
    }
    return {};
}

base::Result<SnapshotStore::Listed> SnapshotStore::read(const fs::path& path) {
    auto folder = SnapshotFolder::open(path, files_);
    if (!folder) return fail(folder.error());
    const std::string name = path.filename().string();
    if (name != folder->name()) {
        return fail(Errc::invalid, path.string() + ": its manifest is that of " + folder->name());
    }
    const auto bytes = folder->packed_bytes();
    if (!bytes) return fail(bytes.error());
    const bool is_kept = files_.exists((directory_ / (name + kKept)).string());
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

bool SnapshotStore::is_listed(const std::string& name) const {
    const std::scoped_lock lock(mutex_);
    return chunks_of_.contains(name);
}

void SnapshotStore::distrust(const base::Hash256& sha256) {
    forget_those_with(sha256);
    tell_changed();
}

void SnapshotStore::forget_those_with(const base::Hash256& sha256) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(listed_, [&](const Listed& each) {
        const auto chunks = chunks_of_.find(each.name);
        if (!std::ranges::binary_search(chunks->second, sha256)) return false;
        log_.error(
            "snapshot={} is damaged and not listed any more: its chunk {} is not what its "
            "name says; look at the disk, then remove the folder",
            each.name,
            chunk_file_name(sha256));
        chunks_of_.erase(chunks);
        return true;
    });
}

base::Result<fs::path> SnapshotStore::begin() {
    const fs::path path = directory_ / kMaking;
    if (auto removed = remove_all_of(path); !removed) return fail(removed.error());
    auto made = make_directories((path / SnapshotFolder::kChunks).string(), files_);
    if (made) made = sync_directory_of(directory_.string(), files_);
    if (!made) return fail(made.error());
    return path;
}

base::Result<SnapshotStore::Listed> SnapshotStore::take_over(const fs::path& made, bool keep) {
    auto folder = SnapshotFolder::open(made, files_);
    if (!folder) return fail(folder.error());
    const std::string name = folder->name();
    const std::string mark = (directory_ / (name + kKept)).string();
    if (keep) {
        auto marked = write_file_atomically(mark, {}, 0644, files_);
        if (!marked) return fail(marked.error());
    }
    if (is_listed(name)) {
        abandon();
    } else if (auto named = this->name(made, name); !named) {
        files_.unlink(mark);
        return fail(named.error());
    }
    auto listed = read(directory_ / name);
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

base::Result<void> SnapshotStore::name(const fs::path& made, const std::string& name) {
    const fs::path path = directory_ / name;
    if (auto there = make_directories(directory_.string(), files_); !there) return there;
    if (files_.exists(path.string())) {
        const auto taken = take_name_from(name);
        if (!taken) return fail(taken.error());
        if (auto removed = remove_all_of(*taken); !removed) return removed;
    }
    auto named = rename_file(made.string(), path.string(), files_);
    return named ? sync_directory_of(path.string(), files_) : named;
}

void SnapshotStore::abandon() {
    if (auto removed = remove_all_of(directory_ / kMaking); !removed) {
        log_.warn("{}", removed.error().detail);
    }
}

base::Result<fs::path> SnapshotStore::take_name_from(const std::string& name) {
    const fs::path dying = directory_ / (std::string(kRemoving) + name);
    auto done = rename_file((directory_ / name).string(), dying.string(), files_);
    if (done) done = sync_directory_of(dying.string(), files_);
    if (!done) return fail(done.error());
    return dying;
}

base::Result<void> SnapshotStore::remove(const std::string& name) {
    if (!is_listed(name)) {
        return fail(Errc::not_found,
                    "there is no snapshot '" + name + "' in " + directory_.string() +
                        "; 'bor-cli snapshot list' shows them");
    }
    // The name first, so that a half of it is never taken for one, whatever comes between.
    const auto dying = take_name_from(name);
    if (!dying) return fail(dying.error());
    {
        const std::scoped_lock lock(mutex_);
        std::erase_if(listed_, [&](const Listed& each) { return each.name == name; });
        chunks_of_.erase(name);
    }
    tell_changed();
    files_.unlink((directory_ / (name + kKept)).string());
    return remove_all_of(*dying);
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
