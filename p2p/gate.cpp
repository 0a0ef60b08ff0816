#include "p2p/gate.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace p2p {

namespace {
using std::chrono::seconds;

constexpr base::Duration kAnswer = seconds(5);
constexpr base::Duration kAgain = seconds(10);
constexpr std::uint64_t kCorrelation = std::uint64_t{1} << 62U;

constexpr std::string_view kWaysOut =
    "set checkpoint = HEIGHT:ID of a final block that somebody trusted has told, or "
    "join-with-one-organisation = true";
constexpr std::size_t kNamesShown = 8;

std::string joined(const std::set<chain::Name>& organisations) {
    std::string text;
    std::size_t count = 0;
    for (const chain::Name name : organisations) {
        if (++count > kNamesShown) {
            return text + fmt::format(" and {} more", organisations.size() - kNamesShown);
        }
        if (count > 1) text += ", ";
        text += name.empty() ? "a pinned peer that is in no list" : name.to_string();
    }
    return text.empty() ? "none" : text;
}
}  // namespace

Gate::Gate(Peers& peers, const Access& access, const input::LedgerChanged& ledger)
    : peers_(peers),
      access_(access),
      ledger_(ledger),
      is_open_(peers.options().checkpoint.has_value()) {}

Gate::Party Gate::party_of(const Peer& peer) const {
    if (peer.is_listed) return peer.organisation;
    if (peer.is_pinned || access_.size() == 0) return chain::Name{};
    return {};
}

std::set<chain::Name> Gate::parties(const std::vector<Peer*>& peers) const {
    std::set<chain::Name> parties;
    for (const Peer* peer : peers) {
        if (const Party party = party_of(*peer)) parties.insert(*party);
    }
    return parties;
}

std::vector<Peer*> Gate::above(chain::Height height) const {
    std::vector<Peer*> above;
    peers_.for_each_ready([&](Peer& peer) {
        if (peer.finalized.height > height) above.push_back(&peer);
    });
    return above;
}

std::size_t Gate::needed() const {
    if (peers_.options().joins_with_one_organisation) return 1;
    return access_.organisations().size() > 1 ? 2 : 1;
}

bool Gate::takes_news(bool is_behind) const {
    if (is_open_ || access_.has(peers_.options().node_key)) return true;
    if (is_behind) return false;
    return parties(above(0)).size() >= needed();
}

void Gate::on_ledger() {
    if (ledger_.finalized.height <= 1) return;
    is_open_ = true;
    trouble_.clear();
}

bool Gate::look() {
    if (is_open_) return true;
    if (asked_) return false;
    if (again_at_ && peers_.now() >= *again_at_) {
        failed_.clear();
        again_at_.reset();
    }
    const std::vector<Peer*> ahead = above(ledger_.finalized.height);
    if (parties(ahead).size() < needed()) {
        wait_for(what_is_missing(ahead));
    } else if (needed() == 1) {
        open("the history is taken from one organisation alone; a checkpoint would bind it");
    } else if (const auto [one, other] = next_to_compare(ahead); other != nullptr) {
        compare(*one, *other);
    } else if (!again_at_) {
        again_at_ = peers_.now() + kAgain;
    }
    return is_open_;
}

void Gate::look_at_beginning() {
    if (is_open_) return;
    if (takes_news(false)) return trouble_.clear();
    wait_for(what_is_missing(above(0)));
}

void Gate::open(const std::string& why) {
    is_open_ = true;
    trouble_.clear();
    peers_.log().warn("sync: {}", why);
}

std::string Gate::what_is_missing(const std::vector<Peer*>& here) const {
    const auto strangers =
        std::ranges::count_if(here, [this](const Peer* peer) { return !party_of(*peer); });
    return fmt::format(
        "waiting for peers of {} of the genesis list ({}) that are on one chain: connected {} "
        "{}{}; add a p2p-peer-address of another one, {}",
        needed() == 1 ? "one organisation" : "two organisations",
        joined(access_.organisations()),
        parties(here).size() == 1 ? "is" : "are",
        joined(parties(here)),
        strangers == 0 ? "" : fmt::format(", and {} in no list, which do not count", strangers),
        kWaysOut);
}

