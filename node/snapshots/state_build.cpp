#include "node/snapshots/state_build.hpp"

#include "chain/execution/schedule_rows.hpp"
#include "chain/meta_keys.hpp"
#include "chain/state/views.hpp"
#include "chain/types/rule.hpp"
#include "node/disk/file.hpp"
#include "node/disk/table_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

constexpr std::uint64_t kFreeBytesMin = std::uint64_t{1} << 30U;
constexpr std::size_t kCacheBytes = std::size_t{8} << 20U;
// How far back a state knows the ids of blocks.
constexpr chain::Height kIdsKept = 65'535;

base::Result<RowSink> open_table(const fs::path& path, const Disk& disk) {
    auto created = TableFile::create(path.string(), base::Family::state, disk.env);
    if (!created) return fail(created.error());
    const std::shared_ptr<TableFile> file = *std::move(created);
    return RowSink{
        [file](base::ByteView key, base::ByteView value) { return file->add(key, value); },
        [file] { return file->finish(); }};
}

// The rows whose keys begin with this.
base::Result<void> copy_rows(const base::Storage& from, std::string_view name, base::Batch& to) {
    const base::Bytes prefix = chain::meta_key(name);
    return from.scan(base::Family::meta, prefix, [&](base::ByteView key, base::ByteView value) {
        if (!base::equal(key.first(std::min(key.size(), prefix.size())), prefix)) return false;
        to.put(base::Family::meta, base::to_bytes(key), base::to_bytes(value));
        return true;
    });
}

}  // namespace

StateBuild::~StateBuild() {
    storage_.reset();
    if (!kept_) (void)remove_tree(path_.string(), disk_.files);  // Else the next start does.
}

base::Result<void> StateBuild::check_room(const SnapshotFolder& folder,
                                          const fs::path& data_dir,
                                          FileCalls& files) {
    const std::int64_t free = files.free_bytes(data_dir.string());
    const std::uint64_t needed = folder.head().bytes + kFreeBytesMin;
    if (free < 0 || static_cast<std::uint64_t>(free) >= needed) return {};
    return fail(
        Errc::unavailable,
        fmt::format("{} bytes are free on the device of {}; the snapshot's {} bytes of rows "
                    "and 1 GiB are needed; free some, or take another device",
                    free,
                    data_dir.string(),
                    folder.head().bytes));
}

fs::path StateBuild::table(std::size_t group) const {
    return tables() / fmt::format("{}.table", group);
}

base::Result<void> StateBuild::fill(const SnapshotFolder& folder,
                                    unsigned workers,
                                    const ShowProgress& show,
                                    const IsStopped& is_stopped) {
    if (auto begun = make_directories(tables().string(), disk_.files); !begun) return begun;
    const auto groups = check_chunks(
        folder,
        workers,
        [this](std::size_t group) { return open_table(table(group), disk_); },
        show,
        is_stopped);
    if (!groups) return fail(groups.error());
    if (auto opened = open(); !opened) return opened;
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < *groups; ++i)
        paths.push_back(table(i).string());
    if (auto done = storage_->ingest(base::Family::state, paths); !done) return done;
    return remove_tree(tables().string(), disk_.files);
}

base::Result<void> StateBuild::open() {
    RocksDbStorage::Options options;
    options.directory = path_.string();
    options.cache_bytes = kCacheBytes;
    options.env = disk_.env;
    auto storage = RocksDbStorage::open(options);
    if (!storage) return fail(storage.error());
    storage_ = *std::move(storage);
    return {};
}

// What was followed, and nothing else.
base::Result<void> StateBuild::store_links(const SnapshotFolder& folder,
                                           const CheckedSnapshot& checked) {
    for (std::size_t part = 0; part < checked.link_parts.size(); ++part) {
        const auto links = folder.followed_links(part, checked.link_parts[part]);
        if (!links) return fail(links.error());
        base::Batch batch;
        genesis::append_links(batch, *links);
        if (auto done = storage_->commit(batch, false); !done) return done;
    }
    return {};
}

base::Result<void> StateBuild::check_block(const genesis::Checkpoint& block,
                                           chain::Height height,
                                           std::string_view what) const {
    const auto id = storage_->get(base::Family::state, block_row_key(block));
    if (!id) return fail(id.error());
    return check_block_row(block, height, *id ? &**id : nullptr, what);
}

base::Result<void> StateBuild::complete(const SnapshotFolder& folder,
                                        const CheckedSnapshot& checked) {
    base::Result<void> fault;
    const chain::StoredView state(storage_->snapshot(),
                                  [&](const base::Error& error) { fault = fail(error); });
    if (checked.checkpoint) {
        auto good = check_block(*checked.checkpoint, folder.head().height, "checkpoint");
        if (!good) return good;
    }
    auto last = genesis::make_loaded(folder.manifest(), checked.proof, checked.agreement, state);
    if (!fault) return fault;
    if (!last) return fail(last.error());
    if (auto stored = store_links(folder, checked); !stored) return stored;
    return storage_->commit(*last, true);
}

base::Result<void> StateBuild::replace(const base::Storage& old,
                                       const genesis::Checkpoint& own,
                                       chain::Height height) {
    if (own.height >= height) {
        return fail(
            Errc::invalid,
            fmt::format(
                "the own final block {} is not below the snapshot's block {}", own.height, height));
    }
    if (own.height > 1) {
        auto good = check_block(own, height, "forked: the own final block");
        if (!good) return good;
    }
    base::Batch batch;
    for (const std::string_view name :
         {chain::kMetaJournal, chain::kMetaEvidence, chain::kMetaAmnesia}) {
        const bool is_mark = name == chain::kMetaJournal;
        if (is_mark && chain::is_left_out(chain::Rule::replaced_state_keeps_marks)) continue;
        if (auto copied = copy_rows(old, name, batch); !copied) return copied;
    }
    return storage_->commit(batch, true);
}

base::Result<void> StateBuild::close() {
    storage_.reset();
    auto synced = sync_directory_of((path_ / ".").string(), disk_.files);
    return synced ? sync_directory_of(path_.string(), disk_.files) : synced;
}

base::Bytes block_row_key(const genesis::Checkpoint& block) {
    const auto row = chain::block_id_key(static_cast<std::uint16_t>(block.height));
    return chain::stored_key(chain::Table::block_id, row);
}

base::Result<void> check_block_row(const genesis::Checkpoint& block,
                                   chain::Height height,
                                   const base::Bytes* id,
                                   std::string_view what) {
    const std::string name =
        fmt::format("{} {}:{}", what, block.height, base::to_hex(block.block.view()));
    if (height - block.height > kIdsKept) {
        return fail(Errc::invalid,
                    fmt::format("{} is more than {} blocks below the snapshot's block {}, and no "
                                "file of it shows that they are of one chain; take a later one",
                                name,
                                kIdsKept,
                                height));
    }
    if (id != nullptr && base::equal(*id, block.block.view())) return {};
    return fail(Errc::invalid,
                fmt::format("{}: the snapshot's chain has block {} there",
                            name,
                            id == nullptr ? "none" : base::to_hex(*id)));
}

}  // namespace node
