// Groups of readers at the broker, from a shell: who is in them, how far they are.
#include "cli/bps_client.hpp"
#include "cli/kafka_groups.hpp"
#include "cli/kafka_reader.hpp"
#include "cli/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace cli {

namespace {

using base::Errc;
using base::fail;

constexpr std::string_view kDead = "Dead";

base::Result<std::unique_ptr<KafkaClient>> open_client(const Session& session,
                                                       const Arguments& arguments,
                                                       const AskedOf& asked) {
    auto settings = client_settings(session, arguments);
    if (!settings) return fail(settings.error());
    auto client = KafkaClient::make(KafkaClient::Role::reader, *std::move(settings));
    if (!client) return fail(explained(session, arguments, client.error(), asked));
    return *std::move(client);
}

base::Result<void> group_list(const Session& session, const Arguments& arguments) {
    const auto client = open_client(session, arguments, {});
    if (!client) return fail(client.error());
    const auto groups = list_groups(**client);
    if (!groups) return fail(explained(session, arguments, groups.error(), {}));
    if (session.json) {
        Json json = Json::array();
        for (const KafkaGroup& each : *groups)
            json.push_back({{"group", each.name}, {"state", each.state}});
        return print_json(json);
    }
    fmt::print("{:<40} {}\n", "group", "state");
    for (const KafkaGroup& each : *groups)
        fmt::print("{:<40} {}\n", each.name, each.state);
    return {};
}

std::string partitions_text(const std::vector<KafkaOffset>& partitions) {
    std::string text;
    for (const KafkaOffset& each : partitions)
        text += fmt::format("{}{}/{}", text.empty() ? "" : " ", each.topic, each.partition);
    return text.empty() ? "none" : text;
}

Json json_of(const std::string& group, const KafkaGroupDetails& details) {
    Json members = Json::array();
    for (const KafkaMember& each : details.members) {
        Json partitions = Json::array();
        for (const KafkaOffset& place : each.partitions)
            partitions.push_back({{"topic", place.topic}, {"partition", place.partition}});
        members.push_back({{"id", each.id},
                           {"client", each.client},
                           {"host", each.host},
                           {"partitions", std::move(partitions)}});
    }
    return {{"group", group},
            {"state", details.state},
            {"assignor", details.assignor},
            {"coordinator", details.coordinator},
            {"members", std::move(members)}};
}

base::Result<void> group_show(const Session& session, const Arguments& arguments) {
    const AskedOf asked{.group = arguments.at("group")};
    const auto client = open_client(session, arguments, asked);
    if (!client) return fail(client.error());
    auto details = describe_group(**client, asked.group);
    if (details && details->state == kDead) {
        details = tl::unexpected(KafkaError{RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND, ""});
    }
    if (!details) return fail(explained(session, arguments, details.error(), asked));
    if (session.json) return print_json(json_of(asked.group, *details));
    fmt::print("{}: {}, coordinator {}, assignor {}\n",
               asked.group,
               details->state,
               details->coordinator,
               details->assignor.empty() ? "none" : details->assignor);
    for (const KafkaMember& each : details->members) {
        fmt::print("  {} ({} at {}): {}\n",
                   each.id,
                   each.client,
                   each.host,
                   partitions_text(each.partitions));
    }
    return {};
}

base::Result<void> group_delete(const Session& session, const Arguments& arguments) {
    const AskedOf asked{.group = arguments.at("group"), .right = "admin"};
    const auto client = open_client(session, arguments, asked);
    if (!client) return fail(client.error());
    if (const auto done = delete_group(**client, asked.group); !done) {
        return fail(explained(session, arguments, done.error(), asked));
    }
    fmt::print("the group '{}' is deleted\n", asked.group);
    return {};
}

// Where a partition is to go on. invalid: there is no such offset.
base::Result<std::int64_t> place_in(std::int64_t wanted,
                                    const std::pair<std::int64_t, std::int64_t>& range) {
    const auto [first, end] = range;
    if (wanted == KafkaReader::kBeginning) return first;
    if (wanted == KafkaReader::kEnd) return end;
    if (first <= wanted && wanted <= end) return wanted;
    return fail(Errc::invalid, fmt::format("it has offsets {} to {}, not {}", first, end, wanted));
}

// Those of the topic, or the one of --partition.
base::Result<std::vector<std::int32_t>> partitions_meant(const Session& session,
                                                         const Arguments& arguments,
                                                         KafkaClient& client) {
    const AskedOf asked{.topic = arguments.at("topic")};
    const auto all = client.partitions(asked.topic);
    if (!all) return fail(explained(session, arguments, all.error(), asked));
    if (!arguments.has("partition")) return *all;
    const auto one = arguments.number("partition", 0, 0, INT32_MAX);
    if (!one) return fail(one.error());
    const auto partition = static_cast<std::int32_t>(*one);
    if (std::ranges::find(*all, partition) != all->end()) return std::vector{partition};
    return fail(Errc::not_found,
                fmt::format("'{}' has {} partitions, from 0 on: there is no partition {}",
                            asked.topic,
                            all->size(),
                            partition));
}

base::Result<std::vector<KafkaOffset>> places_of(const Session& session,
                                                 const Arguments& arguments,
                                                 KafkaClient& client,
                                                 std::int64_t wanted) {
    const AskedOf asked{.topic = arguments.at("topic")};
    const auto partitions = partitions_meant(session, arguments, client);
    if (!partitions) return fail(partitions.error());
    std::vector<KafkaOffset> places;
    for (const std::int32_t partition : *partitions) {
        const auto range = client.range(asked.topic, partition);
        if (!range) return fail(explained(session, arguments, range.error(), asked));
        const auto place = place_in(wanted, *range);
        if (!place) {
            return fail(
                place.error().code,
                fmt::format(
                    "partition {} of '{}': {}", partition, asked.topic, place.error().detail));
        }
        places.push_back({asked.topic, partition, *place});
    }
    return places;
}

base::Result<void> group_reset(const Session& session, const Arguments& arguments) {
    const auto wanted = offset_of(arguments.at("to"));
    if (!wanted) return fail(wanted.error());
    const AskedOf asked{.topic = arguments.at("topic"), .group = arguments.at("group")};
    const auto client = open_client(session, arguments, asked);
    if (!client) return fail(client.error());
    const auto places = places_of(session, arguments, **client, *wanted);
    if (!places) return fail(places.error());
    if (const auto kept = keep_offsets(**client, asked.group, *places); !kept) {
        return fail(explained(session, arguments, kept.error(), asked));
    }
    for (const KafkaOffset& each : *places) {
        fmt::print("'{}' goes on in partition {} of '{}' at {}\n",
                   asked.group,
                   each.partition,
                   each.topic,
                   each.offset);
    }
    return {};
}

struct Lag {
    std::string group;
    KafkaOffset kept;  // Negative: none; the group begins at the first record there.
    std::int64_t first = 0;
    std::int64_t end = 0;

