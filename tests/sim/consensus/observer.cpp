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

Observer::Observer(const Universe& universe, bool beyond_bound)
    : universe_(universe),
      beyond_bound_(beyond_bound),
      oracle_(universe),
      left_(oracle_),
      heard_(oracle_) {
    any_byzantine_ = std::ranges::any_of(
        universe.members, [](const Member& member) { return member.byzantine || member.copied; });
    Seen& genesis = seen_[universe.genesis->id];
    genesis.block = universe.genesis;
    genesis.known = oracle_.find(universe.genesis->id);
    genesis.schedules = chain::first_schedules({0, universe.choices[0]});
    order_.push_back(&genesis);
}

void Observer::fail(std::string what) {
    if (failure_.empty()) failure_ = std::move(what);
}

void Observer::recovered(const chain::ScheduleReset& reset) {
    oracle_.recovered(reset);
    reset_ = reset;
    recovery_block();
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
    const auto* reset = chain::reset_below(reset_, block->header.previous);
    const bool is_first =
        reset != nullptr && seen.header().schedule_version >= reset->schedule.version;
    seen.schedules = chain::with_proposal(
        is_first ? chain::first_schedules(reset->schedule)
                 : chain::schedules_below(seen.parent->schedules, seen.parent->header()),
        block->header);
    const Known& known = oracle_.add(block);
    seen.known = &known;
    if (known.fault.empty() && !known.has(seen.schedules)) {
        fail("production derives other schedules for " + name_of(seen));
    }
    for (const chain::VoteKind kind : kKinds) {
        seen.tallies.emplace_back(seen.schedules);
        tally(seen, kind, nullptr);
    }
    order_.push_back(&seen);
    check_eos(seen);
    return seen;
}

void Observer::forged(const chain::BlockPtr& block) {
    if (oracle_.add(block).fault.empty()) fail("a forged block is valid");
}

void Observer::signs(const base::crypto::PublicKey& key) {
    if (answered_.contains(key)) fail("a key signs that has answered a recovery");
}

