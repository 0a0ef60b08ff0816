#include "tests/sim/full/candidates.hpp"

#include "tests/sim/full/load.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace sim::full {

namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kCandidatesSalt = ~0xA0761D6478BD642FULL;
constexpr int kSeedsPercent = 25;      // Of those in which members vote and some are Byzantine.
constexpr std::size_t kFirstKey = 20;  // No member has a number so high.
constexpr base::Duration kPause = milliseconds(400);

chain::Name candidate(std::size_t number) {
    return account_name("liar", number + 1);
}

bool is_system(const chain::Action& action, const char* name) {
    return action.account == *chain::Name::from_string("eosio") &&
           action.name == *chain::Name::from_string(name);
}

}  // namespace

Candidates::Candidates(Fleet& fleet) : fleet_(fleet), liar_(fleet.world().byzantine.front()) {}

bool Candidates::is_in(const World& world, std::uint64_t seed) {
    const bool may_be = world.votes && !world.byzantine.empty();
    return may_be && Chance(seed ^ kCandidatesSalt).percent(kSeedsPercent);
}

void Candidates::became_final(const chain::ExecutedBlockPtr& block) {
    for (const chain::TransactionTrace& trace : block->traces) {
        if (trace.except) continue;
        for (const chain::ActionTrace& each : trace.action_traces)
            note(each.act);
    }
}

void Candidates::note(const chain::Action& action) {
    if (action.authorization.empty()) return;
    const chain::Name actor = action.authorization.front().actor;
    if (is_system(action, "voteproducer")) voters_.insert(actor);
    if (is_system(action, "regproducer")) registered_.insert(actor);
    if (is_system(action, "ready") && created_.contains(actor)) ready_.insert(actor);
    if (!is_system(action, "newaccount")) return;
    for (std::size_t i = 0; i < kFreePlaces; ++i) {
        const chain::Name name = candidate(i);
        if (action.data == packed_account(actor, name)) created_.insert(name);
    }
}

void Candidates::act() {
    if (fleet_.now() < next_) return;
    next_ = fleet_.now() + kPause;
    for (std::size_t i = 0; i < kFreePlaces; ++i)
        enter(i);
    if (voters_.size() >= fleet_.world().members) vote();
}

// The next thing that this account needs for its place.
void Candidates::enter(std::size_t number) {
    const chain::Name name = candidate(number);
    const chain::Name creator = fleet_.world().genesis.members[liar_].name;
    if (!created_.contains(name)) {
        return fleet_.push(
            liar_, liar_, fleet_.action_of(creator, "newaccount", packed_account(creator, name)));
    }
    const base::crypto::PrivateKey key = signing_key(kFirstKey + number);
    if (registered_.contains(name)) {
        base::Writer data;
        chain::encode(data, name);
        return fleet_.push(liar_, kFirstKey + number, fleet_.action_of(name, "ready", data.take()));
    }
    fleet_.push(liar_,
                kAccountsKey,
                fleet_.action_of(name, "regproducer", packed_producer(name, key.public_key())));
}

void Candidates::vote() {
    for (const std::size_t member : fleet_.world().byzantine) {
        const chain::Name name = fleet_.world().genesis.members[member].name;
        std::vector<chain::Name> chosen{name};
        for (std::size_t i = 0; i < kFreePlaces; ++i)
            if (registered_.contains(candidate(i))) chosen.push_back(candidate(i));
        std::ranges::sort(chosen);
        fleet_.push(
            liar_, member, fleet_.action_of(name, "voteproducer", packed_votes(name, chosen)));
    }
}

}  // namespace sim::full
