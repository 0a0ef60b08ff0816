#pragma once

#include "node/disk/file.hpp"

#include <filesystem>
#include <string>

namespace node {

// Which of the directories in a data directory has the state, and who works there. The file
// `current` names it: `state.<n>`; where there is no such file, it is `state`, or the only one that
// is there (spec 05, "Join"). `state.<n>.loading` is being made.
//
// Thread: one. Errors: invalid: another process works there. corrupt: `current` names nothing.
class DataDirectory {
  public:
    // Makes the directory if it is not there, and holds it against other processes until the end.
    [[nodiscard]] static base::Result<DataDirectory> open(const std::filesystem::path& path,
                                                          FileCalls& calls = system_calls());
    // For who only reads, or knows that nobody else works there.
    [[nodiscard]] static base::Result<std::filesystem::path> state_in(
        const std::filesystem::path& path, FileCalls& calls = system_calls());

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path state() const { return path_ / current_; }
    // Removes what a load left that was cut short and, where there is a file `current`, the states
    // that it does not name.
    base::Result<void> remove_others() const;
    // Where to make another state; only switch_to() gives it its name.
    [[nodiscard]] base::Result<std::filesystem::path> next_state() const;
    // From now on, also after a power cut, `state` is the one, under its own name. It comes from
    // next_state(), is whole and durable.
    base::Result<void> switch_to(const std::filesystem::path& state);

  private:
    DataDirectory(FileCalls& calls, std::filesystem::path path, std::string current, File lock)
        : calls_(&calls),
          path_(std::move(path)),
          current_(std::move(current)),
          lock_(std::move(lock)) {}

    FileCalls* calls_;
    std::filesystem::path path_;
    std::string current_;
    File lock_;
};

}  // namespace node
