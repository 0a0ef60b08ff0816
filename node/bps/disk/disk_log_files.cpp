#include "node/bps/disk/disk_log_files.hpp"

#include "base/check.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>

namespace bps {

using base::Errc;
using base::fail;

namespace {

constexpr std::string_view kUnfinished = ".next";  // As write_file_atomically() names it.
constexpr std::size_t kNameBytesMax = 64;

bool is_name(std::string_view name) {
    const auto is_allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';
    };
    return !name.empty() && name.size() <= kNameBytesMax && name.front() != '.' &&
           std::ranges::all_of(name, is_allowed) && !name.ends_with(kUnfinished);
}

base::Result<struct ::stat> about(const std::string& path) {
    struct ::stat found {};
    if (::lstat(path.c_str(), &found) == 0) return found;
    return fail(Errc::unavailable, path + ": " + std::generic_category().message(errno));
}

// The bytes of a regular file.
base::Result<std::uint64_t> file_bytes(const std::string& path) {
    const auto found = about(path);
    if (!found) return fail(found.error());
    if (S_ISREG(found->st_mode)) return static_cast<std::uint64_t>(found->st_size);
    return fail(Errc::invalid,
                fmt::format("{} is {}, where a log has a file; remove it, or put the file there",
                            path,
                            S_ISLNK(found->st_mode) ? "a symbolic link" : "no regular file"));
}

// After a sync that failed the kernel has pages that the disk does not have, and does not say so
// to another process.
base::Result<void> drop_pages(const std::string& path, node::FileCalls& calls) {
    const auto file = node::File::open(path, O_RDONLY | O_NOFOLLOW, 0, calls);
    if (!file) return fail(file.error());
    const int reason = ::posix_fadvise(file->descriptor(), 0, 0, POSIX_FADV_DONTNEED);
    if (reason == 0) return {};
    return fail(
        Errc::unavailable,
        path + ": cannot be read from the disk itself: " + std::generic_category().message(reason));
}

// All of the file system that has this directory: it costs as much as two files alone, and a log
// may have hundreds.
base::Result<void> sync_all_around(const std::string& directory, node::FileCalls& calls) {
    const auto opened = node::File::open(directory, O_RDONLY | O_DIRECTORY, 0, calls);
    if (!opened) return fail(opened.error());
    if (::syncfs(opened->descriptor()) == 0) return {};
    return fail(Errc::unavailable,
                directory + ": cannot make durable what is there: " +
                    std::generic_category().message(errno));
}

}  // namespace

base::Result<dev_t> DiskLogFiles::sync_device_of(const std::string& directory,
                                                 node::FileCalls& calls) {
    const auto found = about(directory + "/.");  // It may be a symbolic link.
    if (!found) return fail(found.error());
    if (auto synced = sync_all_around(directory, calls); !synced) return fail(synced.error());
    return found->st_dev;
}

base::Result<std::unique_ptr<DiskLogFiles>> DiskLogFiles::open(std::string path,
                                                               OpenFiles& files,
                                                               std::optional<dev_t> durable_on) {
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    if (auto made = node::make_directories(path, files.calls()); !made) return fail(made.error());
    const auto found = about(path);
    if (!found) return fail(found.error());
    if (!S_ISDIR(found->st_mode)) {
        return fail(Errc::invalid,
                    path +
                        " is no directory; a symbolic link can stand above a log's "
                        "directory, not in its place");
    }
    std::unique_ptr<DiskLogFiles> opened(new DiskLogFiles(std::move(path), files));
    const bool is_durable = durable_on && *durable_on == found->st_dev;
    if (auto done = opened->take_over(is_durable); !done) return fail(done.error());
    return opened;
}

DiskLogFiles::~DiskLogFiles() {
    files_.forget_all_in(path_);
}

