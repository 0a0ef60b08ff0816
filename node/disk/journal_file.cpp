#include "node/disk/journal_file.hpp"

#include "base/check.hpp"
#include "node/disk/blank.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <utility>

namespace node {

namespace {

constexpr std::size_t kBlockBytes = 4096;
constexpr std::uint64_t kRoomBlocks = 1024;       // Prepared at a time: 4 MiB.
constexpr std::uint64_t kBlocksMax = 256 * 1024;  // 1 GiB: far above what compaction leaves.

base::Result<void> add_zeros(File& file, std::uint64_t first_block, std::uint64_t blocks) {
    const base::Bytes zeros(kBlockBytes * 64);
    for (std::uint64_t done = 0; done < blocks; done += 64) {
        const std::uint64_t now = std::min<std::uint64_t>(64, blocks - done);
        base::Result<void> written =
            file.write_at((first_block + done) * kBlockBytes,
                          base::ByteView(zeros).first(static_cast<std::size_t>(now) * kBlockBytes));
        if (!written) return written;
    }
    return file.sync();
}

// A prepared file with one page, durable but for its name.
base::Result<File> make_file(const std::string& path, base::ByteView page, FileCalls& calls) {
    CHECK(page.size() % kBlockBytes == 0);
    // A create() that was killed may have left it as another name of the journal itself.
    calls.unlink(path);
    base::Result<File> made = File::open(path, O_RDWR | O_CREAT | O_TRUNC, 0600, calls);
    if (!made) return made;
    base::Result<void> done = made->lock();
    if (done) done = add_zeros(*made, 0, kRoomBlocks);
    if (done) done = made->write_at(0, page);
    if (done) done = made->sync();
    if (done) return made;
    calls.unlink(path);
    return base::fail(done.error());
}

base::Error about(const std::string& path, const base::Error& error) {
    return {error.code, "the safety journal " + path + ": " + error.detail};
}

}  // namespace

std::filesystem::path journal_path(const std::filesystem::path& data_dir,
                                   const base::crypto::PublicKey& key) {
    return data_dir / "safety" / (key.to_string() + ".journal");
}

base::Result<void> JournalFile::create(const std::string& path,
                                       base::ByteView page,
                                       FileCalls& calls) {
    if (calls.exists(path)) {
        return base::fail(base::Errc::invalid,
                          "the safety journal " + path +
                              " exists already and is not replaced: without it its keys could "
                              "vote twice");
    }
    // Made beside and renamed, so that a journal that is there is whole.
    const std::string next = path + ".next";
    const base::Result<File> made = make_file(next, page, calls);
    if (!made) return base::fail(about(path, made.error()));
    if (calls.link(next, path) != 0) {
        const std::string reason = std::generic_category().message(errno);
        calls.unlink(next);
        return base::fail(base::Errc::unavailable,
                          "cannot make the journal " + path + ": " + reason);
    }
    calls.unlink(next);
    base::Result<void> synced = sync_directory_of(path, calls);
    // Its directory may be as new as it is.
    if (synced) {
        synced = sync_directory_of(std::filesystem::path(path).parent_path().string(), calls);
    }
    // Else another try would find it.
    if (!synced) calls.unlink(path);
    return synced;
}

base::Result<std::unique_ptr<JournalFile>> JournalFile::open(const std::string& path,
                                                             FileCalls& calls) {
    base::Result<File> file = File::open(path, O_RDWR, 0600, calls);
    if (!file && file.error().code == base::Errc::not_found) {
        return base::fail(base::Errc::not_found,
                          "there is no safety journal " + path +
                              "; bor-cli key create --vote makes one together with its key");
    }
    if (!file) return base::fail(about(path, file.error()));
    if (const base::Result<void> locked = file->lock(); !locked) {
        return base::fail(base::Errc::unavailable,
                          "the safety journal " + path +
                              " is in use by another process; the same keys must not vote twice");
    }
    // A process that was killed may have written a page without syncing it, or its name: what this
    // one reads, and acts upon, must be there after a power cut.
    base::Result<void> synced = file->sync();
    if (synced) synced = sync_directory_of(path, calls);
    if (!synced) return base::fail(about(path, synced.error()));
    const base::Result<std::uint64_t> size = file->size();
    if (!size) return base::fail(about(path, size.error()));
    if (*size % kBlockBytes != 0 || *size / kBlockBytes > kBlocksMax) {
        return base::fail(base::Errc::corrupt,
                          "the safety journal " + path + " has " + std::to_string(*size) +
                              " bytes, which is no journal's size");
    }
    const std::uint64_t room = *size / kBlockBytes;
    std::unique_ptr<JournalFile> made(new JournalFile(calls, path, std::move(*file), room));
    // The end is the last block that is not blank: a blank one before it is a hole to be seen.
    for (std::uint64_t i = room; i > 0 && made->blocks_ == 0; --i) {
        const base::Result<base::Bytes> block =
            made->file_.read_at((i - 1) * kBlockBytes, kBlockBytes);
        if (!block) return base::fail(about(path, block.error()));
        if (!is_blank(*block)) made->blocks_ = i;
    }
    return made;
}

base::Result<void> JournalFile::append_page(base::ByteView page) {
    CHECK(page.size() % kBlockBytes == 0);
    CHECK(!is_blank(page));
    if (failed_) {
        return base::fail(base::Errc::unavailable,
                          "the safety journal " + path_ +
                              " failed before; start the node again once the disk is well");
    }
    // Of the page nothing is written yet: it may go on once there is room.
    if (base::Result<void> more = make_room(page.size() / kBlockBytes); !more) {
        return base::fail(about(path_, more.error()));
    }
    const base::Result<void> done = append_to_room(page);
    if (done) return {};
    failed_ = true;
    return base::fail(about(path_, done.error()));
}

base::Result<void> JournalFile::make_room(std::uint64_t blocks) {
    if (blocks_ + blocks <= room_) return {};
    if (base::Result<void> more = add_zeros(file_, room_, kRoomBlocks); !more) return more;
    room_ += kRoomBlocks;
    return {};
}

base::Result<void> JournalFile::append_to_room(base::ByteView page) {
    if (base::Result<void> written = file_.write_at(blocks_ * kBlockBytes, page); !written) {
        return written;
    }
    if (base::Result<void> synced = file_.sync(); !synced) return synced;
    blocks_ += page.size() / kBlockBytes;
    return {};
}

base::Result<base::Bytes> JournalFile::read() const {
    auto bytes = file_.read_at(0, blocks_ * kBlockBytes);
    if (!bytes) return base::fail(about(path_, bytes.error()));
    return bytes;
}

base::Result<void> JournalFile::compact(base::ByteView page) {
    const std::string next = path_ + ".next";
    base::Result<File> made = make_file(next, page, calls_);
    if (!made) return base::fail(about(path_, made.error()));
    if (calls_.rename(next, path_) != 0) {
        const std::string reason = std::generic_category().message(errno);
        calls_.unlink(next);
        return base::fail(base::Errc::unavailable,
                          "the safety journal " + path_ + ": cannot rename: " + reason);
    }
    // From here on the name is the new file's, so all that follows must go there.
    file_ = std::move(*made);
    blocks_ = page.size() / kBlockBytes;
    room_ = kRoomBlocks;
    base::Result<void> synced = sync_directory_of(path_, calls_);
    failed_ = !synced.has_value();
    return synced;
}

}  // namespace node
