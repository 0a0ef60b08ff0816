#include "tests/sim/consensus/forger.hpp"

#include <algorithm>

namespace sim {

namespace {

constexpr std::size_t kRecent = 4;
constexpr std::uint64_t kSalt = 0x5DEECE66D;

}  // namespace

Forger::Forger(Cluster& cluster) : cluster_(cluster), dice_(cluster.plan().seed ^ kSalt) {
    const auto& members = cluster.universe().members;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (!members[i].byzantine) {
            honest_.push_back(i);
            continue;
        }
        own_keys_.insert(own_keys_.end(), members[i].vote_keys.begin(), members[i].vote_keys.end());
    }
    if (own_keys_.empty()) return;
    certificates_ = static_cast<int>(dice_.below(3)) * 20;
    blocks_ = static_cast<int>(dice_.below(3)) * 20;
    votes_ = static_cast<int>(dice_.below(3)) * 15;
    early_ = static_cast<int>(dice_.below(3)) * 5;
}

void Forger::act() {
    if (dice_.percent(certificates_)) forge_certificate();
    if (dice_.percent(certificates_)) forge_half();
    if (dice_.percent(certificates_)) forge_joint();
    if (dice_.percent(blocks_)) forge_block();
    if (dice_.percent(blocks_)) forge_witness();
    if (dice_.percent(votes_)) forge_votes();
    if (dice_.percent(early_)) forge_early();
}

void Forger::tell(const Message& message) {
    const base::Duration latest = std::chrono::milliseconds(300);
    const auto at = cluster_.now() + dice_.between(base::Duration(0), latest);
    for (const std::size_t node : honest_) {
        if (dice_.percent(60)) cluster_.deliver_at(at, node, message);
    }
}

// As many true votes as there are, and the keys of all who have not voted: what is missing is
// forged.
chain::Certificate Forger::draft(const Seen& block, chain::VoteKind kind) {
    if (auto made = cluster_.observer().certificate(block, kind)) return *std::move(made);
    chain::Certificate made{.data = block.data(kind), .bitmaps = {}, .signatures = {}};
    std::vector<base::crypto::PublicKey> named;
    const auto name_all = [&](const Term& term) {
        base::Bytes bitmap((term.entries->size() + 7) / 8);
        for (std::size_t i = 0; i < term.entries->size(); ++i) {
            bitmap[i / 8] |= std::byte{1} << (i % 8);
            const auto& key = (*term.entries)[i].vote_key;
            if (std::ranges::find(named, key) != named.end()) continue;
            named.push_back(key);
            const bool is_true = cluster_.observer().can_have_signed(key, block, kind);
            made.signatures.push_back(sign(is_true ? key : own_keys_.front(), made.data));
        }
        made.bitmaps.push_back(std::move(bitmap));
    };
    name_all(block.known->active);
    if (block.known->pending) name_all(*block.known->pending);
    return made;
}

// Whatever is done to it, it proves nothing after that, or the same.
void Forger::spoil(chain::Certificate& certificate) {
    auto& signatures = certificate.signatures;
    base::Bytes& first = certificate.bitmaps.front();
    base::Bytes& last = certificate.bitmaps.back();
    switch (dice_.below(12)) {
        case 0:  // The first signature is right.
            for (std::size_t i = 1; i < signatures.size(); ++i) {
                signatures[i] = sign(own_keys_.front(), certificate.data);
            }
            break;
        case 1:  // Just the last is not.
            signatures.back() = sign(own_keys_.back(), chain::VoteData{});
            break;
        case 2:  // One vote is there twice, and another not.
            signatures.back() = signatures.front();
            break;
        case 3:
            signatures.pop_back();
            break;
        case 4:  // The second bitmap is short, or gone.
            if (certificate.bitmaps.size() > 1 && dice_.percent(50)) {
                certificate.bitmaps.pop_back();
            } else {
                last.pop_back();
            }
            break;
        case 5:  // A schedule more than there is.
            certificate.bitmaps.push_back(first);
            break;
        case 6:  // Members that the schedule has not.
            last.back() |= std::byte{0x80};
            signatures.push_back(sign(own_keys_.front(), certificate.data));
            break;
        case 8:  // The same, and nobody signs for them.
            last.back() |= std::byte{0x80};
            break;
        case 9:  // A bitmap that is too long.
            last.push_back({});
            break;
        case 10:  // A signature that nobody asked for.
            signatures.push_back(sign(own_keys_.front(), certificate.data));
            break;
        case 7:  // Without the votes of all but one.
            last.front() &= std::byte{1};
            signatures.resize(1);
            break;
        default:  // Of something else, which nobody voted for.
            certificate.data.justify_slot += 1;
    }
}

void Forger::forge_certificate() {
    const Seen& block = recent();
    if (block.parent == nullptr) return;
    const auto kind = dice_.percent(50) ? chain::VoteKind::notarize : chain::VoteKind::commit;
    chain::Certificate certificate = draft(block, kind);
    spoil(certificate);
    tell(std::make_shared<const chain::Certificate>(std::move(certificate)));
}

