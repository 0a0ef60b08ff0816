#include "base/check.hpp"
#include "chain/execution/genesis_state.hpp"
#include "chain/execution/rows.hpp"
#include "chain/state/empty_view.hpp"
#include "node/core/core_impl.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace node {

namespace {

using base::Errc;
using base::fail;

using Kind = chain::VoteKind;
using Standing = consensus::SafetyJournal::Standing;
using Mark = consensus::SafetyJournal::Mark;

void tell(const base::Log& log,
          const std::string& key,
          Standing standing,
          std::uint64_t in_log,
          std::uint64_t in_rows) {
    switch (standing) {
        case Standing::equal:
        case Standing::fresh:
            return;
        case Standing::torn:
            log.info(
                "safety journal of {}: its last page was cut short, and nothing was done on its "
                "strength",
                key);
            return;
        case Standing::log_behind:
            log.warn(
                "safety journal of {}: its last page was cut short or is damaged; it is "
                "written anew from the storage, up to record {}",
                key,
                in_rows);
            return;
        case Standing::rows_behind:
            log.warn(
                "the storage lacks its last write, which the safety journal of {} has "
                "(record {}): it was cut short, or the tail of its log is damaged; what is "
                "missing comes from the journal and from peers",
                key,
                in_log);
            return;
        case Standing::rows_far_behind:
            log.error(
                "the storage lacks writes that were durable: it is at record {} of the "
                "safety journal of {}, the journal at {}; the tail of its log is damaged, "
                "or a copy was put back; what is missing comes from the journal and from "
                "peers",
                in_rows,
                key,
                in_log);
            return;
        case Standing::lost:
            if (in_rows < in_log) {
                log.error(
                    "the storage is at record {} of the safety journal of {}, which is at {}: it "
                    "was set back further than the journal tells (its log is gone, or a copy or a "
                    "snapshot took its place); what the key has signed since is not known: it "
                    "votes again by itself after a new final block",
                    in_rows,
                    key,
                    in_log);
                return;
            }
            log.error(
                "safety journal of {}: its last record is {}, the storage has seen {}: it "
                "is lost; the key votes again by itself after a new final block; never put "
                "an older journal in its place",
                key,
                in_log,
                in_rows);
            return;
    }
}

// Compares the journals with what the rows say of them (spec 04, "Safety journal"). Returns those
// that must be written anew, with their rows.
std::vector<consensus::KeyTag> settle(const std::vector<base::crypto::PublicKey>& keys,
                                      const chain::ChainManager& chain,
                                      const base::Log& log,
                                      consensus::Journals& journals) {
    std::vector<consensus::KeyTag> to_mend;
    const consensus::TreeBase base{chain.stored_base().block, chain.stored_base().schedules};
    std::vector<chain::BlockPtr> above = chain.above_base();
    for (const chain::ExecutedBlockPtr& block : chain.held())
        above.push_back(block->block);
    for (const base::crypto::PublicKey& key : keys) {
        const consensus::KeyTag tag = consensus::key_tag(key);
        const auto stored = chain.stored_journal_marks().find(tag);
        std::optional<Mark> mark;
        if (stored != chain.stored_journal_marks().end()) {
            mark = Mark{stored->second.sequence, stored->second.page, stored->second.replaces};
        }
        const std::uint64_t in_rows = mark ? mark->sequence : 0;
        const auto found = journals.find(tag);
        if (found == journals.end()) {
            journals.emplace(tag, consensus::SafetyJournal::lost(tag, mark));
            continue;
        }
        const std::uint64_t in_log = found->second.last_sequence();
        const Standing standing =
            found->second.settle(mark, consensus::may_have_signed(key, base, above));
        tell(log, key.to_string(), standing, in_log, in_rows);
        if (consensus::SafetyJournal::is_to_mend(standing)) to_mend.push_back(tag);
    }
    return to_mend;
}

// A block has a certificate of its own, or it has none.
std::optional<chain::Certificate> certificate_of(const chain::BlockId& block,
                                                 const std::optional<chain::Certificate>& newest) {
    return newest && newest->data.block_id == block ? newest : std::nullopt;
}

struct StoredTransaction {
    base::Bytes key;
    chain::PackedTransaction packed;
};

struct StoredPool {
    std::map<chain::Pool::Place, StoredTransaction> rows;  // In the order of their places.
    std::vector<std::pair<base::Bytes, std::string>> bad;  // Keys, and what is wrong.
};

// In one pass: storage sorts these rows when it is asked for them.
base::Result<StoredPool> read_pool(const base::StorageView& storage) {
    StoredPool pool;
    auto read = storage.scan(base::Family::pool, {}, [&](auto key, auto value) {
        auto row = chain::decode_pool_row(value);
        if (!row) {
            pool.bad.emplace_back(base::to_bytes(key), row.error().detail);
        } else if (!pool.rows.try_emplace(row->place, base::to_bytes(key), row->packed).second) {
            pool.bad.emplace_back(base::to_bytes(key),
                                  fmt::format("two rows at place {}", row->place));
        }
        return true;
    });
    if (!read) return fail(std::move(read).error());
    return pool;
}

// What comes to a window of so much a minute. Zero stays zero: there is no limit.
std::chrono::milliseconds of_window(std::chrono::milliseconds minute,
                                    std::chrono::milliseconds window) {
    if (minute.count() <= 0) return minute;
    constexpr std::chrono::milliseconds kMinute = std::chrono::minutes(1);
    return std::max(std::chrono::milliseconds(1), minute * window.count() / kMinute.count());
}

}  // namespace

