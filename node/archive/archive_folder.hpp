#pragma once

#include "genesis/archive.hpp"
#include "node/disk/file_calls.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace node {

// A file of an archive, by its name: FIRST-LAST.blocks, each height in ten digits, so that the
// order of names is that of heights.
struct ArchiveFile {
    chain::Height first = 0;
    chain::Height last = 0;

    friend bool operator==(const ArchiveFile&, const ArchiveFile&) = default;
    [[nodiscard]] std::string name() const;
    // Nothing: a file of that name is none of an archive.
    [[nodiscard]] static std::optional<ArchiveFile> from_name(const std::string& name);
};

// Final blocks of successive heights in a folder of files that never change, which any web server
// can hold: genesis::encode_archive_head() and one zstd frame each. Other files may lie beside.
//
// Thread: any. Errors name the file. not_found; malformed, invalid: it is not what it should be.
class ArchiveFolder {
  public:
    // Lists the files. not_found: there is no such folder. invalid: heights are missing between
    // two files, or are in both.
    [[nodiscard]] static base::Result<ArchiveFolder> open(const std::filesystem::path& path,
                                                          FileCalls& files = system_calls());

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] FileCalls& calls() const { return *calls_; }
    // Ascending.
    [[nodiscard]] const std::vector<ArchiveFile>& files() const { return files_; }
    [[nodiscard]] base::Result<genesis::ArchiveHead> head(const ArchiveFile& file) const;
    // As genesis::decode_archive() returns them. invalid: also where they are of another chain.
    [[nodiscard]] base::Result<std::vector<chain::BlockPtr>> blocks(
        const ArchiveFile& file, const chain::ChainId& chain_id) const;

  private:
    ArchiveFolder(FileCalls& calls, std::filesystem::path path)
        : calls_(&calls), path_(std::move(path)) {}
    [[nodiscard]] base::Result<genesis::ArchiveHead> checked_head(const ArchiveFile& file,
                                                                  base::ByteView bytes) const;

    FileCalls* calls_;
    std::filesystem::path path_;
    std::vector<ArchiveFile> files_;
};

// Durably, as a whole or not at all.
base::Result<void> write_archive_file(const std::filesystem::path& folder,
                                      const genesis::ArchiveContent& content,
                                      FileCalls& files);
// Removes what writing left that was cut short.
base::Result<void> remove_unfinished(const std::filesystem::path& folder, FileCalls& files);

}  // namespace node
