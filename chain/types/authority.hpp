#pragma once

#include "chain/types/limits.hpp"
#include "chain/types/name.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace chain {

using Weight = std::uint16_t;

// Who an action claims to be from: "alice@active".
struct PermissionLevel {
    Name actor;
    Name permission;

    friend constexpr auto operator<=>(const PermissionLevel&, const PermissionLevel&) = default;
    // {"actor":"alice","permission":"active"}, the form in nodeos' messages.
    [[nodiscard]] std::string to_json() const;
};

struct KeyWeight {
    base::crypto::PublicKey key;
    Weight weight = 0;

    friend auto operator<=>(const KeyWeight&, const KeyWeight&) = default;
};

struct PermissionLevelWeight {
    PermissionLevel permission;
    Weight weight = 0;

    friend auto operator<=>(const PermissionLevelWeight&, const PermissionLevelWeight&) = default;
};

struct WaitWeight {
    std::uint32_t wait_sec = 0;
    Weight weight = 0;

    friend auto operator<=>(const WaitWeight&, const WaitWeight&) = default;
};

// What satisfies a permission: keys, other permissions and waits whose weights reach the
// threshold. Source: reference "Binary formats".
struct Authority {
    std::uint32_t threshold = 0;
    std::vector<KeyWeight> keys;
    std::vector<PermissionLevelWeight> accounts;
    std::vector<WaitWeight> waits;

    friend bool operator==(const Authority&, const Authority&) = default;

    // One key, threshold 1.
    [[nodiscard]] static Authority of_key(const base::crypto::PublicKey& key);
    // Whether each list is sorted without duplicates, no wait is zero, and the weights reach
    // a threshold above zero. Decoding does not demand it, the actions that set it do.
    [[nodiscard]] bool is_valid() const;
    // What nodeos bills for it, beyond the permission itself: for RAM accounting.
    [[nodiscard]] std::int64_t billable_bytes() const;
};

void encode(base::Writer& out, const PermissionLevel& level);
void encode(base::Writer& out, const KeyWeight& entry);
void encode(base::Writer& out, const PermissionLevelWeight& entry);
void encode(base::Writer& out, const WaitWeight& entry);
void encode(base::Writer& out, const Authority& authority);
void decode(base::Reader& in, PermissionLevel& level, std::string_view field);
void decode(base::Reader& in, KeyWeight& entry, std::string_view field);
void decode(base::Reader& in, PermissionLevelWeight& entry, std::string_view field);
void decode(base::Reader& in, WaitWeight& entry, std::string_view field);
void decode(base::Reader& in, Authority& authority, std::string_view field);

}  // namespace chain
