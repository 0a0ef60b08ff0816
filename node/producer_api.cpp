#include "chain/types/protocol_features.hpp"
#include "node/operator_api.hpp"

#include <algorithm>
#include <utility>

namespace node {

using chain::Exception;

namespace {

Json ok() {
    return {{"result", "ok"}};
}

Json names_json(const std::set<chain::Name>& names) {
    Json list = Json::array();
    for (const chain::Name name : names)
        list.push_back(name.to_string());
    return list;
}

std::set<chain::Name> to_set(const std::vector<chain::Name>& names) {
    return {names.begin(), names.end()};
}

// --- Pausing ------------------------------------------------------------------------------

Answer set_paused(const ApiContext& context, bool paused) {
    context.runtime.set_paused(paused);
    return ok();
}

// --- Runtime options ----------------------------------------------------------------------

Answer get_runtime_options(const ProducerSettings& settings) {
    const ProducerSettings::RuntimeOptions options = settings.runtime_options();
    return Json{{"max_transaction_time", options.max_transaction_time},
                {"max_irreversible_block_age", options.max_irreversible_block_age},
                {"produce_block_offset_ms", options.produce_block_offset_ms},
                {"subjective_cpu_leeway_us", options.subjective_cpu_leeway_us},
                {"greylist_limit", options.greylist_limit}};
}

Answer update_runtime_options(ProducerSettings& settings, Params& params) {
    ProducerSettings::RuntimeOptions options = settings.runtime_options();
    const auto read = [&](const char* field, std::int32_t& value) {
        if (const auto given = params.optional_u32(field))
            value = static_cast<std::int32_t>(*given);
    };
    read("max_transaction_time", options.max_transaction_time);
    read("max_irreversible_block_age", options.max_irreversible_block_age);
    read("produce_block_offset_ms", options.produce_block_offset_ms);
    read("subjective_cpu_leeway_us", options.subjective_cpu_leeway_us);
    options.greylist_limit = params.u32("greylist_limit", options.greylist_limit);
    if (!params.ok()) return refuse(params.error());
    settings.set_runtime_options(options);
    return ok();
}

// --- Lists --------------------------------------------------------------------------------

Answer change_greylist(ProducerSettings& settings, Params& params, bool add) {
    const std::vector<chain::Name> accounts = params.names("accounts");
    if (!params.ok()) return refuse(params.error());
    if (accounts.empty()) return refuse(api::bad_request("At least one account is required"));
    std::set<chain::Name> list = settings.greylist();
    for (const chain::Name account : accounts) {
        if (add) {
            list.insert(account);
        } else {
            list.erase(account);
        }
    }
    settings.set_greylist(std::move(list));
    return ok();
}

Answer get_lists(const ProducerSettings& settings) {
    const AdmissionLists lists = settings.lists();
    Json actions = Json::array();
    for (const auto& [account, action] : lists.action_blacklist) {
        actions.push_back(Json::array({account.to_string(), action.to_string()}));
    }
    Json keys = Json::array();
    for (const chain::PublicKey& key : lists.key_blacklist)
        keys.push_back(key.to_string());
    return Json{{"actor_whitelist", names_json(lists.actor_whitelist)},
                {"actor_blacklist", names_json(lists.actor_blacklist)},
                {"contract_whitelist", names_json(lists.contract_whitelist)},
                {"contract_blacklist", names_json(lists.contract_blacklist)},
                {"action_blacklist", std::move(actions)},
                {"key_blacklist", std::move(keys)}};
}

base::Result<std::pair<chain::Name, chain::Name>> action_from_json(const Json& json) {
    if (!json.is_array() || json.size() != 2) {
        return base::fail(base::Errc::malformed, "expected [account, action]");
    }
    auto account = chain::abi::name_from_json(json[0]);
    if (!account) return base::fail(account.error());
    auto action = chain::abi::name_from_json(json[1]);
    if (!action) return base::fail(action.error());
    return std::make_pair(*account, *action);
}

Answer set_lists(ProducerSettings& settings, Params& params) {
    AdmissionLists lists = settings.lists();
    const auto read = [&](const char* field, std::set<chain::Name>& list) {
        if (params.find(field) != nullptr) list = to_set(params.names(field));
    };
    read("actor_whitelist", lists.actor_whitelist);
    read("actor_blacklist", lists.actor_blacklist);
    read("contract_whitelist", lists.contract_whitelist);
    read("contract_blacklist", lists.contract_blacklist);
    if (params.find("action_blacklist") != nullptr) {
        const auto actions =
            params.list<std::pair<chain::Name, chain::Name>>("action_blacklist", action_from_json);
        lists.action_blacklist = {actions.begin(), actions.end()};
    }
    if (params.find("key_blacklist") != nullptr) {
        const auto keys =
            params.list<chain::PublicKey>("key_blacklist", chain::abi::public_key_from_json);
        lists.key_blacklist = {keys.begin(), keys.end()};
    }
    if (!params.ok()) return refuse(params.error());
    settings.set_lists(std::move(lists));
    return ok();
}

// --- Protocol features ----------------------------------------------------------------------

Answer get_supported_features(Params& /*params*/) {
    Json list = Json::array();
    for (const chain::ProtocolFeature& feature : chain::protocol_features()) {
        list.push_back(api::supported_feature_to_json(feature));
    }
    return list;
}

// All features are active from the first block on, so that none can be scheduled.
Answer schedule_features(Params& params) {
    const auto digests =
        params.list<base::Hash256>("protocol_features_to_activate", chain::abi::hash_from_json);
    if (!params.ok()) return refuse(params.error());
    for (const base::Hash256& digest : digests) {
        const std::string text = base::to_hex(digest.view());
        const bool known = std::ranges::any_of(
            chain::protocol_features(),
            [&](const chain::ProtocolFeature& each) { return each.feature_digest == text; });
        return refuse(Exception::protocol_feature_exception,
                      "protocol feature with digest '" + text + "' " +
                          (known ? "has already been activated" : "is unrecognized"));
    }
    return ok();
}

// --- The rest -----------------------------------------------------------------------------

Answer get_integrity_hash(const ApiContext&, const Moment& moment, Params& /*params*/) {
    const chain::Block& head = *moment.view->head;
    return Json{{"head_block_id", base::to_hex(head.id.view())},
                {"integrity_hash", base::to_hex(head.header.state_digest.view())}};
}

// What is accepted is executed at once: nothing waits unapplied.
Answer get_unapplied_transactions(const ApiContext& context) {
    return Json{{"size", 0},
                {"incoming_size", context.runtime.counters().in_flight},
                {"trxs", Json::array()},
                {"more", ""}};
}

class ProducerCalls {
  public:
    explicit ProducerCalls(Calls& calls) : calls_(calls) {}

