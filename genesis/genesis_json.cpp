#include "base/crypto/typed_keys.hpp"
#include "chain/types/config_fields.hpp"
#include "genesis/genesis.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace genesis {

namespace {

using base::Errc;
using base::fail;
using Json = nlohmann::ordered_json;

constexpr std::size_t kFileBytesMax = 1024 * 1024;

// Reads fields of JSON objects; the first error sticks and names the path of its field.
class Fields {
  public:
    void error(const std::string& path, const std::string& reason) {
        if (error_.empty()) error_ = path + ": " + reason;
    }
    [[nodiscard]] bool ok() const { return error_.empty(); }
    [[nodiscard]] const std::string& error_text() const { return error_; }

    // Refuses fields that are not in `known`: a misspelt one must not be ignored.
    void only(const Json& object,
              const std::string& path,
              const std::vector<std::string_view>& known) {
        if (!object.is_object()) {
            error(path, "an object is needed");
            return;
        }
        for (const auto& [name, value] : object.items()) {
            if (std::ranges::find(known, name) == known.end()) {
                error(path.empty() ? name : fmt::format("{}.{}", path, name),
                      fmt::format("unknown field; known are {}", fmt::join(known, ", ")));
            }
        }
    }
    [[nodiscard]] static const Json* find(const Json& object, std::string_view name) {
        if (!object.is_object()) return nullptr;
        const auto found = object.find(std::string(name));
        return found == object.end() ? nullptr : &*found;
    }
    const Json& need(const Json& object, std::string_view name, const std::string& path) {
        static const Json kNull;
        const Json* found = find(object, name);
        if (found == nullptr) error(join(path, name), "missing");
        return found == nullptr ? kNull : *found;
    }
    std::string text(const Json& object, std::string_view name, const std::string& path) {
        const Json& value = need(object, name, path);
        if (value.is_string()) return value.get<std::string>();
        error(join(path, name), "a string is needed");
        return {};
    }
    template <class T>
    void number(const Json& object, std::string_view name, const std::string& path, T& out) {
        const Json* value = find(object, name);
        if (value == nullptr) return;  // Numbers have defaults.
        if (!value->is_number_unsigned() ||
            value->get<std::uint64_t>() > std::numeric_limits<T>::max()) {
            error(join(path, name),
                  fmt::format("a whole number from 0 to {} is needed",
                              std::numeric_limits<T>::max()));
            return;
        }
        out = static_cast<T>(value->get<std::uint64_t>());
    }
    chain::Name name(const Json& object, std::string_view field, const std::string& path) {
        const auto parsed = chain::Name::from_string(text(object, field, path));
        if (!parsed) error(join(path, field), parsed.error().detail);
        return parsed.value_or(chain::Name{});
    }
    base::crypto::PublicKey key(const Json& object,
                                std::string_view field,
                                const std::string& path) {
        const auto parsed = base::crypto::read_public_key(text(object, field, path));
        if (!parsed) error(join(path, field), parsed.error().detail);
        return parsed.value_or(base::crypto::PublicKey{});
    }
    [[nodiscard]] static std::string join(const std::string& path, std::string_view name) {
        return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
    }