// True votes of the active schedule alone, for a block that needs those of the pending one too:
// who has not the block may not know of that.
void Forger::forge_half() {
    auto& blocks = cluster_.observer().blocks();
    for (std::size_t i = 0; i < std::min(kRecent, blocks.size()); ++i) {
        const Seen& block = *blocks[blocks.size() - 1 - i];
        if (!block.known->pending) continue;
        const auto kind = dice_.percent(50) ? chain::VoteKind::notarize : chain::VoteKind::commit;
        const Term& term = block.known->active;
        chain::Certificate made{.data = block.data(kind), .bitmaps = {}, .signatures = {}};
        base::Bytes& bitmap = made.bitmaps.emplace_back((term.entries->size() + 7) / 8);
        for (std::size_t place = 0; place < term.entries->size(); ++place) {
            const auto& key = (*term.entries)[place].vote_key;
            if (!cluster_.observer().can_have_signed(key, block, kind)) continue;
            bitmap[place / 8] |= std::byte{1} << (place % 8);
            made.signatures.push_back(sign(key, made.data));
        }
        if (!term.is_quorum(made.signatures.size())) continue;
        return tell(std::make_shared<const chain::Certificate>(std::move(made)));
    }
}

// True votes of both schedules, of the pending one just those that the active one has too: fewer
// than its quorum.
void Forger::forge_joint() {
    const Seen& block = recent();
    if (!block.known->pending) return;
    const auto kind = dice_.percent(50) ? chain::VoteKind::notarize : chain::VoteKind::commit;
    chain::Certificate made{.data = block.data(kind), .bitmaps = {}, .signatures = {}};
    std::vector<base::crypto::PublicKey> named;
    const auto gather = [&](const Term& term, bool is_first) {
        base::Bytes bitmap((term.entries->size() + 7) / 8);
        std::size_t count = 0;
        for (std::size_t place = 0; place < term.entries->size(); ++place) {
            const auto& key = (*term.entries)[place].vote_key;
            const bool is_there = std::ranges::find(named, key) != named.end();
            if (is_first ? !cluster_.observer().can_have_signed(key, block, kind) : !is_there) {
                continue;
            }
            bitmap[place / 8] |= std::byte{1} << (place % 8);
            ++count;
            if (!is_first) continue;
            named.push_back(key);
            made.signatures.push_back(sign(key, made.data));
        }
        made.bitmaps.push_back(std::move(bitmap));
        return count;
    };
    const bool is_quorum = block.known->active.is_quorum(gather(block.known->active, true));
    if (!is_quorum || block.known->pending->is_quorum(gather(*block.known->pending, false))) return;
    tell(std::make_shared<const chain::Certificate>(std::move(made)));
}

// The newest ancestor, or the parent itself, whose slot is in this range; null: none is.
const Seen* Forger::find_ancestor(const Seen& parent, chain::Slot above, chain::Slot up_to) {
    const Seen* at = &parent;
    while (at != nullptr && at->header().slot > up_to) {
        at = at->parent;
    }
    return at != nullptr && at->header().slot > above ? at : nullptr;
}

// One field that no producer may set so. Where a certificate can be had for it, it has that.
chain::Witness Forger::spoil(chain::BlockHeader& header, const Seen& parent) {
    chain::Witness witness;
    const chain::BlockHeader& before = parent.header();
    const auto name_justify = [&](const Seen* ancestor) {
        if (ancestor == nullptr) return;
        header.justify = {ancestor->header().slot, ancestor->block->id};
        witness.justify = cluster_.observer().certificate(*ancestor, chain::VoteKind::notarize);
    };
    const auto name_final = [&](const Seen* ancestor) {
        if (ancestor == nullptr) return;
        header.finalized = {ancestor->header().slot, ancestor->block->id};
        witness.finalized = cluster_.observer().certificate(*ancestor, chain::VoteKind::commit);
    };
    switch (dice_.below(11)) {
        case 0:
            header.slot = before.slot;
            break;
        case 1:
            header.height += 1;
            break;
        case 2:
            header.schedule_version += 1;
            break;
        case 3:  // A justify that is no ancestor: its parent's id, of another slot.
            header.justify = {before.slot + 1, parent.block->id};
            break;
        case 4:
            header.finalized = {header.justify.slot + 1, parent.block->id};
            break;
        case 5:
            header.justify = {before.slot, header.state_digest};
            break;
        case 6:  // A final block that is no ancestor.
            header.finalized = {before.finalized.slot, header.state_digest};
            break;
        case 7:  // What was known to its parent is not known to it.
            if (before.justify.slot > 0)
                name_justify(find_ancestor(parent, 0, before.justify.slot - 1));
            break;
        case 8:
            if (before.finalized.slot > 0)
                name_final(find_ancestor(parent, 0, before.finalized.slot - 1));
            break;
        case 9:  // Final, and yet not certified before.
            name_final(find_ancestor(parent, before.justify.slot, before.slot));
            break;
        default:  // A change that jumps over a version.
            header.schedule_change =
                chain::Schedule{header.schedule_version + 2, cluster_.universe().choices.front()};
    }
    return witness;
}

