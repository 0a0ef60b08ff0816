#include "node/ledger.hpp"

#include "chain/chain_manager.hpp"
#include "chain/execution/host_functions.hpp"
#include "node/core/core.hpp"
#include "node/disk/file.hpp"

#include <system_error>
#include <utility>

namespace node {

namespace fs = std::filesystem;
using base::Errc;

namespace {

constexpr std::size_t kGenesisBytesMax = std::size_t{1} << 20U;

// In place of a journal that is not there or not whole. What the agreement promises first, once it
// may, replaces the whole journal: that makes the file (spec 04, "Safety journal").
class LostJournal final : public base::AppendLog {
  public:
    explicit LostJournal(fs::path path) : path_(std::move(path)) {}
    base::Result<void> append_page(base::ByteView page) override {
        if (file_) return file_->append_page(page);
        return base::fail(Errc::unavailable, "the safety journal " + path_.string() + " is lost");
    }
    [[nodiscard]] base::Result<base::Bytes> read() const override {
        if (file_) return file_->read();
        return base::Bytes{};
    }
    base::Result<void> compact(base::ByteView page) override {
        if (file_) return file_->compact(page);
        std::error_code error;  // Then create() fails, and says why.
        fs::create_directories(path_.parent_path(), error);
        if (auto made = JournalFile::create(path_.string(), page); !made) return made;
        auto opened = JournalFile::open(path_.string());
        if (!opened) return base::fail(opened.error());
        file_ = std::move(*opened);
        return {};
    }

  private:
    fs::path path_;
    std::unique_ptr<JournalFile> file_;
};

base::Result<genesis::Genesis> read_genesis(const fs::path& path, base::Bytes& bytes) {
    auto read = read_file(path.string(), kGenesisBytesMax);
    if (!read) return base::fail(Errc::invalid, path.string() + ": " + read.error().detail);
    bytes = std::move(*read);
    auto genesis = genesis::from_json(base::as_text(bytes));
    if (!genesis) return base::fail(Errc::invalid, path.string() + ": " + genesis.error().detail);
    return genesis;
}

// The genesis file of the data directory; the first start copies that of the options there.
base::Result<genesis::Genesis> open_genesis(const Options& options) {
    const fs::path kept = options.data_dir / kGenesisFile;
    base::Bytes bytes;
    if (!fs::exists(kept)) {
        if (options.genesis_json.empty()) {
            return base::fail(Errc::invalid,
                              kept.string() +
                                  " is not there: the first start needs genesis-json "
                                  "(made by 'bor-cli genesis init')");
        }
        auto genesis = read_genesis(options.genesis_json, bytes);
        if (!genesis) return genesis;
        if (auto wrote = write_file_atomically(kept.string(), bytes, 0644); !wrote) {
            return base::fail(wrote.error());
        }
        return genesis;
    }
    auto genesis = read_genesis(kept, bytes);
    if (!genesis || options.genesis_json.empty()) return genesis;
    auto given = read_genesis(options.genesis_json, bytes);
    if (!given) return given;
    if (given->chain_id() == genesis->chain_id()) return genesis;
    return base::fail(Errc::invalid,
                      "genesis-json = " + options.genesis_json.string() + " is of chain " +
                          base::to_hex(given->chain_id().view()) + ", the data directory of " +
                          base::to_hex(genesis->chain_id().view()) +
                          "; use another data-dir or leave the option out");
}

void lose_journal(const std::string& path,
                  const std::string& reason,
                  consensus::KeyTag key,
                  Ledger& ledger,
                  const base::Log& log) {
    log.error("{}: {}; its key votes again when the journal can do no harm any more", path, reason);
    ledger.journals[key] = std::make_unique<LostJournal>(path);
}

// Keeps what is there of it for whoever looks for the cause.
base::Result<void> set_aside(const std::string& path,
                             const base::Error& damage,
                             consensus::KeyTag key,
                             Ledger& ledger,
                             const base::Log& log) {
    const std::string aside = path + ".damaged";
    std::error_code error;
    fs::rename(path, aside, error);
    if (error) {
        return base::fail(Errc::unavailable, "cannot rename " + path + ": " + error.message());
    }
    lose_journal(path, damage.detail + "; it is kept as " + aside, key, ledger, log);
    return {};
}

base::Result<void> open_journal(const std::string& path,
                                consensus::KeyTag key,
                                Ledger& ledger,
                                const base::Log& log) {
    auto journal = JournalFile::open(path);
    if (!journal) {
        if (journal.error().code == Errc::not_found) {
            lose_journal(path,
                         "is not there, though it was made with the key ('bor-cli key create "
                         "--vote --journal DATA_DIR', 'bor-cli network up')",
                         key,
                         ledger,
                         log);
            return {};
        }
        if (journal.error().code != Errc::corrupt) return base::fail(journal.error());
        return set_aside(path, journal.error(), key, ledger, log);
    }
    auto bytes = (*journal)->read();
    if (!bytes) return base::fail(bytes.error());
    auto safety = consensus::SafetyJournal::read(key, *bytes);
    if (!safety) {
        journal->reset();
        return set_aside(path, safety.error(), key, ledger, log);
    }
    ledger.safety.insert_or_assign(key, std::move(*safety));
    ledger.journals[key] = std::move(*journal);
    return {};
}

base::Result<void> open_journals(const Options& options, Ledger& ledger, const base::Log& log) {
    for (const base::crypto::PublicKey& key : ledger.signer->keys()) {
        const std::string path = journal_path(options.data_dir, key).string();
        auto opened = open_journal(path, consensus::key_tag(key), ledger, log);
        if (!opened) return opened;
    }
    return {};
}

base::Result<void> make_first_state(Ledger& ledger, const base::Log& log) {
    const chain::ChainId id = ledger.genesis.chain_id();
    auto holds = chain::ChainManager::holds_chain(*ledger.storage, id);
    if (!holds) return base::fail(holds.error());
    if (*holds) return {};
    auto batch = Core::first_batch(ledger.genesis);
    if (!batch) return base::fail(batch.error());
    log.info("made the first state chain={}", base::to_hex(id.view()));
    return ledger.storage->commit(*batch, true);
}

}  // namespace

base::Result<Ledger> open_ledger(const Options& options, const base::Log& log) {
    std::error_code error;
    fs::create_directories(options.data_dir, error);
    if (error) {
        return base::fail(
            Errc::unavailable,
            "cannot make data-dir " + options.data_dir.string() + ": " + error.message());
    }
    Ledger ledger;
    auto genesis = open_genesis(options);
    if (!genesis) return base::fail(genesis.error());
    ledger.genesis = std::move(*genesis);
    RocksDbStorage::Options disk;
    disk.directory = (options.data_dir / "state").string();
    auto storage = RocksDbStorage::open(disk);
    if (!storage) return base::fail(storage.error());
    ledger.storage = std::move(*storage);
    auto signer = NodeSigner::make(options.signature_providers);
    if (!signer) return base::fail(signer.error());
    ledger.signer = std::move(*signer);
    if (auto opened = open_journals(options, ledger, log); !opened)
        return base::fail(opened.error());
    if (auto made = make_first_state(ledger, log); !made) return base::fail(made.error());
    return ledger;
}

Execution::Execution(chain::vm::Programs* shared)
    : engine_(chain::host_table(), chain::vm::Engine::Options{}, machine_, shared),
      executor_(engine_, chain::host_table()) {}

}  // namespace node
