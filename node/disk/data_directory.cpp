#include "node/disk/data_directory.hpp"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <system_error>
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

base::Error failed(const fs::path& path, const std::error_code& error) {
    return {Errc::unavailable, path.string() + ": " + error.message()};
}

// The names in a directory that are such; none: there is no directory.
template <class Pick>
base::Result<std::vector<std::string>> names_in(const fs::path& directory, Pick pick) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
        std::string name = at->path().filename().string();
        if (pick(name)) names.push_back(std::move(name));
    }
    if (error == std::errc::no_such_file_or_directory) return names;
    if (error) return base::fail(failed(directory, error));
    return names;
}

base::Result<std::vector<std::string>> states_in(const fs::path& directory) {
    return names_in(directory, [](const std::string& name) { return number_of(name).has_value(); });
}

// Where nothing names a state: `state`, or the only one that is there, since each is whole. One
// that a load is making has another name.
base::Result<std::string> unnamed_state(const fs::path& directory) {
    auto names = states_in(directory);
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

base::Result<std::string> read_current(const fs::path& directory) {
    const fs::path file = directory / kCurrent;
    auto read = read_file(file.string(), kCurrentBytesMax);
    if (!read && read.error().code == Errc::not_found) return unnamed_state(directory);
    if (!read) return base::fail(read.error());
    std::string name(base::as_text(*read));
    if (!name.empty() && name.back() == '\n') name.pop_back();
    if (!number_of(name)) {
        return base::fail(Errc::corrupt,
                          file.string() +
                              " names no state directory ('state' or 'state.<n>'); "
                              "write the name of the whole one into it");
    }
    std::error_code error;
    if (name != kFirstState && !fs::exists(directory / name, error)) {
        return base::fail(Errc::corrupt,
                          file.string() + " names " + name + ", which is not there; put it back, " +
                              "or remove that file and load a snapshot");
    }
    return name;
}

}  // namespace

base::Result<fs::path> DataDirectory::state_in(const fs::path& path) {
    auto current = read_current(path);
    if (!current) return base::fail(current.error());
    return path / *current;
}

base::Result<DataDirectory> DataDirectory::open(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) {
        return base::fail(Errc::unavailable,
                          "cannot make data-dir " + path.string() + ": " + error.message());
    }
    auto lock = File::open((path / "lock").string(), O_RDWR | O_CREAT, 0644);
    if (!lock) return base::fail(lock.error());
    if (!lock->lock()) {
        return base::fail(Errc::invalid,
                          "the data directory " + path.string() +
                              " is in use by another process; stop that one, or give this node a "
                              "directory of its own");
    }
    auto current = read_current(path);
    if (!current) return base::fail(current.error());
    return DataDirectory(path, *std::move(current), *std::move(lock));
}

base::Result<void> DataDirectory::remove_others() const {
    std::error_code none;
    const bool is_named = fs::exists(path_ / kCurrent, none);
    const auto names = names_in(path_, [&](const std::string& name) {
        if (name.ends_with(kLoading)) {
            return number_of(std::string_view(name).substr(0, name.size() - kLoading.size()))
                .has_value();
        }
        return is_named && name != current_ && number_of(name).has_value();
    });
    if (!names) return base::fail(names.error());
    for (const std::string& name : *names) {
        std::error_code error;
        fs::remove_all(path_ / name, error);
        if (error) return base::fail(failed(path_ / name, error));
    }
    return {};
}

base::Result<fs::path> DataDirectory::next_state() const {
    const auto names = states_in(path_);
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
    std::error_code error;
    fs::rename(state, path_ / name, error);
    if (error) return base::fail(failed(state, error));
    const std::string line = name + "\n";
    auto done = sync_directory_of((path_ / name).string());
    if (!done) return done;
    done = write_file_atomically((path_ / kCurrent).string(), base::as_bytes(line), 0644);
    if (done) current_ = name;
    return done;
}

}  // namespace node
