#include "tests/sim/full/flooder.hpp"

#include <utility>

namespace sim::full {

namespace {

constexpr std::uint64_t kFlooderSalt = 0xBF58476D1CE4E5B9;
constexpr int kPercent = 6;  // Of the times when it could.
// More than the tables of what they concern take.
constexpr std::size_t kOrphans = 80;
constexpr std::size_t kHeaders = 40;
constexpr std::size_t kVotes = 150;       // To each peer.
constexpr std::size_t kGoodHeaders = 20;  // To each peer.
constexpr int kGoodHeadersPercent = 20;   // Of its slots.
// A block so many slots before another is not pushed on.
constexpr chain::Slot kOld = 10;
constexpr std::size_t kPastMax = 64;
constexpr std::size_t kCertificates = 80;
constexpr std::size_t kClocks = 100;
constexpr std::size_t kQuestions = 40;
constexpr chain::Slot kSlotsBack = 40;
constexpr int kDatedPercent = 50;  // Of the answers with blocks of some height.
// A multiple of the slots after which a schedule of up to ten begins anew.
constexpr chain::Slot kTurns = 2'520;
constexpr std::size_t kYears = 100'000;  // Of these, at most.

}  // namespace

Flooder::Flooder(Fleet& fleet, std::uint64_t seed)
    : fleet_(fleet),
      dice_(seed ^ kFlooderSalt),
      member_(fleet.world().byzantine.front()),
      variants_(fleet.world()) {}

void Flooder::header_signed(std::size_t machine, const chain::SignedHeader& header) {
    if (fleet_.world().member_of(machine) != member_) return;
    header_ = header;
    past_.push_back(header.header);
    if (past_.size() > kPastMax) past_.pop_front();
    machine_ = machine;
    if (past_.front().slot + kOld < header.header.slot) {
        fleet_.at(base::Duration(0), [this] { send_old_blocks(); });
    }
    // Later its parent is below what is final, and nobody passes such headers on.
    if (header.header.previous != final_.id() || !dice_.percent(kGoodHeadersPercent)) return;
    ++floods_;
    fleet_.at(base::Duration(0), [this, parent = final_] { send_good_headers(parent); });
}

void Flooder::became_final(const chain::ExecutedBlockPtr& block) {
    variants_.became_final(block);
    final_ = block->block->header;
    while (!past_.empty() && past_.front().slot <= final_.slot)
        past_.pop_front();
}

void Flooder::act() {
    if (!dice_.percent(kPercent)) return;
    ++floods_;
    switch (dice_.below(7)) {
        case 0:
            return tell_ids();
        case 1:
            return ask();
        case 2:
            return send_orphans();
        case 3:
            return send_headers();
        case 4:
            return send_votes();
        case 5:
            return send_certificates();
        default:
            return send_clocks();
    }
}

void Flooder::tell(const p2p::SharedBytes& bytes) {
    for (auto& [id, end] : fleet_.ends()) {
        const bool is_ours = !fleet_.world().is_honest(end.node);
        if (!is_ours || !fleet_.has_greeted(end)) continue;
        fleet_.put_on_wire(end, bytes, base::Duration(0));
    }
}

template <class Make>
void Flooder::tell_each(std::size_t count, const Make& make) {
    for (auto& [id, end] : fleet_.ends()) {
        const bool is_ours = !fleet_.world().is_honest(end.node);
        if (!is_ours || !fleet_.has_greeted(end)) continue;
        for (std::size_t i = 0; i < count; ++i)
            fleet_.put_on_wire(end, make(), base::Duration(0));
    }
}

base::Hash256 random_id(Chance& dice, chain::Height height) {
    base::Hash256 id;
    for (std::byte& each : id.bytes)
        each = static_cast<std::byte>(dice.below(256));
    for (std::size_t i = 0; i < 4; ++i)
        id.bytes[i] = static_cast<std::byte>(height >> (8 * (3 - i)));
    return id;
}

std::vector<base::Hash256> Flooder::random_ids(std::size_t count) {
    std::vector<base::Hash256> ids;
    for (std::size_t i = 0; i < count; ++i)
        ids.push_back(random_id(dice_, 2 + static_cast<chain::Height>(dice_.below(100))));
    return ids;
}

void Flooder::tell_ids() {
    p2p::Notice notice;
    notice.blocks = {p2p::SyncMode::normal, p2p::kIdsMax, random_ids(p2p::kIdsMax)};
    notice.transactions = {p2p::SyncMode::normal, p2p::kIdsMax, random_ids(p2p::kIdsMax)};
    const chain::Height height = 1'000 + static_cast<chain::Height>(dice_.below(1'000));
    notice.head = {height, random_id(dice_, height)};
    notice.finalized = {height / 2, random_id(dice_, height / 2)};
    tell(p2p::pack_message(notice));
}

