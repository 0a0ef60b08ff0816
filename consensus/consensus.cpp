#include "consensus/consensus.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace consensus {

namespace {

// How late after the start of its slot a block may still be made: a quarter of the interval.
constexpr int kLatestShare = 4;
// Votes are for recent blocks only: at most this far behind the clock (R1).
constexpr std::int64_t kRecentMilliseconds = 2000;
// A COMMIT must be able to arrive before its slot ends (R2, liveness guard).
constexpr std::int64_t kGuardMilliseconds = 2;

}  // namespace

Consensus::Consensus(Options options, Root root, SafetyJournal journal)
    : options_(std::move(options)),
      journal_(std::move(journal)),
      head_(root.id),
      final_(root.id),
      final_slot_(root.header.slot),
      final_certificate_(std::move(root.certificate)) {
    insert(root.header, root.id);
}

void Consensus::restore(const chain::BlockHeader& header, const chain::BlockId& id) {
    insert(header, id);
    choose_head();
}

void Consensus::restore(const chain::Certificate& certificate) {
    if (certificate.data.kind != chain::VoteKind::notarize) return;
    if (const auto found = nodes_.find(certificate.data.block_id); found != nodes_.end()) {
        found->second.notarized = certificate;
        choose_head();
    }
}

void Consensus::step(base::Timestamp now, const Input& input, Effects& out) {
    if (std::holds_alternative<input::Tick>(input)) {
        on_tick(now, out);
    } else if (const auto* block = std::get_if<input::BlockAdopted>(&input)) {
        on_block(now, *block, out);
    } else if (const auto* vote = std::get_if<input::VoteReceived>(&input)) {
        if (auto certificate = votes_.add(vote->vote, options_.schedule)) {
            on_certificate(now, *certificate, out);
        }
    } else if (const auto* received = std::get_if<input::CertificateReceived>(&input)) {
        on_certificate(now, received->certificate, out);
    }
}

void Consensus::on_tick(base::Timestamp now, Effects& out) {
    const chain::SlotTimes& times = options_.times;
    const chain::Slot slot = times.slot_at(chain::TimePoint::from_timestamp(now));
    const base::Timestamp start = times.time_of(slot).to_timestamp();
    const base::Duration interval = std::chrono::milliseconds(times.interval_milliseconds);
    const chain::ScheduleEntry& entry = options_.schedule.producer_of(slot, options_.repetitions);
    const Node* head = find(head_);
    CHECK(head != nullptr);
    if (!paused_ && slot > head->slot && slot > asked_slot_ && now >= start &&
        now <= start + interval / kLatestShare && owns(entry.signing_key)) {
        const KeySafety* safety = journal_.find(key_tag(entry.signing_key));
        if (safety != nullptr && slot > safety->produced_slot) {
            asked_slot_ = slot;
            produce(slot, entry, out);
        }
    }
    out.push_back(effect::WakeAt{start + interval});
}

void Consensus::produce(chain::Slot slot, const chain::ScheduleEntry& entry, Effects& out) const {
    effect::Produce produce;
    produce.producer = entry;
    produce.slot = slot;
    produce.parent = head_;
    const Node* parent = find(head_);
    chain::Slot justify_slot = parent->justify.slot;
    const Node* notarized = highest_notarized(head_);
    if (notarized != nullptr && notarized->slot > justify_slot) {
        produce.justify = notarized->notarized;
        justify_slot = notarized->slot;
    }
    // A header never claims a final block above its justify: then it waits for the next block.
    if (final_certificate_ && final_slot_ > parent->finalized.slot && final_slot_ <= justify_slot) {
        produce.finalized = final_certificate_;
    }
    out.push_back(std::move(produce));
}

