#pragma once

#include "genesis/snapshot.hpp"
#include "genesis/snapshot_agreement.hpp"
#include "node/disk/file_calls.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace node {

// Whether what takes long is to end; empty: never.
using IsStopped = std::function<bool()>;
[[nodiscard]] base::Error stopped_early();

// A snapshot on disk: a folder of files that never change, which any web server can hold.
//
//   manifest.bin          genesis::encode_manifest()
//   links-<n>.bin         genesis::pack_links(), in parts from 0 on; none: no such file
//   proof.bin             genesis::encode_proof_part(): proof of the block, and agreement part
//   chunks/<sha256>.zst   pack_chunk() of each chunk; equal ones of two snapshots are one file
//
// Thread: any. Errors name the file. not_found; malformed, invalid: it is not what it should be.
class SnapshotFolder {
  public:
    static constexpr const char* kManifest = "manifest.bin";
    static constexpr const char* kProof = "proof.bin";
    static constexpr const char* kChunks = "chunks";
    // What is read into memory as a whole: 120,000 chunks, a hundred GiB of state and more.
    static constexpr std::size_t kManifestBytesMax = std::size_t{256} << 20U;
    static constexpr std::size_t kProofBytesMax = std::size_t{256} << 20U;

    // Reads the manifest; the chunks are not looked at. `path`: the folder, or its manifest.bin.
    [[nodiscard]] static base::Result<SnapshotFolder> open(const std::filesystem::path& path,
                                                           FileCalls& files = system_calls());

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] const genesis::Manifest& manifest() const { return manifest_; }
    [[nodiscard]] const genesis::SnapshotHead& head() const { return manifest_.head; }
    [[nodiscard]] FileCalls& files() const { return *files_; }
    // Of the manifest.
    [[nodiscard]] const base::Hash256& id() const { return id_; }
    // Of all its files, below path(): each once.
    [[nodiscard]] std::vector<std::filesystem::path> file_names() const;
    // The folder's name in a store: height, and the first digits of the id.
    [[nodiscard]] std::string name() const;

    [[nodiscard]] base::Result<genesis::ProofPart> proof() const;
    // Takes those of all parts over in their order; SHA-256 of each part. `is_stopped` is asked
    // before each; unavailable: it said so.
    [[nodiscard]] base::Result<std::vector<base::Hash256>> follow_links(
        genesis::LinkWalk& walk, const IsStopped& is_stopped) const;
    // One part, which was followed before. invalid: it is not the same any more.
    [[nodiscard]] base::Result<std::vector<chain::Link>> followed_links(
        std::size_t part, const base::Hash256& sha256) const;
    // Unpacked. Not compared with the manifest but for its length: genesis::check_chunk() does.
    [[nodiscard]] base::Result<base::Bytes> chunk(std::size_t index) const;
    [[nodiscard]] std::filesystem::path chunk_path(std::size_t index) const;
    // Of all files, as they lie on disk. not_found: one is missing; names it.
    [[nodiscard]] base::Result<std::uint64_t> packed_bytes() const;

  private:
    SnapshotFolder(FileCalls& files,
                   std::filesystem::path path,
                   genesis::Manifest manifest,
                   base::Hash256 id)
        : files_(&files), path_(std::move(path)), manifest_(std::move(manifest)), id_(id) {}

    FileCalls* files_;
    std::filesystem::path path_;
    genesis::Manifest manifest_;
    base::Hash256 id_;
};

// Takes the links of one part over, which may lie in a folder that is not whole yet; SHA-256 of the
// part. Nothing: there are not so many.
[[nodiscard]] base::Result<std::optional<base::Hash256>> follow_part(
    const std::filesystem::path& folder,
    std::size_t part,
    genesis::LinkWalk& walk,
    FileCalls& files);
// How many parts of links lie in a folder, from 0 on.
[[nodiscard]] std::size_t count_link_parts(const std::filesystem::path& folder, FileCalls& files);
[[nodiscard]] std::string chunk_file_name(const base::Hash256& sha256);
[[nodiscard]] std::string links_file_name(std::size_t part);
// Where a snapshot that is fetched is put together, in the data directory: a folder for each.
[[nodiscard]] std::filesystem::path joining_in(const std::filesystem::path& data_dir);
[[nodiscard]] std::string joining_name(chain::Height height, const base::Hash256& manifest);
// Whether a path below a snapshot's folder is that of one of its files, or of the folder for
// chunks.
[[nodiscard]] bool is_snapshot_file(const std::filesystem::path& path);

}  // namespace node