    void ro(const std::string& name, Need need, Calls::Plain call, unsigned status = 201) {
        calls_.plain({"/v1/producer/" + name, need, "producer_ro", status}, std::move(call));
    }
    // Changes something.
    void rw(const std::string& name, Need need, Calls::Plain call) {
        calls_.plain({"/v1/producer/" + name, need, "producer_rw", 201}, std::move(call));
    }

  private:
    Calls& calls_;
};

void add_list_calls(ProducerCalls& calls, ProducerSettings& settings) {
    calls.ro("get_runtime_options", Need::none, [&settings](Params&) {
        return get_runtime_options(settings);
    });
    calls.rw("update_runtime_options", Need::required, [&settings](Params& params) {
        return update_runtime_options(settings, params);
    });
    calls.ro("get_greylist", Need::none, [&settings](Params&) -> Answer {
        return Json{{"accounts", names_json(settings.greylist())}};
    });
    calls.rw("add_greylist_accounts", Need::required, [&settings](Params& params) {
        return change_greylist(settings, params, true);
    });
    calls.rw("remove_greylist_accounts", Need::required, [&settings](Params& params) {
        return change_greylist(settings, params, false);
    });
    calls.ro("get_whitelist_blacklist", Need::none, [&settings](Params&) {
        return get_lists(settings);
    });
    calls.rw("set_whitelist_blacklist", Need::required, [&settings](Params& params) {
        return set_lists(settings, params);
    });
}

void add_feature_calls(ProducerCalls& calls) {
    calls.ro("get_scheduled_protocol_feature_activations", Need::none, [](Params&) -> Answer {
        return Json{{"protocol_features_to_activate", Json::array()}};
    });
    calls.rw("schedule_protocol_feature_activations", Need::required, schedule_features);
    calls.ro("get_supported_protocol_features", Need::optional, get_supported_features);
    calls.ro("get_account_ram_corrections", Need::required, [](Params&) -> Answer {
        return Json{{"rows", Json::array()}};
    });
}

}  // namespace

void add_producer_calls(Calls& calls, ProducerSettings& settings) {
    const ApiContext& context = calls.context();
    ProducerCalls producer(calls);
    producer.ro("paused", Need::none, [&context](Params&) -> Answer {
        return Json(context.runtime.published()->paused);
    });
    producer.rw("pause", Need::none, [&context](Params&) { return set_paused(context, true); });
    producer.rw("resume", Need::none, [&context](Params&) { return set_paused(context, false); });
    producer.ro(
        "get_unapplied_transactions",
        Need::optional,
        [&context](Params&) { return get_unapplied_transactions(context); },
        200);
    calls.read({"/v1/producer/get_integrity_hash", Need::none, "producer_ro", 201},
               get_integrity_hash);
    add_list_calls(producer, settings);
    add_feature_calls(producer);
}

}  // namespace node
