#include "tests/sim/consensus/observer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace sim {

namespace {

constexpr std::array<chain::VoteKind, 2> kKinds{chain::VoteKind::notarize, chain::VoteKind::commit};
constexpr std::size_t kEosDepth = 64;

std::string name_of(const Seen& block) {
    return fmt::format("{}:{}",
                       block.header().slot,
                       base::to_hex(base::ByteView(block.block->id.bytes).subspan(4, 4)));
}

}  // namespace

chain::VoteData Seen::data(chain::VoteKind kind) const {
    return {.kind = kind,
            .schedule_version = header().schedule_version,
            .slot = header().slot,
            .height = header().height,
            .block_id = block->id,
            .justify_slot = header().justify.slot};
}

void Seen::count(const base::crypto::PublicKey& key, chain::VoteKind kind) {
    const std::array<const chain::Schedule*, 2> needed{schedules.active.get(), schedules.pending()};
    for (std::size_t i = 0; i < needed.size(); ++i) {
        std::size_t& left = lacking[index_of(kind)][i];
        if (needed[i] == nullptr || left == 0) continue;
        for (const chain::ScheduleEntry& entry : needed[i]->entries) {
            if (entry.vote_key == key) --left;
        }
    }
}

Observer::Observer(const Universe& universe, bool beyond_bound)
    : universe_(universe), beyond_bound_(beyond_bound) {
    any_byzantine_ = std::ranges::any_of(universe.members, &Member::byzantine);
    Seen& genesis = seen_[universe.genesis->id];
    genesis.block = universe.genesis;
    genesis.schedules = chain::first_schedules({0, universe.choices[0]});
    order_.push_back(&genesis);
}

void Observer::fail(std::string what) {
    if (failure_.empty()) failure_ = std::move(what);
}

Seen* Observer::find(const chain::BlockId& id) {
    const auto found = seen_.find(id);
    return found == seen_.end() ? nullptr : &found->second;
}

Seen& Observer::add(const chain::BlockPtr& block) {
    const auto [at, added] = seen_.try_emplace(block->id);
    Seen& seen = at->second;
    if (!added) return seen;
    seen.block = block;
    seen.parent = find(block->header.previous);
    seen.schedules = chain::with_proposal(
        chain::schedules_below(seen.parent->schedules, seen.parent->header()), block->header);
    const auto quorum = [](const chain::Schedule* schedule) {
        return schedule == nullptr ? 0 : 2 * schedule->entries.size() / 3 + 1;
    };
    for (const chain::VoteKind kind : kKinds) {
        seen.lacking[index_of(kind)] = {quorum(seen.schedules.active.get()),
                                        quorum(seen.schedules.pending())};
        for (const Member& member : universe_.members) {
            if (!member.byzantine) continue;
            for (const auto& key : member.vote_keys)
                seen.count(key, kind);
        }
    }
    order_.push_back(&seen);
    check_eos(seen);
    return seen;
}

void Observer::header_left(const chain::Block& block) {
    const auto [at, added] =
        headers_.try_emplace({block.header.producer, block.header.slot}, block.id);
    if (!added && at->second != block.id) {
        fail(fmt::format("two headers of an honest producer in slot {}", block.header.slot));
    }
}

bool Observer::extends(const Seen& block, const Seen& ancestor) {
    const Seen* at = &block;
    while (at != nullptr && at->header().height > ancestor.header().height) {
        at = at->parent;
    }
    return at == &ancestor;
}

bool Observer::related(const Seen& a, const Seen& b) {
    return extends(a, b) || extends(b, a);
}

bool Observer::breaks_a_rule(const chain::Vote& a, const chain::Vote& b) {
    const auto evidence = chain::find_evidence(a, b);
    if (!evidence) return false;
    const auto* pair = std::get_if<chain::ForbiddenCommit>(&*evidence);
    if (pair == nullptr) return true;
    const Seen* commit = find(pair->commit.data.block_id);
    const Seen* notarize = find(pair->notarize.data.block_id);
    return !extends(*notarize, *commit);
}

void Observer::vote_left(const chain::Vote& vote) {
    auto& before = by_key_[vote.key];
    for (const chain::Vote& other : before) {
        if (breaks_a_rule(other, vote)) {
            fail(fmt::format("an honest key broke a rule: kind {} slot {} after kind {} slot {}",
                             static_cast<int>(vote.data.kind),
                             vote.data.slot,
                             static_cast<int>(other.data.kind),
                             other.data.slot));
        }
    }
    before.push_back(vote);
    Seen* block = find(vote.data.block_id);
    if (block == nullptr) return fail("a vote for a block that nobody made");
    auto& votes = block->votes[index_of(vote.data.kind)];
    const bool is_new = std::ranges::find(votes, vote.key, &chain::Vote::key) == votes.end();
    votes.push_back(vote);
    if (is_new) block->count(vote.key, vote.data.kind);
    if (block->finalizable()) check_final(*block);
}

void Observer::check_final(Seen& block) {
    if (std::ranges::find(final_, &block) != final_.end()) return;
    for (Seen* other : final_) {
        if (related(block, *other)) continue;
        ++conflicts_;
        if (beyond_bound_) {
            check_proof(block, *other);
        } else {
            fail(fmt::format("COMMIT certificates of {} and {}", name_of(block), name_of(*other)));
        }
    }
    final_.push_back(&block);
    if (eos_final_ != nullptr && !any_byzantine_ && !recovery_ && !related(block, *eos_final_)) {
        fail(fmt::format("the EOS rule has {} irreversible, a certificate has {}",
                         name_of(*eos_final_),
                         name_of(block)));
    }
}