  private:
    std::string error_;
};

const Json& list(Fields& fields,
                 const Json& object,
                 std::string_view name,
                 const std::string& path) {
    static const Json kEmpty = Json::array();
    const Json* value = Fields::find(object, name);
    if (value == nullptr) return kEmpty;
    if (value->is_array()) return *value;
    fields.error(Fields::join(path, name), "a list is needed");
    return kEmpty;
}

chain::Authority read_authority(Fields& fields, const Json& json, const std::string& path) {
    chain::Authority authority;
    fields.only(json, path, {"threshold", "keys", "accounts", "waits"});
    fields.number(json, "threshold", path, authority.threshold);
    for (const Json& item : list(fields, json, "keys", path)) {
        auto& entry = authority.keys.emplace_back();
        entry.key = fields.key(item, "key", path + ".keys");
        fields.number(item, "weight", path + ".keys", entry.weight);
    }
    for (const Json& item : list(fields, json, "accounts", path)) {
        auto& entry = authority.accounts.emplace_back();
        const std::string where = path + ".accounts";
        const Json& level = fields.need(item, "permission", where);
        entry.permission = {fields.name(level, "actor", where + ".permission"),
                            fields.name(level, "permission", where + ".permission")};
        fields.number(item, "weight", where, entry.weight);
    }
    for (const Json& item : list(fields, json, "waits", path)) {
        auto& entry = authority.waits.emplace_back();
        fields.number(item, "wait_sec", path + ".waits", entry.wait_sec);
        fields.number(item, "weight", path + ".waits", entry.weight);
    }
    std::ranges::sort(authority.keys);
    std::ranges::sort(authority.accounts);
    std::ranges::sort(authority.waits);
    return authority;
}

Member read_member(Fields& fields, const Json& json, const std::string& path) {
    Member member;
    fields.only(json, path, {"name", "key", "authority", "weight"});
    member.name = fields.name(json, "name", path);
    fields.number(json, "weight", path, member.weight);
    const bool by_key = Fields::find(json, "key") != nullptr;
    if (by_key == (Fields::find(json, "authority") != nullptr)) {
        fields.error(path, "either 'key' or 'authority' is needed");
    } else if (by_key) {
        member.authority = chain::Authority::of_key(fields.key(json, "key", path));
    } else {
        member.authority =
            read_authority(fields, *Fields::find(json, "authority"), path + ".authority");
    }
    return member;
}

chain::ScheduleEntry read_validator(Fields& fields, const Json& json, const std::string& path) {
    chain::ScheduleEntry entry;
    fields.only(json, path, {"name", "signing_key", "vote_key"});
    entry.producer = fields.name(json, "name", path);
    entry.signing_key = fields.key(json, "signing_key", path);
    entry.vote_key = Fields::find(json, "vote_key") == nullptr ? entry.signing_key
                                                               : fields.key(json, "vote_key", path);
    return entry;
}

struct Role {
    std::string_view name;
    std::uint32_t bit;
};
constexpr std::array kRoles{
    Role{"validator", 1}, Role{"observer", 2}, Role{"broker", 4}, Role{"gateway", 8}};

Node read_node(Fields& fields, const Json& json, const std::string& path) {
    Node node;
    fields.only(json, path, {"name", "organisation", "key", "roles"});
    node.name = fields.name(json, "name", path);
    node.organisation = fields.name(json, "organisation", path);
    node.key = fields.key(json, "key", path);
    (void)fields.need(json, "roles", path);
    for (const Json& item : list(fields, json, "roles", path)) {
        const std::string text = item.is_string() ? item.get<std::string>() : item.dump();
        const auto* role = std::ranges::find(kRoles, text, &Role::name);
        if (role != kRoles.end()) {
            node.roles |= role->bit;
        } else {
            fields.error(path + ".roles",
                         fmt::format("'{}' is none of validator, observer, broker, gateway", text));
        }
    }
    return node;
}

Json node_json(const Node& node) {
    Json roles = Json::array();
    for (const Role& role : kRoles) {
        if ((node.roles & role.bit) != 0) roles.push_back(role.name);
    }
    return {{"name", node.name.to_string()},
            {"organisation", node.organisation.to_string()},
            {"key", node.key.to_string()},
            {"roles", std::move(roles)}};
}

void read_parameters(Fields& fields, const Json& json, Genesis& genesis) {
    const Json* parameters = Fields::find(json, "parameters");
    if (parameters == nullptr) return;
    if (!parameters->is_object()) return fields.error("parameters", "an object is needed");
    for (const auto& [name, value] : parameters->items()) {
        std::uint64_t number = 0;
        fields.number(*parameters, name, "parameters", number);
        if (!fields.ok()) return;
        if (auto set = genesis.parameters.set(name, number); !set) {
            fields.error("parameters." + name, set.error().detail);
        }
    }
}

// After the parameters and the interval, on which defaults depend.
void read_configurations(Fields& fields, const Json& json, Genesis& genesis) {
    genesis.config =
        default_config(genesis.times.interval_milliseconds, genesis.parameters.cpu_units_per_us);
    std::vector<std::string_view> known;
    const auto note = [&](std::string_view name, auto&) { known.push_back(name); };
    if (const Json* config = Fields::find(json, "initial_configuration")) {
        chain::each_config_field(genesis.config, note);
        fields.only(*config, "initial_configuration", known);
        chain::each_config_field(genesis.config, [&](std::string_view name, auto& member) {
            fields.number(*config, name, "initial_configuration", member);
        });
    }
    if (const Json* config = Fields::find(json, "wasm_configuration")) {
        known.clear();
        chain::each_wasm_field(genesis.wasm, note);
        fields.only(*config, "wasm_configuration", known);
        chain::each_wasm_field(genesis.wasm, [&](std::string_view name, auto& member) {
            fields.number(*config, name, "wasm_configuration", member);
        });
    }
}

Json authority_json(const chain::Authority& authority) {
    Json json = {{"threshold", authority.threshold},
                 {"keys", Json::array()},
                 {"accounts", Json::array()},
                 {"waits", Json::array()}};
    for (const auto& entry : authority.keys) {
        json["keys"].push_back({{"key", entry.key.to_string()}, {"weight", entry.weight}});
    }
    for (const auto& entry : authority.accounts) {
        json["accounts"].push_back({{"permission",
                                     {{"actor", entry.permission.actor.to_string()},
                                      {"permission", entry.permission.permission.to_string()}}},
                                    {"weight", entry.weight}});
    }
    for (const auto& entry : authority.waits) {
        json["waits"].push_back({{"wait_sec", entry.wait_sec}, {"weight", entry.weight}});
    }
    return json;
}

}  // namespace

