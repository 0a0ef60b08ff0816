#pragma once

#include "base/crypto/keys.hpp"
#include "base/storage.hpp"
#include "node/disk/file.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace node {

// The safety journal of a key in a node's data directory: "safety/KEY.journal".
[[nodiscard]] std::filesystem::path journal_path(const std::filesystem::path& data_dir,
                                                 const base::crypto::PublicKey& key);

// The logs of a node's safety journals, by the tag of their key.
using JournalLogs = std::map<std::uint64_t, std::unique_ptr<base::AppendLog>>;

// A safety journal's file (spec 04, "Safety journal"): pages of whole blocks of 4,096 bytes, each
// written once, with a sync of its own, into space that was written with zeros before, so that the
// sync has no metadata to move. What comes after the last page is zeros.
//
// A torn last page stays where it is: this class knows nothing of what a page says. Whoever
// finds one calls compact() before appending, else it becomes a hole.
// Thread: the disk thread.
class JournalFile final : public base::AppendLog {
  public:
    // Makes a new journal with one page in it. invalid: there is a file already; a journal is
    // never replaced, for it is what keeps its keys from voting twice. unavailable.
    static base::Result<void> create(const std::string& path,
                                     base::ByteView page,
                                     FileCalls& calls = system_calls());
    // not_found: there is none; the node never makes one. unavailable: it can't be read, or
    // another process has it. corrupt: its size is not of whole blocks.
    [[nodiscard]] static base::Result<std::unique_ptr<JournalFile>> open(
        const std::string& path, FileCalls& calls = system_calls());

    // After an error every further append fails, until the file is opened anew: nothing may be
    // assumed of the page that was being written.
    base::Result<void> append_page(base::ByteView page) override;
    [[nodiscard]] base::Result<base::Bytes> read() const override;
    base::Result<void> compact(base::ByteView page) override;

    // Blocks written since the last compaction: compact() when they are many.
    [[nodiscard]] std::uint64_t block_count() const { return blocks_; }

  private:
    JournalFile(FileCalls& calls, std::string path, File file, std::uint64_t room)
        : calls_(calls), path_(std::move(path)), file_(std::move(file)), room_(room) {}

    // For so many blocks more.
    base::Result<void> make_room(std::uint64_t blocks);
    base::Result<void> append_to_room(base::ByteView page);

    FileCalls& calls_;
    std::string path_;
    File file_;
    std::uint64_t blocks_ = 0;  // Written.
    std::uint64_t room_;        // Written or prepared.
    bool failed_ = false;
};

}  // namespace node
