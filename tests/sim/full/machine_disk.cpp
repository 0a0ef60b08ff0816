#include "tests/sim/full/machine_disk.hpp"

#include "base/check.hpp"
#include "chain/chain_manager.hpp"
#include "node/snapshots/snapshot_load.hpp"
#include "node/snapshots/state_build.hpp"
#include "node/snapshots/stopped_node.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sim::full {

namespace fs = std::filesystem;

namespace {

// By this name, which every text about the disk has, failures that the simulator makes are told
// from others.
constexpr const char* kRoot = "/(simulated)";
constexpr const char* kSafety = "/(simulated)/safety";
constexpr const char* kRequests = "/(simulated)/snapshots/schedule.json";
// Where an operator puts what he has copied.
constexpr const char* kGiven = "/(simulated)/given";
// A write that is carried out makes up to so many calls that change something.
constexpr std::size_t kCallsOfWrite = 10;
// With so few tables RocksDB merges none, which it would do in its own time.
constexpr int kFlushesMax = 3;
constexpr std::size_t kWritesBetweenFlushes = 100;
constexpr std::size_t kBlock = consensus::SafetyJournal::kBlockBytes;

}  // namespace

MachineDisk::MachineDisk(const genesis::Genesis& genesis, std::vector<base::crypto::PublicKey> keys)
    : genesis_(genesis), keys_(std::move(keys)), files_(kRoot) {
    make_journals();
    make_requests();
}

MachineDisk::~MachineDisk() {
    files_.end_process();
    close();
}

// As 'bor-cli key create --vote' does.
void MachineDisk::make_journals() {
    DiskCalls calls(files_);
    CHECK(calls.mkdir(kSafety, 0700) == 0 || errno == EEXIST);
    for (const base::crypto::PublicKey& key : keys_) {
        consensus::SafetyJournal journal(consensus::key_tag(key));
        const std::array records{consensus::SafetyRecord{.kind = consensus::RecordKind::base}};
        const auto path = node::journal_path(kRoot, key).string();
        CHECK(node::JournalFile::create(path, journal.append(records).bytes, calls).has_value());
    }
    CHECK(node::sync_directory_of(kSafety, calls).has_value());
    files_.end_process();
}

// What somebody asked for.
void MachineDisk::make_requests() {
    DiskCalls calls(files_);
    CHECK(node::make_directories(snapshots().string(), calls).has_value());
    const auto requests = base::as_bytes(std::string_view("[1000000]"));
    CHECK(node::write_file_atomically(kRequests, requests, 0644, calls).has_value());
    files_.end_process();
}

// --- The process ---

base::Result<consensus::Journals> MachineDisk::open(const base::Log& log, std::uint64_t seed) {
    chance_ = Chance(seed);
    if (auto begun = begin_life(); !begun) return base::fail(begun.error());
    auto journals = node::open_journals(kRoot, keys_, log, *calls_);
    if (!journals) return base::fail(journals.error());
    logs_ = std::move(journals->logs);
    last_pages_.clear();
    note_promises();
    if (auto made = make_first_state(); !made) return base::fail(made.error());
    pruned_.reset();
    if (prunes_) {
        auto pruning = node::Pruning::open(*storage_,
                                           {.blocks = {chain::Retention::Unit::blocks, 3},
                                            .traces = {chain::Retention::Unit::blocks, 1},
                                            .times = genesis_.times});
        if (!pruning) return base::fail(pruning.error());
        pruning_ = *std::move(pruning);
    }
    return std::move(journals->safety);
}

base::Result<void> MachineDisk::begin_life() {
    calls_ = std::make_unique<DiskCalls>(files_);
    auto directory = node::DataDirectory::open(kRoot, *calls_);
    if (!directory) return base::fail(directory.error());
    directory_.emplace(*std::move(directory));
    if (auto removed = directory_->remove_others(); !removed) return removed;
    state_ = directory_->state().string();
    return open_storage();
}

base::Result<void> MachineDisk::open_storage() {
    node::RocksDbStorage::Options options;
    options.directory = directory_->state().string();
    options.cache_bytes = std::size_t{1} << 20U;
    options.opening_threads = 1;
    options.env = make_environment(files_);
    auto storage = node::RocksDbStorage::open(options);
    if (!storage) return base::fail(storage.error());
    storage_ = std::move(*storage);
    wait();
    return {};
}

base::Result<void> MachineDisk::make_first_state() {
    auto holds = chain::ChainManager::holds_chain(*storage_, genesis_.chain_id());
    if (!holds) return base::fail(holds.error());
    if (*holds) return {};
    const auto first = node::Core::first_batch(genesis_);
    if (!first) return base::fail(first.error());
    return storage_->commit(*first, true);
}

// Pages whose write was cut off, but which are durable.
void MachineDisk::note_promises() {
    for (const base::crypto::PublicKey& key : keys_) {
        const consensus::KeyTag tag = consensus::key_tag(key);
        const auto log = logs_.at(tag)->read();
        if (!log || log->empty()) continue;
        const auto path = node::journal_path(kRoot, key).string();
        const base::Bytes durable = files_.durable(path, log->size());
        const auto journal = consensus::SafetyJournal::read(tag, durable);
        if (!journal || journal->torn()) continue;
        for (std::size_t at = 0; at + kBlock <= durable.size(); at += kBlock) {
            promises_.note(base::to_bytes(base::ByteView(durable).subspan(at, kBlock)));
        }
    }
}

