#include "tests/sim/consensus/conduct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sim {

namespace {

constexpr std::int64_t kRecentMilliseconds = 2'000;              // R1.
constexpr base::Duration kMissingFor = std::chrono::seconds(4);  // R1.
constexpr std::size_t kAdoptedKept = 16;
constexpr chain::Slot kSlotsKept = 4;  // Fewer than a node keeps of a key.
constexpr base::Duration kEarlyMin = std::chrono::milliseconds(100);

base::Duration interval(const Universe& universe) {
    return std::chrono::milliseconds(universe.times.interval_milliseconds);
}

}  // namespace

void Conduct::restarts() {
    heard_.clear();
    latest_ = 0;
    accused_keys_.clear();
    accused_producers_.clear();
    twin_keys_.clear();
    adopted_.clear();
    missing_ = {};
}

void Conduct::misses(const chain::VoteData& certified, base::Timestamp now) {
    if (certified.slot <= missing_.slot) return;
    missing_ = certified.block();
    missing_at_ = now;
}

void Conduct::asks_for(Moment moment,
                       const consensus::Consensus& node,
                       const consensus::Effects& effects) {
    for (const consensus::Effect& effect : effects) {
        if (const auto* produce = std::get_if<consensus::effect::Produce>(&effect)) {
            check_twin(produce->producer.signing_key);
        } else if (const auto* vote = std::get_if<consensus::effect::CastVote>(&effect)) {
            check_twin(vote->key);
            if (moment.shown < universe_.at(vote->data.slot) - clock_bound_) {
                observer_.fail("a vote is signed before its slot");
            }
            if (vote->data.kind == chain::VoteKind::commit) {
                check_commit(moment.shown, vote->data, effects);
            } else {
                check_notarize(moment, vote->data, node);
            }
        } else if (const auto* accuse = std::get_if<consensus::effect::Accuse>(&effect)) {
            const chain::Evidence& evidence = accuse->evidence;
            if (const auto* headers = std::get_if<chain::TwoHeaders>(&evidence)) {
                accused_producers_.insert(headers->first.header.producer);
                // One proof of a key is enough, and with either of these it may vote, too.
                const chain::Name name = headers->first.header.producer;
                const auto member = std::ranges::find(universe_.members, name, &Member::name);
                accused_keys_.insert({member->signing_key, member->vote_keys[1]});
            } else if (const auto* votes = std::get_if<chain::TwoVotes>(&evidence)) {
                accused_keys_.insert(votes->first.key);
            } else {
                accused_keys_.insert(std::get<chain::ForbiddenCommit>(evidence).commit.key);
            }
        }
    }
}

void Conduct::check_twin(const base::crypto::PublicKey& key) {
    if (twin_keys_.contains(key)) observer_.fail("a key signs that an earlier machine uses");
}

void Conduct::check_notarize(Moment moment,
                             const chain::VoteData& vote,
                             const consensus::Consensus& node) {
    const bool is_here = missing_.slot <= node.finalized().slot || node.holds(missing_.id);
    const bool is_given_up = vote.slot >= missing_.slot && moment.now >= missing_at_ + kMissingFor;
    if (!is_here && !is_given_up) observer_.fail("a NOTARIZE of a node that lacks blocks");
    const chain::Slot current =
        universe_.times.slot_at(chain::TimePoint::from_timestamp(moment.shown));
    const auto behind = static_cast<chain::Slot>(
        std::max<std::int64_t>(2, kRecentMilliseconds / universe_.times.interval_milliseconds));
    if (vote.slot + behind >= current) return;
    observer_.fail(fmt::format("a NOTARIZE of slot {} is signed in slot {}", vote.slot, current));
}

// In its slot, G before the end of that, or with a NOTARIZE of a block that has its certificate.
void Conduct::check_commit(base::Timestamp local,
                           const chain::VoteData& vote,
                           const consensus::Effects& effects) {
    const base::Duration guard = std::min(clock_bound_, interval(universe_) / 4);
    if (local < universe_.at(vote.slot + 1) - guard) return;
    const bool is_accompanied = std::ranges::any_of(effects, [&](const auto& effect) {
        const auto* other = std::get_if<consensus::effect::CastVote>(&effect);
        if (other == nullptr || other->data.kind != chain::VoteKind::notarize) return false;
        return observer_.find(other->data.block_id)->header().justify.id == vote.block_id;
    });
    if (!is_accompanied) observer_.fail("a COMMIT is signed late, and alone");
}

void Conduct::makes_block(base::Timestamp local, chain::Slot slot) {
    const base::Timestamp start = universe_.at(slot);
    if (local >= start && local <= start + interval(universe_) / 4) return;
    observer_.fail("a block is made outside of the time that its slot has for it");
}

void Conduct::holds_early(base::Timestamp local, base::Timestamp ready_at) {
    // To the end of the slot in which the bound lies.
    const base::Duration most = std::max(interval(universe_), kEarlyMin);
    if (ready_at > local + most) observer_.fail("a block is held that came too early");
}

// Whatever else the key says, also of slots to come: its newest votes are kept.
bool Conduct::is_caught(base::Timestamp local,
                        const chain::Vote& vote,
                        const consensus::Consensus& node) {
    if (!observer_.is_byzantine(vote.key)) return false;
    const chain::Slot latest =
        universe_.times.slot_at(chain::TimePoint::from_timestamp(local + interval(universe_)));
    latest_ = std::max(latest_, latest);
    // With a new schedule a node forgets the keys that are in none. Before it knows one, it may
    // not let it in.
    if (const chain::BlockId id = node.finalized().id; !IdEqual()(id, final_)) {
        final_ = id;
        const auto version = observer_.find(id)->header().schedule_version;
        if (std::exchange(version_, version) != version) heard_.clear();
    }
    // By its clock this cannot be there yet; or that was ahead, and what it let in is in the way.
    if (vote.data.slot > latest || latest < latest_) return false;
    if (vote.data.slot + kSlotsKept < latest) return false;
    if (node.newest_votes(vote.key).empty()) return false;
    BySlot& heard = heard_[vote.key][index_of(vote.data.kind)];
    std::erase_if(heard, [&](const auto& one) { return one.first + kSlotsKept < latest; });
    const auto [first, is_first] = heard.try_emplace(vote.data.slot, vote.data);
    if (is_first || accused_keys_.contains(vote.key)) return false;
    return first->second != vote.data;
}

void Conduct::must_accuse(const base::crypto::PublicKey& key) {
    if (!accused_keys_.contains(key)) observer_.fail("two votes of one slot are heard in silence");
}

void Conduct::adopted(base::Timestamp local, const chain::Block& block) {
    if (local < universe_.at(block.header.slot)) {
        observer_.fail("a block is adopted before its slot");
    }
    const chain::BlockHeader& mine = block.header;
    const bool is_second = std::ranges::any_of(adopted_, [&](const chain::BlockHeader& other) {
        return other.slot == mine.slot && other.producer == mine.producer && other != mine &&
               observer_.is_one_signer(other, mine);
    });
    const bool is_accused = accused_producers_.contains(mine.producer) ||
                            accused_keys_.contains(*observer_.find(block.id)->known->signer());
    if (is_second && !is_accused) {
        observer_.fail("two blocks of one producer and slot are seen in silence");
    }
    if (block.id == missing_.id) missing_ = {};
    adopted_.push_back(mine);
    if (adopted_.size() > kAdoptedKept) adopted_.pop_front();
}

void Conduct::certificate_left(const chain::Certificate& certificate) {
    observer_.certificate_left(certificate);
    observer_.judged(certificate, true);
}

}  // namespace sim
