#include "cli/journal.hpp"

#include "consensus/safety_journal.hpp"
#include "node/disk/journal_file.hpp"

#include <array>
#include <system_error>

namespace cli {

// It begins by saying that its key has promised nothing yet.
base::Result<void> make_journal(const std::filesystem::path& data_dir,
                                const base::crypto::PublicKey& key) {
    const std::filesystem::path path = node::journal_path(data_dir, key);
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
        return base::fail(base::Errc::unavailable,
                          "cannot make " + path.parent_path().string() + ": " + error.message());
    }
    consensus::SafetyJournal journal(consensus::key_tag(key));
    const std::array records{consensus::SafetyRecord{.kind = consensus::RecordKind::base}};
    return node::JournalFile::create(path.string(), journal.append(records).bytes);
}

}  // namespace cli
