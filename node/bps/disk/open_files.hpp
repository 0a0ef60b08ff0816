#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/bps/disk/open_file.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace bps {

// The open files of all logs of a broker. Once there are as many as allowed, the one that was not
// used for longest is closed, when all in it is durable: who opens a file again may not hear that
// the kernel could not write what was written before. So what is not open is durable.
//
// A file whose sync failed stays open until its log is closed.
// Thread: that of the logs.
class OpenFiles : base::Pinned {
  public:
    static constexpr std::size_t kOpenMax = 1'024;
    // As many as a broker has partitions, and some more: to close one that is not durable means to
    // wait for the disk. Fewer where this process may not have as many.
    [[nodiscard]] static std::size_t allowed();

    explicit OpenFiles(std::size_t open_max = kOpenMax,
                       node::FileCalls& calls = node::system_calls())
        : open_max_(open_max), calls_(calls) {}

    // Errors as those of OpenFile::open().
    [[nodiscard]] base::Result<std::shared_ptr<OpenFile>> get(const std::string& path);
    // Null: it is not open.
    [[nodiscard]] std::shared_ptr<OpenFile> find(const std::string& path) const;
    // The file of this name is another one from now on, or none.
    void forget(const std::string& path) { files_.erase(path); }
    void forget_all_in(const std::string& directory);

    [[nodiscard]] std::size_t size() const { return files_.size(); }
    [[nodiscard]] node::FileCalls& calls() const { return calls_; }

  private:
    struct Entry {
        std::shared_ptr<OpenFile> file;
        std::uint64_t last_use = 0;
    };

    void make_room();

    std::size_t open_max_;
    node::FileCalls& calls_;
    std::map<std::string, Entry> files_;  // By path.
    std::uint64_t uses_ = 0;
};

}  // namespace bps
