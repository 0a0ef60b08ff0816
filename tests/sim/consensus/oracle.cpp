#include "tests/sim/consensus/oracle.hpp"

#include <algorithm>

namespace sim {

namespace {

using base::crypto::PublicKey;

bool contains(const std::vector<PublicKey>& keys, const PublicKey& key) {
    return std::ranges::find(keys, key) != keys.end();
}

// The block of this slot on the branch; null: none.
const Known* find_on_branch(const Known& branch, chain::Slot slot) {
    const Known* at = &branch;
    while (at != nullptr && at->header().slot > slot) {
        at = at->parent;
    }
    return at != nullptr && at->header().slot == slot ? at : nullptr;
}

bool names_ancestor(const chain::BlockRef& named, const Known& parent) {
    const Known* found = find_on_branch(parent, named.slot);
    return found != nullptr && found->block->id == named.id;
}

bool is_same(const Term& term, const chain::Schedule& schedule) {
    return term.version == schedule.version && *term.entries == schedule.entries;
}

Term proposed_by(const Known& block) {
    const chain::Schedule& proposed = *block.header().schedule_change;
    return {proposed.version, &proposed.entries};
}

// The places that a bitmap names, in order. Nothing: it does not fit, or they are no quorum.
std::optional<std::vector<std::size_t>> named_by(const base::Bytes& bitmap, const Term& term) {
    constexpr std::size_t kBits = 8;
    const std::size_t size = term.entries->size();
    if (bitmap.size() * kBits < size || bitmap.size() * kBits >= size + kBits) return std::nullopt;
    std::vector<std::size_t> named;
    named.reserve(size);
    for (std::size_t i = 0; i < bitmap.size() * kBits; ++i) {
        const std::byte bit = std::byte{1} << (i % kBits);
        if ((bitmap[i / kBits] & bit) == std::byte{0}) continue;
        if (i >= size) return std::nullopt;
        named.push_back(i);
    }
    if (!term.is_quorum(named.size())) return std::nullopt;
    return named;
}

}  // namespace

// --- A block ---

chain::VoteData Known::data(chain::VoteKind kind) const {
    return {.kind = kind,
            .schedule_version = active.version,
            .slot = header().slot,
            .height = header().height,
            .block_id = block->id,
            .justify_slot = header().justify.slot};
}

bool Known::extends(const Known& ancestor) const {
    return find_on_branch(*this, ancestor.header().slot) == &ancestor;
}

bool Known::has(const chain::ScheduleState& schedules) const {
    const chain::Schedule* other = schedules.pending();
    if (!is_same(active, *schedules.active) || pending.has_value() != (other != nullptr)) {
        return false;
    }
    return !pending || is_same(*pending, *other);
}

const PublicKey* Known::signer() const {
    const auto entry =
        std::ranges::find(*active.entries, header().producer, &chain::ScheduleEntry::producer);
    return entry == active.entries->end() ? nullptr : &entry->signing_key;
}

bool Known::names(const PublicKey& vote_key) const {
    const auto is_in = [&](const Term& term) {
        return std::ranges::find(*term.entries, vote_key, &chain::ScheduleEntry::vote_key) !=
               term.entries->end();
    };
    return is_in(active) || (pending && is_in(*pending));
}

// --- Blocks ---

Oracle::Oracle(const Universe& universe) : universe_(universe) {
    for (const Member& member : universe.members) {
        if (!member.byzantine) continue;
        byzantine_.insert(member.vote_keys.begin(), member.vote_keys.end());
    }
    Known& genesis = known_[universe.genesis->id];
    genesis.block = universe.genesis;
    genesis.first = genesis.active = {0, &universe.choices.front()};
}

const Known* Oracle::find(const chain::BlockId& id) const {
    const auto found = known_.find(id);
    return found == known_.end() ? nullptr : &found->second;
}

Known& Oracle::add(const chain::BlockPtr& block) {
    const auto [at, added] = known_.try_emplace(block->id);
    Known& known = at->second;
    if (!added) return known;
    known.block = block;
    known.parent = find(block->header.previous);
    const Known* final = find(block->header.finalized.id);
    known.final_height = final == nullptr ? 0 : final->header().height;
    known.first = known.parent->first;
    if (begins_anew(block->header)) {
        known.first = {reset_->schedule.version, &reset_->schedule.entries};
    } else {
        known.change = known.parent->change;
    }
    derive_schedules(known);
    known.fault = fault_of(known);
    if (block->header.schedule_change) known.change = &known;
    // Enough of them may be Byzantine.
    for (const chain::VoteKind kind : {chain::VoteKind::notarize, chain::VoteKind::commit}) {
        count(known, kind);
    }
    return known;
}

bool Oracle::begins_anew(const chain::BlockHeader& header) const {
    return reset_ && header.previous == reset_->from &&
           header.schedule_version == reset_->schedule.version;
}

// A change proposed in C is pending for a block whose parent has height(final) >= height(C). Let P
// be the first such block: it is active for a block whose parent has height(final) >= height(P).
void Oracle::derive_schedules(Known& block) const {
    const Known* proposer = block.change;
    if (proposer == nullptr) {
        block.active = block.first;
        return;
    }
    const Known* first_pending = nullptr;
    for (const Known* at = &block; at != proposer; at = at->parent) {
        if (at->parent->final_height < proposer->header().height) break;
        first_pending = at;
    }
    const bool is_active =
        first_pending != nullptr && block.parent->final_height >= first_pending->header().height;
    if (is_active) {
        block.active = proposed_by(*proposer);
        return;
    }
    block.active = proposer->active;
    if (first_pending != nullptr) block.pending = proposed_by(*proposer);
}

std::string Oracle::fault_of(const Known& block) const {
    const chain::BlockHeader& header = block.header();
    const chain::BlockHeader& parent = block.parent->header();
    if (!block.parent->fault.empty()) return "its parent: " + block.parent->fault;
    if (header.slot <= parent.slot) return "slot";
    if (header.height != parent.height + 1) return "height";
    if (header.schedule_version != block.active.version) return "schedule version";
    const auto& entries = *block.active.entries;
    const std::size_t turn = header.slot / universe_.repetitions % entries.size();
    if (header.producer != entries[turn].producer) return "producer";
    if (header.justify.slot < parent.justify.slot) return "justify below the parent's";
    if (header.finalized.slot < parent.finalized.slot) return "final below the parent's";
    if (header.finalized.slot > header.justify.slot) return "final above justify";
    if (header.justify != parent.justify && !names_ancestor(header.justify, *block.parent)) {
        return "justify is no ancestor";
    }
    if (header.finalized != parent.finalized && !names_ancestor(header.finalized, *block.parent)) {
        return "final is no ancestor";
    }
    const auto interval = universe_.times.interval_milliseconds;
    const chain::Slot full_within = std::min(60'000 / interval, std::max(120U, 7'000 / interval));
    if (!header.transaction_root.is_zero() && header.slot > header.finalized.slot + full_within) {
        return "transactions so long without a final block";
    }
    return header.schedule_change ? fault_of_change(block) : std::string();
}