chain::ChainIdentity identity_of(const genesis::Genesis& genesis) {
    return {genesis.chain_id(), genesis.times, genesis.schedule};
}

base::Result<chain::PooledTransaction> recover_keys(const chain::PackedTransaction& packed,
                                                    const chain::ChainId& chain_id) {
    auto transaction = chain::decode_transaction(packed);
    if (!transaction) return fail(std::move(transaction).error());
    chain::PooledTransaction entry{*transaction, {}};
    const auto& content = (*transaction)->content;
    if (content.signatures.empty()) return entry;
    const base::Hash256 digest = content.signing_digest(chain_id, content.context_free_data);
    for (const auto& signature : content.signatures) {
        auto key = base::crypto::recover(signature, digest);
        if (!key) return fail(std::move(key).error());
        entry.keys.push_back(*key);
    }
    return entry;
}

base::Result<base::Batch> Core::first_batch(const genesis::Genesis& genesis) {
    if (auto good = genesis::check(genesis); !good) return fail(std::move(good).error());
    chain::GenesisParameters parameters{.times = genesis.times,
                                        .system_authority = genesis.system_authority,
                                        .members = {},
                                        .nodes = {},
                                        .schedule = genesis.schedule,
                                        .parameters = genesis.parameters,
                                        .config = genesis.config,
                                        .wasm = genesis.wasm};
    for (const genesis::Member& member : genesis.members) {
        parameters.members.push_back({member.name, member.authority, member.weight});
    }
    for (const genesis::Node& node : genesis.nodes) {
        parameters.nodes.push_back({node.name, node.organisation, node.key, node.roles});
    }
    const chain::EmptyView nothing;
    chain::StateDelta state(nothing);
    chain::write_genesis_state(state, parameters);
    return chain::ChainManager::make_genesis(identity_of(genesis), state);
}

base::Result<std::unique_ptr<Core>> Core::open(const Options& options,
                                               const Environment& environment,
                                               consensus::Journals journals,
                                               Effects& out) {
    chain::ChainIdentity identity = identity_of(options.genesis);
    identity.reset = options.reset;
    auto chain = chain::ChainManager::open(
        identity, {environment.storage, environment.executor, environment.state});
    if (!chain) return fail(std::move(chain).error());
    const std::vector<consensus::KeyTag> to_mend =
        settle(environment.signer.keys(), **chain, environment.log, journals);
    const chain::AgreementBase& base = (*chain)->stored_base();
    const consensus::Consensus::Options rules{
        .chain_id = identity.chain_id,
        .times = identity.times,
        .repetitions = static_cast<std::uint32_t>(options.genesis.parameters.repetitions),
        .schedule_period = options.genesis.parameters.schedule_period,
        .reversible_max = options.genesis.parameters.max_reversible,
        .own_keys = environment.signer.keys(),
        .started = options.started,
        .clock_bound = options.clock_bound,
        .accept_amnesia = options.accept_amnesia,
        .reset = options.reset,
        .asks_around_for = options.has_peers ? options.asks_around_for : base::Duration{}};
    const consensus::TreeBase tree_base{base.block, base.schedules};
    auto consensus =
        environment.make_consensus
            ? environment.make_consensus(rules, tree_base, std::move(journals))
            : std::make_unique<consensus::Consensus>(rules, tree_base, std::move(journals));
    auto impl =
        std::make_unique<Impl>(options, environment, *std::move(chain), std::move(consensus));
    if (auto started = impl->start(to_mend, out); !started) return fail(std::move(started).error());
    return std::unique_ptr<Core>(new Core(std::move(impl)));
}

