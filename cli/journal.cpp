#include "cli/journal.hpp"

#include "consensus/safety_journal.hpp"
#include "node/disk/journal_file.hpp"

#include <system_error>

namespace cli {

namespace {

using Keys = std::vector<base::crypto::PublicKey>;

// The page with which the keys begin: they have promised nothing yet.
base::Bytes first_page(consensus::SafetyJournal& journal, const Keys& keys) {
    std::vector<consensus::SafetyRecord> records;
    records.reserve(keys.size());
    for (const base::crypto::PublicKey& key : keys) {
        records.push_back({.kind = consensus::RecordKind::base, .key = consensus::key_tag(key)});
    }
    return journal.append(records);
}

}  // namespace

base::Result<void> make_journal(const std::filesystem::path& data_dir, const Keys& keys) {
    consensus::SafetyJournal journal;
    const std::string path = (data_dir / node::kJournalFileName).string();
    return node::JournalFile::create(path, first_page(journal, keys));
}

base::Result<void> add_to_journal(const std::filesystem::path& data_dir, const Keys& keys) {
    const auto path = data_dir / node::kJournalFileName;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return make_journal(data_dir, keys);
    auto file = node::JournalFile::open(path.string());
    if (!file) return base::fail(file.error());
    const auto pages = (*file)->read_pages();
    if (!pages) return base::fail(pages.error());
    auto journal = consensus::SafetyJournal::read(*pages);
    if (!journal) return base::fail(journal.error());
    if (journal->torn()) {
        return base::fail(
            base::Errc::invalid,
            path.string() + ": its last page is torn; start the node once, which mends it");
    }
    return (*file)->append_page(first_page(*journal, keys));
}

}  // namespace cli