base::Result<Genesis> from_json(std::string_view text) {
    if (text.size() > kFileBytesMax) {
        return fail(
            Errc::malformed,
            fmt::format(
                "genesis file: {} bytes, more than the limit of {}", text.size(), kFileBytesMax));
    }
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) return fail(Errc::malformed, "genesis file: not valid JSON");

    Fields fields;
    Genesis genesis;
    fields.only(json,
                "",
                {"initial_timestamp",
                 "block_interval_ms",
                 "system_authority",
                 "members",
                 "nodes",
                 "validators",
                 "parameters",
                 "initial_configuration",
                 "wasm_configuration"});
    const std::string time = fields.text(json, "initial_timestamp", "");
    const auto start = chain::TimePoint::from_string(time);
    if (!start) {
        fields.error(
            "initial_timestamp",
            fmt::format("'{}' is no time; one is written as 2026-01-31T12:00:00.000", time));
    }
    genesis.times.initial = start.value_or(chain::TimePoint{});
    fields.number(json, "block_interval_ms", "", genesis.times.interval_milliseconds);

    std::size_t index = 0;
    for (const Json& item : list(fields, json, "members", "")) {
        genesis.members.push_back(read_member(fields, item, fmt::format("members[{}]", index++)));
    }
    std::ranges::sort(genesis.members, {}, &Member::name);
    index = 0;
    for (const Json& item : list(fields, json, "nodes", "")) {
        genesis.nodes.push_back(read_node(fields, item, fmt::format("nodes[{}]", index++)));
    }
    std::ranges::sort(genesis.nodes, {}, &Node::name);
    index = 0;
    for (const Json& item : list(fields, json, "validators", "")) {
        genesis.schedule.entries.push_back(
            read_validator(fields, item, fmt::format("validators[{}]", index++)));
    }
    genesis.system_authority = members_authority(genesis.members);
    if (const Json* authority = Fields::find(json, "system_authority")) {
        genesis.system_authority = read_authority(fields, *authority, "system_authority");
    }
    read_parameters(fields, json, genesis);
    read_configurations(fields, json, genesis);
    if (!fields.ok()) return fail(Errc::invalid, "genesis file: " + fields.error_text());
    if (auto good = check(genesis); !good) {
        return fail(Errc::invalid, "genesis file: " + good.error().detail);
    }
    return genesis;
}

std::string to_json(const Genesis& genesis) {
    Json json = {{"initial_timestamp", genesis.times.initial.to_string()},
                 {"block_interval_ms", genesis.times.interval_milliseconds},
                 {"system_authority", authority_json(genesis.system_authority)},
                 {"members", Json::array()},
                 {"nodes", Json::array()},
                 {"validators", Json::array()},
                 {"parameters", Json::object()},
                 {"initial_configuration", Json::object()},
                 {"wasm_configuration", Json::object()}};
    for (const Member& member : genesis.members) {
        json["members"].push_back({{"name", member.name.to_string()},
                                   {"authority", authority_json(member.authority)},
                                   {"weight", member.weight}});
    }
    for (const Node& node : genesis.nodes) {
        json["nodes"].push_back(node_json(node));
    }
    for (const auto& entry : genesis.schedule.entries) {
        json["validators"].push_back({{"name", entry.producer.to_string()},
                                      {"signing_key", entry.signing_key.to_string()},
                                      {"vote_key", entry.vote_key.to_string()}});
    }
    for (const auto& info : chain::bor_parameter_infos()) {
        json["parameters"][info.name] = info.value_in(genesis.parameters);
    }
    chain::each_config_field(genesis.config, [&](const char* name, const auto& member) {
        json["initial_configuration"][name] = member;
    });
    chain::each_wasm_field(genesis.wasm, [&](const char* name, const auto& member) {
        json["wasm_configuration"][name] = member;
    });
    return json.dump(2) + "\n";
}

}  // namespace genesis
