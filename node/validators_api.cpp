#include "chain/execution/elections.hpp"
#include "chain/execution/membership.hpp"
#include "chain/execution/rows.hpp"
#include "node/api/validator_json.hpp"
#include "node/operator_api.hpp"

#include <algorithm>

namespace node {

namespace {

using chain::abi::json_integer;

constexpr std::size_t kNodesMax = 1'000;
constexpr std::size_t kEvidenceMax = 1'000;

Json candidate_json(const chain::Candidate& candidate,
                    const chain::Schedule& schedule,
                    const chain::StateView& state) {
    const chain::ScheduleEntry& entry = candidate.entry;
    const auto amnesia = chain::find_amnesia(state, entry.producer);
    // Registered, and not used before a node that holds them is ready with them.
    const auto next = chain::find_next_entry(state, entry.producer);
    const bool is_waiting = next && *next && **next != entry;
    return {{"producer", entry.producer.to_string()},
            {"signing_key", entry.signing_key.to_string()},
            {"vote_key", entry.vote_key.to_string()},
            {"waiting_signing_key", is_waiting ? Json((*next)->signing_key.to_string()) : Json()},
            {"waiting_vote_key", is_waiting ? Json((*next)->vote_key.to_string()) : Json()},
            {"votes", json_integer(candidate.votes)},
            {"missed_slots", candidate.missed},
            {"registered", candidate.registered},
            {"ready", candidate.ready},
            {"convicted", candidate.convicted},
            {"amnesia_slot", amnesia ? json_integer(amnesia->slot) : Json()},
            {"amnesia_key", amnesia ? Json(amnesia->vote_key.to_string()) : Json()},
            {"in_schedule", schedule.find_producer(entry.producer).has_value()}};
}

Json node_json(const chain::NodeEntry& node) {
    Json roles = Json::array();
    for (const std::string_view role : chain::role_names(node.row.roles))
        roles.push_back(std::string(role));
    Json json{{"node", node.node.to_string()},
              {"organisation", node.row.organisation.to_string()},
              {"key", node.row.key.to_string()},
              {"roles", std::move(roles)},
              {"previous_key", nullptr},
              {"previous_until", nullptr}};
    if (node.row.previous_key) {
        json["previous_key"] = node.row.previous_key->to_string();
        json["previous_until"] = node.row.previous_until.to_string();
    }
    return json;
}

Answer get_validators(const ApiContext& /*context*/, const Moment& moment, Params& /*params*/) {
    const chain::StateView& state = *moment.state;
    auto schedule = chain::load_schedule(state);
    if (!schedule) return refuse(schedule.error());
    auto poll = chain::take_poll(state, schedule->entries, moment.block->header.slot);
    if (!poll) return refuse(poll.error());
    auto nodes = chain::registered_nodes(state, chain::Name{}, kNodesMax);
    if (!nodes) return refuse(nodes.error());
    auto retimes = chain::load_retimes(state);
    if (!retimes) return refuse(retimes.error());
    // The heaviest first, as they would be elected.
    std::ranges::stable_sort(poll->candidates, std::greater<>(), &chain::Candidate::votes);
    Json out{{"schedule_version", schedule->version},
             {"quorum", schedule->quorum()},
             {"votes_cast", json_integer(poll->cast)},
             {"votes_to_enter", json_integer(chain::votes_to_enter(poll->cast))},
             {"candidates", Json::array()},
             {"members", Json::array()},
             {"nodes", Json::array()},
             {"retimes", Json::array()}};
    for (const chain::Candidate& each : poll->candidates)
        out["candidates"].push_back(candidate_json(each, *schedule, state));
    for (const auto& [name, weight] : chain::members(state)) {
        out["members"].push_back({{"name", name.to_string()}, {"weight", json_integer(weight)}});
    }
    for (const chain::NodeEntry& each : *nodes)
        out["nodes"].push_back(node_json(each));
    for (const chain::Retime& each : retimes->retimes) {
        out["retimes"].push_back({{"from", base::to_hex(each.from.view())},
                                  {"slot", json_integer(each.first)},
                                  {"time", each.time.to_string()}});
    }
    return out;
}

Answer get_evidence(const ApiContext& /*context*/, const Moment& moment, Params& /*params*/) {
    auto keys = chain::convicted_keys(*moment.state, kEvidenceMax);
    if (!keys) return refuse(keys.error());
    Json list = Json::array();
    for (const chain::ConvictedKey& each : *keys) {
        list.push_back({{"key", each.key.to_string()},
                        {"kind", std::string(api::evidence_name(each.kind))},
                        {"block_num", each.height},
                        {"producer", each.producer.to_string()}});
    }
    return Json{{"convicted", std::move(list)}};
}

}  // namespace

void add_validator_calls(Calls& calls) {
    calls.read({.path = "/v1/bor/validators"}, get_validators);
    calls.read({.path = "/v1/bor/evidence"}, get_evidence);
}

}  // namespace node
