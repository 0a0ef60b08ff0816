#include "node/disk/journals.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;

namespace {

// In place of a journal that is not there or not whole. What the agreement promises first, once it
// may, replaces the whole journal: that makes the file (spec 04, "Safety journal").
class LostJournal final : public base::AppendLog {
  public:
    LostJournal(std::string path, FileCalls& calls) : path_(std::move(path)), calls_(calls) {}
    base::Result<void> append_page(base::ByteView page) override {
        if (file_) return file_->append_page(page);
        return base::fail(Errc::unavailable, "the safety journal " + path_ + " is lost");
    }
    [[nodiscard]] base::Result<base::Bytes> read() const override {
        if (file_) return file_->read();
        return base::Bytes{};
    }
    base::Result<void> compact(base::ByteView page) override {
        if (file_) return file_->compact(page);
        // If it cannot be made, create() fails, and says why.
        calls_.mkdir(fs::path(path_).parent_path().string(), 0777);
        if (auto made = JournalFile::create(path_, page, calls_); !made) return made;
        auto opened = JournalFile::open(path_, calls_);
        if (!opened) return base::fail(opened.error());
        file_ = std::move(*opened);
        return {};
    }

  private:
    std::string path_;
    FileCalls& calls_;
    std::unique_ptr<JournalFile> file_;
};

// Opens one after the other.
class Opening {
  public:
    Opening(const base::Log& log, FileCalls& calls) : log_(log), calls_(calls) {}

    base::Result<void> open(const std::string& path, consensus::KeyTag key) {
        auto journal = JournalFile::open(path, calls_);
        if (!journal && journal.error().code == Errc::not_found) {
            lose(path,
                 "is not there, though it was made with the key ('bor-cli key create --vote "
                 "--journal DATA_DIR', 'bor-cli network up')",
                 key);
            return {};
        }
        if (!journal && journal.error().code == Errc::corrupt) {
            return set_aside(path, journal.error(), key);
        }
        if (!journal) return base::fail(journal.error());
        auto bytes = (*journal)->read();
        if (!bytes) return base::fail(bytes.error());
        auto safety = consensus::SafetyJournal::read(key, *bytes);
        if (!safety) {
            journal->reset();
            return set_aside(path, safety.error(), key);
        }
        opened.safety.insert_or_assign(key, std::move(*safety));
        opened.logs[key] = std::move(*journal);
        return {};
    }

    OpenJournals opened;

  private:
    void lose(const std::string& path, const std::string& reason, consensus::KeyTag key) {
        log_.error(
            "{}: {}; its key votes again when the journal can do no harm any more", path, reason);
        opened.logs[key] = std::make_unique<LostJournal>(path, calls_);
    }

    // Keeps what is there of it for whoever looks for the cause.
    base::Result<void> set_aside(const std::string& path,
                                 const base::Error& damage,
                                 consensus::KeyTag key) {
        std::string aside = path + ".damaged";
        for (int i = 2; calls_.exists(aside); ++i)
            aside = fmt::format("{}.damaged.{}", path, i);
        if (calls_.rename(path, aside) != 0) {
            return base::fail(
                Errc::unavailable,
                "cannot rename " + path + ": " + std::generic_category().message(errno));
        }
        lose(path, damage.detail + "; it is kept as " + aside, key);
        return {};
    }

    const base::Log& log_;
    FileCalls& calls_;
};

}  // namespace

base::Result<OpenJournals> open_journals(const fs::path& data_dir,
                                         const std::vector<base::crypto::PublicKey>& keys,
                                         const base::Log& log,
                                         FileCalls& calls) {
    Opening opening(log, calls);
    for (const base::crypto::PublicKey& key : keys) {
        const std::string path = journal_path(data_dir, key).string();
        auto opened = opening.open(path, consensus::key_tag(key));
        if (!opened) return base::fail(opened.error());
    }
    return std::move(opening.opened);
}

}  // namespace node
