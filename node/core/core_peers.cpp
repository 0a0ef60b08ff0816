#include "base/check.hpp"
#include "base/crypto/hash.hpp"
#include "chain/execution/membership.hpp"
#include "chain/types/rule.hpp"
#include "node/core/core_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace node {

using p2p::Item;
using p2p::Verdict;

namespace {

// Of a block that is not here and has the active schedule of the head: a schedule was final before
// it came to be pending, so that the one pending is the head's, if there is one. Only that it is
// pending already, or not yet, may differ. What has another number of lists is nobody's fault, and
// costs no signature; else the certificate is good under these schedules, or its sender lies.
bool may_be_under(const chain::Certificate& certificate, const chain::ScheduleState& schedules) {
    const std::size_t lists = certificate.bitmaps.size();
    const bool has_pending = schedules.pending() != nullptr;
    return has_pending ? lists != 1 : lists != 2;
}

// Of a certificate under these schedules: under others it may lack the quorum of one.
base::Hash256 id_of(const chain::Certificate& certificate, const chain::ScheduleState& schedules) {
    base::Writer out;
    chain::encode(out, certificate);
    chain::encode(out, *schedules.active);
    out.boolean(schedules.pending() != nullptr);
    if (schedules.pending() != nullptr) chain::encode(out, *schedules.pending());
    return base::crypto::sha256(out.view());
}

}  // namespace

void Core::Impl::on_peers(const p2p::Effect& asked, Effects& out) {
    namespace peers = p2p::effect;
    if (const auto* block = std::get_if<peers::BlockArrived>(&asked)) {
        on_block(*block, out);
    } else if (const auto* range = std::get_if<peers::RangeArrived>(&asked)) {
        on_range(*range, out);
    } else if (const auto* mended = std::get_if<peers::MendArrived>(&asked)) {
        on_mended(*mended, out);
    } else if (const auto* vote = std::get_if<peers::VoteArrived>(&asked)) {
        on_vote(*vote, out);
    } else if (const auto* certificate = std::get_if<peers::CertificateArrived>(&asked)) {
        on_certificate(*certificate, out);
    } else if (const auto* clock = std::get_if<peers::ClockArrived>(&asked)) {
        on_clock(*clock, out);
    } else if (const auto* transaction = std::get_if<peers::TransactionArrived>(&asked)) {
        on_transaction(*transaction, out);
    } else if (const auto* header = std::get_if<peers::HeaderArrived>(&asked)) {
        on_header(*header, out);
    } else if (const auto* read = std::get_if<peers::ReadBlocks>(&asked)) {
        on_read(*read, out);
    } else if (const auto* ready = std::get_if<peers::PeerReady>(&asked)) {
        on_peer_ready(*ready, out);
    } else if (const auto* twin = std::get_if<peers::TwinKey>(&asked)) {
        environment_.log.error(
            "two machines use the key {}: {}", twin->key.to_string(), twin->text);
        if (twin->ours_is_later) feed(consensus::input::TwinSeen{twin->key}, out);
        publish(out);
    } else if (const auto* told = std::get_if<peers::TwinTold>(&asked)) {
        feed(consensus::input::TwinTold{.keys = told->keys, .said_by = told->said_by}, out);
        publish(out);  // How the keys stand: else nothing may happen here any more.
    } else {
        CHECK(false);  // The others are for the transport.
    }
}

// Ahead of its block: passed on once it is proved, and looked at for evidence.
void Core::Impl::on_header(const p2p::effect::HeaderArrived& arrived, Effects& out) {
    const p2p::HeaderPush& push = arrived.header;
    const auto block = chain::make_block(push.signed_header, {}, push.witness);
    const consensus::HeaderVerdict verdict = consensus_.check(now_, *block);
    p2p::input::Judged judged{
        Item::header, arrived.id, arrived.channel, Verdict::unsure, verdict.reason};
    const bool is_wrong = verdict.fate == Fate::invalid || verdict.fate == Fate::bad_witness;
    if (is_wrong) judged.verdict = Verdict::bad;
    if (verdict.fate == Fate::stale) judged.verdict = Verdict::duplicate;
    if (verdict.fate != Fate::good) return judge(std::move(judged), out);
    const auto below = chain_->schedules_below(push.signed_header.header.previous);
    if (!below) return judge({Item::header, arrived.id, arrived.channel, Verdict::unsure, ""}, out);
    judged.verdict = Verdict::bad;
    judged.text = "the producer's signature is wrong";
    if (!is_signed(*block, *below)) return judge(std::move(judged), out);
    if (auto proved = verify_all(verdict.certificates, out); !proved) {
        judged.text = proved.error().detail;
        return judge(std::move(judged), out);
    }
    judged.verdict = Verdict::good;
    judged.text.clear();
    judge(std::move(judged), out);
    feed(consensus::input::HeaderSeen{push.signed_header}, out);
}