Core::Impl::Impl(const Options& options,
                 const Environment& environment,
                 std::unique_ptr<chain::ChainManager> chain,
                 std::unique_ptr<consensus::Consensus> consensus)
    : options_(options),
      environment_(environment),
      chain_(std::move(chain)),
      agreement_(std::move(consensus)),
      own_keys_(environment.signer.keys()),
      pool_(options.pool_bytes_max),
      timer_(environment.timer == nullptr ? no_timer_ : *environment.timer),
      failures_(options.failures_per_minute),
      unauthorized_(options.failures_per_minute),
      in_vain_(of_window(options.failures_per_minute, kInVainWindow),
               FailureBudget<Sender>::kPayersMax,
               kInVainWindow),
      duties_(own_keys_, options.producers),
      arrivals_(options.genesis.parameters.repetitions),
      shown_final_(chain_->finalized()),
      shown_certificate_(certificate_of(chain_->finalized()->id, chain_->final_certificate())),
      shown_final_state_(chain_->shared_state_of(chain_->finalized()->id)) {}

// Whoever may change the files of a node must not make it believe that something is final (spec
// 10): what was checked before it was stored is checked again.
base::Result<void> Core::Impl::restore_agreement() {
    for (const chain::BlockPtr& block : chain_->above_base()) {
        // Its witness is not checked yet: what becomes final in the middle of a range may leave
        // such blocks above the base.
        if (unchecked_.find(block->header.height) != nullptr) {
            consensus_.restore_spared(block);
        } else if (auto restored = restore(block); !restored) {
            return restored;
        }
    }
    if (const auto& final = chain_->final_certificate()) {
        if (auto good = check_stored(*final, Kind::commit); !good) return good;
        consensus_.restore(*final);
    }
    consensus_.restore_final(chain_->finalized()->id);
    for (const chain::ExecutedBlockPtr& block : chain_->held()) {
        if (auto restored = restore(block->block); !restored) return restored;
        arrivals_.let_in(block->block->header, block->block->id, /*is_schedule_known=*/true);
    }
    if (const auto& notarize = chain_->stored_notarize()) {
        if (auto good = check_stored(*notarize, Kind::notarize); !good) return good;
        stored_notarize_slot_ = notarize->data.slot;
        consensus_.restore(*notarize);
    }
    return restore_locks();
}

// Certificates in a witness are of ancestors, which are here if they are above the base.
base::Result<void> Core::Impl::restore(const chain::BlockPtr& block) {
    const auto& [justify, final] = block->witness;
    if (justify)
        if (auto good = check_stored(*justify, Kind::notarize); !good) return good;
    if (final)
        if (auto good = check_stored(*final, Kind::commit); !good) return good;
    consensus_.restore(block);
    return {};
}

base::Result<void> Core::Impl::restore_locks() {
    for (const auto& [key, journal] : consensus_.journals()) {
        const consensus::CertificatePtr& lock = journal.safety().lock_certificate;
        // After a loss it is the COMMIT certificate of the block that ended it.
        if (lock == nullptr) continue;
        if (auto good = check_stored(*lock, lock->data.kind); !good) return good;
    }
    for (const chain::VoteData& lock : consensus_.restore_locks()) {
        environment_.log.error(
            "block {} of slot {}, on which a key is locked, is not in the "
            "storage any more: it is asked of peers",
            base::to_hex(lock.block_id.view()),
            lock.slot);
    }
    return {};
}

// Of a block that is not here nothing is believed before it is.
base::Result<void> Core::Impl::check_stored(const chain::Certificate& certificate,
                                            chain::VoteKind kind) const {
    if (!consensus_.holds(certificate.data.block_id)) return {};
    const chain::ScheduleState* schedules = consensus_.schedules_of(certificate.data);
    CHECK(schedules != nullptr);
    auto good = consensus::verify(certificate, *schedules, chain_->identity().chain_id);
    if (good && certificate.data.kind == kind) return {};
    return fail(Errc::corrupt,
                fmt::format("the stored certificate of block {}, {}, proves nothing: {}; a file of "
                            "the data directory was changed; keep the journals, and let the node "
                            "join again with an empty state",
                            certificate.data.height,
                            base::to_hex(certificate.data.block_id.view()),
                            good ? "it is of the other kind" : good.error().detail));
}

// The block of a lock comes back: what its journal says of it was not checked yet.
void Core::Impl::check_lock(const chain::ExecutedBlock& block) {
    const chain::Certificate* lock = consensus_.unverified(block.block->id);
    if (lock == nullptr) return;
    auto good = consensus::verify(*lock, block.schedules, chain_->identity().chain_id);
    if (good) return;
    environment_.log.error(
        "the certificate in a safety journal, of the block {} on which its key is locked, proves "
        "nothing: {}; the journal was changed",
        base::to_hex(block.block->id.view()),
        good.error().detail);
    consensus_.distrust(block.block->id);
}

