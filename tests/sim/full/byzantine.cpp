#include "tests/sim/full/byzantine.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace sim::full {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kRecent = 6;
// A channel is spoken on before: the handshake is over.
constexpr base::Duration kHandshake = milliseconds(400);

}  // namespace

Byzantine::Byzantine(Fleet& fleet, std::uint64_t seed)
    : fleet_(fleet),
      chance_(fleet.chance()),
      member_(*fleet.world().byzantine),
      impostor_(fleet, seed) {
    const auto liking = [&] { return static_cast<int>(chance_.below(5)) * 25; };
    withholds_ = liking() / 2;
    releases_late_ = liking() / 2;
    splits_ = liking();
    forges_ = liking() / 2;
    babbles_ = chance_.percent(15);
    for (std::size_t i = 0; i < fleet.world().machines(); ++i) {
        hears_first_.push_back(static_cast<char>(chance_.below(2)));
    }
}

base::Duration Byzantine::edge_of_slot() {
    const base::Timestamp end = fleet_.world().universe.at(fleet_.slot() + 1);
    const base::Timestamp edge = end - chance_.between(base::Duration(0), milliseconds(60));
    return std::max(edge - fleet_.now(), base::Duration(0));
}

std::optional<base::Duration> Byzantine::delay(std::size_t machine,
                                               std::size_t peer,
                                               const p2p::SharedBytes& bytes) {
    impostor_.message_sent(bytes);
    const auto envelope = p2p::read_envelope(*bytes);
    if (!envelope) return base::Duration(0);
    using p2p::MessageType;
    if (envelope->type == MessageType::blocks) keep_block(*envelope, bytes);
    const bool pushes = envelope->type == MessageType::header ||
                        (envelope->type == MessageType::blocks && envelope->correlation == 0);
    if (envelope->type == MessageType::vote && chance_.percent(withholds_)) return std::nullopt;
    if (envelope->type == MessageType::certificate && chance_.percent(releases_late_)) {
        if (chance_.percent(60)) return std::nullopt;
        return edge_of_slot();
    }
    if (pushes && fleet_.world().twin && chance_.percent(splits_)) {
        const bool is_first = machine == member_;
        if (is_first != (hears_first_[peer] != 0)) return std::nullopt;
    }
    if (pushes && chance_.percent(5)) return chance_.between(milliseconds(0), milliseconds(400));
    return base::Duration(0);
}

void Byzantine::tell(const p2p::SharedBytes& bytes, int share) {
    for (auto& [id, end] : fleet_.ends()) {
        const bool is_ours = !fleet_.world().is_honest(end.node);
        if (!is_ours || fleet_.now() < end.opened + kHandshake || !chance_.percent(share)) continue;
        fleet_.put_on_wire(end, bytes, base::Duration(0));
    }
}

void Byzantine::act() {
    if (chance_.percent(forges_)) forge_votes();
    if (chance_.percent(forges_ / 8)) forge_header();
    if (babbles_ && chance_.percent(2)) babble();
    impostor_.act();
    fleet_.at(milliseconds(chance_.between(20, 150)), [this] { act(); });
}

// A message with a wrong byte or without its end, or what never was one.
void Byzantine::babble() {
    base::Bytes bytes(1 + chance_.below(300));
    for (std::byte& each : bytes)
        each = static_cast<std::byte>(chance_.below(256));
    if (last_header_ && chance_.percent(70)) {
        bytes = *p2p::pack_message(p2p::HeaderPush{*last_header_, {}});
        bytes[chance_.below(bytes.size())] ^= std::byte{1} << chance_.below(8);
        if (chance_.percent(30)) bytes.resize(1 + chance_.below(bytes.size()));
    }
    tell(std::make_shared<const base::Bytes>(std::move(bytes)), 60);
}

// For any block of late, whatever it voted for before.
void Byzantine::forge_votes() {
    auto& blocks = fleet_.observer().blocks();
    const Seen& block =
        *blocks[blocks.size() - 1 - chance_.below(std::min(kRecent, blocks.size()))];
    for (const chain::VoteKind kind : {chain::VoteKind::notarize, chain::VoteKind::commit}) {
        if (!chance_.percent(70)) continue;
        const chain::VoteData data = block.data(kind);
        for (std::size_t which = 0; which < 2; ++which) {
            const base::crypto::PrivateKey key = signing_key(member_, which);
            if (!block.schedules.active->entries.empty() && which == 1 && chance_.percent(70)) {
                continue;
            }
            const chain::Vote vote{
                data, key.public_key(), key.sign(data.digest(fleet_.world().genesis.chain_id()))};
            tell(p2p::pack_message(vote), chance_.percent(50) ? 40 : 100);
        }
    }
}

// Another block in the slot of one that it made, of which it says a wrong state; or its header.
void Byzantine::forge_header() {
    if (!last_header_ || last_header_->header.slot + kRecent < fleet_.slot()) return;
    p2p::HeaderPush push{*last_header_, {}};
    push.signed_header.header.state_digest.bytes[0] ^= std::byte{1};
    const auto& entries = fleet_.world().universe.members;
    const base::Hash256 digest =
        push.signed_header.header.signing_digest(fleet_.world().genesis.chain_id());
    const std::size_t which = chance_.percent(80) ? 0 : 1;
    if (entries[member_].name != push.signed_header.header.producer) return;
    push.signed_header.signature = signing_key(member_, which).sign(digest);
    const bool has_body = last_block_ && last_block_->header == last_header_->header;
    if (has_body) push.witness = last_block_->witness;
    tell(p2p::pack_message(push), 60);
    if (!has_body || chance_.percent(30)) return;
    const auto block =
        chain::make_block(push.signed_header, last_block_->transactions, last_block_->witness);
    tell(p2p::pack_message(p2p::Blocks{{block}}), 100);
}

// The newest of its own, with all that its header names.
void Byzantine::keep_block(const p2p::Envelope& envelope, const p2p::SharedBytes& bytes) {
    if (!last_header_ || (last_block_ && last_block_->header == last_header_->header)) return;
    const auto body = p2p::read_body(envelope, *bytes);
    if (!body) return;
    for (const chain::BlockPtr& block : std::get<p2p::Blocks>(*body).blocks) {
        if (block->header == last_header_->header) last_block_ = block;
    }
}

}  // namespace sim::full