void Core::Impl::on_transaction(const p2p::effect::TransactionArrived& arrived, Effects& out) {
    // One that has none waits for a worker all the same.
    const std::size_t signatures = std::max<std::size_t>(1, arrived.transaction.signatures.size());
    const std::string_view refusal = refusal_to_recover(arrived.peer, signatures);
    if (!refusal.empty()) {
        const std::string text(refusal);
        return judge({Item::transaction, arrived.id, arrived.channel, Verdict::unsure, text}, out);
    }
    const Ticket ticket = next_ticket_++;
    const std::size_t share = share_of(signatures);
    recovering_of_[arrived.peer] += share;
    recovering_.emplace(ticket, Recovering{arrived.channel, arrived.id, arrived.peer, share});
    out.push_back(
        effect::Recover{ticket,
                        nullptr,
                        std::make_shared<const chain::PackedTransaction>(arrived.transaction),
                        arrived.peer});
}

std::string_view Core::Impl::refusal_to_recover(const base::crypto::PublicKey& peer,
                                                std::size_t signatures) const {
    if (recovering_.size() >= kRecoveringMax || !trouble_.empty()) return "busy";
    if (unauthorized_.is_over(peer, now_)) return "its transactions failed too often";
    if (signatures > 1 && in_vain_.is_over(peer, now_)) {
        return "its transactions with several signatures failed too often";
    }
    const auto of_peer = recovering_of_.find(peer);
    const std::size_t before = of_peer == recovering_of_.end() ? 0 : of_peer->second;
    return before + share_of(signatures) > kRecoveringOfPeer ? "busy with its transactions" : "";
}

Core::Impl::Recovering Core::Impl::end_recovery(Ticket ticket) {
    const auto found = recovering_.find(ticket);
    CHECK(found != recovering_.end());
    Recovering ended = std::move(found->second);
    recovering_.erase(found);
    const auto of_peer = recovering_of_.find(ended.peer);
    of_peer->second -= ended.share;
    if (of_peer->second == 0) recovering_of_.erase(of_peer);
    return ended;
}

void Core::Impl::on_recovered(const input::Recovered& recovered, Effects& out) {
    if (recovering_.contains(recovered.ticket)) {
        const Recovering from = end_recovery(recovered.ticket);
        if (recovered.transactions && recovered.transactions->size() == 1) {
            take_transaction(from, recovered.transactions->front(), out);
        } else {
            const std::string text =
                recovered.transactions ? "no transaction" : recovered.transactions.error().detail;
            judge({Item::transaction, from.id, from.channel, Verdict::bad, text}, out);
        }
        return;
    }
    Arrival* arrival = arrivals_.find_ticket(recovered.ticket);
    if (arrival == nullptr) return;  // Refused with its parent meanwhile.
    arrival->ticket = 0;
    if (!recovered.transactions) {
        refuse(Arrivals::key_of(*arrival->block), recovered.transactions.error().detail, out);
    } else {
        arrival->transactions = *recovered.transactions;
    }
    work_off(out);
    work_off_ranges(out);
}

void Core::Impl::take_transaction(const Recovering& from,
                                  const chain::PooledTransaction& entry,
                                  Effects& out) {
    p2p::input::Judged judged{Item::transaction, from.id, from.channel, Verdict::good, ""};
    const chain::TransactionId id = entry.transaction->id;
    if (pool_.contains(id)) {
        const bool is_other = waits_in_other_form(*entry.transaction);
        judged.verdict = is_other ? Verdict::unsure : Verdict::duplicate;
        return judge(std::move(judged), out);
    }
    const Origin origin{.sender = from.peer};
    if (auto admitted = admit(*entry.transaction, origin.sender); !admitted) {
        // One that was stopped here stays so; a payer is free again before long.
        judged.verdict = stopped_.find(id) != nullptr ? Verdict::refused : Verdict::unsure;
        judged.text = admitted.error().detail;
        return judge(std::move(judged), out);
    }
    std::vector<chain::Pool::Evicted> evicted;
    auto added = pool_.add(entry, evicted);
    drop(evicted, out);
    if (!added) {
        judged.verdict = Verdict::unsure;
        judged.text = added.error().detail;
        return judge(std::move(judged), out);
    }
    if (pending_ != nullptr) {
        // Nobody was promised anything: that it is refused is for the peer alone.
        if (const Ran ran = run(entry, origin, out); ran.failure) {
            judged.verdict = Verdict::refused;
            judged.text = ran.failure->detail;
        }
    }
    judge(std::move(judged), out);
}

