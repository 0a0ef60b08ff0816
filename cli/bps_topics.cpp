// Topics of the broker's contract from a shell.
#include "cli/bps_contract.hpp"
#include "cli/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace cli {

namespace {

using base::Errc;
using base::fail;

constexpr std::uint64_t kPartitionsMax = 256;  // Of a topic, as the contract has it.
constexpr std::uint64_t kReplicasMax = 7;
constexpr auto kPatience = std::chrono::seconds(20);  // For a topic to be led.
constexpr auto kLookAgainAfter = std::chrono::milliseconds(100);

// NAME=VALUE, each.
base::Result<Json> settings_of(const Arguments& arguments) {
    Json settings = Json::array();
    for (const std::string& text : arguments.all("set")) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            return fail(Errc::invalid,
                        fmt::format("'{}' is no setting: write NAME=VALUE, such as "
                                    "retention.ms=86400000",
                                    text));
        }
        settings.push_back({{"name", text.substr(0, equals)}, {"value", text.substr(equals + 1)}});
    }
    return settings;
}

// Brokers that can have replicas, those with the fewest first.
base::Result<std::vector<std::uint64_t>> brokers_for(const Session& session,
                                                     const Arguments& arguments) {
    const auto rows = bps_rows(session, arguments, "brokers");
    if (!rows) return fail(rows.error());
    const std::vector<std::string> named = arguments.all("broker");
    std::vector<std::pair<std::uint64_t, std::uint64_t>> usable;  // Replicas, id.
    for (const Json& each : *rows) {
        const bool is_up = number_of(each, "fenced") == 0 && number_of(each, "draining") == 0;
        const bool is_named =
            named.empty() || std::ranges::find(named, shown(each, "id")) != named.end();
        if (is_up && is_named) {
            usable.emplace_back(number_of(each, "replicas"), number_of(each, "id"));
        }
    }
    std::ranges::sort(usable);
    std::vector<std::uint64_t> ids;
    ids.reserve(usable.size());
    for (const auto& [replicas, id] : usable)
        ids.push_back(id);
    return ids;
}

// For each partition the brokers that have it: in turns.
base::Result<Json> assignment_of(const Session& session,
                                 const Arguments& arguments,
                                 std::uint64_t partitions,
                                 std::uint64_t replicas) {
    const auto brokers = brokers_for(session, arguments);
    if (!brokers) return fail(brokers.error());
    if (brokers->size() < replicas) {
        return fail(Errc::invalid,
                    fmt::format("{} replicas need as many brokers that are active, and there are "
                                "{}: see 'bor-cli bps brokers'",
                                replicas,
                                brokers->size()));
    }
    Json assignment = Json::array();
    for (std::uint64_t partition = 0; partition < partitions; ++partition) {
        Json list = Json::array();
        for (std::uint64_t i = 0; i < replicas; ++i)
            list.push_back((*brokers)[(partition + i) % brokers->size()]);
        assignment.push_back({{"brokers", std::move(list)}});
    }
    return assignment;
}

// Whether each partition of the topic has a leader in what is final: clients can use it then.
bool is_led(const Session& session,
            const Arguments& arguments,
            const std::string& name,
            std::uint64_t partitions) {
    const auto topic = bps_topic(session, arguments, name);
    if (!topic) return false;
    const std::uint64_t id = number_of(*topic, "id");
    const auto answer = call(session.url,
                             "/v1/chain/get_table_rows?state=final",
                             {{"code", bps_contract(arguments)},
                              {"scope", bps_contract(arguments)},
                              {"table", "partitions"},
                              {"json", true},
                              {"lower_bound", std::to_string(id << 32U)},
                              {"limit", partitions}});
    if (!answer) return false;
    std::uint64_t led = 0;
    for (const Json& each : list_of(*answer, "rows")) {
        const Json& leader = member_of(each, "leader");
        const bool has_leader = leader.is_number_integer() && leader.get<std::int64_t>() >= 0;
        if (number_of(each, "topic") == id && has_leader) ++led;
    }
    return led == partitions;
}

