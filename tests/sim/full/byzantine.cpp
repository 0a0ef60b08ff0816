#include "tests/sim/full/byzantine.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace sim::full {

namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kByzantineSalt = 0x2545F4914F6CDD1D;
constexpr std::uint64_t kFloodSalt = 0x9FB21C651E98DF25;
constexpr std::uint64_t kCopySalt = 0x5D1F0C9A62E37B84;
constexpr std::size_t kRecent = 6;
constexpr int kVariantsSeedsPercent = 25;
constexpr int kFloodSeedsPercent = 15;
constexpr int kCopySeedsPercent = 30;
constexpr int kVariantsPercent = 30;  // Of the blocks of those who make any.

}  // namespace

Byzantine::Byzantine(Fleet& fleet, std::uint64_t seed)
    : fleet_(fleet), chance_(fleet.chance()), dice_(seed ^ kByzantineSalt), impostor_(fleet, seed) {
    const auto liking = [&] { return static_cast<int>(chance_.below(5)) * 25; };
    withholds_ = liking() / 2;
    releases_late_ = liking() / 2;
    splits_ = liking();
    forges_ = liking() / 2;
    babbles_ = chance_.percent(15);
    spreads_variants_ = dice_.percent(kVariantsSeedsPercent) || fleet.world().is_narrow;
    if (Divider::is_in(fleet.world(), seed)) divider_ = std::make_unique<Divider>(fleet, seed);
    if (divider_ == nullptr && Splitter::is_in(fleet.world(), seed)) {
        splitter_ = std::make_unique<Splitter>(fleet);
    }
    if (spreads_variants_ || divider_ != nullptr || splitter_ != nullptr) {
        variants_ = std::make_unique<Variants>(fleet.world());
    }
    Chance flood(seed ^ kFloodSalt);
    Chance copy(seed ^ kCopySalt);
    if (copy.percent(kCopySeedsPercent)) miscopier_ = std::make_unique<Miscopier>(seed);
    if (flood.percent(kFloodSeedsPercent)) flooder_ = std::make_unique<Flooder>(fleet, seed);
    if (Claimant::is_in(fleet.world(), seed)) claimant_ = std::make_unique<Claimant>(seed);
    if (Usurper::is_in(fleet.world(), seed)) usurper_ = std::make_unique<Usurper>(fleet, seed);
    if (fleet.world().elects_itself) candidates_ = std::make_unique<Candidates>(fleet);
    if (splitter_ != nullptr) {
        miscopier_.reset();
        claimant_.reset();
        usurper_.reset();
        flooder_.reset();
    }
    for (std::size_t i = 0; i < fleet.world().machines(); ++i) {
        hears_first_.push_back(static_cast<char>(chance_.below(2)));
    }
}

base::Duration Byzantine::edge_of_slot() {
    const base::Timestamp end = fleet_.world().universe.at(fleet_.slot() + 1);
    const base::Timestamp edge = end - chance_.between(base::Duration(0), milliseconds(60));
    return std::max(edge - fleet_.now(), base::Duration(0));
}

void Byzantine::signed_header(std::size_t machine, const chain::SignedHeader& header) {
    made_[fleet_.world().member_of(machine)].header = header;
    if (flooder_ != nullptr) flooder_->header_signed(machine, header);
}

// In about every third slot, if there are several: for the whole slot.
bool Byzantine::conspires() {
    if (fleet_.world().byzantine.size() < 2) return false;
    if (std::exchange(conspiracy_at_, fleet_.slot()) == fleet_.slot()) return is_conspiracy_;
    is_conspiracy_ = dice_.percent(30);
    if (is_conspiracy_) ++conspiracies_;
    return is_conspiracy_;
}

