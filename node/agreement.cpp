#include "node/agreement.hpp"

#include "chain/execution/elections.hpp"
#include "chain/execution/membership.hpp"
#include "chain/execution/rows.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace node {

namespace {

constexpr std::size_t kConvictedMax = 1'000;

std::uint64_t lag_milliseconds(const ApiContext& context, const Published& view) {
    const std::uint64_t slots = view.head->header.slot - view.finalized->header.slot;
    return slots * context.times().interval_milliseconds;
}

// What the conversation with peers adds: who holds the vote key, and how that node stands.
void add_peer(const p2p::Status& status, api::ValidatorStatus& validator) {
    const auto holds_key = [&](const p2p::PeerStatus& peer) {
        return std::ranges::find(peer.vote_keys, validator.entry.vote_key) != peer.vote_keys.end();
    };
    const auto peer = std::ranges::find_if(status.peers, holds_key);
    if (peer == status.peers.end()) return;
    validator.connected = peer->state == p2p::PeerState::ready;
    validator.head = peer->head.height;
    if (peer->clock_offset) {
        validator.clock_nanoseconds =
            std::chrono::duration_cast<std::chrono::nanoseconds>(*peer->clock_offset).count();
        // The offset is of a round trip that took at most twice as long as they do on average, and
        // it is wrong by half of that trip at most.
        const base::Duration error = peer->round_trip.value_or(base::Duration{});
        validator.clock_error_nanoseconds =
            std::chrono::duration_cast<std::chrono::nanoseconds>(error).count();
    }
}

// Validators' nodes belong to them, or to the organisation of that name. A chain without any
// registered node has its first list in the genesis file.
bool has_node_key(const chain::Registry& registry, chain::Name producer) {
    if (registry.keys.empty()) return true;
    return std::ranges::any_of(registry.keys, [&](const chain::RegisteredKey& key) {
        return (key.roles & chain::kRoleValidator) != 0 && key.organisation == producer;
    });
}

// A validator of this node, with another key in the schedule than a signature-provider has.
void add_lack(const std::vector<std::string>& names,
              const Published& view,
              api::ValidatorStatus& validator) {
    const std::string name = validator.entry.producer.to_string();
    if (validator.connected || std::ranges::find(names, name) == names.end()) return;
    for (const auto& key : {validator.entry.vote_key, validator.entry.signing_key}) {
        const bool is_here =
            std::ranges::find(view.keys, key, &consensus::KeyStatus::key) != view.keys.end();
        if (is_here) continue;
        validator.lacks = key.to_string();
        return;
    }
}

// What was seen of its votes, and how its key stands if it is here.
void add_votes(const Published& view, const OwnStart& own, api::ValidatorStatus& validator) {
    for (const chain::Vote& vote : view.votes) {
        if (vote.key != validator.entry.vote_key) continue;
        const api::Promise promise{vote.data.kind, vote.data.height, vote.data.slot};
        if (vote.data.kind == chain::VoteKind::commit) validator.lock = promise;
        if (!validator.last_vote || validator.last_vote->slot <= promise.slot) {
            validator.last_vote = promise;
        }
    }
    const auto key =
        std::ranges::find(view.keys, validator.entry.vote_key, &consensus::KeyStatus::key);
    if (key == view.keys.end()) return;
    validator.own = true;
    validator.journal_lost = key->lost;
    validator.twin = key->twin;
    validator.waits = key->waits;
    validator.stopped = key->stopped;
    validator.lacks_lock = key->lacks_lock;
    validator.signing_failure = own.failures->of(validator.entry.vote_key);
    if (validator.signing_failure.empty()) {
        validator.signing_failure = own.failures->of(validator.entry.signing_key);
    }
}

// The validators in force at the final block, and what is known of each.
base::Result<std::vector<api::ValidatorStatus>> validators_of(const ApiContext& context,
                                                              const Published& view,
                                                              const chain::Schedule& schedule,
                                                              const p2p::Status& peers,
                                                              const OwnStart& own) {
    const auto now = context.times().time_of(view.finalized->header.slot);
    const auto registry = chain::load_registry(*view.final_state, now);
    if (!registry) return base::fail(registry.error());
    const auto& certificate = view.certificate;
    const bool fits = certificate && certificate->data.schedule_version == schedule.version;
    std::vector<api::ValidatorStatus> list;
    for (std::size_t i = 0; i < schedule.entries.size(); ++i) {
        api::ValidatorStatus validator;
        validator.entry = schedule.entries[i];
        validator.has_node_key = has_node_key(*registry, validator.entry.producer);
        if (fits) validator.voted_final = api::has_signed(*certificate, i);
        const auto amnesia = chain::find_amnesia(*view.final_state, validator.entry.producer);
        validator.forgot = amnesia && amnesia->vote_key == validator.entry.vote_key;
        add_votes(view, own, validator);
        add_peer(peers, validator);
        add_lack(own.producer_names, view, validator);
        list.push_back(std::move(validator));
    }
    return list;
}

// Those whose validators registered no other keys since.
base::Result<std::vector<api::Conviction>> convictions_of(const Published& view,
                                                          const chain::Schedule& schedule) {
    const chain::StateView& state = *view.final_state;
    const auto keys = chain::convicted_keys(state, kConvictedMax);
    if (!keys) return base::fail(keys.error());
    if (keys->empty()) return std::vector<api::Conviction>();
    const auto poll = chain::take_poll(state, schedule.entries, view.finalized->header.slot);
    if (!poll) return base::fail(poll.error());
    std::vector<api::Conviction> list;
    for (const chain::ConvictedKey& each : *keys) {
        const auto owner = std::ranges::find_if(poll->candidates, [&](const chain::Candidate& who) {
            return who.entry.signing_key == each.key || who.entry.vote_key == each.key;
        });
        if (owner == poll->candidates.end()) continue;
        const bool own =
            std::ranges::find(view.keys, each.key, &consensus::KeyStatus::key) != view.keys.end();
        list.push_back({.producer = owner->entry.producer,
                        .key = each.key.to_string(),
                        .kind = std::string(api::evidence_name(each.kind)),
                        .height = each.height,
                        .own = own});
    }
    return list;
}

// What was heard of the clocks of those to whom there is no connection, too.
void add_clocks(const ApiContext& context, const Published& view, api::AgreementView& out) {
    out.clock = chain::TimePoint::from_timestamp(system_time());
    out.final_time = context.times().time_of(view.finalized->header.slot);
    for (api::ValidatorStatus& each : out.validators) {
        const auto& shown = view.clocks.shown;
        const auto heard = std::ranges::find(
            shown, each.entry.producer, &std::pair<chain::Name, base::Timestamp>::first);
        if (heard == shown.end()) continue;
        ++out.clocks_heard;
        if (!each.own && !each.clock_nanoseconds) {
            // It came by way of others, and shows less than the clock by the time that took.
            const std::int64_t ahead = (heard->second - view.clocks.ours).count();
            each.clock_nanoseconds = ahead;
            each.clock_error_nanoseconds = std::max<std::int64_t>(-ahead, 0);
        }
    }
    chain::Slot spent = view.clocks.floor.value_or(0);
    for (const consensus::KeyStatus& key : view.keys)
        spent = std::max(spent, key.last_notarize);
    if (!view.keys.empty()) out.signs_from = context.times().time_of(spent + 1);
}

// From its block on its validators count alone. Before that block the node fetches blocks as any
// other.
std::optional<api::FollowedRecovery> followed(const OwnStart& own, const Published& view) {
    if (!own.recovery) return std::nullopt;
    const chain::Height from = chain::height_of(own.recovery->reset.from);
    if (view.finalized->header.height != from) return std::nullopt;
    return api::FollowedRecovery{.id = base::to_hex(own.recovery->id().view()),
                                 .from = from,
                                 .is_retime = !own.recovery->retimes.empty()};
}

// Of two organisations, so that no single one can have members look for a file that nobody has.
std::optional<api::FollowedRecovery> recovery_of_peers(const OwnStart& own,
                                                       const Published& view,
                                                       const p2p::Status& status) {
    const base::Hash256 ours = own.recovery ? own.recovery->id() : base::Hash256{};
    std::map<base::Hash256, std::set<chain::Name>> named;
    for (const p2p::PeerStatus& peer : status.peers) {
        const chain::Height from = chain::height_of(peer.recovery.from);
        const bool is_news = from > view.finalized->header.height && peer.recovery.id != ours;
        if (!is_news || peer.organisation.empty()) continue;
        auto& organisations = named[peer.recovery.id];
        organisations.insert(peer.organisation);
        if (organisations.size() > 1) {
            return api::FollowedRecovery{.id = base::to_hex(peer.recovery.id.view()), .from = from};
        }
    }
    return std::nullopt;
}

std::string peer_name(const chain::Registry& registry, const p2p::DialStatus& dial) {
    const chain::RegisteredKey* known = dial.pinned ? registry.find(*dial.pinned) : nullptr;
    if (known == nullptr || known->organisation.empty()) return dial.address;
    return known->organisation.to_string() + " (" + dial.address + ")";
}

// Why there is no connection to those that are dialled.
base::Result<void> add_refusals(const Published& view,
                                const p2p::Status& status,
                                const OwnStart& own,
                                api::AgreementView& out) {
    const auto now = chain::TimePoint::from_timestamp(system_time());
    const auto registry = chain::load_registry(*view.final_state, now);
    if (!registry) return base::fail(registry.error());
    out.is_registered = own.node_key && registry->find(*own.node_key) != nullptr;
    for (const p2p::DialStatus& dial : status.dials) {
        // It may have come to us meanwhile, with another key than the one that we expect, too.
        const bool is_here = std::ranges::any_of(status.peers, [&](const auto& peer) {
            return peer.key == dial.pinned || peer.listen_address == dial.address;
        });
        if (dial.connected || is_here || dial.last_error.empty()) continue;
        out.refusals.push_back(dial.address + ": " + dial.last_error);
        if (dial.last_error.find("has another final block") == std::string::npos) continue;
        out.forks.push_back({peer_name(*registry, dial), dial.last_error});
    }
    return {};
}

}  // namespace

