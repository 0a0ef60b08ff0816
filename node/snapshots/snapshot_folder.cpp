#include "node/snapshots/snapshot_folder.hpp"

#include "base/crypto/hash.hpp"
#include "node/disk/file.hpp"
#include "node/snapshots/packing.hpp"

#include <fmt/format.h>

#include <system_error>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

// What is read into memory as a whole: 120,000 chunks, a hundred GiB of state and more.
constexpr std::size_t kManifestBytesMax = std::size_t{256} << 20U;
constexpr std::size_t kPartBytesMax = std::size_t{256} << 20U;

base::Result<base::Bytes> read_part(const fs::path& path, std::size_t bytes_max) {
    auto read = read_file(path.string(), bytes_max);
    if (!read) return fail(read.error().code, path.string() + ": " + read.error().detail);
    return read;
}

}  // namespace

std::string links_file_name(std::size_t part) {
    return fmt::format("links-{}.bin", part);
}

std::string chunk_file_name(const base::Hash256& sha256) {
    return base::to_hex(sha256.view()) + ".zst";
}

base::Error stopped_early() {
    return {Errc::unavailable, "stopped before it was done"};
}

base::Result<SnapshotFolder> SnapshotFolder::open(const fs::path& path) {
    const bool is_manifest = path.filename() == kManifest;
    const fs::path folder = is_manifest ? path.parent_path() : path;
    const fs::path file = folder / kManifest;
    auto bytes = read_part(file, kManifestBytesMax);
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
    return SnapshotFolder(folder, *std::move(manifest), base::crypto::sha256(*bytes));
}

std::string SnapshotFolder::name() const {
    constexpr std::size_t kDigits = 16;
    return fmt::format("{:010}-{}", head().height, base::to_hex(id_.view()).substr(0, kDigits));
}

base::Result<genesis::ProofPart> SnapshotFolder::proof() const {
    const fs::path file = path_ / kProof;
    const auto bytes = read_part(file, kPartBytesMax);
    if (!bytes) return fail(bytes.error());
    auto part = genesis::decode_proof_part(*bytes);
    if (!part) return fail(part.error().code, file.string() + ": " + part.error().detail);
    return part;
}

base::Result<std::optional<base::Bytes>> SnapshotFolder::links_part(std::size_t part) const {
    auto bytes = read_part(path_ / links_file_name(part), genesis::kLinksBytesMax);
    if (!bytes && bytes.error().code == Errc::not_found) return std::nullopt;
    if (!bytes) return fail(bytes.error());
    return *std::move(bytes);
}

base::Result<std::vector<chain::Link>> SnapshotFolder::unpack_part(std::size_t part,
                                                                   base::ByteView bytes) const {
    auto links = genesis::unpack_links(bytes);
    if (links) return links;
    return fail(links.error().code,
                (path_ / links_file_name(part)).string() + ": " + links.error().detail);
}

base::Result<std::vector<base::Hash256>> SnapshotFolder::follow_links(
    genesis::LinkWalk& walk, const IsStopped& is_stopped) const {
    std::vector<base::Hash256> parts;
    while (true) {
        if (is_stopped && is_stopped()) return fail(stopped_early());
        const auto bytes = links_part(parts.size());
        if (!bytes) return fail(bytes.error());
        if (!*bytes) return parts;
        const auto links = unpack_part(parts.size(), **bytes);
        if (!links) return fail(links.error());
        for (const chain::Link& link : *links) {
            if (auto taken = walk.take(link); !taken) {
                return fail(
                    taken.error().code,
                    (path_ / links_file_name(parts.size())).string() + ": " + taken.error().detail);
            }
        }
        parts.push_back(base::crypto::sha256(**bytes));
    }
}

base::Result<std::vector<chain::Link>> SnapshotFolder::followed_links(
    std::size_t part, const base::Hash256& sha256) const {
    const auto bytes = links_part(part);
    if (!bytes) return fail(bytes.error());
    if (!*bytes || base::crypto::sha256(**bytes) != sha256) {
        return fail(Errc::invalid,
                    (path_ / links_file_name(part)).string() +
                        " changed while the snapshot was loaded; begin anew");
    }
    return unpack_part(part, **bytes);
}

fs::path SnapshotFolder::chunk_path(std::size_t index) const {
    return path_ / kChunks / chunk_file_name(manifest_.chunks.at(index).sha256);
}

base::Result<base::Bytes> SnapshotFolder::chunk(std::size_t index) const {
    const fs::path path = chunk_path(index);
    const std::size_t size = manifest_.chunks.at(index).bytes;
    auto packed = read_part(path, packed_bytes_max(size));
    if (!packed) return packed;
    auto bytes = unpack_chunk(*packed, size);
    if (!bytes) return fail(bytes.error().code, path.string() + ": " + bytes.error().detail);
    return bytes;
}

base::Result<std::uint64_t> SnapshotFolder::packed_bytes() const {
    std::uint64_t sum = 0;
    const auto add = [&](const fs::path& path) -> base::Result<void> {
        std::error_code error;
        const std::uint64_t size = fs::file_size(path, error);
        if (error) {
            return fail(
                error == std::errc::no_such_file_or_directory ? Errc::not_found : Errc::unavailable,
                path.string() + ": " + error.message());
        }
        sum += size;
        return {};
    };
    for (const char* name : {kManifest, kProof}) {
        if (auto added = add(path_ / name); !added) return fail(added.error());
    }
    std::error_code error;
    for (std::size_t part = 0; fs::exists(path_ / links_file_name(part), error); ++part) {
        if (auto added = add(path_ / links_file_name(part)); !added) return fail(added.error());
    }
    for (std::size_t i = 0; i < manifest_.chunks.size(); ++i) {
        if (auto added = add(chunk_path(i)); !added) return fail(added.error());
    }
    return sum;
}

}  // namespace node