// Of two organisations, and not compared in vain; null: there are none.
std::pair<Peer*, Peer*> Gate::next_to_compare(const std::vector<Peer*>& ahead) const {
    for (Peer* one : ahead) {
        for (Peer* other : ahead) {
            const Party first = party_of(*one);
            const Party second = party_of(*other);
            if (other->channel <= one->channel || !first || !second || first == second) continue;
            if (!failed_.contains({one->slot, other->slot})) return {one, other};
        }
    }
    return {};
}

// The lower of the two final blocks is asked of the peer that is farther.
void Gate::compare(Peer& one, Peer& other) {
    Peer& lower = one.finalized.height <= other.finalized.height ? one : other;
    Peer& higher = &lower == &one ? other : one;
    point_ = lower.finalized;
    compared_ = {one.slot, other.slot};
    if (lower.finalized.height == higher.finalized.height) {
        if (lower.finalized.id != higher.finalized.id) return contradict();
        return agree();
    }
    if (point_.height < higher.stored.earliest_height) return cannot_compare(higher);
    asked_ = higher.slot;
    asked_at_ = peers_.now();
    peers_.send(higher,
                SyncRequest{.from = point_.height, .to = point_.height},
                {.correlation = kCorrelation});
}

void Gate::agree() {
    is_open_ = true;
    agreed_ = Agreed{
        point_, peers_.options().times.slot_at(chain::TimePoint::from_timestamp(peers_.now()))};
    trouble_.clear();
    peers_.log().info("sync: two organisations name one final block {}:{}",
                      point_.height,
                      base::to_hex(point_.id.view()));
}

bool Gate::is_asked(const Peer& peer, const Envelope& envelope) const {
    return envelope.correlation == kCorrelation && asked_ == peer.slot;
}

void Gate::on_answer(Peer& peer, const Blocks& blocks) {
    asked_.reset();
    if (is_open_) return;
    if (blocks.blocks.empty()) {
        // It may have pruned since, and has said so.
        if (point_.height < peer.stored.earliest_height) return cannot_compare(peer);
        failed_.insert(compared_);
        return peers_.charge(peer, 10, Reason::behind, "has not the blocks that it named");
    }
    if (blocks.blocks.front()->id != point_.id) return contradict();
    agree();
}

// Nobody's fault; of any other two it may be seen.
void Gate::cannot_compare(const Peer& higher) {
    failed_.insert(compared_);
    wait_for(fmt::format(
        "final block {} of one peer cannot be compared with {}, which has pruned what is below "
        "block {}; waiting for others; or {}",
        point_.height,
        higher.address,
        higher.stored.earliest_height,
        kWaysOut));
}

// Any other two may agree.
void Gate::contradict() {
    failed_.insert(compared_);
    wait_for(fmt::format(
        "peers of two organisations name different final blocks {}; ask their operators, then "
        "set checkpoint = HEIGHT:ID",
        point_.height));
}

void Gate::wait_for(std::string trouble) {
    if (trouble == trouble_) return;
    trouble_ = std::move(trouble);
    peers_.log().warn("sync: {}", trouble_);
}

void Gate::on_time() {
    if (!asked_ || peers_.now() < asked_at_ + kAnswer) return;
    if (Peer* peer = peers_.at(*asked_)) {
        peers_.charge(*peer, 10, Reason::behind, "answers sync requests too late");
    }
    failed_.insert(compared_);
    asked_.reset();
}

void Gate::forget(PeerSlot slot) {
    if (asked_ == slot) asked_.reset();
    std::erase_if(failed_,
                  [slot](const auto& pair) { return pair.first == slot || pair.second == slot; });
}

}  // namespace p2p