std::optional<base::Duration> Byzantine::delay(std::size_t machine,
                                               std::size_t peer,
                                               const p2p::SharedBytes& bytes) {
    impostor_.message_sent(bytes);
    const auto envelope = p2p::read_envelope(*bytes);
    if (!envelope) return base::Duration(0);
    using p2p::MessageType;
    const World& world = fleet_.world();
    const std::size_t member = world.member_of(machine);
    if (envelope->type == MessageType::blocks) keep_block(machine, *envelope, bytes);
    if (const auto fate = divider_ ? divider_->fate(peer, *envelope, bytes) : std::nullopt) {
        return fate->delay;
    }
    if (splitter_ != nullptr) {
        if (splitter_->keeps_back(*envelope)) return std::nullopt;
        return base::Duration(0);
    }
    const bool is_among_them = world.byzantine.size() > 1 && !world.is_honest(peer);
    if (is_among_them) return base::Duration(0);
    if (conspires()) {
        if (envelope->type == MessageType::vote) return std::nullopt;
        if (envelope->type == MessageType::certificate) return edge_of_slot();
    }
    const bool pushes = envelope->type == MessageType::header ||
                        (envelope->type == MessageType::blocks && envelope->correlation == 0);
    if (envelope->type == MessageType::vote && chance_.percent(withholds_)) return std::nullopt;
    if (envelope->type == MessageType::certificate && chance_.percent(releases_late_)) {
        if (chance_.percent(60)) return std::nullopt;
        return edge_of_slot();
    }
    if (pushes && world.has_twin(member) && chance_.percent(splits_)) {
        const bool is_first = machine == member;
        if (is_first != (hears_first_[peer] != 0)) return std::nullopt;
    }
    if (pushes && chance_.percent(5)) return chance_.between(milliseconds(0), milliseconds(400));
    return base::Duration(0);
}

p2p::SharedBytes Byzantine::falsify(const p2p::SharedBytes& bytes) {
    const p2p::SharedBytes said = claimant_ == nullptr ? bytes : claimant_->falsify(bytes);
    const p2p::SharedBytes copied = miscopier_ == nullptr ? said : miscopier_->falsify(said);
    return flooder_ == nullptr ? copied : flooder_->falsify(copied);
}

void Byzantine::tell(const p2p::SharedBytes& bytes, int share) {
    for (auto& [id, end] : fleet_.ends()) {
        const bool is_ours = !fleet_.world().is_honest(end.node);
        if (!is_ours || !fleet_.has_greeted(end) || !chance_.percent(share)) continue;
        fleet_.put_on_wire(end, bytes, base::Duration(0));
    }
}

void Byzantine::act() {
    if (splitter_ != nullptr || (divider_ != nullptr && divider_->has_divided())) return;
    if (chance_.percent(forges_)) forge_votes();
    if (chance_.percent(forges_ / 8)) forge_header(one_of_them());
    if (babbles_ && chance_.percent(2)) babble();
    impostor_.act();
    if (flooder_ != nullptr) flooder_->act();
    if (candidates_ != nullptr) candidates_->act();
    fleet_.at(milliseconds(chance_.between(20, 150)), [this] { act(); });
}

// A message with a wrong byte or without its end, or what never was one.
void Byzantine::babble() {
    base::Bytes bytes(1 + chance_.below(300));
    for (std::byte& each : bytes)
        each = static_cast<std::byte>(chance_.below(256));
    const auto& header = made_[one_of_them()].header;
    if (header && chance_.percent(70)) {
        bytes = *p2p::pack_message(p2p::HeaderPush{*header, {}});
        bytes[chance_.below(bytes.size())] ^= std::byte{1} << chance_.below(8);
        if (chance_.percent(30)) bytes.resize(1 + chance_.below(bytes.size()));
    }
    tell(std::make_shared<const base::Bytes>(std::move(bytes)), 60);
}

// Without a draw where there is but one.
std::size_t Byzantine::one_of_them() {
    const auto& all = fleet_.world().byzantine;
    return all.size() == 1 ? all.front() : all[dice_.below(all.size())];
}

// For any block of late, whatever they voted for before.
void Byzantine::forge_votes() {
    auto& blocks = fleet_.observer().blocks();
    const Seen& block =
        *blocks[blocks.size() - 1 - chance_.below(std::min(kRecent, blocks.size()))];
    for (const std::size_t member : fleet_.world().byzantine)
        forge_votes(member, block);
}

