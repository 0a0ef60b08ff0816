#pragma once

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
    static void each_field(auto& self, auto&& visit) { visit(self.actor, self.permission); }
    // {"actor":"alice","permission":"active"}, the form in nodeos' messages.
    [[nodiscard]] std::string to_json() const;
};

struct KeyWeight {
    base::crypto::PublicKey key;
    Weight weight = 0;

    friend auto operator<=>(const KeyWeight&, const KeyWeight&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.key, self.weight); }
};

struct PermissionLevelWeight {
    PermissionLevel permission;
    Weight weight = 0;

    friend auto operator<=>(const PermissionLevelWeight&, const PermissionLevelWeight&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.permission, self.weight); }
};

struct WaitWeight {
    std::uint32_t wait_sec = 0;
    Weight weight = 0;

    friend auto operator<=>(const WaitWeight&, const WaitWeight&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.wait_sec, self.weight); }
};

// What satisfies a permission: keys, other permissions and waits whose weights reach the
// threshold. Source: reference "Binary formats".
struct Authority {
    std::uint32_t threshold = 0;
    std::vector<KeyWeight> keys;
    std::vector<PermissionLevelWeight> accounts;
    std::vector<WaitWeight> waits;

    friend bool operator==(const Authority&, const Authority&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.threshold,
              Limited{self.keys, {kAuthorityEntriesMax, 36}},
              Limited{self.accounts, {kAuthorityEntriesMax, 18}},
              Limited{self.waits, {kAuthorityEntriesMax, 6}});
    }

    // One key, threshold 1.
    [[nodiscard]] static Authority of_key(const base::crypto::PublicKey& key);
    // Whether each list is sorted without duplicates, no wait is zero, and the weights reach
    // a threshold above zero. Decoding does not demand it, the actions that set it do.
    [[nodiscard]] bool is_valid() const;
    // What nodeos bills for it, beyond the permission itself: for RAM accounting.
    [[nodiscard]] std::int64_t billable_bytes() const;
};

}  // namespace chain