// A block as it may be, of this slot; nothing: that is not a Byzantine member's.
std::optional<chain::BlockHeader> Forger::draft_header(const Seen& parent, chain::Slot slot) {
    if (slot <= parent.header().slot) return std::nullopt;
    const auto below = chain::schedules_below(parent.schedules, parent.header());
    const auto& turn = below.active->producer_of(slot, cluster_.universe().repetitions);
    const Member* owner = cluster_.universe().owner(turn.signing_key);
    if (!owner->byzantine) return std::nullopt;
    chain::BlockHeader header;
    header.slot = slot;
    header.height = parent.header().height + 1;
    header.producer = owner->name;
    header.previous = parent.block->id;
    header.schedule_version = below.active->version;
    header.justify = parent.header().justify;
    header.finalized = parent.header().finalized;
    header.state_digest.bytes[0] = static_cast<std::byte>(dice_.below(256));
    return header;
}

const Seen& Forger::recent() {
    auto& blocks = cluster_.observer().blocks();
    return *blocks[blocks.size() - 1 - dice_.below(std::min(kRecent, blocks.size()))];
}

// In its own slot with something wrong, or in that of another.
void Forger::forge_block() {
    const Seen& parent = recent();
    const chain::Slot slot = cluster_.slot();
    if (slot <= parent.header().slot) return;
    chain::Witness witness;
    auto header = draft_header(parent, slot);
    if (header) {
        const chain::BlockHeader right = *header;
        witness = spoil(*header, parent);
        if (*header == right) return;  // There is nothing to be wrong about.
    } else {
        const auto below = chain::schedules_below(parent.schedules, parent.header());
        header.emplace();
        header->slot = slot;
        header->height = parent.header().height + 1;
        header->producer = cluster_.universe().owner(own_keys_.front())->name;
        header->previous = parent.block->id;
        header->schedule_version = below.active->version;
        header->justify = parent.header().justify;
        header->finalized = parent.header().finalized;
        header->state_digest.bytes[0] = static_cast<std::byte>(dice_.below(256));
    }
    const auto block = chain::make_block({*header, {}}, {}, witness);
    cluster_.observer().forged(block);
    tell(block);
}

// A good block whose witness proves nothing; and perhaps the same block with the right one.
void Forger::forge_witness() {
    const Seen& parent = recent();
    auto header = draft_header(parent, cluster_.slot());
    if (!header) return;
    const auto kind = dice_.percent(50) ? chain::VoteKind::notarize : chain::VoteKind::commit;
    const bool is_justify = kind == chain::VoteKind::notarize;
    const chain::BlockRef& before = is_justify ? header->justify : header->finalized;
    const chain::Slot up_to = is_justify ? parent.header().slot : header->justify.slot;
    chain::Witness right;
    const Seen* named = find_ancestor(parent, before.slot, up_to);
    while (named != nullptr && !named->has_quorum(kind)) {
        named = find_ancestor(parent, before.slot, named->header().slot - 1);
    }
    if (named != nullptr) {
        (is_justify ? header->justify : header->finalized) = {named->header().slot,
                                                              named->block->id};
        (is_justify ? right.justify : right.finalized) =
            cluster_.observer().certificate(*named, kind);
    }
    const Seen* other = named == nullptr ? cluster_.observer().find(before.id) : named->parent;
    chain::Witness wrong;
    auto& certificate = is_justify ? wrong.justify : wrong.finalized;
    if (named == nullptr || dice_.percent(40)) {
        // Of another block, or where none is needed.
        if (other == nullptr || other->parent == nullptr) return;
        certificate = draft(*other, kind);
    } else if (dice_.percent(60)) {
        certificate = draft(*named, kind);
        spoil(*certificate);
    }
    const auto block = chain::make_block({*header, {}}, {}, right);
    cluster_.observer().add(block);
    tell(chain::make_block({*header, {}}, {}, wrong));
    if (dice_.percent(50)) tell(block);
}

// A good block of a slot to come.
void Forger::forge_early() {
    const Seen& parent = recent();
    const auto header = draft_header(parent, cluster_.slot() + 1 + dice_.below(6));
    if (!header) return;
    const auto block = chain::make_block({*header, {}}, {}, {});
    cluster_.observer().add(block);
    tell(block);
}

// Votes that name a block and say something else of it.
void Forger::forge_votes() {
    const Seen& block = recent();
    const auto kind = dice_.percent(50) ? chain::VoteKind::notarize : chain::VoteKind::commit;
    chain::VoteData data = block.data(kind);
    switch (dice_.below(4)) {
        case 0:
            data.justify_slot += 1;
            break;
        case 1:
            data.height += 1;
            break;
        case 2:
            data.slot += 1;
            break;
        default:
            data.schedule_version += 1;
    }
    for (const auto& key : own_keys_) {
        tell(std::make_shared<const chain::Vote>(chain::Vote{data, key, sign(key, data)}));
    }
}

}  // namespace sim
