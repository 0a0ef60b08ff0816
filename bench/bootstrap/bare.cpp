#include "bench/bootstrap/bare.hpp"

#include "base/crypto/hash.hpp"
#include "bench/ledger/chain.hpp"
#include "bench/ledger/measure.hpp"
#include "genesis/snapshot_chunk.hpp"
#include "node/disk/table_file.hpp"
#include "node/snapshots/packing.hpp"
#include "node/snapshots/snapshot_folder.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace bench {

namespace fs = std::filesystem;

namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

// All chunks, unpacked: at most so many bytes of a state are measured.
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 30U;

struct Loop {
    Report& report;
    double rows;

    template <class Work>
    void operator()(std::string_view name, Work work) const {
        const double began = process_cpu();
        work();
        report.add(name, (process_cpu() - began) * 1e6 / rows, "us a row");
    }
};

using Rows = std::vector<std::vector<genesis::ChunkRow>>;

void write_tables(const Rows& rows, const fs::path& path) {
    const auto file = must(node::TableFile::create(path.string(), base::Family::state));
    for (const auto& chunk : rows) {
        for (const genesis::ChunkRow& row : chunk)
            must(file->add(row.key, row.value));
    }
    must(file->finish());
}

void digest(const Rows& rows, chain::StateLanes& lanes) {
    for (const auto& chunk : rows) {
        for (const genesis::ChunkRow& row : chunk) {
            const auto table =
                static_cast<chain::Table>(std::to_integer<unsigned>(row.key[0]) << 8U |
                                          std::to_integer<unsigned>(row.key[1]));
            lanes.add(table, row.key.subspan(2), row.value);
        }
    }
}

}  // namespace

void measure_bare(const fs::path& snapshot, Report& report) {
    const auto folder = must(node::SnapshotFolder::open(snapshot));
    const auto& chunks = folder.manifest().chunks;
    if (folder.head().bytes > kBytesMax) give_up("more rows than are held in memory at once");
    report.add("rows", static_cast<double>(folder.head().rows), "");
    report.add("bytes of rows", static_cast<double>(folder.head().bytes) / kMebibyte, "MiB");
    report.add("chunks", static_cast<double>(chunks.size()), "");
    report.add("bytes packed", static_cast<double>(must(folder.packed_bytes())) / kMebibyte, "MiB");

    const Loop loop{report, static_cast<double>(folder.head().rows)};
    std::vector<base::Bytes> unpacked;
    loop("zstd, read and unpacked", [&] {
        for (std::size_t i = 0; i < chunks.size(); ++i)
            unpacked.push_back(must(folder.chunk(i)));
    });
    loop("zstd, packed", [&] {
        for (const base::Bytes& chunk : unpacked)
            if (node::pack_chunk(chunk).empty()) give_up("nothing was packed");
    });
    loop("SHA-256", [&] {
        for (std::size_t i = 0; i < chunks.size(); ++i)
            if (base::crypto::sha256(unpacked[i]) != chunks[i].sha256) give_up("another chunk");
    });
    Rows rows;
    for (std::size_t i = 0; i < chunks.size(); ++i)
        rows.push_back(must(genesis::chunk_rows(unpacked[i], chunks[i].entries)));
    chain::StateLanes lanes;
    loop("D, the digest", [&] { digest(rows, lanes); });
    if (lanes != genesis::lanes_of(folder.manifest())) give_up("another digest");

    const WorkDirectory scratch;
    const fs::path table = scratch.path() / "rows.table";
    loop("sorted table written", [&] { write_tables(rows, table); });
    node::RocksDbStorage::Options options;
    options.directory = (scratch.path() / "state").string();
    const auto storage = must(node::RocksDbStorage::open(options));
    loop("table ingested", [&] { must(storage->ingest(base::Family::state, {table.string()})); });
    std::uint64_t read = 0;
    loop("rows read", [&] {
        must(storage->scan(base::Family::state, {}, [&](base::ByteView, base::ByteView) {
            ++read;
            return true;
        }));
    });
    if (read != folder.head().rows) give_up("other rows than were written");
}

}  // namespace bench
