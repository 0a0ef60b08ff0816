#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "chain/types/authority.hpp"
#include "chain/types/parameters.hpp"
#include "chain/types/schedule.hpp"
#include "chain/types/time.hpp"
#include "chain/types/transaction.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace genesis {

// An organisation of the consortium: an account with a voting weight.
struct Member {
    chain::Name name;
    chain::Authority authority;  // Of its owner and active permissions.
    std::uint64_t weight = 1;

    friend bool operator==(const Member&, const Member&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.name, self.authority, self.weight);
    }
};

// A machine that may connect from the beginning; later ones are registered on chain.
struct Node {
    chain::Name name;
    chain::Name organisation;     // One of the members.
    base::crypto::PublicKey key;  // P-256 (R1): TLS has no scheme for K1.
    std::uint32_t roles = 0;      // A sum of 1 validator, 2 observer, 4 broker, 8 gateway.

    friend bool operator==(const Node&, const Node&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.name, self.organisation, self.key, self.roles);
    }
};

// What makes a chain: two nodes with equal genesis files are on one chain (spec 05, "genesis/").
struct Genesis {
    chain::SlotTimes times;
    // Of eosio@owner and eosio@active; by default more than two thirds of the members.
    chain::Authority system_authority;
    std::vector<Member> members;  // At least one; ascending names.
    std::vector<Node> nodes;      // Ascending names.
    chain::Schedule schedule;     // Version 0; at least one validator.
    chain::BorParameters parameters;
    chain::ChainConfig config;
    chain::WasmConfig wasm;

    friend bool operator==(const Genesis&, const Genesis&) = default;

    // SHA-256("BoR chain 1" || packed genesis): different files can't meet.
    [[nodiscard]] chain::ChainId chain_id() const;
};

// What a new chain has where its genesis file says nothing: Antelope's values, but for CPU. A
// block may hold what runs in 30 % of its interval, so that one of the worst code ends within
// 90 % (spec 03, "Resources"), a transaction 28 %, and none is billed for more than it used.
[[nodiscard]] chain::ChainConfig default_config(std::uint32_t interval_milliseconds,
                                                std::uint64_t cpu_units_per_us);

// Reads a genesis file's text (JSON, at most 1 MiB). Strict: unknown fields, missing fields and
// values out of range are errors that name the field and what it may be.
[[nodiscard]] base::Result<Genesis> from_json(std::string_view text);

// The text of a genesis file, with every field written out.
[[nodiscard]] std::string to_json(const Genesis& genesis);

// Whether the parts fit together; names the field that does not.
[[nodiscard]] base::Result<void> check(const Genesis& genesis);

// eosio's authority when the file names none: more than two thirds of the members' actives.
[[nodiscard]] chain::Authority members_authority(const std::vector<Member>& members);

// Binary form, as hashed for the chain id.
[[nodiscard]] base::Bytes encode(const Genesis& genesis);

}  // namespace genesis