base::Result<void> MachineDisk::write(const node::effect::Write& write) {
    const bool is_waited_for = write.ticket != 0;
    if (is_waited_for) files_.mark();
    const bool is_full = is_waited_for && writes_to_fail_ > 0;
    files_.set_full(is_full);
    base::Result<void> done = carry_out(write);
    files_.set_full(false);
    if (is_full) --writes_to_fail_;
    // As RocksDB does when its buffers are full.
    if (done && is_waited_for && flushes_ < kFlushesMax &&
        chance_.below(kWritesBetweenFlushes) == 0) {
        ++flushes_;
        return storage_->flush();
    }
    return done;
}

// Here what it writes anew is done when this returns.
base::Result<void> MachineDisk::prune(chain::Height snapshot) {
    if (pruning_ == nullptr) return {};
    const auto next = pruning_->plan(snapshot);
    if (!next) return base::fail(next.error());
    if (next->blocks > pruning_->floor().blocks) pruned_ = next->blocks;
    if (auto done = pruning_->raise(*next); !done) return done;
    // What is hardly worth while goes after its time: the second call comes later.
    for (int i = 0; i < 2; ++i) {
        pruning_time_ += std::chrono::hours(1);
        auto done = pruning_->reclaim(pruning_time_, [] { return true; });
        if (!done) return base::fail(done.error());
    }
    return {};
}

// Pages and rows are written side by side; which are first is chance. A page that takes the place
// of its journal comes after its rows.
base::Result<void> MachineDisk::carry_out(const node::effect::Write& write) {
    const bool has_pages_first = chance_.percent(50);
    base::Result<void> paged;
    if (has_pages_first) paged = write_pages(write, /*replacing=*/false);
    base::Result<void> rows = write_rows(write);
    if (!has_pages_first) paged = write_pages(write, /*replacing=*/false);
    if (!rows || !paged) return rows ? paged : rows;
    return write_pages(write, /*replacing=*/true);
}

base::Result<void> MachineDisk::write_rows(const node::effect::Write& write) {
    base::Batch batch = write.batch;
    if (write.final_state) write.final_state->append_to(batch);
    if (batch.changes.empty() && write.ticket == 0) return {};
    return storage_->commit(batch, write.ticket != 0);
}

base::Result<void> MachineDisk::write_pages(const node::effect::Write& write, bool replacing) {
    for (const consensus::JournalPage& page : write.pages) {
        base::Bytes& last = last_pages_[page.key];
        if (page.replaces != replacing || page.bytes == last) continue;
        base::AppendLog& log = *logs_.at(page.key);
        auto done = replacing ? log.compact(page.bytes) : log.append_page(page.bytes);
        if (!done) return done;
        last = page.bytes;
        promises_.note(page.bytes);
    }
    return {};
}

// The first part of it.
void MachineDisk::begin(const node::effect::Write* write) {
    if (write == nullptr || storage_ == nullptr) return;
    files_.stop_after(chance_.below(kCallsOfWrite));
    (void)carry_out(*write);
}

void MachineDisk::kill(const node::effect::Write* write) {
    begin(write);
    files_.end_process();
}

void MachineDisk::close() {
    logs_.clear();
    pruning_.reset();
    storage_.reset();
    directory_.reset();
}

void MachineDisk::cut_power(const node::effect::Write* write, Chance& chance, bool loses_synced) {
    const bool loses_rows = loses_synced && chance.percent(50);
    // Of what came after a lost sync nothing may be there that the other part does not know:
    // neither rows of a page that the journal loses, too, nor a page that replaces a journal which
    // the rows lose two of.
    const bool has_more =
        write != nullptr && !std::ranges::any_of(write->pages, &consensus::JournalPage::replaces);
    if (!loses_synced || (loses_rows && has_more)) begin(write);
    files_.cut_power(chance);
    if (loses_synced) files_.lose_last_syncs(loses_rows ? state_ : kSafety);
}

// --- What happens to it ---

void MachineDisk::lose_journals() {
    files_.remove_all(kSafety);
}

void MachineDisk::replace() {
    files_.clear();
    flushes_ = 0;
    is_broken_ = false;
    is_flipped_ = false;
}

void MachineDisk::lose_state() {
    DiskCalls calls(files_);
    const auto names = node::list_directory(kRoot, calls);
    CHECK(names.has_value());
    for (const std::string& name : *names) {
        if (name.starts_with("state") || name == "current") {
            CHECK(node::remove_tree((fs::path(kRoot) / name).string(), calls).has_value());
        }
    }
    CHECK(node::sync_directory_of(kSafety, calls).has_value());
    files_.end_process();
    flushes_ = 0;
}

fs::path MachineDisk::snapshots() {
    return node::snapshots_in(kRoot);
}

