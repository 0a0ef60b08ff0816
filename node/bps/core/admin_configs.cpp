// Settings of topics shown and changed. Those of a broker are in its configuration file.
#include "node/bps/core/admin.hpp"
#include "node/bps/core/known_settings.hpp"
#include "node/bps/core/placement.hpp"
#include "node/bps/core/request_items.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

namespace bps {

namespace {

constexpr std::int8_t kTopicResource = 2;
constexpr std::int8_t kBrokerResource = 4;
// Sources of a setting, and types of a value (KIP-226, KIP-569).
constexpr std::int8_t kOfTopic = 1;
constexpr std::int8_t kOfBrokerFile = 4;
constexpr std::int8_t kDefault = 5;
constexpr std::int8_t kStringType = 2;
constexpr std::int8_t kLongType = 5;
constexpr std::int8_t kListType = 7;

enum class ConfigOperation : std::int8_t { set = 0, remove = 1, append = 2, subtract = 3 };

using Config = DescribeConfigsResponse::Config;
using Settings = std::vector<rows::Setting>;

// By which resources are told apart.
constexpr auto kNameOf = [](const auto& resource) {
    return std::pair(resource.resource_type, resource.resource_name);
};

std::int8_t type_of(const KnownSetting& known) {
    if (known.values.empty()) return kLongType;
    return known.is_list() ? kListType : kStringType;
}

Config to_config(const SettingInForce& setting, const DescribeConfigsRequest& request) {
    Config config;
    config.name = setting.known->name;
    config.value = setting.value;
    config.is_default = !setting.is_set;
    config.config_source = setting.is_set ? kOfTopic : kDefault;
    config.config_type = type_of(*setting.known);
    if (request.include_documentation) config.documentation = setting.known->meaning;
    if (!request.include_synonyms) return config;
    if (setting.is_set) config.synonyms.push_back({config.name, config.value, kOfTopic});
    config.synonyms.push_back({config.name, setting.known->otherwise, kDefault});
    return config;
}

// Drops those that are not asked for.
void keep_asked(const std::optional<std::vector<std::string_view>>& keys,
                std::vector<Config>& configs) {
    if (!keys) return;
    const std::set<std::string_view> asked(keys->begin(), keys->end());
    std::erase_if(configs, [&](const Config& config) { return !asked.contains(config.name); });
}

std::optional<std::int32_t> number_of(std::string_view text) {
    std::int32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}

void remove(Settings& settings, std::string_view name) {
    std::erase_if(settings, [&](const rows::Setting& each) { return each.name == name; });
}

std::set<std::string, std::less<>> items_of(std::string_view list) {
    std::set<std::string, std::less<>> items;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        if (end > 0) items.emplace(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return items;
}

// AlterConfigs replaces: what is not named has its default again.
Verdict<Settings> altered(const rows::Topic& /*topic*/,
                          const std::vector<AlterConfigsRequest::Config>& configs) {
    Settings settings;
    for (const AlterConfigsRequest::Config& config : configs) {
        if (!config.value) {
            return refuse(ErrorCode::invalid_config,
                          "a setting without a value: leave it out, then its default holds");
        }
        settings.push_back({std::string(config.name), std::string(*config.value)});
    }
    return settings;
}

// Adds to a list, or takes from it.
Verdict<std::string> altered_list(std::string_view present,
                                  const IncrementalAlterConfigsRequest::Config& config) {
    const KnownSetting* const known = find_known_setting(config.name);
    if (known == nullptr || !known->is_list()) {
        return refuse(ErrorCode::invalid_config,
                      "only a list is added to or taken from: set the value, or leave it out");
    }
    auto items = items_of(present);
    for (const std::string& item : items_of(*config.value)) {
        if (static_cast<ConfigOperation>(config.config_operation) == ConfigOperation::append) {
            items.insert(item);
        } else {
            items.erase(item);
        }
    }
    return fmt::format("{}", fmt::join(items, ","));
}

// The value that a change gives; nothing: it takes the setting away.
Verdict<std::optional<std::string>> value_after(
    const Settings& settings, const IncrementalAlterConfigsRequest::Config& config) {
    const auto operation = static_cast<ConfigOperation>(config.config_operation);
    if (operation < ConfigOperation::set || operation > ConfigOperation::subtract) {
        return refuse(
            ErrorCode::invalid_request,
            fmt::format("an operation {} on a setting: it is 0 to 3", config.config_operation));
    }
    const KnownSetting* const known = find_known_setting(config.name);
    if (known == nullptr) {
        return refuse(ErrorCode::invalid_config, "there is no such setting: leave it out");
    }
    if (operation == ConfigOperation::remove) return std::nullopt;
    if (!config.value) {
        return refuse(ErrorCode::invalid_config, "a setting without a value: give one");
    }
    if (operation == ConfigOperation::set) return std::string(*config.value);
    auto list =
        altered_list(rows::find_setting(settings, config.name).value_or(known->otherwise), config);
    if (!list) return refuse(list.error());
    return *std::move(list);
}

Verdict<Settings> altered(const rows::Topic& topic,
                          const std::vector<IncrementalAlterConfigsRequest::Config>& configs) {
    const RequestItems named(configs, [](const auto& config) { return config.name; });
    Settings settings = topic.settings;
    for (const IncrementalAlterConfigsRequest::Config& config : configs) {
        if (auto once = named.check(config.name); !once) return refuse(once.error());
        auto value = value_after(settings, config);
        if (!value) return refuse(value.error());
        remove(settings, config.name);
        if (*value) settings.push_back({std::string(config.name), **std::move(value)});
    }
    return settings;
}

bool by_name(const rows::Setting& a, const rows::Setting& b) {
    return std::tie(a.name, a.value) < std::tie(b.name, b.value);
}

bool are_equal(Settings a, Settings b) {
    std::ranges::sort(a, by_name);
    std::ranges::sort(b, by_name);
    return a == b;
}

}  // namespace

DescribeConfigsResponse Admin::describe_configs(const Asked& by,
                                                const DescribeConfigsRequest& request,
                                                Texts& texts) const {
    DescribeConfigsResponse response;
    const RequestItems named(request.resources, kNameOf);
    for (const DescribeConfigsRequest::Resource& resource : request.resources) {
        auto& item = response.results.emplace_back();
        item.resource_type = resource.resource_type;
        item.resource_name = resource.resource_name;
        const auto once = named.check(kNameOf(resource));
        auto configs = once ? configs_of(by, request, resource, texts)
                            : Verdict<std::vector<Config>>(refuse(once.error()));
        if (configs) {
            item.configs = *std::move(configs);
        } else {
            item.error_code = configs.error().code;
            item.error_message = texts.keep(configs.error().reason);
        }
    }
    return response;
}

Verdict<std::vector<Config>> Admin::configs_of(const Asked& by,
                                               const DescribeConfigsRequest& request,
                                               const DescribeConfigsRequest::Resource& resource,
                                               Texts& texts) const {
    std::vector<Config> configs;
    if (resource.resource_type == kBrokerResource) {
        const auto id = number_of(resource.resource_name);
        if (!id || world_.directory.find_broker(*id) == nullptr) {
            return refuse(ErrorCode::invalid_request, "there is no broker of this id");
        }
        configs = configs_of_broker(*id, texts);
    } else if (resource.resource_type == kTopicResource) {
        const auto seen =
            world_.rights.topic(by.caller.principal, resource.resource_name, Right::see, by.now);
        if (!seen) return refuse(seen.error());
        const rows::Topic* const topic = world_.rights.find_topic(seen->id);
        for (const SettingInForce& setting : settings_in_force(topic->settings))
            configs.push_back(to_config(setting, request));
    } else {
        return refuse(ErrorCode::invalid_request,
                      fmt::format("settings of a resource of type {}: it is 2 (topic) or 4 "
                                  "(broker)",
                                  resource.resource_type));
    }
    keep_asked(resource.configuration_keys, configs);
    return configs;
}

// What is the same on each broker, and what clients look for.
std::vector<Config> Admin::configs_of_broker(std::int32_t id, Texts& texts) const {
    std::vector<Config> configs;
    const auto add = [&](std::string_view name, std::string value) {
        auto& config = configs.emplace_back();
        config.name = name;
        config.value = texts.keep(std::move(value));
        config.read_only = true;
        config.config_source = kOfBrokerFile;
        config.config_type = kStringType;
    };
    add("broker.id", fmt::format("{}", id));
    add("auto.create.topics.enable", "false");
    add("delete.topic.enable", "true");
    add("num.partitions", "1");
    add("default.replication.factor", fmt::format("{}", default_replication(world_.directory)));
    return configs;
}

template <class Resource>
Verdict<std::optional<actions::AlterTopic>> Admin::alteration(const Asked& by,
                                                              const Resource& resource) const {
    if (resource.resource_type != kTopicResource) {
        return refuse(ErrorCode::invalid_request,
                      fmt::format("settings of a resource of type {} are not changed here: those "
                                  "of a topic (2) are, those of a broker are in its file",
                                  resource.resource_type));
    }
    const auto topic = changeable(by, resource.resource_name, actions::AlterTopic::kName);
    if (!topic) return refuse(topic.error());
    auto settings = altered(**topic, resource.configs);
    if (!settings) return refuse(settings.error());
    if (auto checked = check_settings(*settings); !checked) return refuse(checked.error());
    // A second one would start from what the first one changes.
    if (chain_.is_under_way(actions::AlterTopic::kName, resource.resource_name)) {
        return refuse(ErrorCode::request_timed_out,
                      "its settings are being changed: wait, and look what they are");
    }
    if (are_equal(*settings, (*topic)->settings)) return std::nullopt;
    return actions::AlterTopic{
        .by = self(), .topic = (*topic)->id, .settings = *std::move(settings)};
}

template <class Response>
void Admin::alter(const Asked& by, const auto& request, Effects& out) {
    ChainAnswer answer{Response{}};
    auto& items = std::get<Response>(answer.response).responses;
    const RequestItems named(request.resources, kNameOf);
    for (const auto& resource : request.resources) {
        auto& item = items.emplace_back();
        item.resource_type = resource.resource_type;
        item.resource_name = answer.texts.keep(resource.resource_name);
        const Place at{items.size() - 1};
        const auto once = named.check(kNameOf(resource));
        const auto action = once
                                ? alteration(by, resource)
                                : Verdict<std::optional<actions::AlterTopic>>(refuse(once.error()));
        if (!action) {
            answer.refuse(at, action.error());
        } else if (*action && !request.validate_only) {
            answer.parts.push_back(part(**action, {at}, resource.resource_name));
        }
    }
    chain_.start(by.now, by.caller, kNoTimeoutSaidMs, std::move(answer), out);
}

void Admin::alter_configs(const Asked& by, const AlterConfigsRequest& request, Effects& out) {
    alter<AlterConfigsResponse>(by, request, out);
}

void Admin::alter_configs(const Asked& by,
                          const IncrementalAlterConfigsRequest& request,
                          Effects& out) {
    alter<IncrementalAlterConfigsResponse>(by, request, out);
}

}  // namespace bps
