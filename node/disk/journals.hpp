#pragma once

#include "base/log.hpp"
#include "consensus/safety_journal.hpp"
#include "node/disk/journal_file.hpp"

#include <filesystem>
#include <vector>

namespace node {

// The safety journals of a node's keys, as they are opened with its data directory.
struct OpenJournals {
    JournalLogs logs;            // Of each key.
    consensus::Journals safety;  // Those that are whole.
};

// One that is not there, or damaged, is replaced by its first page that takes the place of all
// others; what there is of it is kept beside. unavailable: it can't be read; another process has
// it.
[[nodiscard]] base::Result<OpenJournals> open_journals(
    const std::filesystem::path& data_dir,
    const std::vector<base::crypto::PublicKey>& keys,
    const base::Log& log,
    FileCalls& calls = system_calls());

}  // namespace node