// What is made shows itself to clients some blocks later; who types the next line need not wait.
// unavailable: it does not; the transaction may not have become final either, and then never will.
base::Result<void> wait_until_led(const Session& session,
                                  const Arguments& arguments,
                                  const std::string& name,
                                  std::uint64_t partitions) {
    for (const std::string_view each : {"dont-broadcast", "read-only", "dry-run"}) {
        if (arguments.has(each)) return {};
    }
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!is_led(session, arguments, name, partitions)) {
        if (std::chrono::steady_clock::now() >= deadline) {
            return fail(
                Errc::unavailable,
                fmt::format("in what is final there is no topic '{0}' whose partitions have "
                            "leaders, {1} s after it was asked for; while no block becomes "
                            "final it may not come to be at all: see 'bor-cli doctor', then "
                            "'bor-cli bps topic show {0}' and 'bor-cli bps brokers'",
                            name,
                            kPatience.count()));
        }
        std::this_thread::sleep_for(kLookAgainAfter);
    }
    return {};
}

base::Result<void> topic_create(const Session& session, const Arguments& arguments) {
    const auto partitions = arguments.number("partitions", 1, 1, kPartitionsMax);
    if (!partitions) return fail(partitions.error());
    const auto replicas = arguments.number("replicas", 1, 1, kReplicasMax);
    if (!replicas) return fail(replicas.error());
    const auto settings = settings_of(arguments);
    if (!settings) return fail(settings.error());
    const auto assignment = assignment_of(session, arguments, *partitions, *replicas);
    if (!assignment) return fail(assignment.error());
    const std::string owner = arguments.at("owner");
    auto sent = send_bps(session,
                         arguments,
                         "createtopic",
                         owner,
                         {{"by", owner},
                          {"owner", owner},
                          {"name", arguments.at("name")},
                          {"settings", *settings},
                          {"assignment", *assignment}});
    if (!sent) return sent;
    return wait_until_led(session, arguments, arguments.at("name"), *partitions);
}

base::Result<void> topic_list(const Session& session, const Arguments& arguments) {
    const auto topics = bps_rows(session, arguments, "topics");
    if (!topics) return fail(topics.error());
    if (session.json) return print_json(*topics);
    fmt::print("{:<40} {:>6} {:<13} {:>10}\n", "topic", "id", "owner", "partitions");
    for (const Json& each : *topics) {
        fmt::print("{:<40} {:>6} {:<13} {:>10}\n",
                   text_of(each, "name"),
                   shown(each, "id"),
                   text_of(each, "owner"),
                   shown(each, "partitions"));
    }
    return {};
}

std::string in_sync(const Json& partition) {
    std::string text;
    for (const Json& each : list_of(partition, "replicas")) {
        const bool is_in = shown(each, "generation") != "-1";
        text += fmt::format(
            "{}{}{}", text.empty() ? "" : " ", shown(each, "broker"), is_in ? "" : " (out)");
    }
    return text;
}

base::Result<void> topic_show(const Session& session, const Arguments& arguments) {
    auto topic = bps_topic(session, arguments, arguments.at("name"));
    if (!topic) return fail(topic.error());
    const auto all = bps_rows(session, arguments, "partitions");
    if (!all) return fail(all.error());
    Json partitions = Json::array();
    for (const Json& each : *all) {
        if (shown(each, "topic") == shown(*topic, "id")) partitions.push_back(each);
    }
    if (session.json) {
        (*topic)["rows"] = partitions;
        return print_json(*topic);
    }
    fmt::print("{}: id {}, owner {}\n",
               text_of(*topic, "name"),
               shown(*topic, "id"),
               text_of(*topic, "owner"));
    for (const Json& each : list_of(*topic, "settings"))
        fmt::print("  {}={}\n", text_of(each, "name"), text_of(each, "value"));
    for (const Json& each : partitions) {
        const std::string leader = shown(each, "leader");
        fmt::print("  partition {}: leader {}, epoch {}, replicas {}\n",
                   shown(each, "partition"),
                   leader == "-1" ? "none" : leader,
                   shown(each, "leader_epoch"),
                   in_sync(each));
    }
    return {};
}

// An action of the topic's owner on it.
base::Result<void> send_of_owner(const Session& session,
                                 const Arguments& arguments,
                                 const Json& topic,
                                 const std::string& action,
                                 Json data) {
    const std::string owner = text_of(topic, "owner");
    data["by"] = owner;
    data["topic"] = number_of(topic, "id");
    return send_bps(session, arguments, action, owner, data);
}

