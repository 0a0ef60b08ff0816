#include "node/bps/disk/open_files.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace bps {

std::size_t OpenFiles::allowed() {
    constexpr std::size_t kWanted = 12'000;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kOpenMax;
    // The other half is for connections and the database.
    return std::clamp<std::size_t>(limit.rlim_cur / 2, kOpenMax / 4, kWanted);
}

base::Result<std::shared_ptr<OpenFile>> OpenFiles::get(const std::string& path) {
    auto at = files_.find(path);
    if (at == files_.end()) {
        make_room();
        auto opened = OpenFile::open(path, calls_);
        if (!opened) return opened;
        at = files_.emplace(path, Entry{.file = *std::move(opened)}).first;
    }
    at->second.last_use = ++uses_;
    return at->second.file;
}

std::shared_ptr<OpenFile> OpenFiles::find(const std::string& path) const {
    const auto at = files_.find(path);
    return at == files_.end() ? nullptr : at->second.file;
}

void OpenFiles::forget_all_in(const std::string& directory) {
    const std::string first = directory + "/";
    auto at = files_.lower_bound(first);
    while (at != files_.end() && at->first.starts_with(first)) {
        at = files_.erase(at);
    }
}

void OpenFiles::make_room() {
    // One that is durable costs nothing to close.
    const auto cost = [](const Entry& entry) {
        return std::tuple(entry.file->has_unsynced(), entry.last_use);
    };
    while (files_.size() >= open_max_) {
        auto cheapest = files_.end();
        for (auto at = files_.begin(); at != files_.end(); ++at) {
            if (at->second.file->has_failed()) continue;
            if (cheapest == files_.end() || cost(at->second) < cost(cheapest->second))
                cheapest = at;
        }
        if (cheapest == files_.end()) return;
        OpenFile& file = *cheapest->second.file;
        // One that fails here stays, and says so when its log asks for a sync.
        if (!file.has_unsynced() || file.sync()) files_.erase(cheapest);
    }
}

}  // namespace bps
