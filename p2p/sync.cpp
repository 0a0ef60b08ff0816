#include "p2p/sync.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace p2p {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kRangesMax = 8;  // Asked for, of all peers together,
constexpr std::size_t kRangesOfPeerMax = 2;
constexpr std::uint64_t kClaimedBytesMax = kRangesMax * kRangeBytesMax;  // and held.
constexpr std::size_t kJudgingMax = 1'024;
constexpr std::uint64_t kJudgingBytesMax = 16U << 20U;
constexpr std::uint64_t kAskBytesMin = 64U << 10U;
constexpr chain::Height kAskHeightsMin = 16;
constexpr chain::Height kAskHeightsMax = 8'192;
constexpr chain::Height kProvedHeightsMax = 2'048;    // Of one proof: they are executed together.
constexpr base::Duration kAhead = milliseconds(250);  // How much to ask for at a time.
constexpr base::Duration kPatience = seconds(2);
constexpr base::Duration kLatencyMax = seconds(2);  // That a peer is given, however slow it was.
constexpr base::Duration kRest = seconds(5);
constexpr base::Duration kRestartPause = milliseconds(500);
constexpr base::Duration kEarlyPauseMax = seconds(5);
constexpr base::Duration kTrial = seconds(5);  // Until something is final,
constexpr base::Duration kTrialMax = std::chrono::hours(1);
constexpr std::uint64_t kSlowest = 16U << 10U;  // Bytes per second that are believed.
constexpr int kLate = 10;                       // Points.
constexpr int kHasNothing = 10;

std::uint64_t bytes_in(std::uint64_t bytes_per_second, base::Duration time) {
    return bytes_per_second * static_cast<std::uint64_t>(time / milliseconds(1)) / 1000;
}

// Of an honest peer: it begins no block after kRangeBytesMax.
std::uint64_t answer_bytes_max(bool has_proof) {
    const auto most = [](MessageType type) { return carriage_of(type).body_bytes_max; };
    return kRangeBytesMax + most(MessageType::blocks) +
           (has_proof ? most(MessageType::range_proof) : 0);
}

// Of the ranges by their first height: the one of this question, as long as it is open.
auto asks(PeerSlot slot, std::uint64_t correlation) {
    return [=](const auto& item) {
        const auto& range = item.second;
        return !range.is_done && range.slot == slot && range.correlation == correlation;
    };
}

}  // namespace

void SyncManager::start(base::Timestamp now, const BlockPoint& after) {
    if (is_active_) {
        not_before_ = now + kRestartPause;
    } else {
        trial_ = kTrial;
        trial_until_ = now + trial_;
    }
    is_active_ = true;
    ++round_;
    ranges_.clear();
    holes_.clear();
    first_ = next_ = cursor_ = after.height + 1;
    tail_ = after;
    tail_slot_.reset();
}

void SyncManager::stop() {
    is_active_ = false;
    only_.reset();
    doubts_.clear();
    early_pause_ = {};
    ranges_.clear();
    holes_.clear();
}

// --- Whom to believe ---

void SyncManager::on_final(base::Timestamp now, const BlockPoint& final) {
    if (final.height <= final_) return;
    final_ = final.height;
    only_.reset();
    early_pause_ = {};
    trial_ = kTrial;
    trial_until_ = now + trial_;
    if (is_active_ && final.height >= next_) start(now, final);
}

void SyncManager::on_early(base::Timestamp now, PeerSlot slot, const BlockPoint& after) {
    doubt(slot);
    start(now, after);
    early_pause_ = std::clamp<base::Duration>(2 * early_pause_, kRestartPause, kEarlyPauseMax);
    not_before_ = now + early_pause_;
}

bool SyncManager::is_astray(base::Timestamp now) {
    if (!is_active_ || now < trial_until_) return false;
    trial_ = std::min(2 * trial_, kTrialMax);
    trial_until_ = now + trial_;
    if (const auto slot = awaited(now)) {
        doubt(*slot);
        return false;
    }
    if (tail_slot_) doubt(*tail_slot_);
    return next_ != first_;
}

