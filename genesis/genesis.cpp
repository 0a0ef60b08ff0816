#include "genesis/genesis.hpp"

#include "base/crypto/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace genesis {

namespace {

using base::Errc;
using base::fail;
using chain::literals::operator""_n;

constexpr std::uint16_t kFormat = 2;
constexpr std::size_t kMembersMax = 10'000;
constexpr std::size_t kNodesMax = 10'000;
constexpr std::uint64_t kWeightMax = 1'000'000'000'000;  // As `setweight`.
constexpr std::uint32_t kRolesKnown = 0x0F;
constexpr std::uint32_t kIntervalMin = 10;  // Milliseconds (spec 04, "Schedule").
constexpr std::uint32_t kIntervalMax = 5'000;

// `format` of fmt, naming the field.
template <class... Args>
tl::unexpected<base::Error> invalid(fmt::format_string<Args...> format, Args&&... args) {
    return fail(Errc::invalid, fmt::format(format, std::forward<Args>(args)...));
}

base::Result<void> check_members(const Genesis& genesis) {
    if (genesis.members.empty() || genesis.members.size() > kMembersMax) {
        return invalid(
            "members: {} entries, there must be 1 to {}", genesis.members.size(), kMembersMax);
    }
    for (std::size_t i = 0; i < genesis.members.size(); ++i) {
        const Member& member = genesis.members[i];
        const std::string field = fmt::format("members[{}]", i);
        if (member.name.empty() || member.name.to_string().starts_with("eosio")) {
            return invalid(
                "{}.name: '{}' is reserved for the system", field, member.name.to_string());
        }
        if (i > 0 && genesis.members[i - 1].name >= member.name) {
            return invalid("{}.name: '{}' is there twice", field, member.name.to_string());
        }
        if (member.weight > kWeightMax) {
            return invalid(
                "{}.weight: {}, at most {} is allowed", field, member.weight, kWeightMax);
        }
        if (!member.authority.is_valid()) {
            return invalid(
                "{}.authority: the weights must reach the threshold, the "
                "lists be sorted and without duplicates",
                field);
        }
    }
    return {};
}

base::Result<void> check_schedule(const Genesis& genesis) {
    const auto& entries = genesis.schedule.entries;
    const std::uint64_t limit = genesis.parameters.max_producers;
    if (entries.empty() || entries.size() > limit) {
        return invalid(
            "validators: {} entries, there must be 1 to max_producers ({})", entries.size(), limit);
    }
    std::map<base::crypto::PublicKey, std::size_t> keys;
    std::set<chain::Name> names;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto& entry = entries[i];
        if (!names.insert(entry.producer).second) {
            return invalid(
                "validators[{}].name: '{}' is there twice", i, entry.producer.to_string());
        }
        const auto member = std::ranges::find(genesis.members, entry.producer, &Member::name);
        if (member == genesis.members.end()) {
            return invalid("validators[{}].name: '{}' is not among the members",
                           i,
                           entry.producer.to_string());
        }
        for (const auto& [name, key] : {std::pair("signing_key", &entry.signing_key),
                                        std::pair("vote_key", &entry.vote_key)}) {
            if (key->type != base::crypto::KeyType::k1) {
                return invalid("validators[{}].{}: {} is not a K1 key", i, name, key->to_string());
            }
            if (!base::crypto::is_on_curve(*key)) {
                return invalid("validators[{}].{}: no point of the curve", i, name);
            }
            // A validator may sign and vote with one key; two validators share none.
            const auto [place, is_new] = keys.emplace(*key, i);
            if (!is_new && place->second != i) {
                return invalid("validators[{}].{}: {} is used twice, also by validators[{}]",
                               i,
                               name,
                               key->to_string(),
                               place->second);
            }
        }
    }
    return {};
}

base::Result<void> check_node_key(const Node& node, const std::string& field) {
    if (node.key.type != base::crypto::KeyType::r1) {
        return invalid(
            "{}.key: {} is not a P-256 key (PUB_R1_...); TLS has no scheme for "
            "others",
            field,
            node.key.to_string());
    }
    if (!base::crypto::is_on_curve(node.key)) {
        return invalid("{}.key: no point of the curve", field);
    }
    return {};
}