void Consensus::on_block(base::Timestamp now, const input::BlockAdopted& block, Effects& out) {
    insert(block.header, block.id);
    choose_head();
    const Node* node = find(block.id);
    CHECK(node != nullptr);

    Promises promises;
    if (block.own) promise_header(block, promises);
    // A COMMIT that missed its slot may still go out together with a NOTARIZE of the block that
    // carries its certificate (R2).
    const Node* justify = find(node->justify.id);
    const bool recent = is_recent(now, node->slot);
    for (const chain::ScheduleEntry& entry : options_.schedule.entries) {
        const KeySafety* safety = journal_.find(key_tag(entry.vote_key));
        if (!owns(entry.vote_key) || safety == nullptr) continue;
        if (!recent || !may_notarize(*node, *safety)) continue;
        if (justify != nullptr && justify->notarized && may_commit(*justify, *safety)) {
            promise_commit(*justify, entry.vote_key, promises);
        }
        promise_notarize(*node, entry.vote_key, promises);
    }
    carry_out(std::move(promises), block.id, std::nullopt, out);
}

void Consensus::on_certificate(base::Timestamp now,
                               const chain::Certificate& certificate,
                               Effects& out) {
    const auto found = nodes_.find(certificate.data.block_id);
    if (found == nodes_.end()) return;  // Final already, or a block we do not have yet.
    if (certificate.data.kind == chain::VoteKind::commit) {
        if (certificate.data.slot > final_slot_) finalize(certificate, out);
        return;
    }
    Node& node = found->second;
    if (node.notarized) return;
    node.notarized = certificate;
    choose_head();

    Promises promises;
    if (in_time(now, node.slot)) {
        for (const chain::ScheduleEntry& entry : options_.schedule.entries) {
            const KeySafety* safety = journal_.find(key_tag(entry.vote_key));
            if (!owns(entry.vote_key) || safety == nullptr) continue;
            if (may_commit(node, *safety)) promise_commit(node, entry.vote_key, promises);
        }
    }
    carry_out(std::move(promises), std::nullopt, certificate, out);
}

void Consensus::promise_header(const input::BlockAdopted& block, Promises& promises) const {
    const auto entry = options_.schedule.find_producer(block.header.producer);
    CHECK(entry.has_value());
    promises.records.push_back({.kind = RecordKind::produced,
                                .key = key_tag(options_.schedule.entries[*entry].signing_key),
                                .slot = block.header.slot,
                                .block = block.id});
    promises.announce = true;
}

void Consensus::promise_notarize(const Node& block,
                                 const base::crypto::PublicKey& key,
                                 Promises& promises) const {
    const KeyTag tag = key_tag(key);
    const KeySafety* safety = journal_.find(tag);
    promises.records.push_back({.kind = RecordKind::notarize,
                                .key = tag,
                                .slot = block.slot,
                                .justify_slot = block.justify.slot,
                                .lock_slot = safety->lock_slot,
                                .block = block.id,
                                .lock = safety->lock});
    promises.votes.push_back({vote_data(chain::VoteKind::notarize, block), key});
}

void Consensus::promise_commit(const Node& block,
                               const base::crypto::PublicKey& key,
                               Promises& promises) const {
    promises.records.push_back({.kind = RecordKind::commit,
                                .key = key_tag(key),
                                .slot = block.slot,
                                .justify_slot = block.justify.slot,
                                .lock_slot = block.slot,
                                .block = block.id,
                                .lock = block.id});
    promises.votes.push_back({vote_data(chain::VoteKind::commit, block), key});
}

// The order is the point: what was promised is durable before anybody can see the promise.
void Consensus::carry_out(Promises promises,
                          std::optional<chain::BlockId> block,
                          std::optional<chain::Certificate> certificate,
                          Effects& out) {
    effect::Persist persist;
    if (!promises.records.empty()) persist.journal_page = journal_.append(promises.records);
    persist.block = block;
    persist.certificate = certificate;
    out.push_back(std::move(persist));
    if (promises.announce) out.push_back(effect::Announce{*block});
    if (certificate) out.push_back(effect::PassOn{*std::move(certificate)});
    for (effect::CastVote& vote : promises.votes) {
        out.push_back(std::move(vote));
    }
}