    [[nodiscard]] std::int64_t records() const {
        return std::max<std::int64_t>(end - std::max(kept.offset, first), 0);
    }
};

// Of all partitions of a topic: where a group has read nothing yet, it keeps no offset.
base::Result<void> add_topic(const Session& session,
                             const Arguments& arguments,
                             KafkaClient& client,
                             std::span<const KafkaOffset> kept,
                             std::vector<Lag>& lags) {
    const AskedOf asked{.topic = kept.front().topic};
    const auto partitions = client.partitions(asked.topic);
    if (!partitions) return fail(explained(session, arguments, partitions.error(), asked));
    for (const std::int32_t partition : *partitions) {
        const auto range = client.range(asked.topic, partition);
        if (!range) return fail(explained(session, arguments, range.error(), asked));
        const auto of = std::ranges::find(kept, partition, &KafkaOffset::partition);
        lags.push_back({.group = "",
                        .kept = {asked.topic, partition, of == kept.end() ? -1 : of->offset},
                        .first = range->first,
                        .end = range->second});
    }
    return {};
}

base::Result<void> add_lags(const Session& session,
                            const Arguments& arguments,
                            KafkaClient& client,
                            const std::string& group,
                            std::vector<Lag>& lags) {
    const auto kept = kept_offsets(client, group);
    if (!kept) return fail(explained(session, arguments, kept.error(), {.group = group}));
    const std::size_t before = lags.size();
    // They are in the order of their topics.
    for (std::span<const KafkaOffset> left(*kept); !left.empty();) {
        const auto next = std::ranges::find_if(
            left, [&](const KafkaOffset& each) { return each.topic != left.front().topic; });
        const auto of_topic = left.first(static_cast<std::size_t>(next - left.begin()));
        if (auto done = add_topic(session, arguments, client, of_topic, lags); !done) return done;
        left = left.subspan(of_topic.size());
    }
    for (Lag& each : std::span(lags).subspan(before))
        each.group = group;
    return {};
}

base::Result<void> print_lags(const Session& session, const std::vector<Lag>& lags) {
    if (session.json) {
        Json json = Json::array();
        for (const Lag& each : lags) {
            json.push_back({{"group", each.group},
                            {"topic", each.kept.topic},
                            {"partition", each.kept.partition},
                            {"offset", each.kept.offset < 0 ? Json() : Json(each.kept.offset)},
                            {"end", each.end},
                            {"lag", each.records()}});
        }
        return print_json(json);
    }
    constexpr auto kRow = "{:<30} {:<30} {:>9} {:>14} {:>14} {:>10}\n";
    fmt::print(kRow, "group", "topic", "partition", "offset", "end", "lag");
    for (const Lag& each : lags) {
        fmt::print(kRow,
                   each.group,
                   each.kept.topic,
                   each.kept.partition,
                   each.kept.offset < 0 ? "-" : std::to_string(each.kept.offset),
                   each.end,
                   each.records());
    }
    return {};
}

base::Result<void> lag(const Session& session, const Arguments& arguments) {
    const std::string group = arguments.at("group");
    const auto client = open_client(session, arguments, {.group = group});
    if (!client) return fail(client.error());
    std::vector<KafkaGroup> groups{{group, ""}};
    if (group.empty()) {
        auto all = list_groups(**client);
        if (!all) return fail(explained(session, arguments, all.error(), {}));
        groups = *std::move(all);
    }
    std::vector<Lag> lags;
    for (const KafkaGroup& each : groups) {
        if (auto done = add_lags(session, arguments, **client, each.name, lags); !done) return done;
    }
    if (lags.empty() && !group.empty()) {
        return fail(Errc::not_found,
                    fmt::format("the group '{}' keeps no offsets, or there is none; 'bor-cli bps "
                                "groups' shows all that you may see",
                                group));
    }
    return print_lags(session, lags);
}

}  // namespace

void add_bps_group_commands(std::vector<Command>& commands) {
    const Positional group{"group", "its name"};
    const std::vector<Option> options = with_client_options({});
    commands.push_back({"bps groups", "Show the groups that you may see", {}, options, group_list});
    commands.push_back({"bps groups show",
                        "Show a group's members and which partitions they have",
                        {group},
                        options,
                        group_show});
    commands.push_back({"bps groups delete",
                        "Delete a group without members, with its offsets",
                        {group},
                        options,
                        group_delete});
    commands.push_back({"bps groups reset",
                        "Let a group without members go on elsewhere in a topic",
                        {group, {"topic", "its name"}, {"to", "'beginning', 'end' or an offset"}},
                        with_client_options({{"partition", 0, "NUMBER", "only in this one"}}),
                        group_reset});
    commands.push_back({"bps lag",
                        "Show how far groups are behind the end of their topics",
                        {{"group", "only this one", true}},
                        options,
                        lag});
}

}  // namespace cli