void Flooder::ask() {
    for (std::size_t i = 0; i < kQuestions; ++i) {
        if (dice_.percent(50)) {
            tell(p2p::pack_message(p2p::SyncRequest{1, p2p::kRangeMax, 0}, {.correlation = i + 1}));
            continue;
        }
        const auto wanted = dice_.percent(50) ? p2p::Wanted::blocks : p2p::Wanted::transactions;
        tell(p2p::pack_message(p2p::Request{wanted, random_ids(p2p::kIdsMax)},
                               {.correlation = i + 1}));
    }
}

// Blocks of its slot whose parents nobody has.
void Flooder::send_orphans() {
    if (!header_) return;
    const chain::ChainId chain_id = fleet_.world().genesis.chain_id();
    for (std::size_t i = 0; i < kOrphans; ++i) {
        chain::BlockHeader header = header_->header;
        header.previous = random_id(dice_, header.height - 1);
        const auto signature = signing_key(member_).sign(header.signing_digest(chain_id));
        const auto block = chain::make_block({header, signature}, {}, {});
        tell(p2p::pack_blocks({base::ByteView(chain::encode_block(*block))}, {}));
    }
}

// Of blocks that never come.
void Flooder::send_headers() {
    if (!header_) return;
    const chain::ChainId chain_id = fleet_.world().genesis.chain_id();
    for (std::size_t i = 0; i < kHeaders; ++i) {
        p2p::HeaderPush push{*header_, {}};
        push.signed_header.header.transaction_root = random_id(dice_, 0);
        push.signed_header.signature =
            signing_key(member_).sign(push.signed_header.header.signing_digest(chain_id));
        tell(p2p::pack_message(push));
    }
}

// As a producer may sign them who makes nothing final: of its slot, on what is final, without
// certificates.
void Flooder::send_good_headers(const chain::BlockHeader& parent) {
    const chain::ChainId chain_id = fleet_.world().genesis.chain_id();
    tell_each(kGoodHeaders, [&] {
        p2p::HeaderPush push{*header_, {}};
        chain::BlockHeader& header = push.signed_header.header;
        header.justify = parent.justify;
        header.finalized = parent.finalized;
        header.schedule_change.reset();
        header.transaction_root = random_id(dice_, 0);
        push.signed_header.signature = signing_key(member_).sign(header.signing_digest(chain_id));
        return p2p::pack_message(push);
    });
}

// On what is final: so they are good while nothing above it is. Each to one peer, which may push it
// on to others.
void Flooder::send_old_blocks() {
    const auto view = fleet_.view_of(machine_);
    if (view == nullptr || view->finalized->id != final_.id()) return;
    std::vector<transport::ChannelId> channels;
    for (auto& [id, end] : fleet_.ends()) {
        if (end.node == machine_ && fleet_.has_greeted(end)) channels.push_back(id);
    }
    if (channels.empty()) return;
    ++floods_;
    for (const chain::BlockHeader& each : past_) {
        if (each.schedule_version != header_->header.schedule_version) continue;
        if (each.slot + kOld >= header_->header.slot || each.slot <= final_.slot) continue;
        const auto made =
            variants_.make({final_.id(), each.slot, each.producer}, {}, member_, *view, 1);
        if (made.empty()) return;
        fleet_.note_variants(made);
        const base::Bytes bytes = chain::encode_block(*made.front());
        fleet_.put_on_wire(fleet_.ends().at(channels[dice_.below(channels.size())]),
                           p2p::pack_blocks({base::ByteView(bytes)}, {}),
                           base::Duration(0));
    }
    past_.clear();
}

