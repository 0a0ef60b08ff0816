#pragma once

#include <bor/action.hpp>
#include <bor/crypto.hpp>
#include <bor/time.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace bor {

struct TransactionHeader {
    TimePointSec expiration;
    uint16_t ref_block_num = 0;
    uint32_t ref_block_prefix = 0;
    VarUint32 max_net_usage_words;
    uint8_t max_cpu_usage_ms = 0;
    VarUint32 delay_sec;
    BOR_FIELDS(expiration,
               ref_block_num,
               ref_block_prefix,
               max_net_usage_words,
               max_cpu_usage_ms,
               delay_sec)
};

struct Transaction {
    TransactionHeader header;
    std::vector<Action> context_free_actions;
    std::vector<Action> actions;
    std::vector<std::pair<uint16_t, Bytes>> extensions;
    BOR_FIELDS(header, context_free_actions, actions, extensions)

    // Asks for a later execution. A BoR chain refuses it with an error; others may not.
    void send_deferred(uint128_t sender_id, Name payer, bool replace_existing = false) const {
        const Bytes packed = pack(*this);
        host::send_deferred(
            &sender_id, payer.value, packed.data(), packed.size(), replace_existing ? 1 : 0);
    }
};

// The transaction that this action belongs to, packed.
inline Bytes current_transaction() {
    Bytes packed(host::transaction_size());
    if (!packed.empty()) host::read_transaction(packed.data(), packed.size());
    return packed;
}

// The index-th action of the transaction; nothing when there is none.
inline std::optional<Action> transaction_action(bool context_free, uint32_t index) {
    const uint32_t type = context_free ? 0 : 1;
    const int32_t size = host::get_action(type, index, nullptr, 0);
    if (size < 0) return std::nullopt;
    Bytes packed(static_cast<std::size_t>(size));
    host::get_action(type, index, packed.data(), packed.size());
    return unpack<Action>(packed);
}

// The index-th part of the context-free data. For context-free actions only.
inline std::optional<Bytes> context_free_data(uint32_t index) {
    const int32_t size = host::get_context_free_data(index, nullptr, 0);
    if (size < 0) return std::nullopt;
    Bytes data(static_cast<std::size_t>(size));
    if (!data.empty()) host::get_context_free_data(index, data.data(), data.size());
    return data;
}

// Whether these keys and permissions together authorize every action of a packed transaction.
inline bool is_transaction_authorized(const Bytes& packed_transaction,
                                      const std::vector<PublicKey>& keys,
                                      const std::vector<PermissionLevel>& levels) {
    const Bytes packed_keys = keys.empty() ? Bytes() : pack(keys);
    const Bytes packed_levels = levels.empty() ? Bytes() : pack(levels);
    return host::check_transaction_authorization(packed_transaction.data(),
                                                 packed_transaction.size(),
                                                 packed_keys.data(),
                                                 packed_keys.size(),
                                                 packed_levels.data(),
                                                 packed_levels.size()) > 0;
}
inline bool is_permission_satisfied(const PermissionLevel& wanted,
                                    const std::vector<PublicKey>& keys,
                                    const std::vector<PermissionLevel>& levels,
                                    uint64_t delay_us = 0) {
    const Bytes packed_keys = keys.empty() ? Bytes() : pack(keys);
    const Bytes packed_levels = levels.empty() ? Bytes() : pack(levels);
    return host::check_permission_authorization(wanted.actor.value,
                                                wanted.permission.value,
                                                packed_keys.data(),
                                                packed_keys.size(),
                                                packed_levels.data(),
                                                packed_levels.size(),
                                                delay_us) > 0;
}

}  // namespace bor