fs::path MachineDisk::joining() {
    return fs::path(kRoot) / "joining";
}

fs::path MachineDisk::data_dir() {
    return kRoot;
}

base::Result<genesis::Checkpoint> MachineDisk::own_final() const {
    const auto final = chain::stored_final(*storage_);
    if (!final) return base::fail(final.error());
    return genesis::Checkpoint{final->height, final->id};
}

// --- Snapshots ---

base::Result<void> MachineDisk::load(const SnapshotCopy& copy) {
    DiskCalls calls(files_);
    const fs::path given(kGiven);
    const std::string json = genesis::to_json(genesis_);
    auto done = write_copy(copy, given, calls);
    if (done) {
        done =
            node::write_file((given / "genesis.json").string(), base::as_bytes(json), 0644, calls);
    }
    if (done) {
        node::LoadOptions how;
        how.disk = {calls, make_environment(files_)};
        how.data_dir = kRoot;
        how.genesis_json = given / "genesis.json";
        how.workers = 1;
        how.now = base::Timestamp{};
        auto loaded = node::load_snapshot(given, how);
        if (!loaded) done = base::fail(loaded.error());
    }
    const auto removed = node::remove_tree(kGiven, calls);
    files_.end_process();
    return done ? removed : done;
}

// What a node has beside the chain.
base::Result<std::map<base::Bytes, base::Bytes>> MachineDisk::own_rows() const {
    std::map<base::Bytes, base::Bytes> rows;
    auto read = storage_->scan(base::Family::meta, {}, [&](auto key, auto value) {
        const std::string_view name = base::as_text(key);
        if (name.starts_with("journal_mark/") || name.starts_with("evidence/")) {
            rows.emplace(base::to_bytes(key), base::to_bytes(value));
        }
        return true;
    });
    if (!read) return base::fail(read.error());
    const auto requests = node::read_file(kRequests, std::size_t{1} << 20U, *calls_);
    if (requests) rows.emplace(base::to_bytes(base::as_bytes("requests")), *requests);
    return rows;
}

base::Result<bool> MachineDisk::replace_state(const SnapshotCopy& copy,
                                              std::optional<std::size_t> calls) {
    const auto end = [this] {
        files_.end_process();
        close();
    };
    if (auto begun = begin_life(); !begun) return end(), base::fail(begun.error());
    const auto final = chain::stored_final(*storage_);
    const auto before = own_rows();
    if (!final || !before) return end(), base::fail(final ? before.error() : final.error());
    if (final->height >= copy.height) return end(), false;
    auto done = write_copy(copy, kGiven, *calls_);
    if (done && calls) files_.stop_after(*calls);
    if (done) done = make_replacement(copy);
    end();
    if (!done && calls) return false;  // It was in the middle of it.
    if (!done) return base::fail(done.error());
    if (calls) return true;
    if (auto begun = begin_life(); !begun) return end(), base::fail(begun.error());
    const auto after = own_rows();
    const auto removed = node::remove_tree(kGiven, *calls_);
    end();
    if (!after || !removed) return base::fail(after ? removed.error() : after.error());
    if (*after == *before) return true;
    return base::fail(base::Errc::corrupt,
                      "a state that was replaced had other journal marks, evidence or requests");
}

// As SnapshotReceiver does.
base::Result<void> MachineDisk::make_replacement(const SnapshotCopy& copy) {
    const auto folder = node::SnapshotFolder::open(kGiven, *calls_);
    if (!folder) return base::fail(folder.error());
    const auto checked = node::check_parts(*folder, node::trust_in(genesis_));
    if (!checked) return base::fail(checked.error());
    const auto next = directory_->next_state();
    if (!next) return base::fail(next.error());
    node::StateBuild state(*next, disk());
    if (auto filled = state.fill(*folder, 1, nullptr, nullptr); !filled) return filled;
    if (auto done = state.complete(*folder, *checked); !done) return done;
    if (auto closed = state.close(); !closed) return closed;
    state.keep();
    return take_state(*next, copy.height);
}

// As Node::take_new_state() does.
base::Result<void> MachineDisk::take_state(const fs::path& made, chain::Height height) {
    const auto own = own_final();
    if (!own) return base::fail(own.error());
    node::StateBuild state(made, disk());
    if (auto opened = state.open(); !opened) return opened;
    if (auto done = state.replace(*storage_, *own, height); !done) return done;
    if (auto closed = state.close(); !closed) return closed;
    state.keep();
    flushes_ = 0;
    return directory_->switch_to(state.path());
}

void MachineDisk::renew(std::vector<base::crypto::PublicKey> keys) {
    keys_ = std::move(keys);
    make_journals();
}

void MachineDisk::put_back(const DiskFiles::Image& image) {
    files_.put_back(image);
    is_broken_ = false;
    is_flipped_ = false;
}

void MachineDisk::flip_bit(Chance& chance) {
    if (!files_.flip_bit(chance).empty()) is_flipped_ = true;
}

void MachineDisk::break_all() {
    is_broken_ = true;
    files_.break_all();
}

}  // namespace sim::full
