#include "bench/ledger/chain.hpp"

#include "base/crypto/hash.hpp"
#include "chain/execution/host_functions.hpp"
#include "node/disk/file.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace bench {

namespace fs = std::filesystem;

namespace {

constexpr const char* kGenesisFile = "genesis.json";
// The chain begins so long ago that what is made on its own clock lies in the past.
constexpr std::int64_t kAgeSeconds = 3 * 24 * 3600;

constexpr std::uint32_t kLifetimeSeconds = 3'000;

chain::Name name(std::string_view text) {
    return must(chain::Name::from_string(text));
}

// Limits that leave the machine to be what is measured: blocks by size alone.
genesis::Genesis make_genesis(std::uint32_t interval_ms, std::vector<genesis::Node> nodes) {
    genesis::Genesis genesis;
    genesis.nodes = std::move(nodes);
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    genesis.times = {{(now - kAgeSeconds) * 1'000'000}, interval_ms};
    const auto authority = chain::Authority::of_key(bench_public_key());
    genesis.system_authority = authority;
    genesis.members = {{name("bora"), authority, 1}};
    genesis.schedule.entries = {{name("bora"), bench_public_key(), bench_public_key()}};
    genesis.parameters.open_accounts = 1;
    genesis.parameters.open_contracts = 1;
    genesis.parameters.max_block_bytes = 8 * 1024 * 1024;
    genesis.config.max_block_cpu_usage = 100'000'000;
    genesis.config.max_transaction_cpu_usage = 50'000'000;
    genesis.config.max_block_net_usage = 16 * 1024 * 1024;
    return genesis;
}

void make_directory(const fs::path& directory, const genesis::Genesis& genesis) {
    fs::create_directories(directory);
    const std::string text = genesis::to_json(genesis);
    must(node::write_file_atomically(
        (directory / kGenesisFile).string(), base::as_bytes(text), 0644));
    const std::array records{consensus::SafetyRecord{.kind = consensus::RecordKind::base}};
    consensus::SafetyJournal journal(consensus::key_tag(bench_public_key()));
    const fs::path path = node::journal_path(directory, bench_public_key());
    fs::create_directories(path.parent_path());
    must(node::JournalFile::create(path.string(), journal.append(records).bytes));
}

genesis::Genesis open_genesis(const fs::path& directory,
                              std::uint32_t interval_ms,
                              std::vector<genesis::Node> nodes) {
    if (!fs::exists(directory / kGenesisFile)) {
        make_directory(directory, make_genesis(interval_ms, std::move(nodes)));
    }
    const base::Bytes text =
        must(node::read_file((directory / kGenesisFile).string(), std::size_t{1} << 20U));
    return must(genesis::from_json(base::as_text(text)));
}

std::unique_ptr<node::RocksDbStorage> open_storage(const fs::path& directory,
                                                   const genesis::Genesis& genesis) {
    node::RocksDbStorage::Options options;
    options.directory = (directory / "state").string();
    auto storage = must(node::RocksDbStorage::open(options));
    if (!must(chain::ChainManager::holds_chain(*storage, genesis.chain_id()))) {
        must(storage->commit(must(node::Core::first_batch(genesis)), true));
    }
    return storage;
}

}  // namespace

WorkDirectory::WorkDirectory(const fs::path& named) : path_(named), kept_(!named.empty()) {
    if (kept_) return;
    std::string pattern = (fs::temp_directory_path() / "bor_bench_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) give_up("cannot make a directory like " + pattern);
    path_ = pattern;
}

WorkDirectory::~WorkDirectory() {
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_, ignored);
}

bool SilentLog::enabled(base::Level level) const {
    return level == base::Level::error;
}

void SilentLog::write(base::Level /*level*/, std::string_view component, std::string_view line) {
    fmt::print(stderr, "{}: {}\n", component, line);
}

const base::crypto::PrivateKey& bench_key() {
    static const base::crypto::PrivateKey kKey(
        base::crypto::KeyType::k1, base::crypto::sha256(base::as_bytes("bor benchmark")).bytes);
    return kKey;
}

const base::crypto::PublicKey& bench_public_key() {
    static const base::crypto::PublicKey kKey = bench_key().public_key();
    return kKey;
}

std::vector<base::crypto::PublicKey> BenchSigner::keys() const {
    return {bench_public_key()};
}

base::Result<base::crypto::Signature> BenchSigner::sign(const base::crypto::PublicKey& /*key*/,
                                                        const base::Hash256& digest) {
    return bench_key().sign(digest);
}