bool Core::Impl::waits_in_other_form(const chain::DecodedTransaction& transaction) const {
    const chain::PooledTransaction* waiting = pool_.find(transaction.id);
    return waiting != nullptr && waiting->transaction->packed != transaction.packed;
}

void Core::Impl::on_vote(const p2p::effect::VoteArrived& arrived, Effects& out) {
    const chain::Vote& vote = arrived.vote;
    p2p::input::Judged judged{Item::vote, arrived.id, arrived.channel, Verdict::unsure, ""};
    const chain::ScheduleState* schedules = consensus_.schedules_of(vote.data);
    // Nobody votes for a block before its slot. Such votes have no end, where no two are of one
    // slot: they are not passed on.
    const bool is_ahead = consensus_.is_too_early(now_, vote.data.slot);
    if (schedules == nullptr) judged.text = "the schedule of its block is not known";
    if (is_ahead) {
        judged.text =
            fmt::format("slot {} has not come: its voter's clock or ours is wrong", vote.data.slot);
    }
    const bool is_old = is_past(vote.data.slot);
    if (is_old) {
        judged.verdict = Verdict::duplicate;
        judged.text = "older than what is final here";
    }
    const bool counts = schedules != nullptr && !is_ahead && !is_old;
    // What a key of ours has signed binds it, also where our disk is too old to know the schedule,
    // and whenever that was.
    const bool binds = consensus_.is_bound_by(vote);
    if (!counts && !binds) return judge(std::move(judged), out);
    const auto has_key = [&](const chain::Schedule* schedule) {
        return schedule != nullptr &&
               std::ranges::find(schedule->entries, vote.key, &chain::ScheduleEntry::vote_key) !=
                   schedule->entries.end();
    };
    const bool is_scheduled =
        schedules != nullptr && (has_key(schedules->active.get()) || has_key(schedules->pending()));
    // A key of ours may be in one that was proposed above the head that we have.
    if (!is_scheduled && !binds) {
        judged.verdict = Verdict::refused;
        judged.text = "by a key that is in no schedule";
        return judge(std::move(judged), out);
    }
    const base::Hash256 digest = vote.data.digest(chain_->identity().chain_id);
    const bool is_signed = base::crypto::verify(vote.key, vote.signature, digest);
    if (!chain::is_left_out(chain::Rule::vote_signature) && !is_signed) {
        judged.verdict = Verdict::bad;
        judged.text = "the vote's signature is wrong";
        return judge(std::move(judged), out);
    }
    const bool is_news = counts && is_scheduled;
    if (is_news) judged.verdict = Verdict::good;
    judge(std::move(judged), out);
    if (binds) feed(consensus::input::OwnVoteSeen{vote}, out);
    if (is_news) feed(consensus::input::VoteReceived{vote}, out);
}

// Anyone may have kept votes of any slot. What convicts their signers comes in a block, or in the
// votes of slots that are not decided yet.
bool Core::Impl::is_past(chain::Slot slot) const {
    const auto slots =
        static_cast<chain::Slot>(kPastFor.count()) / chain_->identity().times.interval_milliseconds;
    return slot + std::max(kPastSlots, slots) < consensus_.finalized().slot;
}

