#pragma once

#include <bor/crypto.hpp>
#include <bor/name.hpp>

#include <variant>
#include <vector>

// For contracts of privileged accounts, such as eosio.

namespace bor {

struct BlockchainParameters {
    uint64_t max_block_net_usage = 0;
    uint32_t target_block_net_usage_pct = 0;
    uint32_t max_transaction_net_usage = 0;
    uint32_t base_per_transaction_net_usage = 0;
    uint32_t net_usage_leeway = 0;
    uint32_t context_free_discount_net_usage_num = 0;
    uint32_t context_free_discount_net_usage_den = 0;
    uint32_t max_block_cpu_usage = 0;
    uint32_t target_block_cpu_usage_pct = 0;
    uint32_t max_transaction_cpu_usage = 0;
    uint32_t min_transaction_cpu_usage = 0;
    uint32_t max_transaction_lifetime = 0;
    uint32_t deferred_trx_expiration_window = 0;
    uint32_t max_transaction_delay = 0;
    uint32_t max_inline_action_size = 0;
    uint16_t max_inline_action_depth = 0;
    uint16_t max_authority_depth = 0;
    BOR_FIELDS(max_block_net_usage,
               target_block_net_usage_pct,
               max_transaction_net_usage,
               base_per_transaction_net_usage,
               net_usage_leeway,
               context_free_discount_net_usage_num,
               context_free_discount_net_usage_den,
               max_block_cpu_usage,
               target_block_cpu_usage_pct,
               max_transaction_cpu_usage,
               min_transaction_cpu_usage,
               max_transaction_lifetime,
               deferred_trx_expiration_window,
               max_transaction_delay,
               max_inline_action_size,
               max_inline_action_depth,
               max_authority_depth)
};

inline BlockchainParameters blockchain_parameters() {
    Bytes packed(host::get_blockchain_parameters_packed(nullptr, 0));
    host::get_blockchain_parameters_packed(packed.data(), packed.size());
    return unpack<BlockchainParameters>(packed);
}
inline void set_blockchain_parameters(const BlockchainParameters& parameters) {
    const Bytes packed = pack(parameters);
    host::set_blockchain_parameters_packed(packed.data(), packed.size());
}

struct KeyWeight {
    PublicKey key;
    uint16_t weight = 0;
    BOR_FIELDS(key, weight)
};

// Variant 0 of a block signing authority, the only one.
struct BlockSigningAuthority {
    VarUint32 variant;
    uint32_t threshold = 0;
    std::vector<KeyWeight> keys;
    BOR_FIELDS(variant, threshold, keys)
};

struct ProducerAuthority {
    Name producer;
    BlockSigningAuthority authority;
    BOR_FIELDS(producer, authority)
};

// The version of the schedule that is now proposed, or -1 when the schedule stays as it is.
inline int64_t set_proposed_producers(const std::vector<ProducerAuthority>& producers) {
    const Bytes packed = pack(producers);
    return host::set_proposed_producers_ex(1, packed.data(), packed.size());
}

inline std::vector<Name> active_producers() {
    const int32_t size = host::get_active_producers(nullptr, 0);
    std::vector<Name> producers(static_cast<std::size_t>(size) / sizeof(uint64_t));
    host::get_active_producers(reinterpret_cast<uint64_t*>(producers.data()),
                               static_cast<uint32_t>(size));
    return producers;
}

inline void set_privileged(Name account, bool is_privileged) {
    host::set_privileged(account.value, is_privileged ? 1 : 0);
}
inline bool is_privileged(Name account) {
    return host::is_privileged(account.value) != 0;
}

// Quotas of an account; -1 is without limit.
struct ResourceLimits {
    int64_t ram_bytes = 0;
    int64_t net_weight = 0;
    int64_t cpu_weight = 0;
    BOR_FIELDS(ram_bytes, net_weight, cpu_weight)
};
inline ResourceLimits resource_limits(Name account) {
    ResourceLimits limits;
    host::get_resource_limits(
        account.value, &limits.ram_bytes, &limits.net_weight, &limits.cpu_weight);
    return limits;
}
inline void set_resource_limits(Name account, const ResourceLimits& limits) {
    host::set_resource_limits(
        account.value, limits.ram_bytes, limits.net_weight, limits.cpu_weight);
}

inline bool is_feature_activated(const Checksum256& feature) {
    return host::is_feature_activated(feature.bytes.data()) != 0;
}
inline void preactivate_feature(const Checksum256& feature) {
    host::preactivate_feature(feature.bytes.data());
}

}  // namespace bor