Ledger::Ledger(const fs::path& directory_in,
               std::uint32_t interval_ms,
               std::vector<genesis::Node> nodes)
    : directory(directory_in),
      genesis(open_genesis(directory, interval_ms, std::move(nodes))),
      storage(open_storage(directory, genesis)),
      engine(chain::host_table(), chain::vm::Engine::Options{}, machine),
      executor(engine, chain::host_table()) {
    const std::string path = node::journal_path(directory, bench_public_key()).string();
    journals.emplace(consensus::key_tag(bench_public_key()), must(node::JournalFile::open(path)));
}

chain::ChainIdentity Ledger::identity() const {
    return {genesis.chain_id(), genesis.times, genesis.schedule};
}

chain::StateManager::Options Ledger::state_options() {
    chain::StateManager::Options options;
    options.on_fault = [](const base::Error& error) { give_up(error.detail); };
    return options;
}

std::unique_ptr<node::Core> Ledger::open_core(base::Timestamp started, node::Effects& first) {
    consensus::Journals read;
    for (const auto& [key, file] : journals)
        read.emplace(key, must(consensus::SafetyJournal::read(key, must(file->read()))));
    node::Core::Options options;
    options.genesis = genesis;
    options.started = started;
    options.clock_bound = {};  // There is one clock.
    const node::Core::Environment environment{
        *storage, executor, signer, {}, state_options(), base::Log(log, "core")};
    return must(node::Core::open(options, environment, std::move(read), first));
}

Chain::Chain(Ledger& ledger) : ledger_(ledger) {
    node::Effects first;
    core_ = ledger.open_core(ledger.genesis.times.initial.to_timestamp(), first);
    perform(first);
    now_ = ledger.genesis.times.time_of(view_->head->header.slot).to_timestamp();
    // Nothing is signed for the slot in which a node starts.
    step(node::input::Tick{});
    close_block();
}

void Chain::close_block() {
    const chain::Slot slot = view_->head->header.slot + 1;
    now_ = ledger_.genesis.times.time_of(slot).to_timestamp();
    step(node::input::Tick{});
    if (view_->finalized->header.slot != slot) give_up("a block did not become final");
}

chain::SignedTransaction Chain::make(std::vector<chain::Action> actions) {
    chain::SignedTransaction transaction;
    const chain::BlockHeader& head = view_->head->header;
    transaction.expiration.seconds =
        static_cast<std::uint32_t>(now_.time_since_epoch() / std::chrono::seconds(1)) +
        kLifetimeSeconds;
    transaction.ref_block_num = static_cast<std::uint16_t>(head.height & 0xFFFFU);
    transaction.ref_block_prefix = chain::ref_block_prefix_of(view_->head->id);
    // Makes equal ones differ; larger than any of them needs.
    transaction.max_net_usage_words = 20'000 + made_++;
    transaction.actions = std::move(actions);
    return transaction;
}

void Chain::push(std::vector<chain::Action> actions) {
    // Nodes that join the chain look at the signature.
    chain::SignedTransaction transaction = make(std::move(actions));
    transaction.signatures = {
        bench_key().sign(transaction.signing_digest(ledger_.genesis.chain_id(), {}))};
    submit(transaction);
}

void Chain::submit(const chain::SignedTransaction& transaction) {
    step(node::input::Submit{
        ++last_ticket_, chain::make_transaction(transaction), {bench_public_key()}});
}

// What was written is the next input, until nothing is asked for.
// NOLINTBEGIN(misc-no-recursion)
void Chain::step(const node::Input& input) {
    node::Effects effects;
    core_->step(now_, input, effects);
    perform(effects);
}

void Chain::perform(node::Effects& effects) {
    for (node::Effect& effect : effects) {
        if (auto* asked = std::get_if<node::effect::Write>(&effect)) {
            write(*asked);
        } else if (const auto* answer = std::get_if<node::effect::Answer>(&effect)) {
            if (!answer->outcome) give_up(answer->outcome.error().detail);
        } else if (const auto* publish = std::get_if<node::effect::Publish>(&effect)) {
            view_ = publish->view;
        }
    }
    for (const node::input::Written& written : std::exchange(written_, {}))
        step(written);
}
// NOLINTEND(misc-no-recursion)

void Chain::write(node::effect::Write& asked) {
    for (const consensus::JournalPage& page : asked.pages) {
        base::AppendLog& log = *ledger_.journals.at(page.key);
        must(page.replaces ? log.compact(page.bytes) : log.append_page(page.bytes));
    }
    if (asked.final_state) asked.final_state->append_to(asked.batch);
    must(ledger_.storage->commit(asked.batch, asked.ticket != 0));
    if (asked.ticket != 0) written_.push_back({asked.ticket, {}});
}

}  // namespace bench
