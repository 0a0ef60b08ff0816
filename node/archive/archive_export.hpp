#pragma once

#include "base/storage.hpp"
#include "node/archive/archive_folder.hpp"

#include <functional>
#include <optional>

namespace node {

struct ArchiveRange {
    std::optional<chain::Height> from{};  // Nothing: the lowest that is stored.
    std::optional<chain::Height> to{};    // Nothing: the final block.
    // A file ends at a height that is a multiple of it, so that two exports make the same files.
    chain::Height file_blocks = genesis::kArchiveBlocksMax;
};

struct Exported {
    chain::Height from = 0;
    chain::Height to = 0;
    std::size_t files = 0;   // That were written now; others were there.
    chain::BlockId last_id;  // Of the block `to`.
};
struct ArchiveSource {
    const base::StorageView& storage;
    chain::ChainId chain_id;
};
// Told of each file that is durable.
using ShowArchiveFile = std::function<void(const ArchiveFile&)>;

// Writes final blocks as they are stored into a folder, which is made; heights that are there stay
// as they are, so that an export that was cut short goes on. invalid: a height of the range is not
// stored, its signatures are not checked yet, or it would not fit to what is there.
[[nodiscard]] base::Result<Exported> export_archive(const ArchiveSource& source,
                                                    const std::filesystem::path& to,
                                                    const ArchiveRange& range,
                                                    FileCalls& files,
                                                    const ShowArchiveFile& show);
// Of a node that does not run. invalid: it runs.
[[nodiscard]] base::Result<Exported> export_archive(const std::filesystem::path& data_dir,
                                                    const std::filesystem::path& to,
                                                    const ArchiveRange& range,
                                                    const ShowArchiveFile& show,
                                                    const Disk& disk = {});

}  // namespace node
