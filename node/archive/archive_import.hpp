#pragma once

#include "base/storage.hpp"
#include "genesis/genesis.hpp"
#include "node/archive/archive_folder.hpp"

#include <functional>

namespace node {

struct Filled {
    chain::Height before = 0;    // The lowest block that was stored, and
    chain::Height earliest = 0;  // the lowest that is now.
    chain::Height final = 0;
};
// Told of each batch that is durable: the lowest block that is stored with it.
using ShowFilled = std::function<void(chain::Height earliest)>;

// Fills the history of a storage downwards (spec 05, "Fill downwards"): from its lowest block to
// `from`, or as far as the archive reaches. Each id is the `previous` of the block above, so
// nothing is believed; what no id covers, signatures and witnesses, is checked before a block is
// stored. Ids, transactions and nodes for proofs come back, traces do not.
//
// Batches are durable one after the other, each below the one before: wherever it ends, the history
// has no gap, and the next time it goes on. Of an archive that does not begin with block 1 some of
// the lowest blocks only serve to check those above. invalid: names the file or the block.
[[nodiscard]] base::Result<Filled> import_archive(base::Storage& storage,
                                                  const genesis::Genesis& genesis,
                                                  const ArchiveFolder& archive,
                                                  chain::Height from,
                                                  const ShowFilled& show);
// Of a node that does not run. invalid: it runs.
[[nodiscard]] base::Result<Filled> import_archive(const std::filesystem::path& data_dir,
                                                  const ArchiveFolder& archive,
                                                  chain::Height from,
                                                  const ShowFilled& show,
                                                  const Disk& disk = {});

}  // namespace node
