#include "node/snapshots/snapshot_load.hpp"

#include "node/snapshots/state_build.hpp"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

base::Result<void> check_empty(const DataDirectory& directory) {
    std::error_code error;
    if (!fs::exists(directory.state(), error)) return {};
    return fail(
        Errc::invalid,
        fmt::format("the data directory {} has a state already, {}; a snapshot is loaded "
                    "into one without: take another data-dir, or move that state out of this one",
                    directory.path().string(),
                    directory.state().string()));
}

SnapshotTrust trust_of(const GenesisFile& file, const LoadOptions& options) {
    SnapshotTrust trust = trust_in(file.genesis);
    trust.chain.recoveries = options.recoveries;
    trust.checkpoint = options.checkpoint;
    return trust;
}

}  // namespace

base::Result<genesis::SnapshotHead> load_snapshot(const fs::path& path,
                                                  const LoadOptions& options) {
    const auto folder = SnapshotFolder::open(path);
    if (!folder) return fail(folder.error());
    const auto file = read_genesis(options.data_dir, options.genesis_json);
    if (!file) return fail(file.error());
    const auto checked = check_parts(*folder, trust_of(*file, options));
    if (!checked) return fail(checked.error());

    auto directory = DataDirectory::open(options.data_dir);
    if (!directory) return fail(directory.error());
    if (auto empty = check_empty(*directory); !empty) return fail(empty.error());
    if (auto removed = directory->remove_others(); !removed) return fail(removed.error());
    if (auto room = StateBuild::check_room(*folder, options.data_dir); !room)
        return fail(room.error());
    const auto next = directory->next_state();
    if (!next) return fail(next.error());
    StateBuild state(*next);
    auto filled = state.fill(*folder, options.workers, options.show);
    if (!filled) return fail(filled.error());
    if (auto done = state.complete(*folder, *checked); !done) return fail(done.error());
    if (auto closed = state.close(); !closed) return fail(closed.error());
    if (auto kept = keep_genesis(options.data_dir, *file); !kept) return fail(kept.error());
    // It is whole: whatever comes of it now, nothing is lost. A start removes what is still being
    // made.
    state.keep();
    if (auto done = directory->switch_to(state.path()); !done) return fail(done.error());
    return folder->head();
}

base::Result<void> verify_snapshot(const SnapshotFolder& folder, const LoadOptions& options) {
    const auto file = read_genesis(options.data_dir, options.genesis_json);
    if (!file) return fail(file.error());
    const auto checked = check_parts(folder, trust_of(*file, options));
    if (!checked) return fail(checked.error());
    // Of the checkpoint. In the folder of a liar several workers may find it.
    std::optional<base::Bytes> id;
    std::mutex mutex;
    OpenGroup look;
    if (checked->checkpoint) {
        const base::Bytes wanted = block_row_key(*checked->checkpoint);
        look = [&id, &mutex, wanted](std::size_t) -> base::Result<RowSink> {
            const auto take = [&id, &mutex, wanted](base::ByteView key,
                                                    base::ByteView value) -> base::Result<void> {
                if (!base::equal(key, wanted)) return {};
                const std::scoped_lock lock(mutex);
                id = base::to_bytes(value);
                return {};
            };
            return RowSink{take, nullptr};
        };
    }
    const auto groups = check_chunks(folder, options.workers, look, options.show);
    if (!groups) return fail(groups.error());
    if (!checked->checkpoint) return {};
    return check_block_row(
        *checked->checkpoint, folder.head().height, id ? &*id : nullptr, "checkpoint");
}

base::Result<genesis::Checkpoint> checkpoint_from(const std::string& text) {
    const auto invalid = [&] {
        return fail(Errc::invalid,
                    "checkpoint = " + text +
                        ": expected HEIGHT:ID with the 64 hexadecimal digits of the id of the "
                        "block of that height");
    };
    const std::size_t colon = text.find(':');
    if (colon == 0 || colon == std::string::npos || colon > 10) return invalid();
    const std::string height = text.substr(0, colon);
    if (height.find_first_not_of("0123456789") != std::string::npos) return invalid();
    const auto bytes = base::from_hex(std::string_view(text).substr(colon + 1));
    if (!bytes) return invalid();
    const auto id = base::to_hash<32>(*bytes);
    // The id begins with the height.
    if (!id || chain::height_of(*id) != std::stoull(height)) return invalid();
    return genesis::Checkpoint{chain::height_of(*id), *id};
}

}  // namespace node