// The keys that two votes of all certificates that can exist convict.
std::set<base::crypto::PublicKey> Observer::guilty() {
    std::set<base::crypto::PublicKey> keys;
    std::map<base::crypto::PublicKey, std::vector<chain::VoteData>> said;
    const auto hear = [&](const base::crypto::PublicKey& key, const chain::VoteData& data) {
        auto& before = said[key];
        const bool breaks = std::ranges::any_of(before, [&](const chain::VoteData& other) {
            return breaks_a_rule({other, key, {}}, {data, key, {}});
        });
        if (breaks) keys.insert(key);
        before.push_back(data);
    };
    for (const Seen* block : order_) {
        for (const chain::VoteKind kind : kKinds) {
            const auto made = certificate(*block, kind);
            if (!made) continue;
            for (const auto& key : consensus::signers(*made, block->schedules)) {
                hear(key, made->data);
            }
        }
    }
    return keys;
}

// More than f are Byzantine: conflicting certificates must convict somebody.
void Observer::check_proof(const Seen& a, const Seen& b) {
    const auto keys = guilty();
    if (keys.empty()) {
        fail(fmt::format("nobody is guilty of the conflict of {} and {}", name_of(a), name_of(b)));
    }
    for (const base::crypto::PublicKey& key : keys) {
        if (!universe_.owner(key)->byzantine) fail("an honest key is guilty of a conflict");
    }
}

void Observer::became_final(std::size_t node, const chain::BlockId& id) {
    const Seen* block = find(id);
    const Seen*& shown = shown_[node];
    if (shown != nullptr && !extends(*block, *shown)) {
        fail(fmt::format(
            "node {} showed {} as final, now {}", node, name_of(*shown), name_of(*block)));
    }
    shown = block;
    if (beyond_bound_) return;
    for (const auto& [other, final] : shown_) {
        if (final == nullptr || related(*block, *final)) continue;
        fail(fmt::format(
            "nodes {} and {} have {} and {} final", node, other, name_of(*block), name_of(*final)));
    }
}

void Observer::accused(const chain::Evidence& evidence) {
    if (auto good = chain::check_form(evidence); !good) {
        return fail("evidence that shows nothing: " + good.error().detail);
    }
    bool byzantine = false;
    if (const auto* headers = std::get_if<chain::TwoHeaders>(&evidence)) {
        const auto name = headers->first.header.producer;
        byzantine = std::ranges::find(universe_.members, name, &Member::name)->byzantine;
    } else if (const auto* votes = std::get_if<chain::TwoVotes>(&evidence)) {
        byzantine = universe_.owner(votes->first.key)->byzantine;
    } else {
        const auto& pair = std::get<chain::ForbiddenCommit>(evidence);
        byzantine = universe_.owner(pair.commit.key)->byzantine;
    }
    if (!byzantine) fail("an honest member is accused");
}

void Observer::schedules_on(std::size_t node,
                            const chain::BlockId& id,
                            const chain::ScheduleState& own) {
    const Seen* block = find(id);
    if (block->schedules == own) return;
    fail(fmt::format("node {} has another schedule for {}", node, name_of(*block)));
}

std::optional<chain::Certificate> Observer::certificate(const Seen& block,
                                                        chain::VoteKind kind) const {
    if (!block.has_quorum(kind)) return std::nullopt;
    chain::Certificate made;
    made.data = block.data(kind);
    const auto& votes = block.votes[index_of(kind)];
    std::vector<base::crypto::PublicKey> signed_already;
    for (const chain::Schedule* schedule :
         {block.schedules.active.get(), block.schedules.pending()}) {
        if (schedule == nullptr) continue;
        base::Bytes bitmap((schedule->entries.size() + 7) / 8);
        for (std::size_t i = 0; i < schedule->entries.size(); ++i) {
            const base::crypto::PublicKey& key = schedule->entries[i].vote_key;
            const bool voted = std::ranges::find(votes, key, &chain::Vote::key) != votes.end();
            if (!voted && !universe_.owner(key)->byzantine) continue;
            bitmap[i / 8] |= std::byte{1} << (i % 8);
            if (std::ranges::find(signed_already, key) != signed_already.end()) continue;
            signed_already.push_back(key);
            made.signatures.push_back(sign(key, made.data));
        }
        made.bitmaps.push_back(std::move(bitmap));
    }
    return made;
}

// The confirmation rule of EOS: a block is proposed irreversible when 2/3 + 1 producers built on
// it, and irreversible when 2/3 + 1 producers built on blocks that say so.
void Observer::check_eos(Seen& block) {
    const std::size_t quorum = block.schedules.active->quorum();
    std::set<chain::Name> builders;
    std::map<chain::Name, chain::Height> proposals;
    std::size_t depth = 0;
    const Seen* at = &block;
    for (; at->parent != nullptr && depth < kEosDepth; at = at->parent, ++depth) {
        builders.insert(at->header().producer);
        if (builders.size() >= quorum && block.eos_proposed == 0) {
            block.eos_proposed = at->header().height;
        }
        proposals.try_emplace(at->header().producer, at->eos_proposed);
    }
    if (proposals.size() < quorum) return;
    std::vector<chain::Height> heights;
    heights.reserve(proposals.size());
    for (const auto& [producer, height] : proposals) {
        heights.push_back(height);
    }
    std::ranges::sort(heights, std::greater<>());
    const chain::Height irreversible = heights[quorum - 1];
    const Seen* final = &block;
    while (final->header().height > irreversible && final->parent != nullptr) {
        final = final->parent;
    }
    if (final->parent == nullptr || (eos_final_ != nullptr && extends(*eos_final_, *final))) return;
    eos_final_ = final;
    ++eos_finals_;
}

}  // namespace sim