base::Result<void> DiskLogFiles::take_over(bool is_durable) {
    node::FileCalls& calls = files_.calls();
    auto names = node::list_directory(path_, calls);
    if (!names) return fail(names.error());
    for (const std::string& name : *names) {
        const std::string path = path_ + "/" + name;
        const bool is_unfinished =
            name.ends_with(kUnfinished) &&
            is_name(std::string_view(name).substr(0, name.size() - kUnfinished.size()));
        if (!is_unfinished) continue;
        if (auto gone = node::remove_tree(path, calls); !gone) return gone;
    }
    std::erase_if(*names, [](const std::string& name) { return !is_name(name); });
    for (const std::string& name : *names) {
        if (const auto bytes = file_bytes(path_ + "/" + name); !bytes) return fail(bytes.error());
    }
    if (names->empty()) return node::sync_directory_of(path_, calls);
    if (!is_durable) {
        if (auto synced = sync_all_around(path_, calls); !synced) return synced;
    }
    for (const std::string& name : *names) {
        if (auto dropped = drop_pages(path_ + "/" + name, calls); !dropped) return dropped;
    }
    return {};
}

base::Result<std::string> DiskLogFiles::path_of(std::string_view name) const {
    if (is_name(name)) return path_ + "/" + std::string(name);
    return fail(Errc::invalid,
                fmt::format("{}: '{}' is no name of a log's file: at most {} of a-z, 0-9 and '.'",
                            path_,
                            name,
                            kNameBytesMax));
}

base::Result<std::shared_ptr<OpenFile>> DiskLogFiles::get(std::string_view name) const {
    const auto path = path_of(name);
    if (!path) return fail(path.error());
    return files_.get(*path);
}

base::Result<std::vector<LogFiles::File>> DiskLogFiles::list() const {
    const auto names = node::list_directory(path_, files_.calls());
    if (!names) return fail(names.error());
    std::vector<File> found;
    for (const std::string& name : *names) {
        if (!is_name(name)) continue;
        const auto bytes = file_bytes(path_ + "/" + name);
        if (!bytes) return fail(bytes.error());
        found.push_back({name, *bytes});
    }
    return found;
}

base::Result<base::Bytes> DiskLogFiles::read(std::string_view name,
                                             std::uint64_t position,
                                             std::size_t bytes) const {
    const auto file = get(name);
    if (!file) return fail(file.error());
    return (*file)->read(position, bytes);
}

base::Result<void> DiskLogFiles::append(std::string_view name, base::ByteView bytes) {
    const auto file = get(name);
    if (!file) return fail(file.error());
    return (*file)->append(bytes);
}

base::Result<void> DiskLogFiles::truncate(std::string_view name, std::uint64_t bytes) {
    const auto file = get(name);
    if (!file) return fail(file.error());
    return (*file)->truncate(bytes);
}

base::Result<void> DiskLogFiles::replace(std::string_view name, base::ByteView bytes) {
    const auto path = path_of(name);
    if (!path) return fail(path.error());
    files_.forget(*path);
    return node::write_file_atomically(*path, bytes, 0600, files_.calls());
}

base::Result<void> DiskLogFiles::rename(std::string_view from, std::string_view to) {
    const auto source = path_of(from);
    if (!source) return fail(source.error());
    const auto target = path_of(to);
    if (!target) return fail(target.error());
    CHECK(find_unsynced(from) == nullptr);
    files_.forget(*source);
    files_.forget(*target);
    if (auto done = node::rename_file(*source, *target, files_.calls()); !done) return done;
    return node::sync_directory_of(*target, files_.calls());
}

base::Result<void> DiskLogFiles::remove(std::string_view name) {
    const auto path = path_of(name);
    if (!path) return fail(path.error());
    files_.forget(*path);
    if (auto gone = node::remove_tree(*path, files_.calls()); !gone) return gone;
    return node::sync_directory_of(*path, files_.calls());
}

base::Result<std::shared_ptr<const OpenFile>> DiskLogFiles::share(std::string_view name) const {
    const auto file = get(name);
    if (!file) return fail(file.error());
    return std::shared_ptr<const OpenFile>(*file);
}

std::shared_ptr<OpenFile> DiskLogFiles::find_unsynced(std::string_view name) const {
    const auto path = path_of(name);
    CHECK(path.has_value());
    auto file = files_.find(*path);
    return file != nullptr && file->has_unsynced() ? file : nullptr;
}

}  // namespace bps
