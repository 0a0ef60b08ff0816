#pragma once

#include "base/codec.hpp"
#include "base/crypto/hash.hpp"
#include "chain/pruning.hpp"
#include "chain/state/block_store.hpp"
#include "chain/state/state_manager.hpp"
#include "node/archive/archive_export.hpp"
#include "node/archive/archive_import.hpp"
#include "node/disk/file.hpp"
#include "node/snapshots/packing.hpp"
#include "tests/support/memory_storage.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <map>
#include <memory>

namespace test {

using Rows = std::map<base::Bytes, base::Bytes>;

inline Rows rows_of(const base::StorageView& storage, base::Family family) {
    Rows rows;
    REQUIRE(storage.scan(family, {}, [&](base::ByteView key, base::ByteView value) {
        rows[base::to_bytes(key)] = base::to_bytes(value);
        return true;
    }));
    return rows;
}

// A copy from which everything below `floor` has vanished, as after pruning.
inline std::unique_ptr<support::MemoryStorage> pruned(const base::StorageView& storage,
                                                      const chain::HistoryFloor& floor) {
    base::Batch batch;
    for (std::size_t i = 0; i < base::kFamilies; ++i) {
        const auto family = static_cast<base::Family>(i);
        for (const auto& [key, value] : rows_of(storage, family)) {
            if (!floor.is_past(family, key, value)) batch.put(family, key, value);
        }
    }
    chain::append_floor(batch, floor);
    auto made = std::make_unique<support::MemoryStorage>();
    REQUIRE(made->commit(batch, true));
    return made;
}

inline void check_contiguous(const base::StorageView& storage, chain::Height earliest) {
    const chain::BlockReader reader(storage);
    const chain::Height final = chain::stored_final(storage).value().height;
    REQUIRE(reader.earliest().value() == earliest);
    for (chain::Height height = earliest; height <= final; ++height) {
        const auto block = reader.at(height).value();
        REQUIRE(block != nullptr);
        REQUIRE(reader.height_of(block->id).value() == height);
    }
}

// An archive on a real disk.
class Archive {
  public:
    explicit Archive(const std::string& name = "archive") : path_(home_ / name) {}

    base::Result<node::Exported> fill(const base::StorageView& storage,
                                      const chain::ChainId& chain_id,
                                      const node::ArchiveRange& range) {
        return node::export_archive(
            {storage, chain_id}, path_, range, node::system_calls(), [](const node::ArchiveFile&) {
            });
    }
    [[nodiscard]] std::string path(const std::string& name = {}) const {
        return name.empty() ? path_.string() : (path_ / name).string();
    }
    [[nodiscard]] node::ArchiveFolder open() const {
        auto folder = node::ArchiveFolder::open(path_);
        if (!folder) FAIL(folder.error().detail);
        return *std::move(folder);
    }
    [[nodiscard]] base::Bytes read(const std::string& name) const {
        return node::read_file(path(name), std::size_t{1} << 30U).value();
    }
    void write(const std::string& name, base::ByteView bytes) const {
        REQUIRE(node::write_file(path(name), bytes, 0644));
    }
    // Another block in the place of one, with hashes that fit.
    void forge(const std::string& name,
               chain::Height height,
               const std::function<chain::BlockPtr(const chain::Block&)>& change) const {
        const base::Bytes bytes = read(name);
        const auto view = base::ByteView(bytes);
        auto head = genesis::decode_archive_head(view.first(genesis::kArchiveHeadBytes)).value();
        const auto unpacked =
            node::unpack_frame(view.subspan(genesis::kArchiveHeadBytes), head.bytes).value();
        base::Writer out;
        const auto blocks = genesis::decode_archive(head, unpacked).value();
        for (const chain::BlockPtr& block : blocks) {
            const auto put = block->header.height == height ? change(*block) : block;
            out.bytes(chain::encode_block(*put));
        }
        head.bytes = static_cast<std::uint32_t>(out.view().size());
        head.sha256 = base::crypto::sha256(out.view());
        const genesis::ArchiveContent content{head, out.take()};
        REQUIRE(node::write_archive_file(path_, content, node::system_calls()));
    }

  private:
    TemporaryDirectory home_;
    std::filesystem::path path_;
};

}  // namespace test
