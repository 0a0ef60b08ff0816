#include "tests/sim/full/impostor.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace sim::full {

namespace {

constexpr std::uint64_t kImpostorSalt = 0x9E6C63D0876A9A35;

// Another chain of the same members.
chain::ChainId other_chain(chain::ChainId id) {
    id.bytes[0] ^= std::byte{1};
    return id;
}

}  // namespace

Impostor::Impostor(Fleet& fleet, std::uint64_t seed)
    : fleet_(fleet), dice_(seed ^ kImpostorSalt), member_(fleet.world().byzantine.front()) {
    percent_ = dice_.percent(60) ? 3 : 0;
}

void Impostor::vote_signed(std::size_t machine, const chain::Vote& vote) {
    vote_ = vote;
    voter_ = fleet_.world().member_of(machine);
}

void Impostor::header_signed(std::size_t machine, const chain::SignedHeader& header) {
    header_ = header;
    producer_ = fleet_.world().member_of(machine);
}

void Impostor::message_sent(const p2p::SharedBytes& bytes) {
    if (percent_ == 0) return;
    const auto envelope = p2p::read_envelope(*bytes);
    if (!envelope || envelope->type != p2p::MessageType::blocks || envelope->correlation != 0)
        return;
    const auto body = p2p::read_body(*envelope, *bytes);
    if (!body) return;
    const auto& blocks = std::get<p2p::Blocks>(*body).blocks;
    const Member& owner = fleet_.world().universe.members[member_];
    if (blocks.empty() || !blocks.front()->transactions.empty()) return;
    if (blocks.front()->header.producer == owner.name) block_ = blocks.front();
}

void Impostor::tell(const p2p::SharedBytes& bytes) {
    for (auto& [id, end] : fleet_.ends()) {
        const bool is_ours = !fleet_.world().is_honest(end.node);
        if (!is_ours || !fleet_.has_greeted(end) || !dice_.percent(70)) continue;
        fleet_.put_on_wire(end, bytes, base::Duration(0));
    }
}

void Impostor::act() {
    if (!dice_.percent(percent_)) return;
    switch (dice_.below(5)) {
        case 0:
            return send_vote();
        case 1:
            return send_header();
        case 2:
            return send_certificate();
        case 3:
            return send_block();
        default:
            report();
    }
}

// Of an honest key, of the slot in which it has voted, for another block.
chain::Vote Impostor::false_vote(bool is_foreign) {
    chain::Vote vote = *vote_;
    vote.data.block_id.bytes.back() ^= std::byte{1};
    const chain::ChainId id = fleet_.world().genesis.chain_id();
    const std::size_t which = vote.key == signing_key(voter_, 0).public_key() ? 0 : 1;
    vote.signature = is_foreign ? signing_key(voter_, which).sign(vote.data.digest(other_chain(id)))
                                : signing_key(member_).sign(vote.data.digest(id));
    return vote;
}

void Impostor::send_vote() {
    if (vote_) tell(p2p::pack_message(false_vote(dice_.percent(50))));
}

void Impostor::send_header() {
    if (!header_) return;
    p2p::HeaderPush push{*header_, {}};
    chain::SignedHeader& header = push.signed_header;
    header.header.state_digest.bytes[0] ^= std::byte{1};
    const chain::ChainId id = fleet_.world().genesis.chain_id();
    header.signature =
        dice_.percent(50)
            ? signing_key(producer_).sign(header.header.signing_digest(other_chain(id)))
            : signing_key(member_).sign(header.header.signing_digest(id));
    tell(p2p::pack_message(push));
}

// A true vote, its own, and others that nobody has cast.
void Impostor::send_certificate() {
    if (!vote_) return;
    const Seen* block = fleet_.observer().find(vote_->data.block_id);
    if (block == nullptr || block->schedules.pending() != nullptr) return;
    const auto& entries = block->schedules.active->entries;
    const chain::ChainId id = fleet_.world().genesis.chain_id();
    chain::Certificate certificate{.data = vote_->data, .bitmaps = {}, .signatures = {}};
    base::Bytes bitmap((entries.size() + 7) / 8);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        bitmap[i / 8] |= std::byte{1} << (i % 8);
        const bool is_true = entries[i].vote_key == vote_->key;
        certificate.signatures.push_back(
            is_true ? vote_->signature : signing_key(member_).sign(vote_->data.digest(id)));
    }
    certificate.bitmaps.push_back(std::move(bitmap));
    tell(p2p::pack_message(certificate));
}

// Its own block, with what its execution does not make.
void Impostor::send_block() {
    if (block_ == nullptr || block_->header.slot + 2 < fleet_.slot()) return;
    chain::BlockHeader header = block_->header;
    header.state_digest.bytes[1] ^= std::byte{1};
    const base::Hash256 digest = header.signing_digest(fleet_.world().genesis.chain_id());
    for (std::size_t which = 0; which < 2; ++which) {
        const auto block = chain::make_block(
            {header, signing_key(member_, which).sign(digest)}, {}, block_->witness);
        tell(p2p::pack_blocks({base::ByteView(chain::encode_block(*block))}, {}));
    }
}

void Impostor::report() {
    if (!vote_) return;
    fleet_.report_falsely(chain::TwoVotes{*vote_, false_vote(dice_.percent(50))});
}

}  // namespace sim::full
