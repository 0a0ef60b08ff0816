#include "node/disk/data_directory.hpp"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <vector>

namespace node {

namespace fs = std::filesystem;
using base::Errc;

namespace {

constexpr std::string_view kFirstState = "state";
constexpr std::string_view kPrefix = "state.";
constexpr std::string_view kLoading = ".loading";
constexpr const char* kCurrent = "current";
constexpr std::size_t kCurrentBytesMax = 64;

// Of "state" it is 0; nothing: no name of a state.
std::optional<std::uint32_t> number_of(std::string_view name) {
    if (name == kFirstState) return 0;
    if (!name.starts_with(kPrefix)) return std::nullopt;
    name.remove_prefix(kPrefix.size());
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool whole = error == std::errc{} && end == name.data() + name.size();
    if (!whole || number == 0 || name.front() == '0') return std::nullopt;
    return number;
}

// The names in a directory that are such; none: there is no directory.
template <class Pick>
base::Result<std::vector<std::string>> names_in(const fs::path& directory,
                                                FileCalls& calls,
                                                Pick pick) {
    auto names = list_directory(directory.string(), calls);
    if (!names && names.error().code == Errc::not_found) return std::vector<std::string>();
    if (names) std::erase_if(*names, [&](const std::string& name) { return !pick(name); });
    return names;
}

base::Result<std::vector<std::string>> states_in(const fs::path& directory, FileCalls& calls) {
    return names_in(
        directory, calls, [](const std::string& name) { return number_of(name).has_value(); });
}

// Where nothing names a state: `state`, or the only one that is there, since each is whole. One
// that a load is making has another name.
base::Result<std::string> unnamed_state(const fs::path& directory, FileCalls& calls) {
    auto names = states_in(directory, calls);
    if (!names) return base::fail(names.error());
    if (names->empty() || std::ranges::find(*names, kFirstState) != names->end()) {
        return std::string(kFirstState);
    }
    if (names->size() == 1) return names->front();
    return base::fail(Errc::corrupt,
                      directory.string() + " has the states " + names->front() + " and " +
                          names->back() + ", and no file " + (directory / kCurrent).string() +
                          " that names the one that counts; write its name into that file");
}

base::Result<std::string> read_current(const fs::path& directory, FileCalls& calls) {
    const fs::path file = directory / kCurrent;
    auto read = read_file(file.string(), kCurrentBytesMax, calls);
    if (!read && read.error().code == Errc::not_found) return unnamed_state(directory, calls);
    if (!read) return base::fail(read.error());
    std::string name(base::as_text(*read));
    if (!name.empty() && name.back() == '\n') name.pop_back();
    if (!number_of(name)) {
        return base::fail(Errc::corrupt,
                          file.string() +
                              " names no state directory ('state' or 'state.<n>'); "
                              "write the name of the whole one into it");
    }
    if (name != kFirstState && !calls.exists((directory / name).string())) {
        return base::fail(Errc::corrupt,
                          file.string() + " names " + name + ", which is not there; put it back, " +
                              "or remove that file and load a snapshot");
    }
    return name;
}

}  // namespace

base::Result<fs::path> DataDirectory::state_in(const fs::path& path, FileCalls& calls) {
    auto current = read_current(path, calls);
    if (!current) return base::fail(current.error());
    return path / *current;
}

base::Result<DataDirectory> DataDirectory::open(const fs::path& path, FileCalls& calls) {
    if (auto made = make_directories(path.string(), calls); !made) {
        return base::fail(Errc::unavailable, "data-dir: " + made.error().detail);
    }
    // One that a process before made may not be durable. Where another user made it, the directory
    // above need not be readable.
    (void)sync_directory_of(path.string(), calls);
    auto lock = File::open((path / "lock").string(), O_RDWR | O_CREAT, 0644, calls);
    if (!lock) return base::fail(lock.error());
    if (!lock->lock()) {
        return base::fail(Errc::invalid,
                          "the data directory " + path.string() +
                              " is in use by another process; stop that one, or give this node a "
                              "directory of its own");
    }
    auto current = read_current(path, calls);
    if (!current) return base::fail(current.error());
    return DataDirectory(calls, path, *std::move(current), *std::move(lock));
}

base::Result<void> DataDirectory::remove_others() const {
    const bool is_named = calls_->exists((path_ / kCurrent).string());
    const auto names = names_in(path_, *calls_, [&](const std::string& name) {
        if (name.ends_with(kLoading)) {
            return number_of(std::string_view(name).substr(0, name.size() - kLoading.size()))
                .has_value();
        }
        return is_named && name != current_ && number_of(name).has_value();
    });
    if (!names) return base::fail(names.error());
    for (const std::string& name : *names) {
        auto removed = remove_tree((path_ / name).string(), *calls_);
        if (!removed) return removed;
    }
    return {};
}

base::Result<fs::path> DataDirectory::next_state() const {
    const auto names = states_in(path_, *calls_);
    if (!names) return base::fail(names.error());
    std::uint32_t highest = number_of(current_).value_or(0);
    for (const std::string& name : *names)
        highest = std::max(highest, number_of(name).value_or(0));
    std::string name(kPrefix);
    name += std::to_string(highest + 1);
    return path_ / name.append(kLoading);
}

base::Result<void> DataDirectory::switch_to(const fs::path& state) {
    const std::string name = state.stem().string();
    const std::string line = name + "\n";
    auto done = rename_file(state.string(), (path_ / name).string(), *calls_);
    if (done) done = sync_directory_of((path_ / name).string(), *calls_);
    if (!done) return done;
    done = write_file_atomically((path_ / kCurrent).string(), base::as_bytes(line), 0644, *calls_);
    if (done) current_ = name;
    return done;
}

}  // namespace node