base::Result<api::AgreementView> agreement_of(const ApiContext& context,
                                              const Published& view,
                                              const OwnStart& own) {
    auto schedule = chain::load_schedule(*view.final_state);
    if (!schedule) return base::fail(schedule.error());
    api::AgreementView out;
    out.recovery = followed(own, view);
    if (out.recovery && !own.recovery->reset.schedule.entries.empty()) {
        *schedule = own.recovery->reset.schedule;
    }
    const auto status = context.peers();
    out.peers_recovery = recovery_of_peers(own, view, *status);
    auto validators = validators_of(context, view, *schedule, *status, own);
    if (!validators) return base::fail(validators.error());
    auto convicted = convictions_of(view, *schedule);
    if (!convicted) return base::fail(convicted.error());
    out.validators = std::move(*validators);
    out.convicted = *std::move(convicted);
    out.quorum = schedule->quorum();
    out.has_member = chain::count_members(*view.final_state, 1) > 0;
    out.head = view.head->header.height;
    out.finalized = view.finalized->header.height;
    out.head_slot = view.head->header.slot;
    out.lag_milliseconds = lag_milliseconds(context, view);
    out.interval_milliseconds = context.times().interval_milliseconds;
    add_clocks(context, view, out);
    if (out.finalized <= 1) out.joining_waits_for = status->sync.gate_waits_for;
    if (auto added = add_refusals(view, *status, own, out); !added) {
        return base::fail(added.error());
    }
    return out;
}

std::vector<api::Finding> find_wrong(const ApiContext& context, const OwnStart& own) {
    const auto view = agreement_of(context, *context.runtime.published(), own);
    return view ? api::diagnose(*view) : std::vector<api::Finding>();
}

}  // namespace node
