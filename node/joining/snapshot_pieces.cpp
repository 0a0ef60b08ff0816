#include "node/joining/snapshot_pieces.hpp"

#include "node/disk/file.hpp"
#include "node/snapshots/packing.hpp"

#include <algorithm>
#include <fcntl.h>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

// A page of a file that is cut every kSnapshotPageBytes.
base::Result<base::Bytes> read_page(const fs::path& path,
                                    std::uint32_t index,
                                    std::uint32_t& count,
                                    FileCalls& files) {
    auto file = File::open(path.string(), O_RDONLY, 0, files);
    if (!file) return fail(file.error());
    const auto size = file->size();
    if (!size) return fail(size.error());
    constexpr std::uint64_t kPage = p2p::kSnapshotPageBytes;
    count = static_cast<std::uint32_t>((*size + kPage - 1) / kPage);
    if (index >= count) return base::Bytes{};
    const std::uint64_t begin = index * kPage;
    return file->read_at(begin, static_cast<std::size_t>(std::min(kPage, *size - begin)));
}

// None is right for a folder that is there: when it is removed its name goes first.
base::Result<std::uint32_t> count_links(const fs::path& folder, FileCalls& files) {
    const auto count = static_cast<std::uint32_t>(count_link_parts(folder, files));
    if (files.exists((folder / SnapshotFolder::kManifest).string())) return count;
    return fail(Errc::not_found, folder.string() + " was removed");
}

}  // namespace

const SnapshotFolder* SnapshotPieces::find(const base::Hash256& manifest) {
    if (open_ && open_->id() == manifest) return &*open_;
    for (const SnapshotStore::Listed& each : store_.list()) {
        if (each.id != manifest) continue;
        auto folder = SnapshotFolder::open(store_.path_of(each), store_.files());
        if (!folder) {
            log_.warn("a snapshot cannot be given to a peer: {}", folder.error().detail);
            return nullptr;
        }
        open_ = *std::move(folder);
        return &*open_;
    }
    return nullptr;
}

base::Result<SnapshotPieces::Piece> SnapshotPieces::read(const SnapshotFolder& folder,
                                                         const p2p::SnapshotPiece& piece) const {
    using p2p::SnapshotPart;
    Piece read;
    base::Result<base::Bytes> bytes;
    if (piece.part == SnapshotPart::links) {
        const auto count = count_links(folder.path(), folder.files());
        if (!count) return fail(count.error());
        read.count = *count;
        if (piece.index < read.count) {
            bytes = read_file((folder.path() / links_file_name(piece.index)).string(),
                              genesis::kLinksBytesMax,
                              folder.files());
        }
    } else if (piece.part == SnapshotPart::chunk) {
        read.count = static_cast<std::uint32_t>(folder.manifest().chunks.size());
        if (piece.index < read.count) {
            const std::size_t size = folder.manifest().chunks[piece.index].bytes;
            bytes = read_file(
                folder.chunk_path(piece.index).string(), packed_bytes_max(size), folder.files());
        }
    } else {
        const char* name =
            piece.part == SnapshotPart::proof ? SnapshotFolder::kProof : SnapshotFolder::kManifest;
        bytes = read_page(folder.path() / name, piece.index, read.count, folder.files());
    }
    if (!bytes) return fail(bytes.error());
    read.bytes = *std::move(bytes);
    return read;
}

p2p::input::SnapshotRead SnapshotPieces::read(const p2p::effect::ReadSnapshot& asked) {
    const p2p::Mark mark{.correlation = asked.correlation};
    const SnapshotFolder* folder = find(asked.piece.manifest);
    if (folder != nullptr) {
        const auto piece = read(*folder, asked.piece);
        if (piece) {
            store_.note_read(folder->name());
            return {asked.ticket,
                    p2p::pack_snapshot_chunk(asked.piece, piece->count, piece->bytes, mark)};
        }
        // It may have been removed meanwhile.
        log_.debug("a piece of a snapshot is not there: {}", piece.error().detail);
        open_.reset();
    }
    return {asked.ticket, p2p::pack_message(p2p::SnapshotChunk{.piece = asked.piece}, mark)};
}

}  // namespace node