// Nothing is proposed while a change is on its way, and only by the first block of a period.
std::string Oracle::fault_of_change(const Known& block) const {
    const Known* before = block.change;
    const bool is_on_its_way =
        before != nullptr && !is_same(block.active, *before->header().schedule_change);
    if (is_on_its_way) return "a change where another is on its way";
    if (block.header().slot / universe_.period == block.parent->header().slot / universe_.period) {
        return "a change within a period";
    }
    const bool is_next = block.header().schedule_change->version == block.active.version + 1;
    return is_next ? std::string() : "the version of the change";
}

// --- Votes ---

bool Oracle::vote(const chain::Vote& vote) {
    const auto found = known_.find(vote.data.block_id);
    if (found == known_.end() || vote.data != found->second.data(vote.data.kind)) return false;
    auto& voters = found->second.voters[index_of(vote.data.kind)];
    if (contains(voters, vote.key)) return true;
    voters.push_back(vote.key);
    count(found->second, vote.data.kind);
    return true;
}

bool Oracle::can_have_signed(const Key& key, const Known& block, chain::VoteKind kind) const {
    return contains(block.voters[index_of(kind)], key) || is_byzantine(key);
}

void Oracle::count(Known& block, chain::VoteKind kind) const {
    if (block.can_certify[index_of(kind)]) return;
    const auto has_quorum = [&](const Term& term) {
        std::size_t votes = 0;
        for (const chain::ScheduleEntry& entry : *term.entries) {
            votes += can_have_signed(entry.vote_key, block, kind) ? 1U : 0U;
        }
        return term.is_quorum(votes);
    };
    block.can_certify[index_of(kind)] =
        has_quorum(block.active) && (!block.pending || has_quorum(*block.pending));
}

