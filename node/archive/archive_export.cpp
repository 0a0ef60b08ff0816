#include "node/archive/archive_export.hpp"

#include "chain/chain_manager.hpp"
#include "chain/state/block_store.hpp"
#include "chain/state/state_manager.hpp"
#include "node/core/unchecked.hpp"
#include "node/disk/file.hpp"
#include "node/snapshots/stopped_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;
using chain::Height;

namespace {

class Export {
  public:
    Export(const ArchiveSource& source, const ArchiveFolder& folder, const ShowArchiveFile& show)
        : storage_(source.storage),
          reader_(source.storage),
          chain_id_(source.chain_id),
          folder_(folder),
          show_(show) {}

    base::Result<Exported> run(const ArchiveRange& range) {
        if (auto good = choose(range); !good) return fail(good.error());
        if (auto good = check_beside(); !good) return fail(good.error());
        for (Height height = done_.from; height <= done_.to;) {
            const auto above = std::ranges::find_if(
                folder_.files(), [&](const ArchiveFile& file) { return file.last >= height; });
            const bool is_one_above = above != folder_.files().end();
            if (is_one_above && above->first <= height) {
                if (auto same = check_same(*above); !same) return fail(same.error());
                height = above->last + 1;
                continue;
            }
            Height last = done_.to;
            if (is_one_above) last = std::min(last, above->first - 1);
            const std::uint64_t whole =
                (std::uint64_t{height} + range.file_blocks - 1) / range.file_blocks;
            last = static_cast<Height>(std::min<std::uint64_t>(last, whole * range.file_blocks));
            const auto written = write(height, last);
            if (!written) return fail(written.error());
            height = *written + 1;
        }
        return done_;
    }

  private:
    base::Result<void> choose(const ArchiveRange& range) {
        const auto earliest = reader_.earliest();
        if (!earliest) return fail(earliest.error());
        const auto final = chain::stored_final(storage_);
        if (!final) return fail(final.error());
        done_.from = range.from.value_or(earliest->value_or(1));
        done_.to = range.to.value_or(final->height);
        const auto refuse = [&](std::string_view why) {
            return fail(Errc::invalid,
                        fmt::format("blocks {} to {}: {}; the node has final blocks {} to {}",
                                    done_.from,
                                    done_.to,
                                    why,
                                    earliest->value_or(1),
                                    final->height));
        };
        if (done_.from > done_.to) return refuse("there is none");
        if (done_.from < earliest->value_or(1)) return refuse("the first is not stored here");
        if (done_.to > final->height) return refuse("the last is not final here");
        const auto last = block_at(done_.to);
        if (!last) return fail(last.error());
        done_.last_id = (*last)->id;
        return {};
    }

    // What is written is to continue what is there.
    base::Result<void> check_beside() const {
        if (folder_.files().empty()) return {};
        const Height first = folder_.files().front().first;
        const Height last = folder_.files().back().last;
        if (done_.from <= last + 1 && done_.to + 1 >= first) return {};
        return fail(Errc::invalid,
                    fmt::format("{} has blocks {} to {}: between them and blocks {} to {} some "
                                "would be missing; take these, too, or name another folder",
                                folder_.path().string(),
                                first,
                                last,
                                done_.from,
                                done_.to));
    }

    // A file that is there is of this chain. Of its heights one may be stored here, at least.
    base::Result<void> check_same(const ArchiveFile& file) const {
        const auto head = folder_.head(file);
        if (!head) return fail(head.error());
        const bool has_last = file.last <= done_.to;
        const auto block = block_at(has_last ? file.last : std::max(file.first, done_.from));
        if (!block) return fail(block.error());
        const Height height = (*block)->header.height;
        const bool is_same = head->chain_id == chain_id_ &&
                             (height != file.last || (*block)->id == head->last_id) &&
                             (height != file.first || (*block)->id == head->first_id);
        if (is_same) return {};
        return fail(Errc::invalid,
                    (folder_.path() / file.name()).string() +
                        " is there already, of another chain; name another folder");
    }

