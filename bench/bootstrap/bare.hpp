#pragma once

#include "bench/ledger/report.hpp"

#include <filesystem>

namespace bench {

// What the parts of a snapshot cost by themselves, in one thread: zstd, SHA-256, the digest, the
// sorted tables, their ingest, and reading all rows of the database that was made so. Microseconds
// of CPU a row. `snapshot`: its folder.
void measure_bare(const std::filesystem::path& snapshot, Report& report);

}  // namespace bench