void Core::Impl::on_certificate(const p2p::effect::CertificateArrived& arrived, Effects& out) {
    const chain::Certificate& certificate = arrived.certificate;
    p2p::input::Judged judged{Item::certificate, arrived.id, arrived.channel, Verdict::unsure, ""};
    const Arrivals::Key named{certificate.data.height, certificate.data.block_id};
    const Arrival* arrival = arrivals_.find(named);
    const chain::ScheduleState* schedules = arrival != nullptr ? voters_of(*arrival) : nullptr;
    if (schedules == nullptr) schedules = consensus_.schedules_of(certificate.data);
    if (schedules == nullptr) {
        judged.text = "the schedule of its block is not known";
        return judge(std::move(judged), out);
    }
    const bool is_here = consensus_.holds(certificate.data.block_id);
    const chain::Slot final_slot = consensus_.finalized().slot;
    const bool is_final = certificate.data.slot == final_slot &&
                          (!is_here || certificate.data.kind == chain::VoteKind::commit);
    if (certificate.data.slot < final_slot || is_final) {
        judged.verdict = Verdict::duplicate;
        judged.text = "older than what is final here";
        return judge(std::move(judged), out);
    }
    if (!is_here && !may_be_under(certificate, *schedules)) {
        judged.text = "the schedules of its block are not known";
        return judge(std::move(judged), out);
    }
    auto* known = proved_certificates_.find(certificate.data, *schedules);
    auto good = known == nullptr ? verify(certificate, *schedules, out)
                                 : hear_others(*known, certificate, out);
    if (!good) {
        judged.verdict = Verdict::bad;
        judged.text = good.error().detail;
        return judge(std::move(judged), out);
    }
    judged.verdict = Verdict::good;
    judge(std::move(judged), out);
    // Of another one than the first not all signatures were looked at.
    feed(consensus::input::CertificateReceived{known == nullptr ? certificate : known->certificate},
         out);
    const bool is_missing = !consensus_.holds(certificate.data.block_id) &&
                            certificate.data.slot > consensus_.finalized().slot;
    if (!is_missing) return;
    tell(p2p::input::Certified{certificate.data.block_id, arrived.channel}, out);
    if (certify(named, out)) work_off(out);
}

void Core::Impl::on_peer_ready(const p2p::effect::PeerReady& ready, Effects& out) {
    feed(consensus::input::ValidatorHeard{ready.vote_keys}, out);
    say_clock_to_who_came(out);
    for (const chain::Certificate* certificate :
         {consensus_.highest_notarize(), consensus_.final_certificate()}) {
        if (certificate != nullptr) {
            tell(p2p::input::PassCertificate{*certificate, ready.channel}, out);
        }
    }
    for (const chain::BlockId& lock : consensus_.missing_locks())
        tell(p2p::input::Certified{lock, ready.channel}, out);
}

// What is held is answered at once; the rest is read from the disk.
void Core::Impl::on_read(const p2p::effect::ReadBlocks& wanted, Effects& out) const {
    effect::ReadBlocks read{wanted};
    read.wanted.ids.clear();
    std::size_t bytes = 0;
    // What is not checked is as good as absent; so is a block that stays below the earliest one.
    const chain::Height served_from = std::max(earliest_height_, unchecked_.checked_from());
    if (wanted.is_for_peer && wanted.ids.empty() && wanted.from < served_from) {
        return tell(p2p::input::BlocksRead{wanted.ticket, {}}, out);
    }
    for (const chain::BlockId& id : wanted.ids) {
        const auto block = chain_->find(id);
        if (unchecked_.find(chain::height_of(id)) != nullptr || is_spared(id)) continue;
        if (wanted.is_for_peer && chain::height_of(id) < earliest_height_) continue;
        if (block == nullptr) {
            read.wanted.ids.push_back(id);
        } else if (bytes < wanted.bytes_max) {
            read.held.push_back(
                std::make_shared<const base::Bytes>(chain::encode_block(*block->block)));
            bytes += read.held.back()->size();
        }
    }
    if (wanted.ids.empty() || !read.wanted.ids.empty()) {
        out.push_back(std::move(read));
    } else {
        tell(p2p::input::BlocksRead{wanted.ticket, std::move(read.held)}, out);
    }
}

void Core::Impl::tell(p2p::Input said, Effects& out) const {
    if (options_.has_peers) out.push_back(effect::ToPeers{std::move(said)});
}

void Core::Impl::judge(p2p::input::Judged judged, Effects& out) const {
    tell(std::move(judged), out);
}