void Observer::header_left(const chain::Block& block) {
    const Seen* made = find(block.id);
    if (made == nullptr) {
        return fail(fmt::format("a header leaves that an honest producer has not made, of slot {}",
                                block.header.slot));
    }
    signs(*made->known->signer());
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

// Production counts what the oracle counts, and finds a quorum with the same vote.
void Observer::tally(Seen& block, chain::VoteKind kind, const chain::Vote* vote) {
    consensus::Tally& tally = block.tallies[index_of(kind)];
    const chain::VoteData data = block.data(kind);
    if (vote != nullptr) {
        tally.add(vote->key, vote->signature, block.schedules);
    } else {
        for (const Member& member : universe_.members) {
            if (!member.byzantine) continue;
            for (const auto& key : member.vote_keys)
                tally.add(key, sign(key, data), block.schedules);
        }
    }
    const auto made = tally.certificate(data, block.schedules);
    if (!block.known->fault.empty()) return;
    const bool is_proof = made && oracle_.signers(*made);
    if (made.has_value() == block.has_quorum(kind) && made.has_value() == is_proof) return;
    fail(fmt::format("production {} a certificate of kind {} for {}",
                     made ? "makes" : "does not make",
                     static_cast<int>(kind),
                     name_of(block)));
}

void Observer::vote_left(const chain::Vote& vote) {
    signs(vote.key);
    auto& before = by_key_[vote.key];
    const auto with = std::ranges::find_if(
        before, [&](const chain::Vote& other) { return breaks_a_rule(other, vote); });
    const bool is_second = std::ranges::any_of(before, [&](const chain::Vote& other) {
        return other.data.kind == vote.data.kind && other.data.slot == vote.data.slot &&
               other.data != vote.data;
    });
    const bool is_guilty = left_.hear(vote.key, vote.data);
    if (is_guilty && !is_second && excused_.contains(vote.key)) {
        // It knew no better.
    } else if (is_guilty) {
        fail(fmt::format("an honest key broke a rule: kind {} slot {}{}",
                         static_cast<int>(vote.data.kind),
                         vote.data.slot,
                         with == before.end() ? ", which production does not see"
                                              : fmt::format(" after kind {} slot {}",
                                                            static_cast<int>(with->data.kind),
                                                            with->data.slot)));
    } else if (with != before.end()) {
        fail("production would accuse an honest key without reason");
    }
    before.push_back(vote);
    heard(vote);
    Seen* block = find(vote.data.block_id);
    if (block == nullptr) return fail("a vote for a block that nobody made");
    if (!block->known->names(vote.key)) fail("a vote by a key that is in no schedule of its block");
    const bool had_quorum = block->has_quorum(vote.data.kind);
    if (!oracle_.vote(vote)) return fail("a vote says something else than its block");
    if (!had_quorum) tally(*block, vote.data.kind, &vote);
    if (block->finalizable()) check_final(*block);
    if (vote.data.kind == chain::VoteKind::commit) check_proved(*block);
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
    const auto against =
        std::ranges::find_if(proved_, [&](const Seen* other) { return !related(block, *other); });
    if (against != proved_.end()) {
        fail(fmt::format("{} is proved final, a COMMIT certificate is of {}",
                         name_of(**against),
                         name_of(block)));
    }
    if (eos_final_ != nullptr && !any_byzantine_ && !recovery_ && !related(block, *eos_final_)) {
        fail(fmt::format("the EOS rule has {} irreversible, a certificate has {}",
                         name_of(*eos_final_),
                         name_of(block)));
    }
}

// More than f are Byzantine. Of all certificates that can exist, those that conflict convict more
// than f, and nobody who is honest.
void Observer::check_proof(const Seen& a, const Seen& b) {
    Testimony testimony(oracle_);
    for (const auto& [key, votes] : by_key_) {
        for (const chain::Vote& vote : votes) {
            testimony.hear(key, vote.data);
        }
    }
    for (const Seen* block : order_) {
        for (const chain::VoteKind kind : kKinds) {
            if (!block->has_quorum(kind)) continue;
            for (const auto& key : oracle_.possible_signers(*block->known, kind)) {
                testimony.hear(key, block->data(kind));
            }
        }
    }
    check_culprits(testimony, a, b);
}

void Observer::check_culprits(const Testimony& testimony, const Seen& a, const Seen& b) {
    if (!testimony.explains(*a.known, *b.known)) {
        fail(fmt::format("the conflict of {} and {} convicts no more than {} keys",
                         name_of(a),
                         name_of(b),
                         testimony.convicted().size()));
    }
    for (const base::crypto::PublicKey& key : testimony.convicted()) {
        if (!oracle_.is_byzantine(key)) fail("an honest key is guilty of a conflict");
    }
}

// --- What nodes say of certificates and blocks ---

void Observer::certificate_left(const chain::Certificate& certificate) {
    const auto keys = oracle_.signers(certificate);
    if (!keys) {
        return fail(fmt::format("a node has a certificate of slot {} that proves nothing",
                                certificate.data.slot));
    }
    const Known& block = *oracle_.find(certificate.data.block_id);
    const bool is_made_up = std::ranges::any_of(*keys, [&](const auto& key) {
        return !oracle_.can_have_signed(key, block, certificate.data.kind);
    });
    if (is_made_up) {
        fail(fmt::format("a node has a certificate of slot {} with a vote that nobody cast",
                         certificate.data.slot));
    }
}

bool Observer::is_proof(const chain::Certificate& certificate) const {
    const auto keys = oracle_.signers(certificate);
    bool is_proof = keys.has_value();
    for (std::size_t i = 0; is_proof && i < keys->size(); ++i) {
        is_proof = is_signed(certificate.signatures[i], (*keys)[i], certificate.data);
    }
    return is_proof;
}

void Observer::judged(const chain::Certificate& certificate, bool is_good) {
    const bool is_proof = this->is_proof(certificate);
    if (is_proof == is_good) return;
    fail(fmt::format("a node {} a certificate of slot {} that proves {}",
                     is_good ? "takes" : "refuses",
                     certificate.data.slot,
                     is_proof ? "what it says" : "nothing"));
}

void Observer::refused(const chain::Block& block, const std::string& reason) {
    const Known* known = oracle_.find(block.id);
    if (known != nullptr && known->fault.empty()) fail("a valid block is refused: " + reason);
}

void Observer::heard(const chain::Vote& vote) {
    if (beyond_bound_) heard_.hear(vote.key, vote.data);
}

void Observer::heard(const chain::Certificate& certificate) {
    if (!beyond_bound_) return;
    const auto keys = oracle_.signers(certificate);
    if (!keys) return;
    for (const auto& key : *keys) {
        heard_.hear(key, certificate.data);
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
    for (const auto& [other, final] : shown_) {
        if (final == nullptr || related(*block, *final)) continue;
        // Not of what could have been sent, but of what was.
        if (beyond_bound_) {
            check_culprits(heard_, *block, *final);
            continue;
        }
        fail(fmt::format(
            "nodes {} and {} have {} and {} final", node, other, name_of(*block), name_of(*final)));
    }
}

bool Observer::is_one_signer(const chain::BlockHeader& a, const chain::BlockHeader& b) const {
    const Known* first = oracle_.find(a.id());
    const Known* second = oracle_.find(b.id());
    // What nobody made is judged elsewhere.
    if (first == nullptr || second == nullptr) return true;
    if (first->signer() == nullptr || second->signer() == nullptr) return true;
    return *first->signer() == *second->signer();
}

bool Observer::is_excused(const base::crypto::PublicKey& key) const {
    return excused_.contains(key) && left_.convicted().contains(key);
}

void Observer::accused(const chain::Evidence& evidence) {
    if (auto good = chain::check_form(evidence); !good) {
        return fail("evidence that shows nothing: " + good.error().detail);
    }
    bool byzantine = false;
    if (const auto* headers = std::get_if<chain::TwoHeaders>(&evidence)) {
        const auto name = headers->first.header.producer;
        byzantine = std::ranges::find(universe_.members, name, &Member::name)->byzantine;
        if (!is_one_signer(headers->first.header, headers->second.header)) {
            fail("evidence that shows nothing: headers of two keys of one producer");
        }
    } else if (const auto* votes = std::get_if<chain::TwoVotes>(&evidence)) {
        byzantine = universe_.owner(votes->first.key)->byzantine;
    } else {
        const auto& pair = std::get<chain::ForbiddenCommit>(evidence);
        const auto& key = pair.commit.key;
        byzantine = universe_.owner(key)->byzantine || is_excused(key);
    }
    if (!byzantine) fail("an honest member is accused");
}

bool Observer::adopts(std::size_t node, const chain::Block& block) {
    const std::string& fault = oracle_.find(block.id)->fault;
    if (fault.empty()) return true;
    fail(fmt::format("node {} adopts a block of slot {}: {}", node, block.header.slot, fault));
    return false;
}

// A certificate of just that block, where the header says more than its parent.
bool Observer::is_proved(const std::optional<chain::Certificate>& certificate,
                         chain::VoteKind kind,
                         const chain::BlockRef& named,
                         const chain::BlockRef& before) const {
    if (named == before) return !certificate;
    return certificate && certificate->data.kind == kind && certificate->data.block() == named &&
           is_proof(*certificate);
}

void Observer::check_witness(std::size_t node, const chain::Block& block) {
    using chain::VoteKind;
    const chain::BlockHeader& header = block.header;
    const chain::BlockHeader& parent = oracle_.find(header.previous)->header();
    const chain::Witness& witness = block.witness;
    if (is_proved(witness.justify, VoteKind::notarize, header.justify, parent.justify) &&
        is_proved(witness.finalized, VoteKind::commit, header.finalized, parent.finalized)) {
        return;
    }
    fail(fmt::format(
        "node {} adopts a block of slot {} that its witness does not prove", node, header.slot));
}

void Observer::schedules_on(std::size_t node,
                            const chain::BlockId& id,
                            const chain::ScheduleState& own) {
    const Seen* block = find(id);
    if (!adopts(node, *block->block)) return;
    if (block->schedules == own && block->known->has(own)) return;
    fail(fmt::format("node {} has another schedule for {}", node, name_of(*block)));
}

std::optional<chain::Certificate> Observer::certificate(const Seen& block,
                                                        chain::VoteKind kind) const {
    if (!block.has_quorum(kind)) return std::nullopt;
    chain::Certificate made;
    made.data = block.data(kind);
    const auto gather = [&](const Term& term) {
        base::Bytes bitmap((term.entries->size() + 7) / 8);
        for (std::size_t i = 0; i < term.entries->size(); ++i) {
            const base::crypto::PublicKey& key = (*term.entries)[i].vote_key;
            if (!oracle_.can_have_signed(key, *block.known, kind)) continue;
            bitmap[i / 8] |= std::byte{1} << (i % 8);
        }
        made.bitmaps.push_back(std::move(bitmap));
    };
    gather(block.known->active);
    if (block.known->pending) gather(*block.known->pending);
    for (const auto& key : oracle_.possible_signers(*block.known, kind)) {
        made.signatures.push_back(sign(key, made.data));
    }
    return made;
}

// The confirmation rule of EOS: a block is proposed irreversible when 2/3 + 1 producers built it or
// a block on it, and irreversible when 2/3 + 1 producers built on blocks that say so. A block is
// not built on itself: what it proposes first, only its children confirm. So the newest block of a
// producer that is alone is not irreversible: that producer may lose it and make another one.
// Headers are no votes: where messages are lost, a quorum may build on blocks of which nobody has a
// certificate, and R4 leaves them for a later slot's (seed 1104243). So this holds for blocks that
// were made after healing.
void Observer::check_eos(Seen& block) {
    const std::size_t quorum = 2 * block.known->active.entries->size() / 3 + 1;
    std::set<chain::Name> builders;
    std::map<chain::Name, chain::Height> proposals;
    std::size_t depth = 0;
    const Seen* at = &block;
    for (; at->parent != nullptr && depth < kEosDepth; at = at->parent, ++depth) {
        builders.insert(at->header().producer);
        if (builders.size() >= quorum && block.eos_proposed == 0) {
            block.eos_proposed = at->header().height;
        }
        proposals.try_emplace(at->header().producer, at->parent->eos_proposed);
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
    if (final->parent == nullptr || final->header().slot < healed_at_) return;
    if (eos_final_ != nullptr && extends(*eos_final_, *final)) return;
    eos_final_ = final;
    ++eos_finals_;
}

}  // namespace sim