void Byzantine::forge_votes(std::size_t member, const Seen& block) {
    for (const chain::VoteKind kind : {chain::VoteKind::notarize, chain::VoteKind::commit}) {
        if (!chance_.percent(70)) continue;
        const chain::VoteData data = block.data(kind);
        for (std::size_t which = 0; which < 2; ++which) {
            const base::crypto::PrivateKey key = signing_key(member, which);
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
void Byzantine::forge_header(std::size_t member) {
    const Made& made = made_[member];
    if (!made.header || made.header->header.slot + kRecent < fleet_.slot()) return;
    p2p::HeaderPush push{*made.header, {}};
    push.signed_header.header.state_digest.bytes[0] ^= std::byte{1};
    const auto& entries = fleet_.world().universe.members;
    const base::Hash256 digest =
        push.signed_header.header.signing_digest(fleet_.world().genesis.chain_id());
    const std::size_t which = chance_.percent(80) ? 0 : 1;
    if (entries[member].name != push.signed_header.header.producer) return;
    push.signed_header.signature = signing_key(member, which).sign(digest);
    const bool has_body = made.block && made.block->header == made.header->header;
    if (has_body) push.witness = made.block->witness;
    tell(p2p::pack_message(push), 60);
    if (!has_body || chance_.percent(30)) return;
    const auto block =
        chain::make_block(push.signed_header, made.block->transactions, made.block->witness);
    fleet_.note_forged(block->id);
    tell(p2p::pack_message(p2p::Blocks{{block}}), 100);
}

void Byzantine::became_final(const chain::ExecutedBlockPtr& block) {
    if (variants_ != nullptr) variants_->became_final(block);
    if (flooder_ != nullptr) flooder_->became_final(block);
    if (candidates_ != nullptr) candidates_->became_final(block);
}

// Many blocks of the slot of this one; each hears of some of them, in an order of its own.
void Byzantine::spread_variants(std::size_t machine, const chain::BlockPtr& block) {
    const auto view = fleet_.view_of(machine);
    if (view == nullptr) return;
    // Two blocks fill a narrow world: a node that drops the one that others certify needs it again.
    const bool is_pair = fleet_.world().is_narrow && dice_.percent(80);
    const std::size_t count = is_pair ? 1 : static_cast<std::size_t>(dice_.between(2, 19));
    auto made = variants_->make(*block, fleet_.world().member_of(machine), *view, count);
    if (made.empty()) return;
    made.push_back(block);
    fleet_.note_variants(made);
    const bool all_begin_with_one = dice_.percent(50);
    for (auto& [id, end] : fleet_.ends()) {
        if (end.node != machine || !fleet_.has_greeted(end)) continue;
        if (!all_begin_with_one || dice_.percent(20)) dice_.shuffle(made);
        const std::size_t heard = 1 + dice_.below(made.size());
        for (std::size_t i = 0; i < heard; ++i) {
            const auto bytes =
                p2p::pack_blocks({base::ByteView(chain::encode_block(*made[i]))}, {});
            fleet_.put_on_wire(end, bytes, base::Duration(0));
        }
    }
}

// The newest of its own, with all that its header names.
void Byzantine::keep_block(std::size_t machine,
                           const p2p::Envelope& envelope,
                           const p2p::SharedBytes& bytes) {
    Made& made = made_[fleet_.world().member_of(machine)];
    if (!made.header || (made.block && made.block->header == made.header->header)) return;
    const auto body = p2p::read_body(envelope, *bytes);
    if (!body) return;
    for (const chain::BlockPtr& block : std::get<p2p::Blocks>(*body).blocks) {
        if (block->header != made.header->header) continue;
        made.block = block;
        if (divider_ != nullptr && divider_->divide(machine, block, *variants_)) continue;
        if (splitter_ != nullptr) {
            fleet_.at(std::chrono::microseconds(1),
                      [this, machine, block] { splitter_->split(machine, block, *variants_); });
            continue;
        }
        if (usurper_ != nullptr) {
            fleet_.at(std::chrono::microseconds(1),
                      [this, machine, block] { usurper_->usurp(machine, block); });
        }
        // At once: a moment later another block is final there.
        if (dice_.percent(forges_ / 4)) forge_header(fleet_.world().member_of(machine));
        if (!spreads_variants_ || !dice_.percent(kVariantsPercent)) continue;
        fleet_.at(std::chrono::microseconds(1),
                  [this, machine, block] { spread_variants(machine, block); });
    }
}

}  // namespace sim::full