// Those that the topic has, but for what is given or unset: the contract takes all of them at once.
base::Result<Json> settings_after(const Json& topic, const Arguments& arguments) {
    auto given = settings_of(arguments);
    if (!given) return given;
    std::vector<std::string> unset = arguments.all("unset");
    for (const Json& each : *given) {
        const std::string name = text_of(each, "name");
        if (std::ranges::find(unset, name) == unset.end()) continue;
        return fail(Errc::invalid,
                    fmt::format("--set {0}=... and --unset {0}: give one of them", name));
    }
    for (const Json& each : list_of(topic, "settings")) {
        const std::string name = text_of(each, "name");
        const bool is_unset = std::erase(unset, name) > 0;
        const bool is_given = std::ranges::any_of(
            *given, [&](const Json& other) { return text_of(other, "name") == name; });
        if (!is_unset && !is_given) given->push_back(each);
    }
    if (unset.empty()) return given;
    return fail(Errc::invalid,
                fmt::format("--unset {}: the topic does not have this setting; 'bor-cli bps topic "
                            "show {}' shows those that it has",
                            unset.front(),
                            text_of(topic, "name")));
}

base::Result<void> topic_alter(const Session& session, const Arguments& arguments) {
    if (!arguments.has("set") && !arguments.has("unset")) {
        return fail(Errc::invalid,
                    "nothing to alter: --set NAME=VALUE gives a setting a value, --unset NAME its "
                    "default again");
    }
    const auto topic = bps_topic(session, arguments, arguments.at("name"));
    if (!topic) return fail(topic.error());
    const auto settings = settings_after(*topic, arguments);
    if (!settings) return fail(settings.error());
    return send_of_owner(session, arguments, *topic, "altertopic", {{"settings", *settings}});
}

base::Result<void> topic_delete(const Session& session, const Arguments& arguments) {
    const auto topic = bps_topic(session, arguments, arguments.at("name"));
    if (!topic) return fail(topic.error());
    return send_of_owner(session, arguments, *topic, "deletetopic", Json::object());
}

base::Result<void> topic_extend(const Session& session, const Arguments& arguments) {
    const auto more = whole_number(
        "a number of partitions to add", arguments.at("partitions"), 1, kPartitionsMax);
    if (!more) return fail(more.error());
    const auto replicas = arguments.number("replicas", 1, 1, kReplicasMax);
    if (!replicas) return fail(replicas.error());
    const auto assignment = assignment_of(session, arguments, *more, *replicas);
    if (!assignment) return fail(assignment.error());
    const auto topic = bps_topic(session, arguments, arguments.at("name"));
    if (!topic) return fail(topic.error());
    return send_of_owner(session, arguments, *topic, "addparts", {{"assignment", *assignment}});
}

}  // namespace

void add_bps_topic_commands(std::vector<Command>& commands) {
    const Positional name{"name", "the topic's name"};
    const Option replicas{"replicas", 0, "COUNT", "of each partition (default: 1)"};
    const Option broker{"broker", 0, "ID", "only on this one; several times (default: all)"};
    const Option set{"set", 0, "NAME=VALUE", "a setting, such as retention.ms; several times"};
    commands.push_back(
        {"bps topic create",
         "Make a topic",
         {{"owner", "whose topic it is"}, name},
         with_bps_options(
             {{"partitions", 0, "COUNT", "1 to 256 (default: 1)"}, replicas, broker, set}),
         topic_create});
    commands.push_back(
        {"bps topic list", "Show all topics", {}, {bps_contract_option()}, topic_list});
    commands.push_back({"bps topic show",
                        "Show a topic's settings, leaders and replicas",
                        {name},
                        {bps_contract_option()},
                        topic_show});
    commands.push_back(
        {"bps topic alter",
         "Change settings of a topic; those that are not named stay",
         {name},
         with_bps_options({set, {"unset", 0, "NAME", "back to the default; several times"}}),
         topic_alter});
    commands.push_back({"bps topic extend",
                        "Add partitions to a topic",
                        {name, {"partitions", "how many more"}},
                        with_bps_options({replicas, broker}),
                        topic_extend});
    commands.push_back({"bps topic delete",
                        "Delete a topic with its records",
                        {name},
                        with_bps_options({}),
                        topic_delete});
}

}  // namespace cli