// Who was asked for the next block a while ago and has sent nothing: it holds all up, and not who
// sent the last one.
std::optional<PeerSlot> SyncManager::awaited(base::Timestamp now) const {
    for (const auto& [from, range] : ranges_) {
        const bool is_next = !range.is_done && range.blocks.empty() && range.next == next_;
        if (is_next && now >= range.asked_at + kPatience) return range.slot;
    }
    return {};
}

void SyncManager::doubt(PeerSlot slot) {
    ++doubts_[slot];
    if (only_ == slot) only_.reset();
}

std::uint32_t SyncManager::doubts_of(PeerSlot slot) const {
    const auto found = doubts_.find(slot);
    return found == doubts_.end() ? 0 : found->second;
}

// --- Asking ---

std::vector<SyncManager::Ask> SyncManager::plan(base::Timestamp now,
                                                const std::vector<Source>& sources,
                                                chain::Height target) {
    std::vector<Ask> asks;
    if (!is_active_ || now < not_before_) return asks;
    for (auto at = holes_.begin(); at != holes_.end();) {
        const auto [from, hole] = *at;
        const Source* source = choose(now, sources, from, hole.avoid);
        if (source == nullptr) {
            ++at;
            continue;
        }
        holes_.erase(at);
        asks.push_back(ask(now, *source, from, hole.to));
        at = holes_.upper_bound(from);
    }
    while (cursor_ <= target) {
        const Source* source = choose(now, sources, cursor_, {});
        if (source == nullptr) break;
        asks.push_back(ask(now, *source, cursor_, target));
        cursor_ = ranges_.rbegin()->second.to + 1;
    }
    return asks;
}

// The one with the fewest ranges, then the fastest; null: nobody, or there is enough already.
const SyncManager::Source* SyncManager::choose(base::Timestamp now,
                                               const std::vector<Source>& sources,
                                               chain::Height from,
                                               std::optional<PeerSlot> avoid) const {
    // The range that all others wait for is asked for in any case.
    const bool is_first = from == next_;
    const auto in_flight = ranges_in_flight();
    if (in_flight >= kRangesMax || (bytes_claimed() >= kClaimedBytesMax && !is_first)) {
        return nullptr;
    }
    const Source* best = nullptr;
    const auto rank = [&](const Source& source) {
        const auto known = speeds_.find(source.slot);
        const Speed speed = known == speeds_.end() ? Speed{} : known->second;
        const bool rests = now < speed.rests_until;
        const bool is_avoided = avoid == source.slot;
        return std::tuple(is_avoided, rests, ranges_of(source.slot), ~speed.bytes_per_second);
    };
    for (const Source* source : believed(sources, from)) {
        if (ranges_of(source->slot) >= kRangesOfPeerMax) continue;
        if (best == nullptr || rank(*source) < rank(*best)) best = source;
    }
    // One that was late is not asked for the same again at once, even if it is alone.
    if (best != nullptr && avoid == best->slot && std::get<1>(rank(*best))) return nullptr;
    return best;
}

// Of those who have the block, the one that is asked alone, or all who are in doubt the least.
std::vector<const SyncManager::Source*> SyncManager::believed(const std::vector<Source>& sources,
                                                              chain::Height from) const {
    std::vector<const Source*> found;
    for (const Source& source : sources) {
        if (source.first > from || source.last < from) continue;
        if (source.slot == only_) return {&source};
        const std::uint32_t least = found.empty() ? 0 : doubts_of(found.front()->slot);
        const std::uint32_t doubts = doubts_of(source.slot);
        if (doubts < least) found.clear();
        if (found.empty() || doubts == least) found.push_back(&source);
    }
    return found;
}