base::Result<void> check_nodes(const Genesis& genesis) {
    if (genesis.nodes.size() > kNodesMax) {
        return invalid("nodes: {} entries, at most {}", genesis.nodes.size(), kNodesMax);
    }
    std::set<base::crypto::PublicKey> keys;
    for (std::size_t i = 0; i < genesis.nodes.size(); ++i) {
        const Node& node = genesis.nodes[i];
        const std::string field = fmt::format("nodes[{}]", i);
        if (node.name.empty()) return fail(Errc::invalid, field + ".name: is empty");
        if (i > 0 && genesis.nodes[i - 1].name >= node.name) {
            return invalid("{}.name: '{}' is there twice", field, node.name.to_string());
        }
        const auto member = std::ranges::find(genesis.members, node.organisation, &Member::name);
        if (member == genesis.members.end()) {
            return invalid("{}.organisation: '{}' is not among the members",
                           field,
                           node.organisation.to_string());
        }
        if (auto good = check_node_key(node, field); !good) return good;
        if (!keys.insert(node.key).second) {
            return invalid("{}.key: {} is used twice", field, node.key.to_string());
        }
        if (node.roles == 0 || (node.roles & ~kRolesKnown) != 0) {
            return invalid(
                "{}.roles: at least one of validator, observer, broker, "
                "gateway is needed, and no other",
                field);
        }
    }
    return {};
}

void encode_parameters(base::Writer& out, const chain::BorParameters& parameters) {
    // By name, so that a parameter added later does not change the id of older chains.
    const auto infos = chain::bor_parameter_infos();
    out.varuint32(static_cast<std::uint32_t>(infos.size()));
    for (const auto& info : infos) {
        out.string(info.name);
        out.u64(info.value_in(parameters));
    }
}

}  // namespace

chain::ChainConfig default_config(std::uint32_t interval_milliseconds,
                                  std::uint64_t cpu_units_per_us) {
    constexpr std::uint64_t kUnitsPerPercent = 10'000;  // Of a millisecond: a unit is a nanosecond.
    constexpr std::uint64_t kLeast = 30;
    constexpr std::uint64_t kMost = 4'000'000'000;
    const std::uint64_t percent =
        kUnitsPerPercent * interval_milliseconds / std::max<std::uint64_t>(cpu_units_per_us, 1);
    const auto microseconds = [&](std::uint64_t share, std::uint64_t least) {
        return static_cast<std::uint32_t>(std::clamp(share * percent, least, kMost + least));
    };
    chain::ChainConfig config;
    config.max_block_cpu_usage = microseconds(30, kLeast);
    config.max_transaction_cpu_usage = microseconds(28, kLeast - 2);
    config.min_transaction_cpu_usage = 0;
    return config;
}

chain::Authority members_authority(const std::vector<Member>& members) {
    chain::Authority authority;
    for (const Member& member : members) {
        authority.accounts.push_back({{member.name, "active"_n}, 1});
    }
    authority.threshold = static_cast<std::uint32_t>(members.size() * 2 / 3 + 1);
    return authority;
}

base::Result<void> check(const Genesis& genesis) {
    const std::uint32_t interval = genesis.times.interval_milliseconds;
    if (interval < kIntervalMin || interval > kIntervalMax) {
        return invalid(
            "block_interval_ms: {}, must be {} to {}", interval, kIntervalMin, kIntervalMax);
    }
    const std::int64_t start = genesis.times.initial.microseconds;
    if (start < 0 || start % (std::int64_t{1000} * interval) != 0) {
        return invalid("initial_timestamp: {} is not a multiple of block_interval_ms ({})",
                       genesis.times.initial.to_string(),
                       interval);
    }
    if (auto members = check_members(genesis); !members) return members;
    if (!genesis.system_authority.is_valid()) {
        return fail(Errc::invalid,
                    "system_authority: the weights must reach the threshold, the lists be sorted "
                    "and without duplicates");
    }
    if (auto schedule = check_schedule(genesis); !schedule) return schedule;
    if (auto nodes = check_nodes(genesis); !nodes) return nodes;
    if (genesis.parameters.min_producers > genesis.parameters.max_producers) {
        return invalid("parameters.min_producers: {} is above max_producers ({})",
                       genesis.parameters.min_producers,
                       genesis.parameters.max_producers);
    }
    if (auto config = genesis.config.validate(); !config) {
        return fail(Errc::invalid, "initial_configuration: " + config.error().detail);
    }
    return {};
}

chain::ChainId Genesis::chain_id() const {
    const base::Bytes packed = genesis::encode(*this);
    return base::crypto::Sha256().update(base::as_bytes("BoR chain 1")).update(packed).finish();
}

base::Bytes encode(const Genesis& genesis) {
    base::Writer out;
    out.u16(kFormat);
    chain::encode(out, genesis.times);
    chain::encode(out, genesis.system_authority);
    chain::encode_list(out, genesis.members);
    chain::encode_list(out, genesis.nodes);
    chain::encode(out, genesis.schedule);
    encode_parameters(out, genesis.parameters);
    chain::encode(out, genesis.config);
    chain::encode(out, genesis.wasm);
    return out.take();
}

}  // namespace genesis