std::vector<PublicKey> Oracle::possible_signers(const Known& block, chain::VoteKind kind) const {
    std::vector<Key> keys;
    const auto gather = [&](const Term& term) {
        for (const chain::ScheduleEntry& entry : *term.entries) {
            const Key& key = entry.vote_key;
            if (can_have_signed(key, block, kind) && !contains(keys, key)) keys.push_back(key);
        }
    };
    gather(block.active);
    if (block.pending) gather(*block.pending);
    return keys;
}

std::optional<std::vector<PublicKey>> Oracle::signers(const chain::Certificate& certificate) const {
    const Known* block = find(certificate.data.block_id);
    if (block == nullptr || certificate.data != block->data(certificate.data.kind)) {
        return std::nullopt;
    }
    if (certificate.bitmaps.size() != (block->pending ? 2 : 1)) return std::nullopt;
    std::vector<Key> keys;
    keys.reserve(certificate.signatures.size());
    for (std::size_t i = 0; i < certificate.bitmaps.size(); ++i) {
        const Term& term = i == 0 ? block->active : *block->pending;
        const auto named = named_by(certificate.bitmaps[i], term);
        if (!named) return std::nullopt;
        for (const std::size_t place : *named) {
            const Key& key = (*term.entries)[place].vote_key;
            // A schedule names a key once.
            if (i == 0 || !contains(keys, key)) keys.push_back(key);
        }
    }
    if (keys.size() != certificate.signatures.size()) return std::nullopt;
    return keys;
}

// --- Evidence ---

bool Testimony::forbids(const chain::VoteData& commit, const chain::VoteData& notarize) const {
    if (notarize.slot <= commit.slot || notarize.justify_slot >= commit.slot) return false;
    if (notarize.height <= commit.height) return true;
    // The headers from the NOTARIZE's block down must show another block at that height.
    const Known* voted = oracle_.find(notarize.block_id);
    const Known* committed = oracle_.find(commit.block_id);
    if (voted == nullptr) return false;
    return committed == nullptr || !voted->extends(*committed);
}

bool Testimony::hear(const PublicKey& key, const chain::VoteData& data) {
    auto& [notarized, committed] = said_[key];
    BySlot& same_kind = data.kind == chain::VoteKind::commit ? committed : notarized;
    const auto [at, is_first] = same_kind.try_emplace(data.slot, data);
    bool is_guilty = !is_first && at->second != data;
    if (data.kind == chain::VoteKind::commit) {
        for (auto later = notarized.upper_bound(data.slot); later != notarized.end(); ++later) {
            is_guilty = is_guilty || forbids(data, later->second);
        }
    } else {
        const auto end = committed.lower_bound(data.slot);
        auto earlier = committed.upper_bound(std::min(data.justify_slot, data.slot));
        for (; earlier != committed.end() && earlier != end; ++earlier) {
            is_guilty = is_guilty || forbids(earlier->second, data);
        }
    }
    if (is_guilty) convicted_.insert(key);
    return is_guilty;
}

bool Testimony::explains(const Known& a, const Known& b) const {
    const auto is_exceeded = [&](const Term& term) {
        std::size_t guilty = 0;
        for (const chain::ScheduleEntry& entry : *term.entries) {
            guilty += convicted_.contains(entry.vote_key) ? 1U : 0U;
        }
        return term.is_beyond(guilty);
    };
    for (const Known* branch : {&a, &b}) {
        for (const Known* at = branch; at != nullptr; at = at->parent) {
            if (is_exceeded(at->active) || (at->pending && is_exceeded(*at->pending))) return true;
        }
    }
    return false;
}

}  // namespace sim
