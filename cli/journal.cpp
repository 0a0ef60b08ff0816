#include "cli/journal.hpp"

#include "consensus/safety_journal.hpp"
#include "node/disk/journal_file.hpp"

namespace cli {

base::Result<void> make_journal(const std::filesystem::path& data_dir,
                                const std::vector<base::crypto::PublicKey>& keys) {
    std::vector<consensus::SafetyRecord> records;
    records.reserve(keys.size());
    for (const base::crypto::PublicKey& key : keys) {
        records.push_back({.kind = consensus::RecordKind::base, .key = consensus::key_tag(key)});
    }
    consensus::SafetyJournal journal;
    const std::string path = (data_dir / node::kJournalFileName).string();
    return node::JournalFile::create(path, journal.append(records));
}

}  // namespace cli