SyncManager::Ask SyncManager::ask(base::Timestamp now,
                                  const Source& source,
                                  chain::Height from,
                                  chain::Height to) {
    const Speed& speed = speeds_[source.slot];
    // Else who answers just in time each time would have longer for the next.
    const base::Duration latency =
        std::min(std::max(speed.latency, source.round_trip), kLatencyMax);
    const std::uint64_t bytes = std::clamp<std::uint64_t>(
        bytes_in(speed.bytes_per_second, source.round_trip + kAhead), kAskBytesMin, kRangeBytesMax);
    const auto heights = static_cast<chain::Height>(
        std::clamp<std::uint64_t>(bytes / std::max<std::uint64_t>(1, block_bytes_),
                                  kAskHeightsMin,
                                  trusted_ ? kProvedHeightsMax : kAskHeightsMax));
    const chain::Height last = std::min({to, source.last, from + (heights - 1)});
    if (last < to && to < cursor_) holes_[last + 1] = {to, {}};
    // At a fourth of its rate it is late.
    const auto expected = milliseconds(4 * bytes * 1000 / speed.bytes_per_second);
    ranges_[from] = {
        .slot = source.slot,
        .correlation = next_correlation_,
        .to = last,
        .next = from,
        .last_id = {},
        .blocks = {},
        .asked_at = now,
        .deadline = now + kPatience + 4 * latency + std::min<base::Duration>(expected, seconds(10)),
        .may_prove = trusted_.has_value()};
    return {source.slot, next_correlation_++, {.from = from, .to = last, .trusted = trusted_}};
}

std::size_t SyncManager::ranges_of(PeerSlot slot) const {
    return static_cast<std::size_t>(
        std::count_if(ranges_.begin(), ranges_.end(), [slot](const auto& item) {
            return !item.second.is_done && item.second.slot == slot;
        }));
}

std::uint32_t SyncManager::ranges_in_flight() const {
    return static_cast<std::uint32_t>(std::count_if(
        ranges_.begin(), ranges_.end(), [](const auto& item) { return !item.second.is_done; }));
}

std::uint64_t SyncManager::bytes_claimed() const {
    std::uint64_t bytes = 0;
    for (const auto& [from, range] : ranges_) {
        for (const Held& held : range.blocks)
            bytes += held.bytes;
        if (range.is_done) continue;
        bytes +=
            std::min<std::uint64_t>((range.to - range.next + 1) * block_bytes_, kRangeBytesMax);
    }
    return bytes;
}

std::uint64_t SyncManager::bytes_waiting() const {
    std::uint64_t bytes = judging_bytes_;
    for (const auto& [from, range] : ranges_)
        bytes += range.blocks.size() * block_bytes_;
    return bytes;
}

// --- What comes ---

bool SyncManager::is_asked(PeerSlot slot, std::uint64_t correlation) const {
    return std::ranges::any_of(ranges_, asks(slot, correlation));
}

std::optional<SyncManager::Fault> SyncManager::check(const Range& range,
                                                     const chain::Block& block) const {
    const chain::Height height = block.header.height;
    const auto proved = [&range](Reason reason, std::string text) {
        return Fault{range.slot, 0, reason, std::move(text)};
    };
    if (height != range.next || height > range.to) {
        return proved(Reason::unlinkable,
                      fmt::format("sent block {} where {} was asked for", height, range.next));
    }
    if (!range.last_id.is_zero() && block.header.previous != range.last_id) {
        return proved(Reason::unlinkable,
                      fmt::format("block {} does not build on block {}", height, height - 1));
    }
    const bool is_whole = std::ranges::all_of(block.transactions, [](const auto& receipt) {
        return std::holds_alternative<chain::PackedTransaction>(receipt.transaction);
    });
    if (!is_whole) {
        return proved(Reason::bad_block, fmt::format("block {} lacks its transactions", height));
    }
    if (auto text = contradiction(block)) return proved(Reason::forked, *std::move(text));
    return {};
}

// Two organisations may name a block that nobody made. While the chain is below its height no node
// can tell, so a block of that height that is made later is no contradiction.
std::optional<std::string> SyncManager::contradiction(const chain::Block& block) const {
    const auto is_other = [&block](const BlockPoint& point) {
        return block.header.height == point.height && block.id != point.id;
    };
    if (checkpoint_) {
        if (!is_other(*checkpoint_)) return {};
        return fmt::format("block {} is not the checkpoint", block.header.height);
    }
    if (!bound_ || block.header.slot > bound_at_ || !is_other(*bound_)) return {};
    return fmt::format(
        "block {} is not the one that two organisations named as final when this "
        "node began; ask their operators, then set checkpoint = HEIGHT:ID",
        block.header.height);
}