    [[nodiscard]] base::Result<chain::BlockPtr> block_at(Height height) const {
        auto block = reader_.at(height);
        if (!block) return fail(block.error());
        if (*block != nullptr) return block;
        return fail(Errc::corrupt, fmt::format("final block {} is not stored", height));
    }

    // Who reads the archive would have to find out.
    [[nodiscard]] base::Result<void> check_checked(Height height) const {
        const auto stretch = stretch_of(storage_, height);
        if (!stretch) return fail(stretch.error());
        if (!*stretch) return {};
        return fail(Errc::invalid,
                    fmt::format("the signatures of block {} are not checked yet: let the node run "
                                "until they are, or end with block {}",
                                height,
                                height - 1));
    }

    // One file, which ends at `last` or where it is full. Returns its last height.
    base::Result<Height> write(Height first, Height last) {
        genesis::ArchiveBuilder file(chain_id_);
        Height height = first;
        for (; height <= last; ++height) {
            if (auto good = check_checked(height); !good) return fail(good.error());
            const auto packed = reader_.packed_at(height);
            if (!packed) return fail(packed.error());
            if (!*packed) {
                return fail(Errc::corrupt, fmt::format("final block {} is not stored", height));
            }
            if (!file.has_room((*packed)->size())) break;
            if (auto added = file.add(**packed); !added) {
                return fail(Errc::corrupt, "stored " + added.error().detail);
            }
        }
        const genesis::ArchiveContent content = file.finish();
        auto written = write_archive_file(folder_.path(), content, folder_.calls());
        if (!written) return fail(written.error());
        ++done_.files;
        show_({first, height - 1});
        return height - 1;
    }

    const base::StorageView& storage_;
    const chain::BlockReader reader_;
    const chain::ChainId chain_id_;
    const ArchiveFolder& folder_;
    const ShowArchiveFile& show_;
    Exported done_;
};

// A folder with other things, of a snapshot say, would be neither that nor an archive.
base::Result<void> check_own(const ArchiveFolder& folder) {
    if (!folder.files().empty()) return {};
    const auto names = list_directory(folder.path().string(), folder.calls());
    if (!names) return fail(names.error());
    if (names->empty()) return {};
    return fail(Errc::invalid,
                fmt::format("{} is no archive, and not empty: it has {}; name a folder that is an "
                            "archive, or empty, or not there",
                            folder.path().string(),
                            names->front()));
}

}  // namespace

base::Result<Exported> export_archive(const ArchiveSource& source,
                                      const fs::path& to,
                                      const ArchiveRange& range,
                                      FileCalls& files,
                                      const ShowArchiveFile& show) {
    if (auto made = make_directories(to.string(), files); !made) return fail(made.error());
    if (auto clean = remove_unfinished(to, files); !clean) return fail(clean.error());
    const auto folder = ArchiveFolder::open(to, files);
    if (!folder) return fail(folder.error());
    if (auto good = check_own(*folder); !good) return fail(good.error());
    return Export(source, *folder, show).run(range);
}

base::Result<Exported> export_archive(const fs::path& data_dir,
                                      const fs::path& to,
                                      const ArchiveRange& range,
                                      const ShowArchiveFile& show,
                                      const Disk& disk) {
    const auto node = open_stopped_node(data_dir, disk);
    if (!node) return fail(node.error());
    const chain::ChainId chain_id = node->file.genesis.chain_id();
    const auto view = node->storage->snapshot();
    const auto is_there = chain::ChainManager::holds_chain(*view, chain_id);
    if (!is_there) return fail(is_there.error());
    if (!*is_there) return fail(Errc::not_found, data_dir.string() + " has no chain yet");
    return export_archive({*view, chain_id}, to, range, disk.files, show);
}

}  // namespace node
