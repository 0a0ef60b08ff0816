#include "node/snapshots/snapshot_folder.hpp"

#include "base/crypto/hash.hpp"
#include "node/disk/file.hpp"
#include "node/snapshots/packing.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <set>
#include <string_view>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

base::Result<base::Bytes> read_part(const fs::path& path, std::size_t bytes_max, FileCalls& files) {
    auto read = read_file(path.string(), bytes_max, files);
    if (!read) return fail(read.error().code, path.string() + ": " + read.error().detail);
    return read;
}

// Nothing: there are not so many.
base::Result<std::optional<base::Bytes>> links_part(const fs::path& folder,
                                                    std::size_t part,
                                                    FileCalls& files) {
    auto bytes = read_part(folder / links_file_name(part), genesis::kLinksBytesMax, files);
    if (!bytes && bytes.error().code == Errc::not_found) return std::nullopt;
    if (!bytes) return fail(bytes.error());
    return *std::move(bytes);
}

base::Result<std::vector<chain::Link>> unpack_part(const fs::path& folder,
                                                   std::size_t part,
                                                   base::ByteView bytes) {
    auto links = genesis::unpack_links(bytes);
    if (links) return links;
    return fail(links.error().code,
                (folder / links_file_name(part)).string() + ": " + links.error().detail);
}

}  // namespace

base::Result<std::optional<base::Hash256>> follow_part(const fs::path& folder,
                                                       std::size_t part,
                                                       genesis::LinkWalk& walk,
                                                       FileCalls& files) {
    const auto bytes = links_part(folder, part, files);
    if (!bytes) return fail(bytes.error());
    if (!*bytes) return std::nullopt;
    const auto links = unpack_part(folder, part, **bytes);
    if (!links) return fail(links.error());
    for (const chain::Link& link : *links) {
        if (auto taken = walk.take(link); !taken) {
            return fail(taken.error().code,
                        (folder / links_file_name(part)).string() + ": " + taken.error().detail);
        }
    }
    return base::crypto::sha256(**bytes);
}

// There may be thousands, and each piece for a peer asks anew: so the end is searched for.
std::size_t count_link_parts(const fs::path& folder, FileCalls& files) {
    const auto has = [&](std::size_t part) {
        return files.exists((folder / links_file_name(part)).string());
    };
    if (!has(0)) return 0;
    std::size_t there = 0;  // This part is there, `none` is not.
    std::size_t none = 1;
    while (has(none)) {
        there = none;
        none *= 2;
    }
    while (none - there > 1) {
        const std::size_t middle = there + (none - there) / 2;
        (has(middle) ? there : none) = middle;
    }
    return none;
}

std::string links_file_name(std::size_t part) {
    return fmt::format("links-{}.bin", part);
}

std::string chunk_file_name(const base::Hash256& sha256) {
    return base::to_hex(sha256.view()) + ".zst";
}

base::Error stopped_early() {
    return {Errc::unavailable, "stopped before it was done"};
}

base::Result<SnapshotFolder> SnapshotFolder::open(const fs::path& path, FileCalls& files) {
    const bool is_manifest = path.filename() == kManifest;
    const fs::path folder = is_manifest ? path.parent_path() : path;
    const fs::path file = folder / kManifest;
    auto bytes = read_part(file, kManifestBytesMax, files);
    if (!bytes && bytes.error().code == Errc::not_found) {
        return fail(Errc::not_found,
                    path.string() + " is no snapshot: there is no " + file.string() +
                        "; a snapshot is a folder that 'bor-cli snapshot create' or 'export' made");
    }
    if (!bytes) return fail(bytes.error());
    auto manifest = genesis::decode_manifest(*bytes);
    if (!manifest) {
        return fail(manifest.error().code, file.string() + ": " + manifest.error().detail);
    }
    return SnapshotFolder(files, folder, *std::move(manifest), base::crypto::sha256(*bytes));
}

std::string SnapshotFolder::name() const {
    constexpr std::size_t kDigits = 16;
    return fmt::format("{:010}-{}", head().height, base::to_hex(id_.view()).substr(0, kDigits));
}