base::Result<void> Core::Impl::start(const std::vector<consensus::KeyTag>& to_mend, Effects& out) {
    if (auto loaded = unchecked_.load(environment_.storage); !loaded) return loaded;
    if (auto restored = restore_agreement(); !restored) return restored;
    pool_head_ = shown_head_ = consensus_.head();
    auto earliest = chain::BlockReader(environment_.storage).earliest();
    if (!earliest) return fail(std::move(earliest).error());
    earliest_height_ = earliest->value_or(1);
    if (auto loaded = load_stopped(out); !loaded) return loaded;
    if (auto loaded = load_pool(out); !loaded) return loaded;
    if (auto loaded = load_evidence(); !loaded) return loaded;
    if (auto loaded = load_amnesia(); !loaded) return loaded;
    for (const consensus::KeyStatus& key : consensus_.keys())
        if (options_.accept_amnesia && key.lost) note_amnesia(key.key, out);
    environment_.log.info("opened at block {}, final {}; {} transactions wait",
                          chain_->find(consensus_.head()) == nullptr
                              ? shown_final_->header.height
                              : chain_->find(consensus_.head())->block->header.height,
                          shown_final_->header.height,
                          pool_.size());
    publish(out);
    tell_registry(out);
    tell_ledger(out);
    for (const chain::Certificate* kept :
         {consensus_.highest_notarize(), consensus_.final_certificate()}) {
        const auto* schedules = kept == nullptr ? nullptr : consensus_.schedules_of(kept->data);
        if (schedules != nullptr) tell_votes(*kept, *schedules, out);
    }
    out.push_back(effect::WakeAt{});
    mend_journals(to_mend, out);
    return {};
}

// What was accepted before the node stopped waits again, at its place. Its signatures are recovered
// here: it is little, and nothing else runs yet. A row that is damaged is no reason not to start:
// nothing that was agreed on is in it.
base::Result<void> Core::Impl::load_pool(Effects& out) {
    auto stored = read_pool(environment_.storage);
    if (!stored) return fail(std::move(stored).error());
    const auto head = chain_->shared_state_of(pool_head_);
    CHECK(head != nullptr);
    base::Batch settled;
    std::vector<chain::Pool::Evicted> evicted;
    for (const auto& [place, row] : stored->rows) {
        auto entry = recover_keys(row.packed, chain_->identity().chain_id);
        if (!entry) {
            stored->bad.emplace_back(row.key, entry.error().detail);
            continue;
        }
        const chain::TransactionId& id = entry->transaction->id;
        if (!base::equal(row.key, id.view())) {
            stored->bad.emplace_back(row.key, "its key is not the id of its transaction");
            continue;
        }
        const chain::RowKey executed =
            chain::transaction_key(entry->transaction->content.expiration, id);
        if (shown_final_state_->find(chain::Table::transaction_id, executed)) {
            settled.erase(base::Family::pool, row.key);
            continue;
        }
        // In a block that another branch may win over: the row stays.
        pool_.reserve(place);
        if (head->find(chain::Table::transaction_id, executed)) continue;
        // One that no longer fits was accepted by a larger pool: it is dropped with the reason.
        if (auto added = pool_.add_at(place, *entry, evicted); !added) {
            evicted.push_back({entry->transaction, added.error()});
        }
    }
    for (const auto& [key, reason] : stored->bad) {
        environment_.log.warn("a transaction that waited is lost, its row {} is damaged: {}",
                              base::to_hex(key),
                              reason);
        settled.erase(base::Family::pool, key);
    }
    if (!settled.changes.empty()) write_unsynced(std::move(settled), out);
    drop(evicted, out);
    return {};
}

// Journal and rows of a key are written anew from each other before anything is signed. A log that
// is whole is left as it is: however often the rows lose what mends them, it knows their page.
void Core::Impl::mend_journals(const std::vector<consensus::KeyTag>& keys, Effects& out) {
    if (keys.empty()) return;
    effect::Write write;
    for (const consensus::KeyTag key : keys) {
        if (const auto* last = consensus_.journals().at(key).last_page()) {
            chain_->store({key, last->sequence, last->replaces, last->bytes}, write.batch);
        } else {
            write.pages.push_back(consensus_.compact_journal(key));
        }
        const auto& lock = consensus_.journals().at(key).safety().lock_certificate;
        if (lock != nullptr && lock->data.kind == chain::VoteKind::notarize) {
            store_newest(*lock, write.batch);
        }
    }
    begin_write(std::move(write), out);
}

}  // namespace node