// For a block that nobody has, of a slot of late.
chain::VoteData Flooder::random_vote() {
    const chain::Slot now = fleet_.slot();
    const chain::Slot slot = now - dice_.below(std::min(now, kSlotsBack) + 1);
    const auto height = 2 + static_cast<chain::Height>(dice_.below(100));
    return {.kind = dice_.percent(50) ? chain::VoteKind::notarize : chain::VoteKind::commit,
            .schedule_version = header_ ? header_->header.schedule_version : 0,
            .slot = slot,
            .height = height,
            .block_id = random_id(dice_, height),
            .justify_slot = slot - dice_.below(std::min<chain::Slot>(slot, 3) + 1)};
}

void Flooder::send_votes() {
    const chain::ChainId chain_id = fleet_.world().genesis.chain_id();
    const auto& members = fleet_.world().byzantine;
    tell_each(kVotes, [&] {
        const auto key = signing_key(members[dice_.below(members.size())], dice_.below(2));
        const chain::VoteData data = random_vote();
        return p2p::pack_message(
            chain::Vote{data, key.public_key(), key.sign(data.digest(chain_id))});
    });
}

// Of all validators, as it says; each signature is its own.
void Flooder::send_certificates() {
    const std::size_t size = fleet_.world().validators;
    const auto key = signing_key(member_);
    for (std::size_t i = 0; i < kCertificates; ++i) {
        chain::Certificate certificate{.data = random_vote(), .bitmaps = {}, .signatures = {}};
        const auto all = static_cast<unsigned>((1U << size) - 1);
        base::Bytes bitmap((size + 7) / 8);
        for (std::size_t at = 0; at < bitmap.size(); ++at)
            bitmap[at] = static_cast<std::byte>(all >> (8 * at));
        certificate.bitmaps.push_back(std::move(bitmap));
        const auto signature = key.sign(certificate.data.digest(fleet_.world().genesis.chain_id()));
        certificate.signatures.assign(size, signature);
        tell(p2p::pack_message(certificate));
    }
}

// The last blocks of an answer are of this member alone, and dated ahead.
p2p::SharedBytes Flooder::falsify(const p2p::SharedBytes& bytes) {
    const auto envelope = p2p::read_envelope(*bytes);
    const bool is_answer = envelope && envelope->type == p2p::MessageType::blocks &&
                           envelope->correlation != 0 && header_;
    if (!is_answer || !dice_.percent(kDatedPercent)) return bytes;
    const auto body = p2p::read_body(*envelope, *bytes);
    if (!body) return bytes;
    std::vector<chain::BlockPtr> blocks = std::get<p2p::Blocks>(*body).blocks;
    if (blocks.size() < 2) return bytes;
    const genesis::Genesis& genesis = fleet_.world().genesis;
    const chain::Slot turn = kTurns * genesis.parameters.repetitions;
    chain::Slot slot = header_->header.slot + turn * (1 + dice_.below(kYears));
    for (std::size_t i = 1 + dice_.below(blocks.size() - 1); i < blocks.size(); ++i, slot += turn) {
        chain::SignedHeader made{blocks[i - 1]->header, {}};
        made.header.previous = blocks[i - 1]->id;
        made.header.height += 1;
        made.header.slot = slot;
        made.header.producer = header_->header.producer;
        made.header.schedule_change.reset();
        made.header.transaction_root = {};
        made.signature = signing_key(member_).sign(made.header.signing_digest(genesis.chain_id()));
        blocks[i] = chain::make_block(made, {}, {});
    }
    ++dated_;
    return p2p::pack_message(p2p::Blocks{std::move(blocks)},
                             {.correlation = envelope->correlation, .flags = envelope->flags});
}

void Flooder::send_clocks() {
    const chain::ChainId chain_id = fleet_.world().genesis.chain_id();
    const auto key = signing_key(member_, dice_.below(2));
    const std::uint64_t life = dice_.below(SIZE_MAX / 2);
    for (std::size_t i = 0; i < kClocks; ++i) {
        p2p::ClockStatement statement{key.public_key(), life, i + 1, 0, {}};
        const auto now = fleet_.now().time_since_epoch();
        statement.shown = now.count() + dice_.between(-1'000'000'000, 1'000'000'000);
        statement.signature = key.sign(p2p::clock_digest(statement, chain_id));
        tell(p2p::pack_message(statement));
    }
}

}  // namespace sim::full
