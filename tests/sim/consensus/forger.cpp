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
}

void Forger::act() {
    if (dice_.percent(certificates_)) forge_certificate();
    if (dice_.percent(certificates_)) forge_half();
    if (dice_.percent(blocks_)) forge_block();
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
    switch (dice_.below(9)) {
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
        case 7:  // Without the votes of all but one.
            last.front() &= std::byte{1};
            signatures.resize(1);
            break;
        default:  // Of something else, which nobody voted for.
            certificate.data.justify_slot += 1;
    }
}

void Forger::forge_certificate() {
    auto& blocks = cluster_.observer().blocks();
    const Seen& block = *blocks[blocks.size() - 1 - dice_.below(std::min(kRecent, blocks.size()))];
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

// One field that no producer may set so.
void Forger::spoil(chain::BlockHeader& header, const Seen& parent) {
    switch (dice_.below(7)) {
        case 0:
            header.slot = parent.header().slot;
            break;
        case 1:
            header.height += 1;
            break;
        case 2:
            header.schedule_version += 1;
            break;
        case 3:  // A justify that is no ancestor: its parent's id, of another slot.
            header.justify = {parent.header().slot + 1, parent.block->id};
            break;
        case 4:
            header.finalized = {header.justify.slot + 1, parent.block->id};
            break;
        case 5:
            header.justify = {parent.header().slot, header.state_digest};
            break;
        default:  // A change that jumps over a version.
            header.schedule_change =
                chain::Schedule{header.schedule_version + 2, cluster_.universe().choices.front()};
    }
}

void Forger::forge_block() {
    auto& blocks = cluster_.observer().blocks();
    const Seen& parent = *blocks[blocks.size() - 1 - dice_.below(std::min(kRecent, blocks.size()))];
    const auto below = chain::schedules_below(parent.schedules, parent.header());
    chain::BlockHeader header;
    header.slot = cluster_.slot();
    if (header.slot <= parent.header().slot) return;
    header.height = parent.header().height + 1;
    // In its own slot, or in that of another.
    const auto& turn = below.active->producer_of(header.slot, cluster_.universe().repetitions);
    const Member* owner = cluster_.universe().owner(turn.signing_key);
    const bool is_own = owner->byzantine;
    header.producer = is_own ? owner->name : cluster_.universe().owner(own_keys_.front())->name;
    header.previous = parent.block->id;
    header.schedule_version = below.active->version;
    header.justify = parent.header().justify;
    header.finalized = parent.header().finalized;
    header.state_digest.bytes[0] = static_cast<std::byte>(dice_.below(256));
    if (is_own) spoil(header, parent);
    const auto block = chain::make_block({header, {}}, {}, {});
    cluster_.observer().forged(block);
    tell(block);
}

}  // namespace sim