// Where this node stands: what it shows as head, and what is durably final.
void Core::Impl::tell_ledger(Effects& out) const {
    if (!options_.has_peers) return;
    p2p::input::LedgerChanged changed;
    changed.finalized = {shown_final_->header.height, shown_final_->id};
    changed.head = changed.finalized;
    changed.earliest_height = earliest_height_;
    changed.served_from = unchecked_.checked_from();
    changed.schedule_version = chain_->schedules_below(chain_->finalized()->id)->active->version;
    if (finalizing_) {
        for (const chain::ExecutedBlockPtr& block : finalizing_->blocks) {
            changed.branch.push_back(block->block->id);
            changed.head = {block->block->header.height, block->block->id};
        }
    }
    for (const chain::ExecutedBlockPtr& block : chain_->branch(shown_head_)) {
        changed.branch.push_back(block->block->id);
        changed.head = {block->block->header.height, block->block->id};
    }
    tell(std::move(changed), out);
}

// Who may connect, as the final state says; told when it changes, be it that a key has expired.
void Core::Impl::tell_registry(Effects& out) {
    if (!options_.has_peers) return;
    const auto now = chain_->identity().times.time_of(shown_final_->header.slot);
    auto registry = chain::load_registry(*shown_final_state_, now);
    if (!registry) {
        environment_.log.error("registry of nodes: {}", registry.error().detail);
        return;
    }
    if (registry_ == *registry) return;
    registry_ = *std::move(registry);
    p2p::input::RegistryChanged changed;
    for (const chain::RegisteredKey& key : registry_->keys) {
        changed.nodes.push_back({key.key, key.organisation, static_cast<std::uint8_t>(key.roles)});
    }
    tell(std::move(changed), out);
}

base::Result<void> Core::Impl::verify_all(const std::vector<consensus::ToVerify>& certificates,
                                          Effects& out) {
    for (const consensus::ToVerify& proof : certificates) {
        if (auto good = verify(proof.certificate, proof.schedules, out); !good) return good;
    }
    return {};
}

// What a key has signed binds it, also where it was seen in a certificate alone: who lost its
// journal is told of it in the answer to its hello.
void Core::Impl::tell_votes(const chain::Certificate& certificate,
                            const chain::ScheduleState& schedules,
                            Effects& out) const {
    if (!options_.has_peers) return;
    const auto keys = consensus::signers(certificate, schedules);
    p2p::input::VotesProved proved;
    for (std::size_t i = 0; i < keys.size() && i < certificate.signatures.size(); ++i) {
        proved.votes.push_back({certificate.data, keys[i], certificate.signatures[i]});
    }
    tell(std::move(proved), out);
}

base::Result<void> Core::Impl::hear_others(ProvedCertificates::Entry& known,
                                           const chain::Certificate& certificate,
                                           Effects& out) const {
    if (certificate == known.certificate) return {};
    if (auto good = consensus::check_form(certificate, known.schedules); !good) return good;
    const auto keys = consensus::signers(certificate, known.schedules);
    const base::Hash256 digest = certificate.data.digest(chain_->identity().chain_id);
    p2p::input::VotesProved proved;
    for (std::size_t i = 0; i < keys.size() && i < certificate.signatures.size(); ++i) {
        if (std::ranges::find(known.signers, keys[i]) != known.signers.end()) continue;
        if (!base::crypto::verify(keys[i], certificate.signatures[i], digest)) {
            return base::fail(
                base::Errc::invalid,
                fmt::format("certificate signature {} is not by {}", i, keys[i].to_string()));
        }
        known.signers.push_back(keys[i]);
        proved.votes.push_back({certificate.data, keys[i], certificate.signatures[i]});
    }
    if (!proved.votes.empty()) tell(std::move(proved), out);
    return {};
}

void Core::Impl::note_proved(const chain::Certificate& certificate) {
    // Of a block that is not here any more the schedules are not known.
    if (!consensus_.holds(certificate.data.block_id)) return;
    const chain::ScheduleState* schedules = consensus_.schedules_of(certificate.data);
    if (schedules != nullptr) proved_certificates_.add(certificate, *schedules);
}

base::Result<void> Core::Impl::verify(const chain::Certificate& certificate,
                                      const chain::ScheduleState& schedules,
                                      Effects& out) {
    const base::Hash256 id = id_of(certificate, schedules);
    if (verified_.contains(id)) return {};
    auto good = consensus::verify(certificate, schedules, chain_->identity().chain_id);
    if (!good) return good;
    tell_votes(certificate, schedules, out);
    proved_certificates_.add(certificate, schedules);
    verified_.insert(id);
    verified_order_.push_back(id);
    if (verified_order_.size() > kVerifiedMax) {
        verified_.erase(verified_order_.front());
        verified_order_.pop_front();
    }
    return {};
}

}  // namespace node
