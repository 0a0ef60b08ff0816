#include "tests/sim/full/machine.hpp"

#include "base/check.hpp"
#include "chain/execution/host_functions.hpp"
#include "chain/state/block_store.hpp"
#include "node/core/range_proof.hpp"
#include "node/core/recovery_origin.hpp"
#include "node/disk/file.hpp"

#include <algorithm>
#include <utility>

namespace sim::full {

namespace {

base::crypto::PrivateKey make_key(base::crypto::KeyType type, std::size_t tag) {
    std::array<std::byte, 32> secret{};
    secret.fill(static_cast<std::byte>(tag + 1));
    return {type, secret};
}

constexpr std::size_t kKeysApart = 64;  // Tags of a member's keys.

// The process ended itself.
struct Died {
    std::string why;
};

}  // namespace

base::crypto::PrivateKey signing_key(std::size_t member, std::size_t which) {
    return make_key(base::crypto::KeyType::k1, member + kKeysApart * which);
}

base::crypto::PublicKey node_key(std::size_t node) {
    return make_key(base::crypto::KeyType::r1, node).public_key();
}

// --- Keys ---

MemberKeys::MemberKeys(std::size_t member, std::size_t machine, bool is_observer, Watch& watch)
    : keys_{signing_key(member, 0),
            signing_key(member, 1),
            signing_key(member, 2),
            signing_key(member, 3)},
      machine_(machine),
      is_observer_(is_observer),
      watch_(watch) {}

std::vector<base::crypto::PublicKey> MemberKeys::keys() const {
    if (is_observer_) return {};
    return {keys_[first_].public_key(), keys_[first_ + 1].public_key()};
}

base::Result<base::crypto::Signature> MemberKeys::sign(const base::crypto::PublicKey& key,
                                                       const base::Hash256& digest) {
    const auto own = std::ranges::find(keys_, key, &base::crypto::PrivateKey::public_key);
    CHECK(own != keys_.end());
    return own->sign(digest);
}

base::Result<base::crypto::Signature> MemberKeys::sign_header(const base::crypto::PublicKey& key,
                                                              const chain::BlockHeader& header,
                                                              const chain::ChainId& chain_id) {
    auto signature = sign(key, header.signing_digest(chain_id));
    watch_.signed_header(machine_, {header, *signature});
    return signature;
}

base::Result<base::crypto::Signature> MemberKeys::sign_vote(const base::crypto::PublicKey& key,
                                                            const chain::VoteData& vote,
                                                            const chain::ChainId& chain_id) {
    auto signature = sign(key, vote.digest(chain_id));
    watch_.signed_vote(machine_, {vote, key, *signature});
    return signature;
}

// --- Life ---

Machine::Machine(const genesis::Genesis& genesis, const Setup& setup, Watch& watch)
    : genesis_(genesis),
      setup_(setup),
      signer_(setup.member, setup.number, setup.is_observer, watch),
      disk_(genesis, signer_.keys()) {}

void ChanceTimer::arm(base::Duration limit) {
    constexpr std::size_t kSlowOf = 64;
    has_fired_ = chance_.below(kSlowOf) == 0;
    // Never for ever, where there is no limit.
    const base::Duration slow = std::min<base::Duration>(limit, std::chrono::seconds(1));
    reading_ += has_fired_ ? slow : std::min<base::Duration>(slow, std::chrono::milliseconds(1));
}

template <class Run>
std::string Machine::survive(const Run& run) {
    try {
        run();
        return {};
    } catch (const Died& died) {
        kill();
        return died.why;
    }
}

std::string Machine::start(base::Timestamp now, std::uint64_t seed, node::Effects& out) {
    CHECK(!runs());
    std::string refusal;
    const std::string death = survive([&] { refusal = open(now, seed, out); });
    if (!refusal.empty()) kill();
    return death.empty() ? refusal : death;
}

std::string Machine::open(base::Timestamp now, std::uint64_t seed, node::Effects& out) {
    auto journals = disk_.open(base::Log(log_, "disk"), seed);
    if (!journals) return journals.error().detail;
    if (auto opened = open_snapshots(); !opened) return opened.error().detail;
    contract_machine_ = std::make_unique<node::ContractMachine>();
    engine_ = std::make_unique<chain::vm::Engine>(
        chain::host_table(), chain::vm::Engine::Options{}, *contract_machine_);
    executor_ = std::make_unique<chain::Executor>(*engine_, chain::host_table(), rules_known);
    node::Core::Options options{.genesis = genesis_};
    options.started = now;
    options.has_peers = true;
    told_ahead_ = {};
    // Everybody can reach everybody here, once all has healed.
    options.asks_around_for = std::chrono::hours(1);
    options.clock_bound = std::chrono::milliseconds(100);
    options.accept_amnesia = accepts_amnesia;
    if (recovery) options.reset = genesis::reset_of(*recovery);
    chain::StateManager::Options state;
    // bor-node ends itself here.
    state.on_fault = [](const base::Error& error) { throw Died{error.detail}; };
    timer_ = std::make_unique<ChanceTimer>(seed);
    chain::ExecutionOptions limits;
    limits.is_stopped = [timer = timer_.get()] { return timer->has_fired(); };
    node::Core::Environment environment{
        disk_.storage(), *executor_, signer_, limits, state, base::Log(log_, "core")};
    environment.timer = timer_.get();
    environment.make_consensus = [this](auto rules, auto base, auto safety) {
        if (setup_.journal_blocks_max != 0) rules.journal_blocks_max = setup_.journal_blocks_max;
        auto made = std::make_unique<consensus::Consensus>(
            std::move(rules), std::move(base), std::move(safety));
        agreement_ = made.get();
        return made;
    };
    node::Effects first;
    auto core = node::Core::open(options, environment, *std::move(journals), first);
    if (!core) return core.error().detail;
    // As node.cpp does.
    const auto origin = recovery ? (*core)->state_of(recovery->reset.from) : nullptr;
    if (origin != nullptr) {
        if (auto same = node::check_origin(*recovery, *origin); !same) return same.error().detail;
    }
    core_ = std::make_unique<node::NetworkedCore>(
        *std::move(core), network_options(seed), signer_, base::Log(log_, "p2p"));
    ++life_;
    paused_until.reset();
    wakes.clear();
    disk_free_at = now;
    has_refused_write_ = false;
    core_->begin(now, std::move(first), out);
    return {};
}

// What has a snapshot's name is one, whatever came before.
base::Result<void> Machine::check_listed(const node::SnapshotStore& store) const {
    const auto names = node::list_directory(store.directory().string(), store.files());
    if (has_bad_disk() || !names) return {};
    const auto folders = std::ranges::count_if(*names, [&](const std::string& name) {
        return store.files().is_directory((store.directory() / name).string());
    });
    if (folders == std::ssize(store.list())) return {};
    return base::fail(base::Errc::corrupt, "a snapshot has its name and is not whole");
}

base::Result<void> Machine::open_snapshots() {
    auto store = node::SnapshotStore::open(
        MachineDisk::snapshots(), base::Log(log_, "snapshot"), disk_.calls());
    if (!store) return base::fail(store.error());
    if (auto whole = check_listed(**store); !whole) return whole;
    node::SnapshotTrust trust = node::trust_in(genesis_);
    trust.chain.retimes = genesis_.times.retimes;
    if (recovery) trust.chain.recoveries = {recovery->id()};
    const node::SnapshotReceiver::Options how{.directory = MachineDisk::joining(),
                                              .data_dir = MachineDisk::data_dir(),
                                              .trust = trust,
                                              .disk = disk_.disk()};
    snapshots_ = std::make_unique<MachineSnapshots>(
        *std::move(store), disk_.storage(), how, setup_.snapshot_every, base::Log(log_, "join"));
    made_.reset();
    return {};
}

// As SnapshotExchange does.
p2p::Input Machine::carry_out(const p2p::Effect& asked) {
    if (const auto* read = std::get_if<p2p::effect::ReadSnapshot>(&asked)) {
        return snapshots_->pieces().read(*read);
    }
    node::SnapshotReceiver& receiver = snapshots_->receiver();
    if (const auto* keep = std::get_if<p2p::effect::KeepSnapshot>(&asked)) {
        const bool is_chunk = keep->piece.part == p2p::SnapshotPart::chunk;
        return is_chunk ? receiver.keep_chunk(*keep) : receiver.keep(*keep);
    }
    if (const auto* check = std::get_if<p2p::effect::CheckSnapshot>(&asked)) {
        return receiver.check(check->snapshot);
    }
    return load(std::get<p2p::effect::LoadSnapshot>(asked).snapshot);
}

p2p::input::SnapshotLoaded Machine::load(const p2p::SnapshotPoint& snapshot) {
    const auto next = disk_.next_state();
    const auto own = disk_.own_final();
    if (!next || !own) {
        const base::Error& error = next ? own.error() : next.error();
        return {snapshot.manifest, p2p::SnapshotVerdict::unavailable, error.detail};
    }
    auto loaded = snapshots_->receiver().load(snapshot, *next, *own);
    if (loaded.verdict == p2p::SnapshotVerdict::good) made_ = Made{*next, snapshot};
    return loaded;
}

base::Result<void> Machine::take_new_state() {
    while (!in_flight_.empty())
        (void)finish_write();
    const Made made = *std::exchange(made_, std::nullopt);
    auto taken = disk_.take_state(made.state, made.snapshot.height);
    if (taken) {
        const auto kept = snapshots_->store().take_over(
            snapshots_->receiver().path_of(made.snapshot), /*keep=*/false);
        if (!kept) taken = base::fail(kept.error());
    }
    kill();
    return taken;
}

base::Result<void> Machine::prune() {
    const auto listed = snapshots_->store().list();
    return listed.empty() ? base::Result<void>() : disk_.prune(listed.back().head.height);
}

base::Result<SnapshotCopy> Machine::copy_snapshot(const node::SnapshotStore::Listed& listed) const {
    const node::SnapshotStore& store = snapshots_->store();
    const auto folder = node::SnapshotFolder::open(store.path_of(listed), store.files());
    return folder ? copy_of(*folder) : base::fail(folder.error());
}

p2p::Options Machine::network_options(std::uint64_t seed) const {
    p2p::Options network;
    network.chain_id = genesis_.chain_id();
    network.times = genesis_.times;
    network.node_key = node_key(setup_.number);
    network.boot_id = seed | 1U;
    network.roles = setup_.is_observer ? p2p::kObserver : p2p::kValidator;
    network.listen_address = "node:" + std::to_string(setup_.number);
    network.rules_version = rules_known;
    if (!setup_.hides_its_keys) network.vote_keys = signer_.keys();
    network.seed = seed;
    if (recovery) network.recovery = {recovery->id(), recovery->reset.from};
    network.takes_snapshots = true;
    // Over a recovery no proof leads.
    network.trusts_certified = seed % 2 == 0;
    network.begun_snapshot =
        node::SnapshotReceiver::begun_in(MachineDisk::joining(), disk_.calls());
    return network;
}

const node::effect::Write* Machine::write_under_way() const {
    return in_flight_.empty() ? nullptr : &in_flight_.front();
}

void Machine::end_process() {
    ++life_;
    core_.reset();
    timer_.reset();
    executor_.reset();
    engine_.reset();
    contract_machine_.reset();
    view = nullptr;
    in_flight_.clear();
    snapshots_.reset();
    disk_.close();
}

void Machine::kill() {
    disk_.kill(write_under_way());
    end_process();
}

void Machine::cut_power(Chance& chance, bool loses_synced) {
    disk_.cut_power(write_under_way(), chance, loses_synced);
    end_process();
}

std::string Machine::step(base::Timestamp now, const node::Input& input, node::Effects& out) {
    return survive([&] {
        tell_clock(now, out);
        core_->step(now, input, out);
    });
}

std::string Machine::step(base::Timestamp now, p2p::Input input, node::Effects& out) {
    return survive([&] {
        tell_clock(now, out);
        core_->step(now, std::move(input), out);
    });
}

// As the runtime does.
void Machine::tell_clock(base::Timestamp now, node::Effects& out) {
    if (clock.ahead() == told_ahead_) return;
    told_ahead_ = clock.ahead();
    core_->step(now, node::input::ClockSet{told_ahead_}, out);
}

// --- The disk ---

void Machine::begin_write(node::effect::Write write) {
    in_flight_.push_back(std::move(write));
}

base::Result<void> Machine::finish_write() {
    const node::effect::Write write = std::move(in_flight_.front());
    in_flight_.pop_front();
    base::Result<void> done = disk_.write(write);
    const bool is_refused = !done && disk_.is_broken() && write.ticket != 0;
    has_refused_write_ = has_refused_write_ || is_refused;
    return done;
}

void Machine::renew_keys() {
    CHECK(!runs());
    signer_.renew();
    disk_.renew(signer_.keys());
}

void Machine::copy_disk() {
    if (!has_bad_disk()) copy_ = disk_.copy();
}

bool Machine::put_back_copy() {
    if (copy_ == nullptr) return false;
    disk_.put_back(*copy_);
    return true;
}

p2p::input::BlocksRead Machine::read(const p2p::effect::ReadBlocks& wanted) const {
    return node::read_blocks(disk_.storage(), wanted, [](chain::Height, const base::Error&) {});
}

node::input::StoredChecked Machine::check(const node::effect::CheckStored& wanted) const {
    return {wanted.ticket,
            node::check_stretch(disk_.storage(), wanted.stretch, wanted.rules, wanted.copy)};
}

node::input::Recovered Machine::recover(const node::effect::Recover& wanted) const {
    std::vector<chain::PackedTransaction> packed;
    if (wanted.transaction) packed.push_back(*wanted.transaction);
    if (wanted.block) {
        for (const auto& receipt : wanted.block->transactions) {
            const auto* one = std::get_if<chain::PackedTransaction>(&receipt.transaction);
            if (one == nullptr) {
                const base::Error error{base::Errc::invalid, "a receipt has no transaction"};
                return {wanted.ticket, base::fail(error)};
            }
            packed.push_back(*one);
        }
    }
    std::vector<chain::PooledTransaction> done;
    for (const chain::PackedTransaction& each : packed) {
        auto entry = node::recover_keys(each, genesis_.chain_id());
        if (!entry) return {wanted.ticket, base::fail(entry.error())};
        done.push_back(*std::move(entry));
    }
    return {wanted.ticket, std::move(done)};
}

}  // namespace sim::full