void Consensus::finalize(const chain::Certificate& certificate, Effects& out) {
    final_ = certificate.data.block_id;
    final_slot_ = certificate.data.slot;
    final_certificate_ = certificate;
    // What does not build on the final block can never become final.
    std::erase_if(nodes_, [&](const auto& entry) { return !extends(entry.second, final_); });
    votes_.forget_up_to(final_slot_);
    journal_.forget_votes_up_to(final_slot_);
    choose_head();
    out.push_back(effect::Finalize{certificate});
    out.push_back(effect::PassOn{certificate});
}

bool Consensus::may_notarize(const Node& block, const KeySafety& safety) const {
    return block.slot > safety.last_notarize.slot && block.slot > safety.lock_slot &&
           block.justify.slot >= safety.lock_slot && extends(block, final_);
}

bool Consensus::may_commit(const Node& block, const KeySafety& safety) const {
    if (block.slot <= safety.lock_slot || block.slot <= final_slot_) return false;
    return std::ranges::none_of(safety.past_votes, [&](const PastVote& vote) {
        if (vote.slot <= block.slot || vote.justify_slot >= block.slot) return false;
        const Node* voted = find(vote.block);
        // A block that we no longer know cannot be shown to extend this one: refuse.
        return voted == nullptr || !extends(*voted, block.id);
    });
}

bool Consensus::in_time(base::Timestamp now, chain::Slot slot) const {
    const base::Timestamp end = options_.times.time_of(slot + 1).to_timestamp();
    const base::Duration interval = std::chrono::milliseconds(options_.times.interval_milliseconds);
    const base::Duration guard = std::chrono::milliseconds(kGuardMilliseconds);
    return now < end - std::min(guard, base::Duration(interval / 4));
}

bool Consensus::is_recent(base::Timestamp now, chain::Slot slot) const {
    const chain::Slot current = options_.times.slot_at(chain::TimePoint::from_timestamp(now));
    const auto behind = static_cast<chain::Slot>(
        std::max<std::int64_t>(2, kRecentMilliseconds / options_.times.interval_milliseconds));
    return slot + behind >= current;
}

chain::VoteData Consensus::vote_data(chain::VoteKind kind, const Node& block) const {
    return {.kind = kind,
            .schedule_version = options_.schedule.version,
            .slot = block.slot,
            .height = block.height,
            .block_id = block.id,
            .justify_slot = block.justify.slot};
}

void Consensus::insert(const chain::BlockHeader& header, const chain::BlockId& id) {
    nodes_.emplace(id,
                   Node{.id = id,
                        .previous = header.previous,
                        .height = header.height,
                        .slot = header.slot,
                        .justify = header.justify,
                        .finalized = header.finalized,
                        .notarized = std::nullopt});
}

void Consensus::choose_head() {
    const auto rank = [&](const Node& node) {
        const Node* notarized = highest_notarized(node.id);
        return std::pair(notarized == nullptr ? chain::Slot{0} : notarized->slot, node.slot);
    };
    const Node* best = find(final_);
    CHECK(best != nullptr);
    auto best_rank = rank(*best);
    for (const auto& [id, node] : nodes_) {  // In order of ids: the lowest id wins a tie.
        if (!extends(node, final_)) continue;
        if (const auto node_rank = rank(node); node_rank > best_rank) {
            best = &node;
            best_rank = node_rank;
        }
    }
    head_ = best->id;
}

const Consensus::Node* Consensus::find(const chain::BlockId& id) const {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? nullptr : &found->second;
}

bool Consensus::extends(const Node& block, const chain::BlockId& ancestor) const {
    for (const Node* node = &block; node != nullptr; node = find(node->previous)) {
        if (node->id == ancestor) return true;
    }
    return false;
}

const Consensus::Node* Consensus::highest_notarized(const chain::BlockId& tip) const {
    for (const Node* node = find(tip); node != nullptr; node = find(node->previous)) {
        if (node->notarized) return node;
    }
    return nullptr;
}

bool Consensus::owns(const base::crypto::PublicKey& key) const {
    return std::ranges::find(options_.own_keys, key) != options_.own_keys.end();
}

}  // namespace consensus