base::Result<genesis::ProofPart> SnapshotFolder::proof() const {
    const fs::path file = path_ / kProof;
    const auto bytes = read_part(file, kProofBytesMax, *files_);
    if (!bytes) return fail(bytes.error());
    auto part = genesis::decode_proof_part(*bytes);
    if (!part) return fail(part.error().code, file.string() + ": " + part.error().detail);
    return part;
}

base::Result<std::vector<base::Hash256>> SnapshotFolder::follow_links(
    genesis::LinkWalk& walk, const IsStopped& is_stopped) const {
    std::vector<base::Hash256> parts;
    while (true) {
        if (is_stopped && is_stopped()) return fail(stopped_early());
        const auto followed = follow_part(path_, parts.size(), walk, *files_);
        if (!followed) return fail(followed.error());
        if (!*followed) return parts;
        parts.push_back(**followed);
    }
}

base::Result<std::vector<chain::Link>> SnapshotFolder::followed_links(
    std::size_t part, const base::Hash256& sha256) const {
    const auto bytes = links_part(path_, part, *files_);
    if (!bytes) return fail(bytes.error());
    if (!*bytes || base::crypto::sha256(**bytes) != sha256) {
        return fail(Errc::invalid,
                    (path_ / links_file_name(part)).string() +
                        " changed while the snapshot was loaded; begin anew");
    }
    return unpack_part(path_, part, **bytes);
}

fs::path SnapshotFolder::chunk_path(std::size_t index) const {
    return path_ / kChunks / chunk_file_name(manifest_.chunks.at(index).sha256);
}

base::Result<base::Bytes> SnapshotFolder::chunk(std::size_t index) const {
    const fs::path path = chunk_path(index);
    const std::size_t size = manifest_.chunks.at(index).bytes;
    auto packed = read_part(path, packed_bytes_max(size), *files_);
    if (!packed) return packed;
    auto bytes = unpack_chunk(*packed, size);
    if (!bytes) return fail(bytes.error().code, path.string() + ": " + bytes.error().detail);
    return bytes;
}

std::vector<fs::path> SnapshotFolder::file_names() const {
    std::vector<fs::path> names{kManifest, kProof};
    for (std::size_t part = 0; files_->exists((path_ / links_file_name(part)).string()); ++part)
        names.emplace_back(links_file_name(part));
    std::set<std::string> chunks;
    for (const genesis::ChunkInfo& chunk : manifest_.chunks)
        chunks.insert(chunk_file_name(chunk.sha256));
    for (const std::string& chunk : chunks)
        names.push_back(fs::path(kChunks) / chunk);
    return names;
}

base::Result<std::uint64_t> SnapshotFolder::packed_bytes() const {
    std::uint64_t sum = 0;
    for (const fs::path& name : file_names()) {
        const auto file = File::open((path_ / name).string(), O_RDONLY | O_NONBLOCK, 0, *files_);
        if (!file) return fail(file.error());
        const auto size = file->size();
        if (!size)
            return fail(size.error().code, (path_ / name).string() + ": " + size.error().detail);
        sum += *size;
    }
    return sum;
}

fs::path joining_in(const fs::path& data_dir) {
    return data_dir / "joining";
}

std::string joining_name(chain::Height height, const base::Hash256& manifest) {
    return fmt::format("{:010}-{}", height, base::to_hex(manifest.view()));
}

bool is_snapshot_file(const fs::path& path) {
    const std::string name = path.string();
    if (name == SnapshotFolder::kManifest || name == SnapshotFolder::kProof ||
        name == SnapshotFolder::kChunks) {
        return true;
    }
    constexpr std::string_view kDigits = "0123456789";
    constexpr std::string_view kHexDigits = "0123456789abcdef";
    constexpr std::string_view kLinks = "links-";
    const auto is_of = [](std::string_view text, std::string_view digits) {
        return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
    };
    const std::string stem = path.stem().string();
    if (path.parent_path() == SnapshotFolder::kChunks) {
        return path.extension() == ".zst" && stem.size() == 64 && is_of(stem, kHexDigits);
    }
    return !path.has_parent_path() && path.extension() == ".bin" && stem.starts_with(kLinks) &&
           is_of(std::string_view(stem).substr(kLinks.size()), kDigits);
}

}  // namespace node
