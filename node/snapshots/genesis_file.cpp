#include "node/snapshots/genesis_file.hpp"

#include "node/disk/file.hpp"

#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

namespace {

constexpr std::size_t kGenesisBytesMax = std::size_t{1} << 20U;

base::Result<GenesisFile> read(const fs::path& path, bool is_kept, FileCalls& calls) {
    auto bytes = read_file(path.string(), kGenesisBytesMax, calls);
    if (!bytes) return fail(Errc::invalid, path.string() + ": " + bytes.error().detail);
    auto genesis = genesis::from_json(base::as_text(*bytes));
    if (!genesis) return fail(Errc::invalid, path.string() + ": " + genesis.error().detail);
    return GenesisFile{*std::move(genesis), *std::move(bytes), is_kept};
}

}  // namespace

base::Result<GenesisFile> read_genesis(const fs::path& data_dir,
                                       const fs::path& given,
                                       FileCalls& calls) {
    const fs::path kept = data_dir / kGenesisFile;
    if (!calls.exists(kept.string())) {
        if (!given.empty()) return read(given, false, calls);
        return fail(Errc::invalid,
                    kept.string() +
                        " is not there: the first start needs genesis-json (made by 'bor-cli "
                        "genesis init')");
    }
    auto mine = read(kept, true, calls);
    if (!mine || given.empty()) return mine;
    const auto other = read(given, false, calls);
    if (!other) return fail(other.error());
    if (other->genesis.chain_id() == mine->genesis.chain_id()) return mine;
    return fail(Errc::invalid,
                "genesis-json = " + given.string() + " is of chain " +
                    base::to_hex(other->genesis.chain_id().view()) + ", the data directory of " +
                    base::to_hex(mine->genesis.chain_id().view()) +
                    "; use another data-dir or leave the option out");
}

base::Result<void> keep_genesis(const fs::path& data_dir,
                                const GenesisFile& file,
                                FileCalls& calls) {
    if (file.is_kept) return {};
    return write_file_atomically((data_dir / kGenesisFile).string(), file.bytes, 0644, calls);
}

}  // namespace node
