#include "tests/sim/full/machine.hpp"

#include "base/check.hpp"
#include "chain/execution/host_functions.hpp"
#include "chain/state/block_store.hpp"

#include <utility>

namespace sim::full {

base::crypto::PrivateKey signing_key(std::size_t tag) {
    std::array<std::byte, 32> secret{};
    secret.fill(static_cast<std::byte>(tag + 1));
    return {base::crypto::KeyType::k1, secret};
}

base::crypto::PublicKey node_key(std::size_t tag) {
    std::array<std::byte, 32> secret{};
    secret.fill(static_cast<std::byte>(tag + 1));
    return base::crypto::PrivateKey(base::crypto::KeyType::r1, secret).public_key();
}

Machine::Machine(const genesis::Genesis& genesis, std::size_t number)
    : genesis_(genesis), number_(number), key_(signing_key(number)), signer_(key_) {
    const std::vector<consensus::SafetyRecord> records{
        {.kind = consensus::RecordKind::base, .key = consensus::key_tag(key_.public_key())}};
    consensus::SafetyJournal journal;
    pages_ = {journal.append(records)};
    const auto first = node::Core::first_batch(genesis_);
    CHECK(first.has_value());
    CHECK(storage_.commit(*first, true).has_value());
}

std::string Machine::start(base::Timestamp now, std::uint64_t seed, node::Effects& out) {
    CHECK(!runs());
    auto journal = consensus::SafetyJournal::read(pages_);
    if (!journal) return journal.error().detail;
    engine_ = std::make_unique<chain::vm::Engine>(
        chain::host_table(), chain::vm::Engine::Options{}, nullptr);
    executor_ = std::make_unique<chain::Executor>(*engine_, chain::host_table());
    node::Core::Options options{.genesis = genesis_};
    options.started = now;
    options.has_peers = true;
    chain::StateManager::Options state;
    state.on_fault = [](const base::Error&) { CHECK(false); };
    node::Effects first;
    auto core =
        node::Core::open(options,
                         {storage_, *executor_, signer_, {}, state, {}, base::Log(log_, "core")},
                         *std::move(journal),
                         first);
    if (!core) return core.error().detail;
    p2p::Options network;
    network.chain_id = genesis_.chain_id();
    network.times = genesis_.times;
    network.node_key = node_key(number_);
    network.boot_id = seed | 1U;
    network.roles = p2p::kValidator;
    network.listen_address = "node:" + std::to_string(number_);
    network.vote_keys = signer_.keys();
    network.seed = seed;
    core_ = std::make_unique<node::NetworkedCore>(
        *std::move(core), std::move(network), signer_, base::Log(log_, "p2p"));
    ++life_;
    paused_until.reset();
    wakes.clear();
    disk_free_at = now;
    core_->begin(now, std::move(first), out);
    return {};
}

void Machine::kill() {
    ++life_;
    core_.reset();
    executor_.reset();
    engine_.reset();
    view = nullptr;
}

void Machine::cut_power() {
    kill();
    storage_.cut_power();
}

void Machine::step(base::Timestamp now, const node::Input& input, node::Effects& out) {
    core_->step(now, input, out);
}

void Machine::step(base::Timestamp now, p2p::Input input, node::Effects& out) {
    core_->step(now, std::move(input), out);
}

base::Result<void> Machine::write(const node::effect::Write& write) {
    if (!write.journal_page.empty() && (pages_.empty() || pages_.back() != write.journal_page)) {
        if (write.compact_journal) pages_.clear();
        pages_.push_back(write.journal_page);
    }
    base::Batch batch = write.batch;
    if (write.final_state) write.final_state->append_to(batch);
    return storage_.commit(batch, write.ticket != 0);
}

std::vector<p2p::SharedBytes> Machine::read(const p2p::effect::ReadBlocks& wanted) const {
    const chain::BlockReader reader(storage_);
    std::vector<p2p::SharedBytes> found;
    std::vector<chain::Height> heights;
    for (const chain::BlockId& id : wanted.ids) {
        const auto height = reader.height_of(id);
        if (height && height->has_value()) heights.push_back(**height);
    }
    if (wanted.ids.empty()) {
        for (chain::Height at = wanted.from; at <= wanted.to; ++at)
            heights.push_back(at);
    }
    std::size_t bytes = 0;
    for (const chain::Height height : heights) {
        auto packed = reader.packed_at(height);
        if (!packed || !packed->has_value() || bytes >= wanted.bytes_max) break;
        bytes += (*packed)->size();
        found.push_back(std::make_shared<const base::Bytes>(**std::move(packed)));
    }
    return found;
}

node::input::Recovered Machine::recover(const node::effect::Recover& wanted) const {
    std::vector<chain::PackedTransaction> packed;
    if (wanted.transaction) packed.push_back(*wanted.transaction);
    if (wanted.block) {
        for (const auto& receipt : wanted.block->transactions) {
            const auto* one = std::get_if<chain::PackedTransaction>(&receipt.transaction);
            if (one != nullptr) packed.push_back(*one);
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
