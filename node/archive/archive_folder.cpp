#include "node/archive/archive_folder.hpp"

#include "node/disk/file.hpp"
#include "node/snapshots/packing.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fcntl.h>
#include <string_view>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

constexpr std::string_view kSuffix = ".blocks";
// As write_file_atomically() names what it has not finished.
constexpr std::string_view kUnfinished = ".blocks.next";
constexpr std::size_t kDigits = 10;

std::optional<chain::Height> height_of_name(std::string_view digits) {
    chain::Height height = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + kDigits, height);
    if (error != std::errc{} || end != digits.data() + kDigits) return std::nullopt;
    return height;
}

// Whether each begins where the one before ends.
base::Result<void> check_successive(const fs::path& path, const std::vector<ArchiveFile>& files) {
    for (std::size_t i = 1; i < files.size(); ++i) {
        const ArchiveFile& below = files[i - 1];
        const ArchiveFile& above = files[i];
        if (above.first == below.last + 1) continue;
        const bool is_gap = above.first > below.last;
        return fail(
            Errc::invalid,
            fmt::format("{}: {} {}; {}",
                        path.string(),
                        is_gap ? "heights are missing between" : "heights are in both of",
                        below.name() + " and " + above.name(),
                        is_gap ? "put the files between them there" : "move one of them away"));
    }
    return {};
}

}  // namespace

std::string ArchiveFile::name() const {
    return fmt::format("{:010}-{:010}{}", first, last, kSuffix);
}

std::optional<ArchiveFile> ArchiveFile::from_name(const std::string& name) {
    if (name.size() != 2 * kDigits + 1 + kSuffix.size() || name[kDigits] != '-' ||
        !name.ends_with(kSuffix)) {
        return std::nullopt;
    }
    const auto first = height_of_name(name);
    const auto last = height_of_name(std::string_view(name).substr(kDigits + 1));
    if (!first || !last || *first == 0 || *last < *first) return std::nullopt;
    return ArchiveFile{*first, *last};
}

base::Result<ArchiveFolder> ArchiveFolder::open(const fs::path& path, FileCalls& files) {
    const auto names = list_directory(path.string(), files);
    if (!names && names.error().code == Errc::not_found) {
        return fail(Errc::not_found, "there is no folder " + path.string());
    }
    if (!names) return fail(names.error());
    ArchiveFolder folder(files, path);
    for (const std::string& name : *names) {
        if (const auto file = ArchiveFile::from_name(name)) folder.files_.push_back(*file);
    }
    if (auto good = check_successive(path, folder.files_); !good) return fail(good.error());
    return folder;
}

base::Result<genesis::ArchiveHead> ArchiveFolder::checked_head(const ArchiveFile& file,
                                                               base::ByteView bytes) const {
    const std::string path = (path_ / file.name()).string();
    const std::size_t size = std::min(bytes.size(), genesis::kArchiveHeadBytes);
    auto head = genesis::decode_archive_head(bytes.first(size));
    if (!head) return fail(head.error().code, path + ": " + head.error().detail);
    if (head->first == file.first && head->last == file.last) return head;
    return fail(Errc::invalid,
                fmt::format("{}: it has blocks {} to {}, its name says otherwise; rename it back",
                            path,
                            head->first,
                            head->last));
}

base::Result<genesis::ArchiveHead> ArchiveFolder::head(const ArchiveFile& file) const {
    const std::string path = (path_ / file.name()).string();
    const auto opened = File::open(path, O_RDONLY | O_NONBLOCK, 0, *calls_);
    if (!opened) return fail(opened.error());
    const auto size = opened->size();
    if (!size) return fail(size.error().code, path + ": " + size.error().detail);
    const auto read =
        static_cast<std::size_t>(std::min<std::uint64_t>(*size, genesis::kArchiveHeadBytes));
    const auto bytes = opened->read_at(0, read);
    if (!bytes) return fail(bytes.error().code, path + ": " + bytes.error().detail);
    return checked_head(file, *bytes);
}

base::Result<std::vector<chain::BlockPtr>> ArchiveFolder::blocks(
    const ArchiveFile& file, const chain::ChainId& chain_id) const {
    constexpr std::size_t kHead = genesis::kArchiveHeadBytes;
    const std::string path = (path_ / file.name()).string();
    const std::size_t most = kHead + packed_bytes_max(genesis::kArchiveBytesMax);
    const auto bytes = read_file(path, most, *calls_);
    if (!bytes) return fail(bytes.error().code, path + ": " + bytes.error().detail);
    const auto head = checked_head(file, *bytes);
    if (!head) return fail(head.error());
    if (head->chain_id != chain_id) {
        return fail(Errc::invalid,
                    fmt::format("{}: its blocks are of the chain {}, not of {}",
                                path,
                                base::to_hex(head->chain_id.view()),
                                base::to_hex(chain_id.view())));
    }
    const auto unpacked = unpack_frame(base::ByteView(*bytes).subspan(kHead), head->bytes);
    if (!unpacked) return fail(unpacked.error().code, path + ": " + unpacked.error().detail);
    auto blocks = genesis::decode_archive(*head, *unpacked);
    if (!blocks) return fail(blocks.error().code, path + ": " + blocks.error().detail);
    return blocks;
}

base::Result<void> write_archive_file(const fs::path& folder,
                                      const genesis::ArchiveContent& content,
                                      FileCalls& files) {
    const ArchiveFile file{content.head.first, content.head.last};
    base::Bytes bytes = genesis::encode_archive_head(content.head);
    const base::Bytes packed = pack_chunk(content.bytes);
    bytes.insert(bytes.end(), packed.begin(), packed.end());
    return write_file_atomically((folder / file.name()).string(), bytes, 0644, files);
}

base::Result<void> remove_unfinished(const fs::path& folder, FileCalls& files) {
    const auto names = list_directory(folder.string(), files);
    if (!names) return fail(names.error());
    for (const std::string& name : *names) {
        if (!name.ends_with(kUnfinished)) continue;
        if (auto done = remove_tree((folder / name).string(), files); !done) return done;
    }
    return {};
}

}  // namespace node
