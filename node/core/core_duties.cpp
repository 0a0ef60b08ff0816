#include "base/crypto/hash.hpp"
#include "chain/meta_keys.hpp"
#include "node/core/core_impl.hpp"

#include <algorithm>
#include <utility>

namespace node {

namespace {

// How long what a node says by itself may wait for a block.
constexpr std::int64_t kSaidForSeconds = 60;
// Behind the clock by no more than this, the head is followed: two slots or two seconds, as in R1.
constexpr chain::Slot kBehindMax = 2;
constexpr std::uint32_t kBehindMilliseconds = 2'000;

base::Bytes evidence_key(base::ByteView packed) {
    base::Bytes key = base::to_bytes(base::as_bytes(chain::kMetaEvidence));
    const base::Hash256 digest = base::crypto::sha256(packed);
    key.insert(key.end(), digest.bytes.begin(), digest.bytes.end());
    return key;
}

base::Bytes amnesia_key(const base::crypto::PublicKey& key) {
    base::Bytes row = base::to_bytes(base::as_bytes(chain::kMetaAmnesia));
    const base::Bytes packed = chain::pack(key);
    row.insert(row.end(), packed.begin(), packed.end());
    return row;
}

// The values of the rows that begin with this.
base::Result<std::vector<base::Bytes>> rows_of(const base::Storage& storage,
                                               std::string_view name) {
    std::vector<base::Bytes> rows;
    const base::ByteView prefix = base::as_bytes(name);
    auto read = storage.scan(base::Family::meta, prefix, [&](auto key, auto value) {
        if (key.size() < prefix.size() || !std::ranges::equal(key.first(prefix.size()), prefix)) {
            return false;
        }
        rows.push_back(base::to_bytes(value));
        return rows.size() < Duties::kAccusationsMax;
    });
    if (!read) return base::fail(std::move(read).error());
    return rows;
}

}  // namespace

bool Core::Impl::is_synced() const {
    const chain::SlotTimes& times = chain_->identity().times;
    const chain::BlockHeader* head = chain_->find_header(consensus_.head());
    const chain::Slot head_slot = head == nullptr ? chain_->finalized()->header.slot : head->slot;
    const chain::Slot now = times.slot_at(clock());
    const chain::Slot behind =
        std::max<chain::Slot>(kBehindMax, kBehindMilliseconds / times.interval_milliseconds);
    return head_slot + behind >= now;
}

void Core::Impl::attend_duties(Effects& out) {
    if (!trouble_.empty()) return;
    const chain::Slot slot = chain_->identity().times.slot_at(clock());
    Duties::Moment moment{*shown_final_state_,
                          slot,
                          shown_final_->header.slot,
                          is_synced(),
                          options_.genesis.parameters.schedule_period,
                          {}};
    for (const consensus::KeyStatus& key : consensus_.keys()) {
        if (key.stopped || key.lost || key.twin) moment.silent.push_back(key.key);
    }
    auto due = duties_.due(moment);
    if (!due) {
        environment_.log.error("what this node has to say: {}", due.error().detail);
        return;
    }
    for (const Duties::Due& each : *due)
        say(each, out);
    forget_settled(out);
}

void Core::Impl::accuse(const chain::Evidence& evidence, Effects& out) {
    out.push_back(effect::Accused{evidence});
    if (!duties_.accuse(evidence)) return;
    base::Bytes packed = chain::pack(evidence);
    base::Batch batch;
    base::Bytes key = evidence_key(packed);
    batch.put(base::Family::meta, std::move(key), std::move(packed));
    write_unsynced(std::move(batch), out);
}

void Core::Impl::forget_settled(Effects& out) {
    base::Batch batch;
    for (const chain::Evidence& evidence : duties_.take_settled())
        batch.erase(base::Family::meta, evidence_key(chain::pack(evidence)));
    for (const base::crypto::PublicKey& key : duties_.take_recorded())
        batch.erase(base::Family::meta, amnesia_key(key));
    if (!batch.changes.empty()) write_unsynced(std::move(batch), out);
}

// What was found before the node stopped, and is not on chain yet, is reported by this life of it.
base::Result<void> Core::Impl::load_evidence() {
    auto rows = rows_of(environment_.storage, chain::kMetaEvidence);
    if (!rows) return base::fail(std::move(rows).error());
    for (const base::Bytes& row : *rows) {
        auto evidence = chain::unpack<chain::Evidence>(row, "evidence");
        if (!evidence) return base::fail(base::Errc::corrupt, evidence.error().detail);
        (void)duties_.accuse(*std::move(evidence));
    }
    return {};
}

// Kept beside the journals that are about to be made: it goes on chain even if the node stops
// before that, when its keys are lost no more.
void Core::Impl::note_amnesia(const base::crypto::PublicKey& key, Effects& out) {
    duties_.note_amnesia(key);
    base::Batch batch;
    batch.put(base::Family::meta, amnesia_key(key), chain::pack(key));
    write_unsynced(std::move(batch), out);
}

base::Result<void> Core::Impl::load_amnesia() {
    auto rows = rows_of(environment_.storage, chain::kMetaAmnesia);
    if (!rows) return base::fail(std::move(rows).error());
    for (const base::Bytes& row : *rows) {
        auto key = chain::unpack<base::crypto::PublicKey>(row, "amnesia");
        if (!key) return base::fail(base::Errc::corrupt, key.error().detail);
        duties_.note_amnesia(*key);
    }
    return {};
}

// As a transaction that nobody waits for.
void Core::Impl::say(const Duties::Due& due, Effects& out) {
    const chain::ChainId& chain_id = chain_->identity().chain_id;
    const std::string what = due.action.name.to_string();
    const std::string who = due.action.authorization.front().actor.to_string();
    chain::SignedTransaction content;
    const auto seconds = clock().microseconds / 1'000'000;
    content.expiration = {static_cast<std::uint32_t>(seconds + kSaidForSeconds)};
    content.ref_block_num = static_cast<std::uint16_t>(shown_final_->header.height);
    content.ref_block_prefix = chain::ref_block_prefix_of(shown_final_->id);
    content.actions = {due.action};
    std::vector<base::crypto::Signature> signatures;
    for (const base::crypto::PublicKey& key : due.keys) {
        auto signature = environment_.signer.sign_transaction(key, content, chain_id);
        if (!signature) {
            environment_.log.warn("{} of {} is not signed, tried again later: {}",
                                  what,
                                  who,
                                  signature.error().detail);
            return;
        }
        signatures.push_back(*std::move(signature));
    }
    content.signatures = std::move(signatures);
    const chain::PooledTransaction entry{chain::make_transaction(content), due.keys};
    std::vector<chain::Pool::Evicted> evicted;
    auto added = pool_.add(entry, evicted);
    drop(evicted, out);
    if (!added) {
        environment_.log.warn("{} of {}: {}", what, who, added.error().detail);
        return;
    }
    if (pending_ != nullptr) {
        if (const Ran ran = run(entry, {}, out); ran.failure) {
            environment_.log.warn("{} of {} is refused: {}", what, who, ran.failure->detail);
        }
    }
    if (!pool_.contains(entry.transaction->id)) return;
    environment_.log.info("says {} for {}", what, who);
    tell(p2p::input::PushTransaction{entry.transaction}, out);
}

}  // namespace node