// What the answer does not reach is asked for again. Whether the proof holds the ledger says.
std::optional<SyncManager::Fault> SyncManager::on_proof(PeerSlot slot,
                                                        const Envelope& envelope,
                                                        RangeProof proof) {
    Range& range = std::ranges::find_if(ranges_, asks(slot, envelope.correlation))->second;
    if (!std::exchange(range.may_prove, false)) {
        return Fault{slot, 0, Reason::wrong_version, "sends a range proof that was not asked for"};
    }
    const chain::Height height = proof.height();
    if (height < range.next || height > range.to) {
        return Fault{slot,
                     0,
                     Reason::bad_block,
                     fmt::format("proves block {} where blocks {} to {} were asked for",
                                 height,
                                 range.next,
                                 range.to)};
    }
    range.bytes += envelope.length;
    bytes_received_ += envelope.length;
    if (height < range.to) holes_[height + 1] = {range.to, {}};
    range.to = height;
    range.proof = std::move(proof);
    return {};
}

std::optional<SyncManager::Fault> SyncManager::on_blocks(base::Timestamp now,
                                                         PeerSlot slot,
                                                         const Envelope& envelope,
                                                         const Blocks& blocks) {
    const auto at = std::ranges::find_if(ranges_, asks(slot, envelope.correlation));
    Range& range = at->second;
    if (range.first_at == base::Timestamp{}) range.first_at = now;
    range.may_prove = false;
    range.bytes += envelope.length;
    bytes_received_ += envelope.length;
    if (range.bytes > answer_bytes_max(range.proof.has_value())) {
        const std::string text = fmt::format(
            "sends {} bytes for blocks {} to {}: an answer ends after {} and what goes beyond with "
            "its last block",
            range.bytes,
            at->first,
            range.to,
            kRangeBytesMax);
        drop(at, slot);
        return Fault{slot, 0, Reason::flooding, text};
    }
    const std::uint64_t each = envelope.length / std::max<std::size_t>(1, blocks.blocks.size());
    for (const chain::BlockPtr& block : blocks.blocks) {
        if (auto fault = check(range, *block)) {
            // Nothing that came with a lie is of use.
            drop(at, slot);
            return fault;
        }
        range.blocks.push_back({block, each});
        range.last_id = block->id;
        ++range.next;
    }
    if (!blocks.blocks.empty()) {
        block_bytes_ = std::max<std::uint64_t>(1, (3 * block_bytes_ + each) / 4);
    }
    if (range.next > range.to) {
        finish(now, range);
    } else if ((envelope.flags & kFlagLast) != 0) {
        const chain::Height first = at->first;
        if (range.proof) {
            const std::string text =
                fmt::format("proves block {} and sends blocks up to {}", range.to, range.next - 1);
            drop(at, slot);
            return Fault{slot, 0, Reason::bad_block, text};
        }
        const bool has_nothing = range.blocks.empty() && range.next == first;
        finish(now, range);
        cut(at, has_nothing ? std::optional(slot) : std::nullopt);
        if (has_nothing) {
            speeds_[slot].rests_until = now + kRest;
            if (only_ == slot) only_.reset();
            return Fault{
                slot, kHasNothing, Reason::behind, "has not the blocks that it named", first};
        }
    }
    return {};
}

void SyncManager::finish(base::Timestamp now, Range& range) {
    range.is_done = true;
    if (range.first_at == base::Timestamp{}) return;
    // At least so long, since one message comes at once, however large it is.
    const auto took = std::max<base::Duration>(now - range.first_at, milliseconds(10));
    const std::uint64_t rate =
        range.bytes * 1000 /
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(took / milliseconds(1)));
    Speed& speed = speeds_[range.slot];
    speed.latency = (3 * speed.latency + (range.first_at - range.asked_at)) / 4;
    std::uint64_t& kept = speed.bytes_per_second;
    kept = std::max((3 * kept + rate) / 4, kSlowest);
}

void SyncManager::cut(std::map<chain::Height, Range>::iterator at, std::optional<PeerSlot> avoid) {
    Range& range = at->second;
    range.is_done = true;
    range.proof.reset();  // Its last block will not come.
    if (range.next <= range.to) holes_[range.next] = {range.to, avoid};
    range.to = range.next - 1;
    if (range.blocks.empty()) ranges_.erase(at);
}

void SyncManager::drop(std::map<chain::Height, Range>::iterator at, std::optional<PeerSlot> avoid) {
    Range& range = at->second;
    range.next -= static_cast<chain::Height>(range.blocks.size());
    range.blocks.clear();
    cut(at, avoid);
}

std::vector<SyncManager::Fault> SyncManager::on_time(base::Timestamp now) {
    std::vector<Fault> faults;
    for (auto at = ranges_.begin(); at != ranges_.end();) {
        const auto next = std::next(at);
        Range& range = at->second;
        if (!range.is_done && range.deadline <= now) {
            Speed& speed = speeds_[range.slot];
            speed.rests_until = now + kRest;
            speed.bytes_per_second = std::max(speed.bytes_per_second / 2, kSlowest);
            faults.push_back({range.slot, kLate, Reason::behind, "answers sync requests too late"});
            if (only_ == range.slot) only_.reset();
            cut(at, range.slot);
        }
        at = next;
    }
    return faults;
}

void SyncManager::forget(PeerSlot slot) {
    for (auto at = ranges_.begin(); at != ranges_.end();) {
        const auto next = std::next(at);
        // What is held of it would be laid to the next peer of its slot.
        if (at->second.slot == slot) drop(at, {});
        at = next;
    }
    speeds_.erase(slot);
    doubts_.erase(slot);
    if (only_ == slot) only_.reset();
    if (tail_slot_ == slot) tail_slot_.reset();
    for (auto& [from, hole] : holes_) {
        if (hole.avoid == slot) hole.avoid.reset();
    }
}

// --- Handing over ---

bool SyncManager::has_next(const Range& range) const {
    if (range.blocks.empty() || range.blocks.front().block->header.height != next_) return false;
    if (judging_.size() >= kJudgingMax || judging_bytes_ >= kJudgingBytesMax) return false;
    return !range.proof || range.next > range.to;
}

SyncManager::Delivery SyncManager::take_next(Range& range) {
    Delivery delivery{.slot = range.slot, .blocks = {}, .proof = std::move(range.proof)};
    std::uint64_t bytes = 0;
    do {
        bytes += range.blocks.front().bytes;
        delivery.blocks.push_back(std::move(range.blocks.front().block));
        range.blocks.pop_front();
    } while (delivery.proof && !range.blocks.empty());
    range.proof.reset();
    const chain::Block& last = *delivery.blocks.back();
    tail_ = {last.header.height, last.id};
    tail_slot_ = range.slot;
    next_ = last.header.height + 1;
    Judging& judging = judging_[last.id];
    judging_bytes_ = judging_bytes_ - judging.bytes + bytes;
    judging = {.bytes = bytes, .round = round_};
    return delivery;
}

SyncManager::Taken SyncManager::take() {
    Taken taken;
    while (!ranges_.empty()) {
        const auto at = ranges_.begin();
        Range& range = at->second;
        if (range.blocks.empty()) {
            if (!range.is_done) break;
            ranges_.erase(at);
            continue;
        }
        if (!has_next(range)) break;
        if (range.blocks.front().block->header.previous != tail_.id) {
            const std::string text =
                fmt::format("block {} builds on another block {} than ours", next_, tail_.height);
            taken.must_restart = true;
            if (next_ == first_) {
                taken.fault = Fault{range.slot, 0, Reason::forked, text};
            } else if (!tail_slot_) {
                // Who sent it is gone, and may have lied.
            } else if (*tail_slot_ == range.slot) {
                taken.fault = Fault{range.slot, 0, Reason::unlinkable, text};
            } else if (only_ == tail_slot_) {
                doubt(*tail_slot_);  // It has no more, and nothing of it was final.
            } else {
                // One of two lies, and neither is charged for the other's lie: what one says alone
                // the ledger can judge.
                only_ = tail_slot_;
            }
            return taken;
        }
        taken.deliveries.push_back(take_next(range));
    }
    return taken;
}

void SyncManager::note_other_copy(const chain::BlockId& id) {
    const auto at = judging_.find(id);
    if (at != judging_.end()) at->second.is_other_copy = true;
}

SyncManager::Answered SyncManager::on_judged(const chain::BlockId& id) {
    const auto at = judging_.find(id);
    if (at == judging_.end()) return {};
    const Judging judging = at->second;
    judging_bytes_ -= judging.bytes;
    judging_.erase(at);
    return {.is_of_round = judging.round == round_ && is_active_,
            .is_other_copy = judging.is_other_copy};
}

}  // namespace p2p
